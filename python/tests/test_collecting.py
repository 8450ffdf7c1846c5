# SPDX-License-Identifier: MPL-2.0
"""The garbage collector: contexts and sockets that only a cycle of references leads to are closed.

Each case makes a cycle and returns weak references to what has to be collected with it.
"""

import asyncio
import gc
import os
import threading
import time
import weakref

import pytest

import zlink
from conftest import DEADLINE, Pair
from zlink import aio


def context_attribute():
    context = zlink.Context()
    socket = zlink.Pair(context)
    socket.bind("tcp://127.0.0.1:*")
    context.sockets = [socket]
    return context, socket


def socket_attribute():
    class Own(zlink.Pair):
        pass

    context = zlink.Context()
    socket = Own(context)
    socket.bind("tcp://127.0.0.1:*")
    socket.own = socket
    return context, socket


def slot_of_a_derived_context():
    class Own(zlink.Context):
        __slots__ = ("owner",)

    context = Own()
    socket = zlink.Push(context)
    context.owner = (socket,)
    return context, socket


def every_kind(kind):
    def make():
        context = zlink.Context()
        socket = kind(context)
        context.socket = socket
        return context, socket

    make.__name__ = f"every_kind_{kind.__module__}_{kind.__name__}"
    return make


def poller_and_monitor():
    context = zlink.Context()
    socket = zlink.Router(context)
    context.poller = zlink.Poller()
    context.poller.register(socket)
    context.monitor = socket.monitor()
    return context, socket


def received_frame():
    context = zlink.Context()
    one, two = zlink.Pair(context), zlink.Pair(context)
    two.connect(one.bind("inproc://frame"))
    two.send(b"x" * 100_000)
    context.frame = one.recv_frame(timeout=DEADLINE)
    context.sockets = one, two
    return context, one, two


def lent_batch(keep):
    def make():
        context = zlink.Context()
        pair = Pair(context)
        pair.server.events = False
        pair.client.send(pair.server_peer, b"x")
        batch = pair.server.recv_batch()
        context.kept = keep(batch), pair.server
        return context, pair.server

    return make


def event_of_derived_bytes():
    class Own(bytes):
        pass

    data = Own(b"x")
    context = zlink.Context()
    socket = zlink.Pair(context)
    data.message = zlink.Message(1, data), socket
    context.data = data
    return context, socket


def request_of_derived_bytes():
    class Own(bytes):
        pass

    raw = Own(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    context = zlink.Context()
    socket = zlink.Pair(context)
    raw.request = zlink.Request(1, raw), socket
    context.raw = raw
    return context, socket


def waiting_task():
    async def main():
        context = zlink.Context()
        socket = aio.Pair(context)
        socket.bind("tcp://127.0.0.1:*")
        context.task = asyncio.ensure_future(socket.recv())
        await asyncio.sleep(0)
        context.socket = socket
        return context, socket

    return asyncio.run(main())


CASES = [
    context_attribute,
    socket_attribute,
    slot_of_a_derived_context,
    *[every_kind(kind) for kind in (zlink.Push, zlink.Pull, zlink.Dealer, zlink.Stream, aio.Dealer, aio.Stream)],
    poller_and_monitor,
    received_frame,
    *[lent_batch(keep) for keep in (lambda batch: batch, lambda batch: batch[0], iter, lambda batch: batch[0].data)],
    event_of_derived_bytes,
    request_of_derived_bytes,
    waiting_task,
]


def descriptors_and_threads():
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def until(is_true):
    """Waits for what threads of the library do after the collection."""
    end = time.monotonic() + DEADLINE
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_a_cycle_is_collected(make):
    references = [weakref.ref(each) for each in make()]
    gc.collect()
    assert [each() for each in references] == [None] * len(references)


def test_collected_contexts_give_back_descriptors_and_threads():
    gc.collect()
    before = descriptors_and_threads()
    for _ in range(10):
        context_attribute()
        socket_attribute()
    gc.collect()
    until(lambda: all(now <= then for now, then in zip(descriptors_and_threads(), before, strict=True)))


def test_a_collected_socket_warns_that_it_was_not_closed():
    with pytest.warns(ResourceWarning, match="unclosed zlink socket Pair"):
        context_attribute()
        gc.collect()


def test_a_context_that_is_in_use_is_not_collected():
    context, socket = context_attribute()
    reference = weakref.ref(context)
    del context
    gc.collect()
    assert reference() is socket.context and not socket.closed
    socket.close()
    reference().term()


def test_a_batch_keeps_its_socket():
    pair = Pair(zlink.Context())
    pair.client.send(pair.server_peer, b"x")
    batch = pair.server.recv_batch()
    client = pair.client
    del pair
    gc.collect()
    assert bytes(batch[0]) == b"x"
    del batch
    client.context.term()


@pytest.mark.parametrize("io_threads", [0, 1])
def test_an_event_loop_does_not_keep_what_is_not_used(io_threads):
    async def main():
        loop = asyncio.get_running_loop()

        async def use():
            context = zlink.Context(io_threads)
            socket = aio.Pair(context)
            socket.recv_timeout = 0.001
            with pytest.raises(zlink.Again):
                await socket.recv()
            context.socket = socket
            return weakref.ref(context), weakref.ref(socket)

        references = await use()
        gc.collect()
        assert [each() for each in references] == [None, None]
        # The loop goes on with further sockets, whose descriptors may have the same numbers.
        async with zlink.Context(io_threads) as context:
            one, two = aio.Pair(context), aio.Pair(context)
            two.connect(one.bind("inproc://next"))
            await two.send(b"next")
            assert await asyncio.wait_for(one.recv(), DEADLINE) == b"next"
        assert loop.is_running()

    asyncio.run(main())


def test_another_thread_collects_what_an_event_loop_used():
    async def main():
        async def use():
            socket = aio.Pair(zlink.Context(0))
            socket.recv_timeout = 0.001
            with pytest.raises(zlink.Again):
                await socket.recv()
            socket.context.socket = socket
            return weakref.ref(socket)

        gc.disable()
        try:
            reference = await use()
            thread = threading.Thread(target=gc.collect)
            thread.start()
            thread.join()
        finally:
            gc.enable()
        assert reference() is None
        await asyncio.sleep(0)
        async with aio.Pair() as one, aio.Pair() as two:
            two.connect(one.bind("inproc://next"))
            await two.send(b"next")
            assert await asyncio.wait_for(one.recv(), DEADLINE) == b"next"

    asyncio.run(main())
