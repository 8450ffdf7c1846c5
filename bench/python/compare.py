#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Compares the Python package zlink with pyzmq on its own libzmq, and with the package websockets.

    bench/python/compare.py [--pairs N] [--seconds S] [CASE...]

    push       Push to Pull, 64 B over tcp, one message per call
    aio        the same with asyncio
    request    round trips of Req and Rep, 64 B over tcp
    aio-request  the same with asyncio
    echo       a WebSocket server that sends 64 B back in event order, one message per call
    batch      the same, where zlink's server uses batches

Server and client are two processes. The two sides of a pair run one after the other, in turns; the
median of the pairs' ratios is printed, with its range. All cases run if none is named.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import pathlib
import statistics
import subprocess
import sys
import time

PAYLOAD = b"x" * 64
#: WebSocket connections, and messages under way on each.
CONNECTIONS = 20
DEPTH = 16
#: A process that has not ended by then has failed.
PROCESS_SECONDS_MAX = 120


def announce(endpoint):
    print(endpoint, flush=True)


def report(count, seconds):
    print(json.dumps({"rate": count / seconds}), flush=True)


class Window:
    """Counts messages from the first one on, for so many seconds."""

    # The clock is read once for so many messages.
    STEP = 256

    def __init__(self, seconds):
        self.seconds = seconds
        self.begin = None
        self.count = 0

    def is_over(self, count):
        now = time.perf_counter()
        if self.begin is None:
            self.begin = now
            return False
        self.count += count
        if now - self.begin < self.seconds:
            return False
        report(self.count, now - self.begin)
        return True


# Push and Pull.


def pull_zlink(seconds):
    import zlink

    with zlink.Context() as context:
        pull = zlink.Pull(context)
        announce(pull.bind("tcp://127.0.0.1:*"))
        measure_recv(pull.recv, seconds)


def pull_pyzmq(seconds):
    import zmq

    pull = zmq.Context().socket(zmq.PULL)
    announce(f"tcp://127.0.0.1:{pull.bind_to_random_port('tcp://127.0.0.1')}")
    measure_recv(pull.recv, seconds)


def measure_recv(recv, seconds):
    window = Window(seconds)
    recv()
    while not window.is_over(Window.STEP):
        for _ in range(Window.STEP):
            recv()


def push_zlink(endpoint):
    import zlink

    push = zlink.Push(zlink.Context())
    push.connect(endpoint)
    send = push.send
    while True:
        send(PAYLOAD)


def push_pyzmq(endpoint):
    import zmq

    push = zmq.Context().socket(zmq.PUSH)
    push.connect(endpoint)
    send = push.send
    while True:
        send(PAYLOAD)


# The same with asyncio.


async def measure_aio_recv(recv, seconds):
    window = Window(seconds)
    await recv()
    while not window.is_over(Window.STEP):
        for _ in range(Window.STEP):
            await recv()


def aio_pull_zlink(seconds):
    from zlink import aio

    async def main():
        pull = aio.Pull()
        announce(pull.bind("tcp://127.0.0.1:*"))
        await measure_aio_recv(pull.recv, seconds)

    asyncio.run(main())


def aio_pull_pyzmq(seconds):
    import zmq
    import zmq.asyncio

    async def main():
        pull = zmq.asyncio.Context().socket(zmq.PULL)
        announce(f"tcp://127.0.0.1:{pull.bind_to_random_port('tcp://127.0.0.1')}")
        await measure_aio_recv(pull.recv, seconds)

    asyncio.run(main())


def aio_push_zlink(endpoint):
    from zlink import aio

    async def main():
        push = aio.Push()
        push.connect(endpoint)
        while True:
            await push.send(PAYLOAD)

    asyncio.run(main())


def aio_push_pyzmq(endpoint):
    import zmq
    import zmq.asyncio

    async def main():
        push = zmq.asyncio.Context().socket(zmq.PUSH)
        push.connect(endpoint)
        while True:
            await push.send(PAYLOAD)

    asyncio.run(main())


# Requests.


def rep_zlink(_):
    import zlink

    rep = zlink.Rep(zlink.Context())
    announce(rep.bind("tcp://127.0.0.1:*"))
    while True:
        rep.send(rep.recv())


def rep_pyzmq(_):
    import zmq

    rep = zmq.Context().socket(zmq.REP)
    announce(f"tcp://127.0.0.1:{rep.bind_to_random_port('tcp://127.0.0.1')}")
    while True:
        rep.send(rep.recv())


def req_zlink(endpoint, seconds):
    import zlink

    req = zlink.Req(zlink.Context())
    req.connect(endpoint)
    measure_requests(req, seconds)


def req_pyzmq(endpoint, seconds):
    import zmq

    req = zmq.Context().socket(zmq.REQ)
    req.connect(endpoint)
    measure_requests(req, seconds)


def measure_requests(req, seconds):
    window = Window(seconds)
    while not window.is_over(16):
        for _ in range(16):
            req.send(PAYLOAD)
            req.recv()


async def aio_answer(rep):
    while True:
        await rep.send(await rep.recv())


async def measure_aio_requests(req, seconds):
    window = Window(seconds)
    while not window.is_over(16):
        for _ in range(16):
            await req.send(PAYLOAD)
            await req.recv()


def aio_rep_zlink(_):
    from zlink import aio

    async def main():
        rep = aio.Rep()
        announce(rep.bind("tcp://127.0.0.1:*"))
        await aio_answer(rep)

    asyncio.run(main())


