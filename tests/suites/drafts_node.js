// SPDX-License-Identifier: MPL-2.0
// The draft sockets of the npm package zeromq: its addon waits for them through the descriptor of a poller.
'use strict';

const zmq = require('zeromq');
const draft = require('zeromq/draft');

const MESSAGES = 1000;
const places = { tcp: () => 'tcp://127.0.0.1:*', ipc: () => 'ipc://*', inproc: (name) => `inproc://${name}` };

async function available() {
    return zmq.capability.draft === true || `zeromq's capabilities are ${JSON.stringify(zmq.capability)}`;
}

// Every message of a client needs a wake-up of each side.
async function clientServer(place) {
    const server = new draft.Server();
    await server.bind(place('server'));
    const clients = [new draft.Client(), new draft.Client()];
    const numbers = [new Set(), new Set()];
    (async () => {
        for await (const [request, { routingId }] of server) {
            numbers[Number(String(request).split(' ')[0])].add(routingId);
            await server.send(`re: ${request}`, { routingId });
        }
    })();
    await Promise.all(clients.map(async (client, name) => {
        client.connect(server.lastEndpoint);
        for (let i = 0; i < MESSAGES; ++i) {
            await client.send(`${name} ${i}`);
            const [reply] = await client.receive();
            if (String(reply) !== `re: ${name} ${i}`) {
                throw new Error(`${name} ${i} was answered with ${reply}`);
            }
        }
    }));
    server.close();
    const [one, other] = numbers.map((each) => [...each]);
    return (one.length === 1 && other.length === 1 && one[0] !== other[0]) || `numbers: ${one} and ${other}`;
}

async function unroutable() {
    const server = new draft.Server();
    await server.bind('tcp://127.0.0.1:*');
    try {
        await server.send('x', { routingId: 12345 });
    } catch (error) {
        return error.code === 'EHOSTUNREACH' || `it fails with ${error.code}`;
    }
    return 'it was sent';
}

async function radioDish(place) {
    const radio = new draft.Radio();
    await radio.bind(place('radio'));
    const dish = new draft.Dish();
    dish.join('news', 'weather', 'left');
    dish.leave('left');
    dish.connect(radio.lastEndpoint);
    // Until the last group has been joined, messages are lost.
    let isJoined = false;
    const joining = dish.receive().then(() => { isJoined = true; });
    while (!isJoined) {
        await radio.send('joined?', { group: 'weather' });
        await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await joining;
    for (let i = 0; i < MESSAGES; ++i) {
        await radio.send(String(i), { group: ['news', 'sports', 'left', 'newspaper'][i % 4] });
        if (i % 4 !== 0) {
            continue;
        }
        for (;;) {
            const [message, { group }] = await dish.receive();
            if (String(group) === 'news') {
                if (String(message) !== String(i)) {
                    return `${message} came in place of ${i}`;
                }
                break;
            }
            if (String(message) !== 'joined?') {
                return `${message} of ${group}`;
            }
        }
    }
    return true;
}

// More than the high-water marks hold: the sender has to wait for room.
async function scatterGather(place) {
    const scatter = new draft.Scatter({ sendHighWaterMark: 10 });
    const gather = new draft.Gather({ receiveHighWaterMark: 10 });
    await gather.bind(place('gather'));
    scatter.connect(gather.lastEndpoint);
    const sending = (async () => {
        for (let i = 0; i < 10 * MESSAGES; ++i) {
            await scatter.send(String(i));
        }
    })();
    let expected = 0;
    for await (const [message] of gather) {
        if (String(message) !== String(expected)) {
            return `${message} came in place of ${expected}`;
        }
        if (++expected === 10 * MESSAGES) {
            break;
        }
    }
    await sending;
    return true;
}

// Nothing is queued for a peer that is not there.
async function immediate() {
    const scatter = new draft.Scatter({ immediate: true });
    const gather = new draft.Gather();
    await gather.bind('tcp://127.0.0.1:*');
    scatter.connect('tcp://127.0.0.1:1');
    scatter.connect(gather.lastEndpoint);
    for (let i = 0; i < 10; ++i) {
        await scatter.send(String(i));
        const [message] = await gather.receive();
        if (String(message) !== String(i)) {
            return `${message} came in place of ${i}`;
        }
    }
    return true;
}

// The name of a group is bytes up to the first zero byte.
async function groupOfBytes() {
    const radio = new draft.Radio();
    const dish = new draft.Dish();
    await radio.bind('inproc://bytes');
    dish.join(Buffer.from([0xff, 0xfe, 0x00, 0x01]));
    dish.connect('inproc://bytes');
    await radio.send('text', { group: 'text' });
    await radio.send('bytes', { group: Buffer.from([0xff, 0xfe]) });
    const [message, { group }] = await dish.receive();
    return (String(message) === 'bytes' && group.equals(Buffer.from([0xff, 0xfe]))) || `${message} of ${group.toString('hex')}`;
}

async function receiveTimeout() {
    const gather = new draft.Gather({ receiveTimeout: 50 });
    await gather.bind('tcp://127.0.0.1:*');
    try {
        await gather.receive();
    } catch (error) {
        return error.code === 'EAGAIN' || `it fails with ${error.code}`;
    }
    return 'it received something';
}

const limit = (ms) => new Promise((resolve) => setTimeout(resolve, ms, `not within ${ms} ms`));

(async () => {
    const tests = [available, unroutable, immediate, groupOfBytes, receiveTimeout].map((test) => [test.name, test]);
    for (const test of [clientServer, radioDish, scatterGather]) {
        for (const [name, place] of Object.entries(places)) {
            tests.push([`${test.name} over ${name}`, () => test(place)]);
        }
    }
    for (const [name, test] of tests) {
        const result = await Promise.race([test(), limit(20000)]).catch((error) => error);
        console.log(result === true ? `PASS zeromq.js: ${name}` : `FAIL zeromq.js: ${name}  ${result}`);
    }
    process.exit(0);
})();
