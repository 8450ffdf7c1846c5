# SPDX-License-Identifier: MPL-2.0
"""Signals, the GIL, fork and the end of the interpreter.

A timer's signal arrives while a call waits, or just before it; both have to work.
"""

import contextlib
import os
import signal
import sys
import threading
import time

import pytest

import zlink
from conftest import DEADLINE, forks, run_python


@contextlib.contextmanager
def alarms(handler, seconds, interval=0.0):
    former = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds, interval)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def interrupt(number, frame):
    raise KeyboardInterrupt


def waits(context):
    """Calls that wait without limit."""
    pull = zlink.Pull(context)
    push = zlink.Push(context)
    stream = zlink.Stream(context)
    lonely = zlink.Router(context), zlink.Dealer(context)
    poller = zlink.Poller()
    poller.register(pull)
    return {
        "recv": pull.recv,
        "recv_multipart": pull.recv_multipart,
        "recv_into": lambda: pull.recv_into(bytearray(1)),
        "recv_frame": pull.recv_frame,
        "send": lambda: push.send(b"x"),
        "send a large frame": lambda: push.send(bytes(100_000)),
        "send_multipart": lambda: push.send_multipart([b"x", b"y"]),
        "poll": pull.poll,
        "poller": poller.poll,
        "proxy": lambda: zlink.proxy(*lonely),
        "stream recv": stream.recv,
        "stream recv_batch": stream.recv_batch,
    }


@pytest.mark.parametrize("io_threads", [1, 0])
@pytest.mark.parametrize(
    "name",
    [
        "recv",
        "recv_multipart",
        "recv_into",
        "recv_frame",
        "send",
        "send a large frame",
        "send_multipart",
        "poll",
        "poller",
        "proxy",
        "stream recv",
        "stream recv_batch",
    ],
)
def test_a_signal_handler_that_raises_ends_the_wait(name, io_threads):
    if name == "proxy" and io_threads == 0:
        pytest.skip("no signal interrupts a proxy that does the I/O")
    with zlink.Context(io_threads) as context:
        call = waits(context)[name]
        with alarms(interrupt, 0.02), pytest.raises(KeyboardInterrupt):
            call()


def test_a_signal_handler_that_raises_ends_a_send_to_a_full_peer(ws):
    def fill():
        while True:
            ws.server.send(ws.peer, bytes(1_000_000))

    with alarms(interrupt, 0.2), pytest.raises(KeyboardInterrupt):
        fill()


def test_a_signal_handler_that_raises_ends_term():
    context = zlink.Context()
    push = zlink.Push(context)
    push.connect("tcp://127.0.0.1:1")
    push.send(b"x")
    with alarms(interrupt, 0.05), pytest.raises(KeyboardInterrupt):
        context.term()
    assert not context.closed and push.closed


@pytest.mark.parametrize("io_threads", [1, 0])
def test_a_wait_continues_with_the_time_that_is_left(io_threads):
    count = 0

    def handler(number, frame):
        nonlocal count
        count += 1

    with zlink.Context(io_threads) as context:
        pull = zlink.Pull(context)
        with alarms(handler, 0.03, 0.03):
            begin = time.monotonic()
            with pytest.raises(zlink.Again):
                pull.recv(timeout=0.3)
            took = time.monotonic() - begin
    assert 0.29 <= took < 5
    assert count >= 2


def test_a_signal_handler_may_use_and_close_the_socket(pipeline):
    push, pull = pipeline

    def send(number, frame):
        push.send(b"from the handler")

    with alarms(send, 0.02):
        assert pull.recv() == b"from the handler"

    with alarms(lambda number, frame: pull.close(), 0.02), pytest.raises(zlink.Closed):
        pull.recv()


def test_other_threads_run_while_a_call_waits(pipeline):
    push, pull = pipeline
    thread = threading.Timer(0, push.send, [b"x"])
    thread.start()
    assert pull.recv(timeout=DEADLINE) == b"x"