def aio_rep_pyzmq(_):
    import zmq
    import zmq.asyncio

    async def main():
        rep = zmq.asyncio.Context().socket(zmq.REP)
        announce(f"tcp://127.0.0.1:{rep.bind_to_random_port('tcp://127.0.0.1')}")
        await aio_answer(rep)

    asyncio.run(main())


def aio_req_zlink(endpoint, seconds):
    from zlink import aio

    async def main():
        req = aio.Req()
        req.connect(endpoint)
        await measure_aio_requests(req, seconds)

    asyncio.run(main())


def aio_req_pyzmq(endpoint, seconds):
    import zmq
    import zmq.asyncio

    async def main():
        req = zmq.asyncio.Context().socket(zmq.REQ)
        req.connect(endpoint)
        await measure_aio_requests(req, seconds)

    asyncio.run(main())


# WebSocket. One client serves both servers.


def echo_zlink(_):
    from zlink import Message, PeerUnreachable, aio

    async def main():
        async with aio.Stream() as server:
            announce(server.bind("ws://127.0.0.1:*"))
            async for event in server:
                if isinstance(event, Message):
                    with contextlib.suppress(PeerUnreachable):
                        await server.send(event.peer, event.data)

    asyncio.run(main())


def batch_zlink(_):
    import zlink

    server = zlink.Stream(zlink.Context())
    announce(server.bind("ws://127.0.0.1:*"))
    while True:
        server.send_batch(server.recv_batch())


def echo_websockets(_):
    from websockets.asyncio.server import serve

    logging.disable()  # Its clients are ended without a farewell.

    async def echo(connection):
        async for message in connection:
            await connection.send(message)

    async def main():
        async with serve(echo, "127.0.0.1", 0, compression=None) as server:
            announce(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            await asyncio.get_running_loop().create_future()

    asyncio.run(main())


def echo_client(endpoint, seconds):
    import zlink

    context = zlink.Context()
    client = zlink.Stream(context)
    for _ in range(CONNECTIONS):
        client.connect(endpoint)
    for _ in range(CONNECTIONS):
        client.send_batch([(client.recv().peer, PAYLOAD)] * DEPTH)
    window = Window(seconds)
    batch = client.recv_batch()
    while not window.is_over(len(batch)):
        client.send_batch(batch)
        batch = client.recv_batch()


ROLES = {
    name: value
    for name, value in globals().items()
    if name.endswith(("_zlink", "_pyzmq", "_websockets", "_client"))
}

#: Of each case: the two sides, each a server and a client, and which of them reports.
CASES = {
    "push": (("pull_zlink", "push_zlink"), ("pull_pyzmq", "push_pyzmq"), "server"),
    "aio": (("aio_pull_zlink", "aio_push_zlink"), ("aio_pull_pyzmq", "aio_push_pyzmq"), "server"),
    "request": (("rep_zlink", "req_zlink"), ("rep_pyzmq", "req_pyzmq"), "client"),
    "aio-request": (("aio_rep_zlink", "aio_req_zlink"), ("aio_rep_pyzmq", "aio_req_pyzmq"), "client"),
    "echo": (("echo_zlink", "echo_client"), ("echo_websockets", "echo_client"), "client"),
    "batch": (("batch_zlink", "echo_client"), ("echo_websockets", "echo_client"), "client"),
}


def start(*arguments):
    command = [sys.executable, pathlib.Path(__file__), "--role", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def rate(side, reporter, seconds):
    server = client = None
    try:
        server = start(side[0], seconds)
        endpoint = server.stdout.readline().strip()
        client = start(side[1], endpoint, *([seconds] if reporter == "client" else []))
        reporting = server if reporter == "server" else client
        line = reporting.stdout.readline()
        if not line:
            sys.exit(f"compare: {side} ended without a result")
        return json.loads(line)["rate"]
    finally:
        for process in (client, server):
            if process is not None:
                process.kill()
                process.wait(PROCESS_SECONDS_MAX)


def compare(case, pairs, seconds):
    zlink_side, other_side, reporter = CASES[case]
    ratios, rates = [], ([], [])
    for pair in range(pairs):
        found = {}
        # In turns, so that a slower moment of the machine favours neither.
        for index in (0, 1) if pair % 2 == 0 else (1, 0):
            found[index] = rate((zlink_side, other_side)[index], reporter, seconds)
            rates[index].append(found[index])
        ratios.append(found[0] / found[1])
    result = {
        "case": case,
        "zlink": round(statistics.median(rates[0])),
        "other": round(statistics.median(rates[1])),
        "ratio": round(statistics.median(ratios), 2),
        "from": round(min(ratios), 2),
        "to": round(max(ratios), 2),
        "pairs": pairs,
    }
    print(json.dumps(result), flush=True)


def main():
    if sys.argv[1:2] == ["--role"]:
        role, *arguments = sys.argv[2:]
        ROLES[role](*(float(each) if each.replace(".", "").isdigit() else each for each in arguments))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    arguments = parser.parse_args()
    unknown = set(arguments.cases) - set(CASES)
    if unknown:
        parser.error(f"no case named {', '.join(sorted(unknown))}; the cases are {', '.join(CASES)}")
    for case in arguments.cases or CASES:
        compare(case, arguments.pairs, arguments.seconds)


if __name__ == "__main__":
    main()
