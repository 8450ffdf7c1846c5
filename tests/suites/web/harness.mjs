// SPDX-License-Identifier: MPL-2.0
// Shared by the tests of WebSocket with JavaScript at the other end: one line for each test, and the program web_peer,
// which is zlink's side.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export const SECONDS_MAX = 20;

/** Waits for `promise`, at most SECONDS_MAX. */
export function soon(promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${what} did not come`)), SECONDS_MAX * 1000);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A queue of values that a test can wait for. */
export class Queue {
    #values = [];
    #waiting = [];

    push(value) {
        const next = this.#waiting.shift();
        if (next) next(value);
        else this.#values.push(value);
    }

    next(what = "what was waited for") {
        if (this.#values.length > 0) return Promise.resolve(this.#values.shift());
        return soon(new Promise((resolve) => this.#waiting.push(resolve)), what);
    }

    get isEmpty() {
        return this.#values.length === 0;
    }
}

/** A running web_peer. */
export class Peer {
    #process;
    #lines = new Queue();

    static async start(way, endpoint, options = {}) {
        const peer = new Peer();
        const given = Object.entries(options).map(([name, value]) => `${name}=${value}`);
        peer.#process = spawn(process.env.WEB_PEER, [way, endpoint, ...given], { stdio: ["ignore", "pipe", "inherit"] });
        createInterface({ input: peer.#process.stdout }).on("line", (line) => peer.#lines.push(line));
        peer.endpoint = await peer.#lines.next("web_peer's endpoint");
        return peer;
    }

    /** The next line, which must match `pattern`. */
    async says(pattern) {
        const line = await this.#lines.next(`web_peer's ${pattern}`);
        expect(pattern.test(line), `web_peer says '${line}', not ${pattern}`);
        return line;
    }

    get isSilent() {
        return this.#lines.isEmpty;
    }

    end() {
        this.#process.kill();
    }
}

/** The bytes that web_peer generates. */
export function payload(bytes) {
    const made = Buffer.alloc(bytes);
    for (let index = 0; index < bytes; ++index) made[index] = (index * 7 + Math.floor(index / 251)) & 0xff;
    return made;
}

export function expect(holds, otherwise) {
    if (!holds) throw new Error(otherwise);
}

export function equal(found, expected, what) {
    expect(found === expected, `${what} is ${found}, not ${expected}`);
}

/** Runs a test. At its end the objects that it passed to `owned` are ended. */
export async function test(name, body) {
    const owned = [];
    try {
        await soon(body((each) => (owned.push(each), each)), "the end of the test");
        console.log(`PASS ${name}`);
    } catch (error) {
        console.log(`FAIL ${name}  ${String(error.message).split("\n")[0]}`);
    }
    for (const each of owned.reverse()) each.end();
}
