// SPDX-License-Identifier: MPL-2.0
// Node's fetch, its modules http and https, and the npm package undici.
//
//     node_clients.mjs BASE FOLDER SUMS
//
// SUMS has a line 'SHA256 BYTES NAME' for each file to fetch. NODE_EXTRA_CA_CERTS names the authority.
import { createHash } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { createRequire } from "node:module";
import { equal, expect, test } from "../web/harness.mjs";

const undici = createRequire(`${process.env.NODE_FOLDER}/`)("undici");
const [base, folder, sums] = process.argv.slice(2);
const RANGE_COUNT = 20;
const RANGE_MAX = 1_000_000;

/** Counts connections of fetch and undici, both of which announce them. */
let connected = 0;
subscribe("undici:client:connected", () => ++connected);

class Fetch {
    name = "fetch";
    connectionsMax = 2; // Against a server of Node's own too it opens a second one after the first file.
    #before = connected;

    async get(url, fields = {}) {
        const response = await fetch(url, { headers: fields, cache: "no-store" });
        const content = Buffer.from(await response.arrayBuffer());
        return { status: response.status, field: (name) => response.headers.get(name), content };
    }
    get connections() {
        return connected - this.#before;
    }
    async end() {}
}

class Undici {
    name = "undici";
    connectionsMax = 1;
    #agent = new undici.Agent({ connections: 1 });
    #before = connected;

    async get(url, fields = {}) {
        const response = await undici.request(url, { headers: fields, dispatcher: this.#agent });
        const content = Buffer.from(await response.body.arrayBuffer());
        return { status: response.statusCode, field: (name) => response.headers[name.toLowerCase()], content };
    }
    get connections() {
        return connected - this.#before;
    }
    end() {
        return this.#agent.close();
    }
}

class Http {
    name = "http";
    connectionsMax = 1;
    #module = base.startsWith("https:") ? https : http;
    #agent = new this.#module.Agent({ keepAlive: true, maxSockets: 1 });
    connections = 0;

    get(url, fields = {}) {
        return new Promise((resolve, reject) => {
            const request = this.#module.get(url, { agent: this.#agent, headers: fields }, (response) => {
                const parts = [];
                response.on("error", reject);
                response.on("data", (part) => parts.push(part));
                response.on("end", () => {
                    const field = (name) => response.headers[name.toLowerCase()];
                    resolve({ status: response.statusCode, field, content: Buffer.concat(parts) });
                });
            });
            request.on("error", reject);
            request.on("socket", () => (this.connections += request.reusedSocket ? 0 : 1));
        });
    }
    async end() {
        this.#agent.destroy();
    }
}

const wanted = readFileSync(sums, "utf8").trimEnd().split("\n").map((line) => {
    const [, sum, bytes, name] = /^(\S+) (\d+) (.*)$/.exec(line);
    return { sum, bytes: Number(bytes), name };
});

function urlOf(name) {
    return `${base}/${name.split("/").map(encodeURIComponent).join("/")}`;
}

/** Bytes of a file. */
function read(name, first, length) {
    const file = openSync(`${folder}/${name}`);
    const content = Buffer.alloc(length);
    readSync(file, content, 0, length, first);
    closeSync(file);
    return content;
}

for (const kind of [Fetch, Undici, Http]) {
    const client = new kind();
    for (const { sum, bytes, name } of wanted) {
        await test(`${client.name}/whole ${name}`, async () => {
            const { status, content } = await client.get(urlOf(name));
            equal(status, 200, "the status");
            equal(content.length, bytes, "the number of bytes");
            equal(createHash("sha256").update(content).digest("hex"), sum, "the SHA-256");
        });
    }
    await test(`${client.name}/ranges`, async () => {
        const size = statSync(`${folder}/random.bin`).size;
        for (let count = 0; count < RANGE_COUNT; ++count) {
            const first = (count * 104729 * 41) % size;
            const last = Math.min(first + ((count * 7919 * 1009) % RANGE_MAX), size - 1);
            const answer = await client.get(urlOf("random.bin"), { Range: `bytes=${first}-${last}` });
            equal(answer.status, 206, "the status");
            equal(answer.field("Content-Range"), `bytes ${first}-${last}/${size}`, "Content-Range");
            equal(answer.content.equals(read("random.bin", first, last - first + 1)), true, "equality of the content");
        }
    });
    await test(`${client.name}/conditions`, async () => {
        const url = urlOf("text.txt");
        const first = await client.get(url);
        const conditions = { "If-None-Match": first.field("ETag"), "If-Modified-Since": first.field("Last-Modified") };
        for (const [name, value] of Object.entries(conditions)) {
            const answer = await client.get(url, { [name]: value });
            equal(answer.status, 304, `the status with ${name}`);
            equal(answer.content.length, 0, "the number of bytes");
            equal(answer.field("ETag"), first.field("ETag"), "ETag");
        }
        equal((await client.get(url, { "If-None-Match": '"other"' })).status, 200, "the status with another tag");
        equal((await client.get(url, { "If-Match": '"other"' })).status, 412, "the status of If-Match");
    });
    await test(`${client.name}/persistent connection`, async () => {
        const { connections } = client;
        expect(connections > 0 && connections <= client.connectionsMax, `there were ${connections} connections`);
    });
    await client.end();
}
process.exit(0);
