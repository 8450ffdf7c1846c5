// SPDX-License-Identifier: MPL-2.0
// ZLINK_STREAM with a page in Chromium at the other end, over ws and wss.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { Peer, equal, expect, payload, test } from "./harness.mjs";

const { chromium } = createRequire(`${process.env.NODE_FOLDER}/`)("playwright-core");
const folder = process.env.CERTIFICATES;
const identity = { certificate: `${folder}/server.crt`, key: `${folder}/server.key` };
const script = readFileSync(new URL("page.js", import.meta.url));
const PAGES = 5;

const site = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : "<!doctype html><title>page</title><script src=page.js></script>");
});
await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
const port = site.address().port;
const listed = `http://127.0.0.1:${port}`; // The Origin that is allowed, and another one of the same page.
const other = `http://localhost:${port}`;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const trusting = await browser.newContext({ ignoreHTTPSErrors: true });
const strict = await browser.newContext();

/** A page, and its WebSocket after connect(). */
class Tab {
    static async open(origin = listed, context = trusting) {
        const tab = new Tab();
        tab.page = await context.newPage();
        await tab.page.goto(origin);
        return tab;
    }

    /** The outcome: 'open SUBPROTOCOL', or 'closed CODE REASON'. */
    connect(endpoint, subprotocols = []) {
        return this.page.evaluate(([to, offered]) => window.connect(to, offered), [endpoint, subprotocols]);
    }
    echoesText(text) {
        return this.page.evaluate((said) => window.echoesText(said), text);
    }
    echoesBinary(sizes) {
        return this.page.evaluate((asked) => window.echoesBinary(asked), sizes);
    }
    say(text) {
        return this.page.evaluate((said) => window.socket.send(said), text);
    }
    /** The next message: a text, or a list of the number of bytes and their checksum. */
    hears() {
        return this.page.evaluate(() => window.hears());
    }
    close(...said) {
        return this.page.evaluate((given) => window.socket.close(...given), said);
    }
    ended() {
        return this.page.evaluate(() => window.ended());
    }
    end() {
        void this.page.close();
    }
}

async function connected(scheme, owned, subprotocols = [], options = {}) {
    const peer = owned(await bind(scheme, options));
    const tab = owned(await Tab.open());
    expect(/^open/.test(await tab.connect(peer.endpoint, subprotocols)), "it does not open");
    return [tab, peer];
}

function bind(scheme, options = {}) {
    const own = scheme === "wss" ? identity : {};
    return Peer.start("bind", `${scheme}://127.0.0.1:*/chat`, { origins: listed, ...own, ...options });
}

/** The checksum that a page computes of web_peer's bytes. */
function sumOf(bytes) {
    return payload(bytes).reduce((sum, byte, index) => (sum + byte * (1 + (index % 1000))) % 1000003, 0);
}

