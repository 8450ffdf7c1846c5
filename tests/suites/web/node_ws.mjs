// SPDX-License-Identifier: MPL-2.0
// ZLINK_STREAM with the npm package ws at the other end, as client and as server, over ws and wss.
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createRequire } from "node:module";
import { Peer, Queue, equal, expect, payload, soon, test } from "./harness.mjs";

const WebSocket = createRequire(`${process.env.NODE_FOLDER}/`)("ws");
const folder = process.env.CERTIFICATES;
const identity = { certificate: `${folder}/server.crt`, key: `${folder}/server.key` };
const authority = `${folder}/authority.crt`;
const TEXTS = ["", "x", "grün 😀", "y".repeat(125), "y".repeat(126), "z".repeat(65536)];
const SIZES = [0, 1, 125, 126, 65535, 65536, 1 << 20];
const CONNECTIONS = 64;

/** One end of a connection: messages and events are put into queues. */
class End {
    constructor(socket) {
        this.socket = socket;
        this.messages = new Queue();
        this.pings = new Queue();
        this.pongs = new Queue();
        this.closed = new Queue();
        socket.on("message", (data, isBinary) => this.messages.push(isBinary ? data : data.toString()));
        socket.on("ping", (data) => this.pings.push(data.toString()));
        socket.on("pong", (data) => this.pongs.push(data.toString()));
        socket.on("close", (code, reason) => this.closed.push(`${code} ${reason}`));
        socket.on("error", (error) => (this.error = error));
    }

    async echoes(message) {
        this.socket.send(message);
        await this.gets(message);
    }

    async gets(message) {
        const came = await this.messages.next("an echo");
        const isSame = typeof message === "string" ? came === message : Buffer.isBuffer(came) && came.equals(message);
        expect(isSame, `${message.length} bytes or letters came back as ${came.length} others`);
    }

    async isClosedWith(said) {
        equal(await this.closed.next("the close"), said, "the close");
    }

    end() {
        this.socket.terminate();
    }
}

function bind(scheme, options = {}, path = "/chat") {
    return Peer.start("bind", `${scheme}://127.0.0.1:*${path}`, { ...(scheme === "wss" ? identity : {}), ...options });
}

async function connect(endpoint, subprotocols = [], options = {}) {
    const trust = endpoint.startsWith("wss") ? { ca: readFileSync(authority) } : {};
    const end = new End(new WebSocket(endpoint, subprotocols, { perMessageDeflate: false, ...trust, ...options }));
    await soon(
        new Promise((resolve, reject) => end.socket.once("open", resolve).once("error", reject)),
        "the connection",
    );
    return end;
}

/** The error with which connecting fails. */
async function refusal(...arguments_) {
    try {
        (await connect(...arguments_)).end();
    } catch (error) {
        return error.message;
    }
    throw new Error("was not refused");
}

/** A server of ws. Connections come out of `connections`. */
class Server {
    static async start(scheme, options = {}) {
        const server = new Server();
        server.http =
            scheme === "wss"
                ? createTlsServer({ cert: readFileSync(identity.certificate), key: readFileSync(identity.key) })
                : createHttpServer();
        server.connections = new Queue();
        server.all = [];
        server.web = new WebSocket.WebSocketServer({ server: server.http, maxPayload: 1 << 24, ...options });
        server.web.on("connection", (socket, request) => {
            const end = new End(socket);
            end.path = request.url;
            server.all.push(end);
            server.connections.push(end);
        });
        await new Promise((resolve) => server.http.listen(0, "127.0.0.1", resolve));
        server.endpoint = `${scheme}://127.0.0.1:${server.http.address().port}/chat?room=1`;
        return server;
    }

    end() {
        for (const each of this.all) each.end();
        this.web.close();
        this.http.close();
    }
}

async function reached(scheme, owned, options = {}, serverOptions = {}) {
    const server = owned(await Server.start(scheme, serverOptions));
    const peer = owned(
        await Peer.start("connect", server.endpoint, { ...(scheme === "wss" ? { ca: authority } : {}), ...options }),
    );
    return [await server.connections.next("a connection"), peer, server];
}

