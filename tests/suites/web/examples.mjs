// SPDX-License-Identifier: MPL-2.0
// The pages under examples/ in Chromium, each with its server.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { connect, createServer as createTcpServer } from "node:net";
import { equal, expect, test } from "./harness.mjs";

const { chromium } = createRequire(`${process.env.NODE_FOLDER}/`)("playwright-core");
const examples = new URL("../../../examples/", import.meta.url);
const programs = process.env.EXAMPLES; // A folder with the servers, by name.

function freePort() {
    return new Promise((resolve) => {
        const probe = createTcpServer().listen(0, "127.0.0.1", () => {
            const { port } = probe.address();
            probe.close(() => resolve(port));
        });
    });
}

async function listens(port) {
    for (;;) {
        const has = await new Promise((resolve) => {
            const probe = connect(port, "127.0.0.1", () => (probe.destroy(), resolve(true)));
            probe.on("error", () => resolve(false));
        });
        if (has) return;
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

/** A running server, and the URL of its page. */
async function start(name, html, endpoint, owned) {
    const port = await freePort();
    const given = endpoint.replace(/:\d+/, `:${port}`);
    const page = readFileSync(new URL(html, examples), "utf8");
    expect(page.includes(`"${endpoint}"`), `${html} does not name ${endpoint}`);
    const server = spawn(`${programs}/${name}`, [given], { stdio: ["ignore", "ignore", "inherit"] });
    const ended = new Promise((resolve) => server.on("exit", (status) => resolve(status)));
    owned({ end: () => server.kill("SIGKILL") });
    const site = createServer((_, response) => {
        response.setHeader("Content-Type", "text/html");
        response.end(page.replace(endpoint, given));
    });
    await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
    owned({ end: () => site.close() });
    await listens(port);
    return { url: `http://127.0.0.1:${site.address().port}`, stop: () => (server.kill("SIGTERM"), ended) };
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });

async function open(url, owned) {
    const page = await browser.newPage();
    owned({ end: () => void page.close() });
    await page.goto(url);
    return page;
}

/** Waits until the text of the page has `words` in it. */
function shows(page, words) {
    return page.waitForFunction((wanted) => document.body.innerText.includes(wanted), words);
}

await test("browser_echo: the page shows what it sent", async (owned) => {
    const { url } = await start("browser_echo", "browser_echo.html", "ws://127.0.0.1:8080/echo", owned);
    await shows(await open(url, owned), "hello from the page");
});

await test("chat: what one page says is on both", async (owned) => {
    const { url, stop } = await start("chat_server", "chat/chat.html", "ws://127.0.0.1:8082/chat", owned);
    const ann = await open(url, owned);
    await shows(ann, "guest 1 has joined");
    const bob = await open(url, owned);
    await shows(ann, "guest 2 has joined");
    await bob.fill("#said", "grün 😀");
    await bob.press("#said", "Enter");
    for (const page of [ann, bob]) await shows(page, "guest 2: grün 😀");
    await bob.goto("about:blank");
    await shows(ann, "guest 2 has left");
    equal(await stop(), 0, "the server's status");
    await shows(ann, "closed: 1001");
});

await test("game: both pages see where a player moves, and that the server goes away", async (owned) => {
    const { url, stop } = await start("game_server", "game/game.html", "ws://127.0.0.1:8081/game", owned);
    const pages = [await open(url, owned), await open(url, owned)];
    for (const page of pages) await shows(page, "connected");
    const field = await pages[0].locator("#field").boundingBox();
    await pages[0].mouse.move(field.x + 100, field.y + 50);
    await pages[0].mouse.move(field.x + 201, field.y + 151);
    for (const page of pages) {
        await page.waitForFunction(() => /(^|;)200 150;/.test(document.querySelector("#field").dataset.players));
    }
    equal(await stop(), 0, "the server's status");
    for (const page of pages) await shows(page, "closed: 1001");
});
await browser.close();
process.exit(0);
