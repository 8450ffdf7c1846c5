// SPDX-License-Identifier: MPL-2.0
// Chromium plays and seeks the films of the suite http: in <video>, by hls.js and by dash.js.
//
//     browser.mjs HTTP HTTPS FOLDER SECOND CERTIFICATE
//
// Debian's Chromium decodes H.264 and AAC. If the one that is there does not, tests of films with them fail, and those
// with VP9 and Opus still tell of the server.
import { X509Certificate, createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { equal, expect, test } from "../web/harness.mjs";

const { chromium } = createRequire(`${process.env.NODE_FOLDER}/`)("playwright-core");
const [http, https, folder, second, certificate] = process.argv.slice(2);
const seek = Number(second);
const FILMS = [
    ["video", "fast.mp4"],
    ["video", "late.mp4"],
    ["video", "film.webm"],
    ["hls", "hls_ts/index.m3u8"],
    ["hls", "hls_fmp4/index.m3u8"],
    ["hls", "hls_single/index.m3u8"],
    ["dash", "dash/manifest.mpd"],
    ["dash", "dash_single/manifest.mpd"],
];

// Chromium takes the key of the server for a trusted one: if it ignored errors, it would keep nothing in its cache.
const key = new X509Certificate(readFileSync(certificate)).publicKey.export({ type: "spki", format: "der" });
const trusted = createHash("sha256").update(key).digest("base64");
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: [
        "--no-sandbox",
        "--disable-gpu",
        "--autoplay-policy=no-user-gesture-required",
        `--ignore-certificate-errors-spki-list=${trusted}`,
    ],
});
const context = await browser.newContext();

/** A page of the server, and the answers that it gets. */
async function open(owned, base) {
    const page = await context.newPage();
    owned({ end: () => void page.close() });
    const answers = [];
    page.on("response", (answer) => answers.push(answer));
    page.on("pageerror", (error) => console.error(error));
    await page.goto(`${base}/page/index.html`);
    return { page, answers };
}

async function play(owned, base, from, kind, name) {
    const { page, answers } = await open(owned, base);
    const isCrossOrigin = from !== "";
    const found = await page.evaluate((given) => window.play(...given), [kind, `${from}/${name}`, seek, isCrossOrigin]);
    expect(Math.abs(found.duration - 60) < 0.2, `the duration is ${found.duration}`);
    expect(found.width > 0 && found.height > 0, "it has no picture");
    expect(found.before > 0 && found.after > 0, `frames: ${found.before} before the seek, ${found.after} after it`);
    expect(found.isBuffered, `nothing is buffered at ${found.at}`);
    const refused = answers.filter((answer) => answer.status() >= 400 && !answer.url().endsWith("/favicon.ico"));
    equal(refused.map((answer) => `${answer.status()} ${answer.url()}`).join(), "", "what was refused");
    return answers.filter((answer) => !answer.url().includes("/modules/"));
}

for (const [scheme, base] of [["http", http], ["https", https]]) {
    for (const [kind, name] of FILMS) {
        await test(`${scheme}/${kind} ${name}`, async (owned) => {
            const answers = await play(owned, base, "", kind, name);
            if (kind === "video") {
                const partial = answers.filter((answer) => answer.url().endsWith(name));
                expect(partial.length >= 1, "no answer was seen");
                equal(partial.every((answer) => answer.status() === 206), true, "that the answers are partial");
            }
        });
    }
    await test(`${scheme}/text comes compressed`, async (owned) => {
        const { page } = await open(owned, base);
        const found = await page.evaluate((url) => window.fetchOnce(url, "no-store"), "/script.js");
        expect(found.content === readFileSync(`${folder}/script.js`, "utf8"), "the content differs");
        expect(found.encoded < found.decoded, `${found.encoded} bytes for ${found.decoded}`);
    });
    await test(`${scheme}/a file in the cache is asked for, and not sent again`, async (owned) => {
        const { page } = await open(owned, base);
        const first = await page.evaluate((url) => window.fetchOnce(url, "reload"), "/text.txt");
        const second = await page.evaluate((url) => window.fetchOnce(url, "no-cache"), "/text.txt");
        equal(second.content === first.content, true, "that the contents are the same");
        expect(first.transferred > first.encoded, `the first time ${first.transferred} bytes came`);
        expect(second.transferred > 0 && second.transferred < 1000, `${second.transferred} bytes came`);
    });
}
// A page at localhost reads films at 127.0.0.1, another origin.
const other = http.replace("127.0.0.1", "localhost");
for (const [kind, name] of FILMS) {
    await test(`another origin/${kind} ${name}`, async (owned) => {
        await play(owned, other, http, kind, name);
    });
}
await browser.close();
process.exit(0);