for (const scheme of ["ws", "wss"]) {
    await test(`${scheme}: the page's path and Origin are told`, async (owned) => {
        const [, peer] = await connected(scheme, owned);
        await peer.says(new RegExp(`^come 1 ${scheme}://127\\.0\\.0\\.1:\\d+/chat\\|Path: /chat\\|Origin: ${listed}$`));
    });
    await test(`${scheme}: text`, async (owned) => {
        const [tab] = await connected(scheme, owned);
        for (const text of ["", "x", "grün 😀", "y".repeat(126), "z".repeat(65536), "é".repeat(1 << 20)]) {
            equal(await tab.echoesText(text), "the same", `a text of ${text.length} letters`);
        }
    });
    await test(`${scheme}: binary, up to 1 MiB`, async (owned) => {
        const [tab] = await connected(scheme, owned);
        equal(await tab.echoesBinary([0, 1, 125, 126, 65535, 65536, 1 << 20]), "the same", "what came back");
    });
    await test(`${scheme}: 20 messages of 1 MiB under way at once`, async (owned) => {
        const [tab] = await connected(scheme, owned);
        equal(await tab.echoesBinary(Array(20).fill(1 << 20)), "the same", "what came back");
    });
    await test(`${scheme}: 1 MiB that zlink makes`, async (owned) => {
        const [tab] = await connected(scheme, owned);
        await tab.say("!send 1048576");
        equal(String(await tab.hears()), `${1 << 20},${sumOf(1 << 20)}`, "what came");
    });
    await test(`${scheme}: the server's favourite subprotocol is agreed on`, async (owned) => {
        const peer = owned(await bind(scheme, { subprotocols: "two,one" }));
        const tab = owned(await Tab.open());
        equal(await tab.connect(peer.endpoint, ["three", "one", "two"]), "open two", "the outcome");
        await peer.says(/\|Subprotocol: two$/);
    });
    await test(`${scheme}: a page whose subprotocols the server lacks gets no connection`, async (owned) => {
        const peer = owned(await bind(scheme, { subprotocols: "two,one" }));
        equal(await owned(await Tab.open()).connect(peer.endpoint, ["four"]), "closed 1006 ", "the outcome");
    });
    for (const [code, reason] of [[1000, "done"], [3000, ""], [4999, "grün"]]) {
        await test(`${scheme}: the page closes with ${code}`, async (owned) => {
            const [tab, peer] = await connected(scheme, owned);
            await peer.says(/^come /);
            await tab.close(code, reason);
            equal(await tab.ended(), `closed ${code}  clean`, "the page's end");
            await peer.says(new RegExp(`^gone 1 ${code} ${reason}$`));
        });
    }
    await test(`${scheme}: the page closes without a code`, async (owned) => {
        const [tab, peer] = await connected(scheme, owned);
        await peer.says(/^come /);
        await tab.close();
        equal(await tab.ended(), "closed 1005  clean", "the page's end");
        await peer.says(/^gone 1 1005 /);
    });
    for (const [code, reason] of [[1000, "done"], [1001, "leaving"], [1008, ""], [1011, "oops"], [4001, "grün"]]) {
        await test(`${scheme}: zlink closes with ${code}`, async (owned) => {
            const [tab, peer] = await connected(scheme, owned);
            await peer.says(/^come /);
            await tab.say(`!close ${code} ${reason}`);
            equal(await tab.ended(), `closed ${code} ${reason} clean`, "the page's end");
            await peer.says(new RegExp(`^gone 1 ${code} ${reason}$`));
        });
    }
    await test(`${scheme}: the page is left`, async (owned) => {
        const [tab, peer] = await connected(scheme, owned);
        await peer.says(/^come /);
        await tab.page.goto("about:blank");
        await peer.says(/^gone 1 100[156] /);
    });
    await test(`${scheme}: the server's process ends`, async (owned) => {
        const [tab, peer] = await connected(scheme, owned);
        peer.end();
        equal(await tab.ended(), "closed 1006  unclean", "the page's end");
    });
    await test(`${scheme}: a page of an Origin that is not listed gets no connection`, async (owned) => {
        const peer = owned(await bind(scheme));
        equal(await owned(await Tab.open(other)).connect(peer.endpoint), "closed 1006 ", "the outcome");
        expect(peer.isSilent, "the application has heard of it");
        expect(/^open/.test(await owned(await Tab.open()).connect(peer.endpoint)), "the listed one gets none");
        await peer.says(/^come 1 /);
    });
    await test(`${scheme}: another path is not found`, async (owned) => {
        const peer = owned(await bind(scheme));
        const tab = owned(await Tab.open());
        equal(await tab.connect(peer.endpoint.replace("chat", "other")), "closed 1006 ", "the outcome");
    });
    for (const bytes of [10, 100000, 1 << 20]) {
        await test(`${scheme}: ${bytes} bytes go to ${PAGES} pages at once`, async (owned) => {
            const peer = owned(await bind(scheme));
            const tabs = [];
            while (tabs.length < PAGES) {
                tabs.push(owned(await Tab.open()));
                expect(/^open/.test(await tabs.at(-1).connect(peer.endpoint)), "a page does not open");
            }
            await tabs[0].say(`!all ${bytes}`);
            for (const tab of tabs) equal(String(await tab.hears()), `${bytes},${sumOf(bytes)}`, "what came");
            equal(await tabs[0].hears(), String(PAGES), "how many got it");
        });
    }
    await test(`${scheme}: 100 connections of one page`, async (owned) => {
        const peer = owned(await bind(scheme));
        const tab = owned(await Tab.open());
        equal(await tab.page.evaluate((to) => window.exchangeOnMany(to, 100), peer.endpoint), 100, "the echoes");
    });
}
await test("wss: a browser that does not know the authority gets no connection", async (owned) => {
    const peer = owned(await bind("wss"));
    equal(await owned(await Tab.open(listed, strict)).connect(peer.endpoint), "closed 1006 ", "the outcome");
    expect(peer.isSilent, "the application has heard of it");
});
await browser.close();
process.exit(0);
