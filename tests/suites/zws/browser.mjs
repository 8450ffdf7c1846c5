// SPDX-License-Identifier: MPL-2.0
// The sockets of peer.py with jszmq in a page of Chromium at the other end: one conversation.
//
//     browser.mjs CONVERSATION PEER-COMMAND...
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const { chromium } = createRequire(`${process.env.NODE_FOLDER}/`)("playwright-core");

/** Each function runs in the page, which has jszmq as `zmq`; `next(socket)` is its next message, as texts. */
const CONVERSATIONS = {
    async request(at) {
        const socket = new zmq.Req();
        socket.connect(at.REP);
        for (let count = 0; count < 20; ++count) {
            const reply = next(socket);
            socket.send(["question", `${count}`, ""]);
            equal(await reply, ["question", `${count}`, ""]);
        }
        return socket;
    },
    async deal(at) {
        const socket = new zmq.Dealer();
        socket.connect(at.ROUTER);
        for (const bytes of [0, 1, 124, 125, 126, 65534, 65535, 65536, 1 << 20]) {
            const reply = next(socket);
            socket.send([zmq.Buffer.alloc(bytes, "x"), "end"]);
            equal(await reply, ["x".repeat(bytes), "end"]);
        }
        return socket;
    },
    async subscribe(at) {
        const socket = new zmq.Sub();
        const published = next(socket);
        socket.subscribe("topic");
        socket.connect(at.XPUB);
        equal(await published, ["topic", "first", "second"]);
        return socket;
    },
    async pipeline(at) {
        const puller = new zmq.Pull();
        puller.connect(at.PUSH);
        const pusher = new zmq.Push();
        pusher.connect(at.PULL);
        for (let count = 0; count < 20; ++count) {
            const forwarded = next(puller);
            pusher.send(["work", `${count}`]);
            equal(await forwarded, ["pulled", "work", `${count}`]);
        }
        pusher.close();
        return puller;
    },
    async publish(at) {
        const puller = new zmq.Pull();
        puller.connect(at.PUSH);
        const publisher = new zmq.Pub();
        publisher.connect(at.SUB);
        const heard = next(puller);
        // Messages are dropped until the subscription has arrived.
        const repeating = setInterval(() => publisher.send(["news", "today"]), 20);
        equal(await heard, ["heard", "news", "today"]);
        clearInterval(repeating);
        publisher.close();
        return puller;
    },
};

const [name, ...command] = process.argv.slice(2);
const peer = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const endpoints = await new Promise((resolve) => createInterface({ input: peer.stdout }).once("line", resolve));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
let status = 1;
try {
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    page.on("pageerror", (error) => console.log("error in the page:", error.message));
    await page.addScriptTag({ path: process.env.JSZMQ });
    await page.evaluate(
        async ([source, at]) => {
            window.next = (socket) =>
                new Promise((resolve) => socket.once("message", (...frames) => resolve(frames.map(String))));
            window.equal = (found, expected) => {
                if (JSON.stringify(found) !== JSON.stringify(expected))
                    throw new Error(`${JSON.stringify(found).slice(0, 200)}, not ${JSON.stringify(expected).slice(0, 200)}`);
            };
            const converse = eval(`({ ${source} })`)[source.match(/async (\w+)/)[1]];
            (await converse(at)).close();
        },
        [CONVERSATIONS[name].toString(), JSON.parse(endpoints)],
    );
    status = 0;
} catch (error) {
    console.log("error:", error.message);
}
await browser.close();
peer.stdin.end();
process.exit(status);
