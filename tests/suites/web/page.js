// SPDX-License-Identifier: MPL-2.0
// The functions of the page with which browser.mjs tests zlink.
"use strict";

let heard, waiting, outcome;

/** Connects; returns 'open SUBPROTOCOL', or 'closed CODE REASON'. */
function connect(endpoint, subprotocols) {
    heard = [];
    waiting = [];
    const socket = new WebSocket(endpoint, subprotocols);
    window.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
        const next = waiting.shift();
        if (next) next(data);
        else heard.push(data);
    };
    outcome = new Promise((resolve) => {
        socket.addEventListener("close", ({ code, reason, wasClean }) => resolve({ code, reason, wasClean }));
    });
    return new Promise((resolve) => {
        socket.onopen = () => resolve(`open ${socket.protocol}`);
        void outcome.then(({ code, reason }) => resolve(`closed ${code} ${reason}`));
    });
}

async function ended() {
    const { code, reason, wasClean } = await outcome;
    return `closed ${code} ${reason} ${wasClean ? "clean" : "unclean"}`;
}

function next() {
    return heard.length > 0 ? Promise.resolve(heard.shift()) : new Promise((resolve) => waiting.push(resolve));
}

async function echoesText(text) {
    window.socket.send(text);
    const came = await next();
    return came === text ? "the same" : `${typeof came} of ${came.length ?? came.byteLength}`;
}

function made(bytes) {
    return Uint8Array.from({ length: bytes }, (_, index) => (index * 7 + Math.floor(index / 251)) & 0xff);
}

/** Sends a message of each of those sizes, then waits for them. */
async function echoesBinary(sizes) {
    for (const bytes of sizes) window.socket.send(made(bytes));
    for (const bytes of sizes) {
        const came = await next();
        if (!(came instanceof ArrayBuffer)) return `a text instead of ${bytes} bytes`;
        const content = new Uint8Array(came);
        const expected = made(bytes);
        if (content.length !== bytes || content.some((byte, index) => byte !== expected[index])) {
            return `${content.length} others instead of ${bytes} bytes`;
        }
    }
    return "the same";
}

async function hears() {
    const came = await next();
    if (typeof came === "string") return came;
    const content = new Uint8Array(came);
    return [content.length, content.reduce((sum, byte, index) => (sum + byte * (1 + (index % 1000))) % 1000003, 0)];
}

/** Opens connections at the same time, exchanges a message on each, and returns the number of those that came back. */
async function exchangeOnMany(endpoint, count) {
    const exchange = (number) =>
        new Promise((resolve) => {
            const socket = new WebSocket(endpoint);
            socket.onopen = () => socket.send(`number ${number}`);
            socket.onmessage = ({ data }) => resolve(data === `number ${number}`);
            socket.onclose = () => resolve(false);
        });
    const outcomes = await Promise.all(Array.from({ length: count }, (_, number) => exchange(number)));
    return outcomes.filter((each) => each).length;
}