def test_threads_with_sockets_of_their_own(context):
    pull = zlink.Pull(context)
    pull.recv_timeout = DEADLINE
    endpoint = pull.bind("inproc://many")

    def produce(number):
        with zlink.Push(context) as push:
            push.connect(endpoint)
            for index in range(500):
                push.send(b"%d %d" % (number, index))

    threads = [threading.Thread(target=produce, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    received = [pull.recv() for _ in range(4000)]
    for thread in threads:
        thread.join()
    assert len(set(received)) == 4000


def test_the_end_of_the_interpreter_with_open_sockets():
    run_python(
        """
import threading, zlink
context = zlink.Context()
push, pull, lost = zlink.Push(context), zlink.Pull(context), zlink.Push()
push.connect(pull.bind("tcp://127.0.0.1:*"))
push.send(bytes(1 << 20))
lost.connect("tcp://127.0.0.1:1")
lost.send(bytes(1 << 20))
threading.Thread(target=zlink.Pull(context).recv, daemon=True).start()
context.cycle = context
"""
    )


@pytest.mark.parametrize(
    "work",
    [
        "while True:\n        try: pull.recv(timeout=0.001)\n        except zlink.Again: pass",
        "while True: push.send_multipart(bytes(2) for _ in range(50)), pull.recv_multipart()",
        "while True: push.send(bytes(100_000)), pull.recv()",
        "for _ in range(10_000):\n        with zlink.Push(context): pass",
        "while True:\n        try: pull.recv()\n        except zlink.ContextTerminated: pass",
    ],
)
def test_the_end_of_the_interpreter_beside_threads_that_use_sockets(work):
    # A thread that asks for the GIL while the interpreter ends would abort the process.
    run_python(
        f"""
import threading, zlink
begun = threading.Barrier(9)
def use():
    context = zlink.Context()
    contexts.append(context)
    push, pull = zlink.Push(context), zlink.Pull(context)
    push.connect(pull.bind("inproc://x"))
    begun.wait()
    {work}
contexts = []
for _ in range(8):
    threading.Thread(target=use, daemon=True).start()
begun.wait()
for context in contexts:
    context.shutdown() if {"Terminated" in work} else None
"""
    )


def test_the_end_of_the_interpreter_with_an_open_event_loop():
    run_python(
        """
import asyncio, zlink.aio
async def main():
    global pull, task, push
    pull, push = zlink.aio.Pull(), zlink.aio.Push()
    push.connect(pull.bind("tcp://127.0.0.1:*"))
    task = asyncio.ensure_future(pull.recv())
    await asyncio.sleep(0)
    await push.send(b"x")
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
"""
    )


def test_a_context_that_is_forgotten_sends_what_was_sent(context):
    pull = zlink.Pull(context)
    endpoint = pull.bind("tcp://127.0.0.1:*")

    def send_and_forget():
        push = zlink.Push(zlink.Context())
        push.connect(endpoint)
        push.send(b"x")
        push.close()

    send_and_forget()
    assert pull.recv(timeout=DEADLINE) == b"x"


def in_child(check):
    """Runs `check` in a child process; returns its exit status. Python's own exit is a part of that."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = check()
        finally:
            sys.stdout.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_objects_of_the_parent_in_a_child(pipeline):
    push, pull = pipeline

    def check():
        for call in (lambda: push.send(b"x"), pull.recv, lambda: zlink.Push(push.context), pull.poll):
            try:
                call()
            except zlink.ContextTerminated as error:
                if "parent process" not in str(error):
                    return 2
            else:
                return 3
        push.close()
        push.context.term()
        with zlink.Push() as one, zlink.Pull() as two:
            one.connect(two.bind("inproc://own"))
            one.send(b"own")
            return 0 if two.recv(timeout=DEADLINE) == b"own" else 4

    assert in_child(check) == 0
    push.send(b"still")
    assert pull.recv() == b"still"


@forks
def test_the_end_of_a_child_process():
    run_python(
        """
import os, sys, zlink
context = zlink.Context()
push, pull = zlink.Push(context), zlink.Pull(context)
push.connect(pull.bind("tcp://127.0.0.1:*"))
child = os.fork()
if child == 0:
    sys.exit(5)  # With the whole clean-up.
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
push.send(b"x")
assert pull.recv(timeout=10) == b"x"
"""
    )


@forks
def test_a_child_of_an_event_loop():
    run_python(
        """
import asyncio, os, sys, zlink.aio
async def main():
    async with zlink.aio.Push() as push, zlink.aio.Pull() as pull:
        push.connect(pull.bind("tcp://127.0.0.1:*"))
        task = asyncio.ensure_future(pull.recv())
        await asyncio.sleep(0)
        child = os.fork()
        if child == 0:
            try:
                push._try_send(b"x")
            except zlink.ContextTerminated:
                os._exit(5)
            os._exit(6)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        await push.send(b"x")
        assert await asyncio.wait_for(task, 10) == b"x"
asyncio.run(main())
"""
    )
