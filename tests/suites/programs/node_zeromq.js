// The npm package zeromq's own API: sends and receives through async functions and iterators.
'use strict';

const zmq = require('zeromq');

async function pair() {
    const a = new zmq.Pair();
    const b = new zmq.Pair();
    await a.bind('inproc://pair');
    b.connect('inproc://pair');
    await a.send(['one', 'two']);
    const frames = await b.receive();
    return frames.map(String).join() === 'one,two' || `received ${frames}`;
}

// Both sides wait in turn, so every message needs its own wake-up.
async function requestReply() {
    const server = new zmq.Reply();
    await server.bind('tcp://127.0.0.1:*');
    const client = new zmq.Request();
    client.connect(server.lastEndpoint);
    (async () => {
        for await (const [request] of server) {
            await server.send(`${request}!`);
        }
    })();
    for (let i = 0; i < 1000; ++i) {
        await client.send(String(i));
        const [reply] = await client.receive();
        if (String(reply) !== `${i}!`) {
            return `${i} was answered with ${reply}`;
        }
    }
    server.close();
    return true;
}

// More than the high-water marks hold: the sender has to wait for room.
async function pushPull() {
    const count = 20000;
    const push = new zmq.Push({ sendHighWaterMark: 10 });
    const pull = new zmq.Pull({ receiveHighWaterMark: 10 });
    await push.bind('tcp://127.0.0.1:*');
    pull.connect(push.lastEndpoint);
    const sending = (async () => {
        for (let i = 0; i < count; ++i) {
            await push.send(String(i));
        }
    })();
    let expected = 0;
    for await (const [message] of pull) {
        if (String(message) !== String(expected)) {
            return `${message} came in place of ${expected}`;
        }
        if (++expected === count) {
            break;
        }
    }
    await sending;
    return true;
}

async function publishSubscribe() {
    const publisher = new zmq.XPublisher();
    const subscriber = new zmq.Subscriber();
    await publisher.bind('tcp://127.0.0.1:*');
    subscriber.connect(publisher.lastEndpoint);
    subscriber.subscribe('b');
    const [subscription] = await publisher.receive();
    if (subscription.toString('latin1') !== '\x01b') {
        return `the subscription is ${subscription}`;
    }
    for (const topic of ['a', 'b', 'c']) {
        await publisher.send([topic, 'x']);
    }
    const [topic] = await subscriber.receive();
    return String(topic) === 'b' || `received ${topic}`;
}

async function routerDealer() {
    const router = new zmq.Router();
    await router.bind('inproc://router');
    const dealers = Array.from({ length: 10 }, () => new zmq.Dealer());
    for (const dealer of dealers) {
        dealer.connect('inproc://router');
        await dealer.send('hello');
    }
    for (let i = 0; i < dealers.length; ++i) {
        const [peer, body] = await router.receive();
        await router.send([peer, body]);
    }
    const replies = await Promise.all(dealers.map((dealer) => dealer.receive()));
    return replies.every(([body]) => String(body) === 'hello') || `received ${replies}`;
}

// A send that waits before there is a peer goes on when one connects.
async function lateConnect() {
    const push = new zmq.Push();
    await push.bind('tcp://127.0.0.1:*');
    const sending = push.send('early');
    const pull = new zmq.Pull();
    pull.connect(push.lastEndpoint);
    const [message] = await pull.receive();
    await sending;
    return String(message) === 'early' || `received ${message}`;
}

async function receiveTimeout() {
    const pull = new zmq.Pull({ receiveTimeout: 50 });
    await pull.bind('tcp://127.0.0.1:*');
    try {
        await pull.receive();
    } catch (error) {
        return error.code === 'EAGAIN' || `it fails with ${error.code}`;
    }
    return 'it received something';
}

async function events() {
    const server = new zmq.Reply();
    const seen = [];
    server.events.on('bind', () => seen.push('bind'));
    const accepted = new Promise((resolve) => server.events.on('handshake', resolve));
    await server.bind('tcp://127.0.0.1:*');
    const client = new zmq.Request();
    client.connect(server.lastEndpoint);
    await accepted;
    return seen.includes('bind') || `seen: ${seen}`;
}

async function curve() {
    const server = zmq.curveKeyPair();
    const client = zmq.curveKeyPair();
    const push = new zmq.Push({ curveServer: true, curveSecretKey: server.secretKey });
    const pull = new zmq.Pull({
        curveServerKey: server.publicKey,
        curvePublicKey: client.publicKey,
        curveSecretKey: client.secretKey,
    });
    await push.bind('tcp://127.0.0.1:*');
    pull.connect(push.lastEndpoint);
    await push.send('secret');
    const [message] = await pull.receive();
    return String(message) === 'secret' || `received ${message}`;
}

async function proxy() {
    const device = new zmq.Proxy(new zmq.Router(), new zmq.Dealer());
    await device.frontEnd.bind('tcp://127.0.0.1:*');
    await device.backEnd.bind('tcp://127.0.0.1:*');
    const client = new zmq.Request();
    const server = new zmq.Reply();
    client.connect(device.frontEnd.lastEndpoint);
    server.connect(device.backEnd.lastEndpoint);
    const running = device.run();
    await client.send('ask');
    await server.send(await server.receive());
    const [reply] = await client.receive();
    device.terminate();
    await running;
    return String(reply) === 'ask' || `received ${reply}`;
}

const limit = (ms) => new Promise((resolve) => setTimeout(resolve, ms, `not within ${ms} ms`));

(async () => {
    const tests = [
        pair, requestReply, pushPull, publishSubscribe, routerDealer, lateConnect, receiveTimeout, events, curve, proxy,
    ];
    for (const test of tests) {
        const result = await Promise.race([test(), limit(15000)]).catch((error) => error);
        console.log(result === true ? `PASS async_${test.name}` : `FAIL async_${test.name}  ${result}`);
    }
    process.exit(0);
})();