/** Behaviour that does not depend on which side has connected. `make` returns an End and the web_peer at the other
 * end. */
async function bothRoles(name, make) {
    await test(`${name}: text`, async (owned) => {
        const [end] = await make(owned);
        for (const text of TEXTS) await end.echoes(text);
    });
    await test(`${name}: binary, up to 1 MiB`, async (owned) => {
        const [end] = await make(owned);
        for (const bytes of SIZES) await end.echoes(payload(bytes));
        for (const bytes of SIZES) end.socket.send(payload(bytes));
        for (const bytes of SIZES) await end.gets(payload(bytes));
    });
    await test(`${name}: 1 MiB that zlink makes`, async (owned) => {
        const [end] = await make(owned);
        end.socket.send("!send 1048576");
        await end.gets(payload(1 << 20));
    });
    await test(`${name}: fragments, with a ping between them`, async (owned) => {
        const [end] = await make(owned);
        for (const bytes of [1, 1000, 100000]) {
            end.socket.send(payload(3 * bytes).subarray(0, bytes), { fin: false });
            end.socket.ping("inside");
            end.socket.send(payload(3 * bytes).subarray(bytes, 2 * bytes), { fin: false });
            end.socket.send(payload(3 * bytes).subarray(2 * bytes), { fin: true });
            await end.gets(payload(3 * bytes));
            equal(await end.pongs.next("a pong"), "inside", "the pong");
        }
        end.socket.send("frag", { fin: false });
        end.socket.send("ments", { fin: true });
        await end.gets("fragments");
    });
    await test(`${name}: our ping is answered`, async (owned) => {
        const [end] = await make(owned);
        for (const said of ["", "x", "y".repeat(125)]) {
            end.socket.ping(said);
            equal(await end.pongs.next("a pong"), said, "the pong");
        }
    });
    await test(`${name}: zlink pings, and takes the pong`, async (owned) => {
        const [end, peer] = await make(owned, { heartbeat: 50 });
        await peer.says(/^come /);
        for (let count = 0; count < 5; ++count) await end.pings.next("a ping");
        expect(peer.isSilent, "web_peer has dropped who answered");
        await end.echoes("still here");
    });
    for (const [code, reason] of [[1000, "done"], [1001, "leaving"], [4321, "grün"]]) {
        await test(`${name}: ws closes with ${code}`, async (owned) => {
            const [end, peer] = await make(owned);
            const line = await peer.says(/^come \d+ wss?:\/\/127\.0\.0\.1:\d+\S*\|Path: \/chat/);
            end.socket.close(code, reason);
            await end.isClosedWith(`${code} `);
            await peer.says(new RegExp(`^gone ${line.split(" ")[1]} ${code} ${reason}$`));
        });
        await test(`${name}: zlink closes with ${code}`, async (owned) => {
            const [end, peer] = await make(owned);
            await peer.says(/^come /);
            end.socket.send(`!close ${code} ${reason}`);
            await end.isClosedWith(`${code} ${reason}`);
            await peer.says(new RegExp(`^gone \\d+ ${code} ${reason}$`));
        });
    }
    await test(`${name}: ws closes without a code`, async (owned) => {
        const [end, peer] = await make(owned);
        await peer.says(/^come /);
        end.socket.close();
        await end.isClosedWith("1005 ");
        await peer.says(/^gone \d+ 1005 /);
    });
    await test(`${name}: ws vanishes`, async (owned) => {
        const [end, peer] = await make(owned);
        await peer.says(/^come /);
        end.end();
        await peer.says(/^gone \d+ 1006 /);
    });
}

async function exchangeOnMany(ends) {
    for (let round = 0; round < 20; ++round) {
        ends.forEach((end, index) => end.socket.send(`${index} ${round} ${"x".repeat(round * index)}`));
    }
    for (let round = 0; round < 20; ++round) {
        for (const [index, end] of ends.entries()) await end.gets(`${index} ${round} ${"x".repeat(round * index)}`);
    }
}

for (const scheme of ["ws", "wss"]) {
    const client = `${scheme}: ws is the client`;
    await bothRoles(client, async (owned, options) => {
        const peer = owned(await bind(scheme, options));
        return [owned(await connect(peer.endpoint)), peer];
    });
    await test(`${client}: the server's favourite subprotocol is agreed on`, async (owned) => {
        const peer = owned(await bind(scheme, { subprotocols: "two,one" }));
        const end = owned(await connect(peer.endpoint, ["three", "one", "two"]));
        equal(end.socket.protocol, "two", "the subprotocol");
        await peer.says(/\|Subprotocol: two$/);
        expect(/no subprotocol/.test(await refusal(peer.endpoint, ["four"])), "a subprotocol that nobody offered");
    });
    await test(`${client}: a client that offers compression is served`, async (owned) => {
        const peer = owned(await bind(scheme));
        const end = owned(await connect(peer.endpoint, [], { perMessageDeflate: true }));
        await end.echoes("hello");
    });
    await test(`${client}: another path, and an Origin that is not listed, are refused`, async (owned) => {
        const peer = owned(await bind(scheme, { origins: "https://example.org" }));
        expect((await refusal(peer.endpoint.replace("chat", "other"))).includes("404"), "the path is not refused");
        expect((await refusal(peer.endpoint, [], { origin: "https://example.com" })).includes("403"), "the Origin is not refused");
        expect(peer.isSilent, "web_peer has heard of somebody");
        owned(await connect(peer.endpoint, [], { origin: "https://example.org" }));
        await peer.says(/\|Origin: https:\/\/example\.org$/);
    });
    await test(`${client}: ${CONNECTIONS} connections, and a message to all of them`, async (owned) => {
        const peer = owned(await bind(scheme));
        const ends = await Promise.all(Array.from({ length: CONNECTIONS }, () => connect(peer.endpoint)));
        ends.forEach(owned);
        await exchangeOnMany(ends);
        ends[0].socket.send("!all 100000");
        for (const end of ends) await end.gets(payload(100000));
        await ends[0].gets(String(CONNECTIONS));
    });

    const server = `${scheme}: ws is the server`;
    await bothRoles(server, (owned, options) => reached(scheme, owned, options));
    await test(`${server}: a subprotocol is agreed on`, async (owned) => {
        const choice = { handleProtocols: (offered) => (equal([...offered].join(), "one,two", "the offer"), "two") };
        const [end, peer] = await reached(scheme, owned, { subprotocols: "one,two" }, choice);
        equal(end.socket.protocol, "two", "the subprotocol");
        equal(end.path, "/chat?room=1", "the path");
        await peer.says(/\|Path: \/chat\?room=1\|Subprotocol: two$/);
    });
    await test(`${server}: a client told that the server is overloaded reconnects`, async (owned) => {
        let asked = 0;
        const verifyClient = (_, answer) => answer(++asked > 2, 503);
        const [end, peer] = await reached(scheme, owned, {}, { verifyClient });
        await peer.says(/^come 1 /);
        await end.echoes("at last");
    });
    await test(`${server}: ${CONNECTIONS} connections`, async (owned) => {
        const [first, , web] = await reached(scheme, owned, { times: CONNECTIONS });
        const ends = [first];
        while (ends.length < CONNECTIONS) ends.push(await web.connections.next("a connection"));
        await exchangeOnMany(ends);
    });
}
await test("wss: ws does not trust an authority that it does not know", async (owned) => {
    const peer = owned(await bind("wss"));
    expect(/certificate/.test(await refusal(peer.endpoint, [], { ca: [] })), "the certificate was not the reason");
    owned(await connect(peer.endpoint));
    await peer.says(/^come 1 /);
});
await test("wss: zlink does not trust an authority that it does not know", async (owned) => {
    const server = owned(await Server.start("wss"));
    const attempts = new Queue();
    server.http.on("tlsClientError", (error) => attempts.push(error.message));
    owned(await Peer.start("connect", server.endpoint));
    expect(/alert/.test(await attempts.next("a refusal")), "no alert told why");
    expect(server.connections.isEmpty, "it has connected");
});
process.exit(0);
