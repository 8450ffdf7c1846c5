# SPDX-License-Identifier: MPL-2.0
"""zlink.aio, on asyncio's event loop and, if it is installed, uvloop's."""

import asyncio
import contextlib
import errno
import gc
import http.client
import inspect
import os
import socket
import threading

import pytest

import zlink
from conftest import DEADLINE
from zlink import aio

try:
    import uvloop
except ImportError:
    uvloop = None


#: Results of what is no coroutine function.
AWAITABLE = ("Done", "Text", "Count", "Outcomes", "Peers", "FoundPeer", "Monitor")


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    """Runs a coroutine function in a new event loop."""
    if request.param == "uvloop" and uvloop is None:
        pytest.skip("uvloop is not installed")
    new_loop = asyncio.new_event_loop if request.param == "asyncio" else uvloop.new_event_loop

    def run_in_loop(function, *arguments):
        with asyncio.Runner(loop_factory=new_loop, debug=True) as runner:
            return runner.run(asyncio.wait_for(function(*arguments), DEADLINE))

    return run_in_loop


@contextlib.asynccontextmanager
async def pipeline(endpoint="tcp://127.0.0.1:*", context=None):
    async with aio.Push(context) as push, aio.Pull(context) as pull:
        push.connect(pull.bind(endpoint))
        yield push, pull


async def waiting(call, *arguments):
    """A task that has begun to wait."""
    task = asyncio.ensure_future(call(*arguments))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    return task


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:*", "inproc://aio", "ipc://*", "ws://127.0.0.1:*"])
def test_a_message_arrives(run, endpoint):
    async def main():
        async with pipeline(endpoint) as (push, pull):
            task = await waiting(pull.recv)
            await push.send(b"hello")
            assert await task == b"hello"
            await push.send_multipart([b"a", b"b"])
            assert await pull.recv_multipart() == [b"a", b"b"]
            await push.send(b"1", more=True)
            await push.send(b"2")
            assert await pull.recv() == b"1" and pull.more
            assert bytes(await pull.recv_frame()) == b"2"
            await push.send_string("grün")
            await push.send_json({"a": 1})
            assert await pull.recv_string() == "grün" and await pull.recv_json() == {"a": 1}
            await push.send(b"into")
            room = bytearray(8)
            assert await pull.recv_into(room) == 4 and room[:4] == b"into"

    run(main)


def test_calls_that_do_not_wait_may_be_awaited(run):
    async def main():
        async with aio.XPub() as xpub, aio.Sub() as sub, await sub.monitor() as monitor:
            endpoint = await xpub.bind("tcp://127.0.0.1:*")
            assert type(endpoint) is str
            other = xpub.bind("tcp://127.0.0.1:*")
            assert isinstance(other, str) and await other == other
            await sub.connect(endpoint)
            await sub.subscribe(b"a")
            assert await xpub.recv() == b"\x01a"
            assert type(await sub.peers()) is list and sub.peers()[0].endpoint
            assert await sub.set_option(zlink.Option.LINGER, 5) is None and sub.linger == 0.005
            await xpub.unbind(other)
            await sub.unsubscribe(b"a")
            await sub.disconnect(endpoint)
            assert (await monitor.recv()).event
            assert await monitor.close() is None
            assert await sub.close() is None and sub.closed

    run(main)


def test_calls_of_a_stream_that_do_not_wait_may_be_awaited(run):
    async def main():
        async with aio.Stream() as server, aio.Stream() as client:
            await server.route("/ask", upgrades=True)
            await server.route("/take", requests=False, peers=True)
            await server.serve("/files/", "/usr/share")
            endpoint = await server.bind("http://127.0.0.1:*")
            await client.connect(endpoint.replace("http", "ws") + "take")
            peer = (await server.recv()).peer
            assert (await client.recv()).peer
            assert (await server.peer(peer)).peer == peer and server.peer(peer).peer == peer
            assert await server.send_many([peer, 77], "many") == 1
            sent = server.send_many([peer], "many")
            assert sent == 1 and isinstance(sent, int)
            assert await server.send_each([peer, 77], "each") == {77: errno.EHOSTUNREACH}
            assert server.send_each([77], "each")[77] == errno.EHOSTUNREACH
            assert await server.close_peer(peer) is None
            await client.close()

    run(main)


@pytest.mark.parametrize("awaits", [False, True])
def test_an_upgrade_with_and_without_await(run, awaits):
    async def main():
        async with aio.Stream() as server, aio.Stream() as client:
            server.route("/ws", requests=False, upgrades=True)
            client.connect(server.bind("http://127.0.0.1:*").replace("http", "ws") + "ws")
            request = await server.recv()
            result = server.upgrade(request.peer)
            if awaits:
                assert await result is None and await asyncio.gather(result) == [None]
            assert not result
            assert await server.recv() and (await client.recv()).peer
            with pytest.raises(zlink.WrongState):
                await server.upgrade(request.peer)
            await server.abort_peer(request.peer)

    run(main)


def test_calls_that_do_not_wait_are_all_awaitable():
    for kind in (aio.Stream, aio.Sub, aio.XPub, aio.Dish, aio.Peer, aio.Server, aio.Monitor):
        for name, member in inspect.getmembers(kind, callable):
            if name.startswith("_") or name in ("get_option", "fileno"):
                continue
            kept = inspect.signature(member).return_annotation
            assert inspect.iscoroutinefunction(member) or kept in AWAITABLE, f"{kind.__name__}.{name}: {kept}"


def test_many_messages_in_both_directions(run):
    async def main():
        async with aio.Dealer() as one, aio.Dealer() as two:
            two.connect(one.bind("tcp://127.0.0.1:*"))
            count = 5000

            async def send(socket):
                for index in range(count):
                    await socket.send(b"%d" % index)

            async def recv(socket):
                return [await socket.recv() for _ in range(count)]

            _, _, *received = await asyncio.gather(send(one), send(two), recv(one), recv(two))
            assert received[0] == received[1] == [b"%d" % index for index in range(count)]

    run(main)


def test_request_and_reply(run):
    async def main():
        async with aio.Rep() as rep, aio.Req() as req:
            req.connect(rep.bind("tcp://127.0.0.1:*"))

            async def serve():
                async for request in rep:
                    await rep.send(request.upper())

            task = asyncio.ensure_future(serve())
            for _ in range(100):
                await req.send(b"abc")
                assert await req.recv() == b"ABC"
            with pytest.raises(zlink.WrongState):
                await req.recv()
            rep.close()
            await task  # The iteration ends with the socket.

    run(main)


def test_several_tasks_wait_for_one_socket(run):
    async def main():
        async with pipeline() as (push, pull):
            tasks = [await waiting(pull.recv) for _ in range(10)]
            for index in range(10):
                await push.send(b"%d" % index)
            assert [await task for task in tasks] == [b"%d" % index for index in range(10)]

    run(main)


def test_cancelling_loses_no_message(run):
    async def main():
        async with pipeline() as (push, pull):
            received = []
            for index in range(300):
                task = asyncio.ensure_future(pull.recv())
                await asyncio.sleep(0)
                await push.send(b"%d" % index)
                for _ in range(index % 5):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    received.append(await task)
                except asyncio.CancelledError:
                    pass
            while len(received) < 300:
                received.append(await pull.recv())
            assert received == [b"%d" % index for index in range(300)]

    run(main)


def test_a_cancelled_task_passes_on_what_it_was_woken_for(run):
    async def main():
        async with pipeline("inproc://passed") as (push, pull):
            first = await waiting(pull.recv)
            second = await waiting(pull.recv)
            await push.send(b"x")
            pull._on_change()  # Completes the first one's wait ...
            first.cancel()  # ... before it has run.
            assert await second == b"x"
            with pytest.raises(asyncio.CancelledError):
                await first

    run(main)


def test_a_timeout_of_asyncio(run):
    async def main():
        async with pipeline() as (push, pull):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(pull.recv(), 0.01)
            await push.send(b"x")
            assert await pull.recv() == b"x"

    run(main)


def test_sending_waits_for_room(run):
    async def main():
        async with aio.Push() as push, aio.Pull() as pull:
            task = await waiting(push.send, b"early")
            parts = await waiting(push.send_multipart, [b"a", b"b"])
            push.connect(pull.bind("tcp://127.0.0.1:*"))
            await asyncio.gather(task, parts)
            assert await pull.recv() == b"early"
            assert await pull.recv_multipart() == [b"a", b"b"]

    run(main)


def test_closing_raises_in_what_waits(run):
    async def main():
        push, pull = aio.Push(), aio.Pull()
        tasks = [await waiting(pull.recv), await waiting(pull.recv_multipart), await waiting(push.send, b"x")]
        pull.close()
        push.close()
        for task in tasks:
            with pytest.raises(zlink.Closed):
                await task
        with pytest.raises(zlink.Closed):
            await pull.recv()

    run(main)


def test_shutting_the_context_down_raises_in_what_waits(run):
    async def main():
        context = zlink.Context()
        pull, push = aio.Pull(context), aio.Push(context)
        tasks = [await waiting(pull.recv), await waiting(push.send, b"x")]
        context.shutdown()
        for task in tasks:
            with pytest.raises(zlink.ContextTerminated):
                await task
        pull.close()
        push.close()
        context.term()

    run(main)


def test_term_closes_sockets_that_wait(run):
    async def main():
        context = zlink.Context()
        pull = aio.Pull(context)
        task = await waiting(pull.recv)
        context.term()
        with pytest.raises((zlink.Closed, zlink.ContextTerminated)):
            await task
        pull.close()

    run(main)


def test_the_event_loop_runs_while_messages_are_there(run):
    async def main():
        async with pipeline("inproc://starving") as (push, pull):
            push.send_hwm = pull.recv_hwm = 0
            is_ended = False

            async def busy():
                while not is_ended:
                    await push.send(b"x")
                    await pull.recv()

            task = asyncio.ensure_future(busy())
            for _ in range(20):
                await asyncio.sleep(0)
            is_ended = True
            await task

    run(main)


def test_wrong_arguments(run):
    async def main():
        async with pipeline() as (push, pull):
            with pytest.raises(TypeError, match="expected bytes"):
                await push.send("text")
            with pytest.raises(TypeError):
                await push.send_multipart(b"one")
            for timeout in (-1, float("nan")):
                with pytest.raises(ValueError, match="a timeout is 0 or more seconds"):
                    await pull.poll(timeout=timeout)
            with pytest.raises(AttributeError, match="a Push does not receive"):
                push.recv
        async with aio.Stream() as stream:
            for call, text in {
                stream.send: "a peer is an int from 0 to",
                stream.reply: "a peer is an int",
                stream.reply_part: "a peer is an int",
            }.items():
                with pytest.raises(TypeError, match=text):
                    await call("one", b"")
            with pytest.raises(TypeError, match="status is an int, not str"):
                await stream.reply(1, "OK")
            with pytest.raises(TypeError, match="count is an int, not str"):
                await stream.recv_batch("all")

    run(main)


def test_poll_and_monitor(run):
    async def main():
        async with aio.Pull() as pull, aio.Push() as push:
            async with pull.monitor() as monitor:
                push.connect(pull.bind("tcp://127.0.0.1:*"))
                seen = []
                async for event in monitor:
                    seen.append(event.event)
                    if event.event == zlink.Event.HANDSHAKE_SUCCEEDED:
                        break
                assert seen[0] == zlink.Event.LISTENING
            assert await pull.poll(timeout=0.01) == zlink.Poll(0)
            await push.send(b"x")
            assert await pull.poll() == zlink.Poll.IN
            assert await push.poll(zlink.Poll.OUT) == zlink.Poll.OUT
            await push.drain(DEADLINE)

    run(main)


def test_another_event_loop():
    async def recv(pull):
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(pull.recv(), 0.01)

    with contextlib.closing(aio.Pull()) as pull:
        asyncio.run(recv(pull))
        asyncio.run(recv(pull))  # The first loop is closed.
        loop = asyncio.new_event_loop()
        loop.run_until_complete(recv(pull))
        with pytest.raises(RuntimeError, match="belongs to another event loop"):
            asyncio.run(pull.recv())
        loop.close()


def test_a_context_without_threads(run):
    async def main():
        context = zlink.Context(io_threads=0)
        async with pipeline(context=context) as (push, pull):
            for index in range(100):
                task = asyncio.ensure_future(pull.recv())
                await push.send(b"%d" % index)
                assert await task == b"%d" % index
        context.term()

    run(main)


def eventfds():
    """The descriptors of this process that are eventfds, as those that wake event loops."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # That of the folder itself.
            if "eventfd" in os.readlink(f"/proc/self/fd/{name}"):
                found.append(name)
    return found


def test_the_event_loop_is_left_as_it_was(run):
    async def use_once():
        async with pipeline() as (push, pull):
            task = await waiting(pull.recv)
            await push.send(b"x")
            await task

    async def main():
        await use_once()
        count = len(eventfds())
        for _ in range(5):
            await use_once()
        # The event loop may close a descriptor that it watched a turn later.
        while len(eventfds()) > count:
            await asyncio.sleep(0.01)

    run(main)


def test_a_closed_event_loop_leaves_no_descriptor(run):
    async def use_once():
        async with aio.Pull() as pull:
            pull.recv_timeout = 0.001
            with pytest.raises(zlink.Again):
                await pull.recv()

    run(use_once)
    gc.collect()
    count = len(eventfds())
    for _ in range(10):
        run(use_once)
    gc.collect()
    assert len(eventfds()) <= count


@pytest.mark.parametrize("endpoint", ["inproc://turns", "tcp://127.0.0.1:*"])
def test_tasks_get_messages_in_the_order_in_which_they_began_to_wait(run, endpoint):
    async def main():
        async with pipeline(endpoint) as (push, pull):
            await push.send(b"connected")
            await pull.recv()
            order = []

            async def recv(index):
                await pull.recv()
                order.append(index)

            tasks = [await waiting(recv, index) for index in range(12)]
            for task in tasks[::2]:
                task.cancel()
            for _ in range(5):
                await push.send(b"x")
            # One that comes last is served last, although a message may be there.
            tasks.append(asyncio.ensure_future(recv(12)))
            await asyncio.sleep(0)
            await push.send_multipart([b"x"])
            await push.send_multipart([b"x"])
            await asyncio.gather(*tasks, return_exceptions=True)
            assert order == [1, 3, 5, 7, 9, 11, 12]

    run(main)


def test_tasks_send_in_the_order_in_which_they_began_to_wait(run):
    async def main():
        async with aio.Push() as push, aio.Pull() as pull:
            tasks = [await waiting(push.send, b"%d" % index) for index in range(10)]
            for task in tasks[::2]:
                task.cancel()
            push.connect(pull.bind("tcp://127.0.0.1:*"))
            await push.send(b"10")
            assert [await pull.recv() for _ in range(6)] == [b"1", b"3", b"5", b"7", b"9", b"10"]

    run(main)


@pytest.mark.parametrize("timeout", [0, 0.01])
def test_the_timeouts_of_a_socket(run, timeout):
    async def main():
        async with aio.Push() as push, aio.Pull() as pull:
            push.send_timeout = pull.recv_timeout = timeout
            with pytest.raises(zlink.Again, match="Push.send_multipart: no peer had room in time"):
                await push.send_multipart([b"x"])
            for call in (pull.recv, pull.recv_multipart, pull.recv_frame, lambda: pull.recv_into(bytearray(1))):
                with pytest.raises(zlink.Again, match="no message arrived in time"):
                    await call()
            both = await asyncio.gather(pull.recv(), pull.recv(), return_exceptions=True)
            assert [type(each) for each in both] == [zlink.Again, zlink.Again]
            push.connect(pull.bind("inproc://timeouts"))
            await push.send(b"x")
            assert await pull.recv() == b"x"

    run(main)


def test_a_socket_belongs_to_one_of_two_threads():
    pull = aio.Pull()
    pull.recv_timeout = 0.1
    begun = threading.Barrier(2)
    raised = []

    def use():
        async def main():
            begun.wait()
            await pull.recv()

        try:
            asyncio.run(main(), debug=True)
        except (RuntimeError, zlink.Error) as error:
            raised.append(error)

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert len(raised) == 2
    pull.close()


@pytest.mark.parametrize("closes", ["monitor", "socket"])
def test_the_iteration_of_a_monitor_ends(run, closes):
    async def main():
        async with aio.Pull() as pull:
            monitor = pull.monitor(zlink.Event.CONNECTED)
            events = []

            async def follow():
                events.extend([event async for event in monitor])

            task = await waiting(follow)
            (monitor if closes == "monitor" else pull).close()
            await task
            assert events == []
            with pytest.raises(zlink.Closed):
                await monitor.recv()

    run(main)


async def stream_pair(server, endpoint="ws://127.0.0.1:*"):
    client = aio.Stream()
    client.connect(server.bind(endpoint))
    came = await server.recv()
    return client, came.peer, (await client.recv()).peer


def test_streams(run, tmp_path):
    (tmp_path / "file").write_bytes(b"content")

    async def main():
        async with aio.Stream() as server:
            client, peer, server_peer = await stream_pair(server)
            async with client:
                await server.send(peer, "text")
                received = await client.recv()
                assert received.text == "text" and received.is_text
                await server.send_file(peer, tmp_path / "file")
                assert (await client.recv()).data == b"content"
                for index in range(100):
                    await client.send(server_peer, b"%d" % index)
                views = []
                while len(views) < 100:
                    batch = await server.recv_batch()
                    views.extend(message.data for message in batch)
                    await server.send_batch(batch)
                assert [bytes(view) for view in views] == [b"%d" % index for index in range(100)]
                assert (await client.recv()).data == b"0"
                assert server.send_many([peer], b"all") == 1
                assert await server.send_batch([(peer, b"x"), (999, b"y")]) == 1
                server.close_peer(peer, 4000)
                async for event in server:
                    assert isinstance(event, zlink.Disconnected)
                    break
                with pytest.raises(zlink.PeerUnreachable):
                    await server.send(peer, b"x")

    run(main)


def test_sending_to_a_peer_waits_for_its_room(run):
    async def main():
        async with aio.Stream() as server:
            server.send_hwm = 10
            client, peer, _ = await stream_pair(server)
            client.recv_hwm = 10
            async with client:
                count = 200

                async def send():
                    for index in range(count):
                        await server.send(peer, index.to_bytes(4, "big") * 50_000)

                task = await waiting(send)
                for index in range(count):
                    assert (await client.recv()).data[:4] == index.to_bytes(4, "big")
                await task

    run(main)


def test_http(run, tmp_path):
    (tmp_path / "file").write_bytes(b"content")

    def ask(port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        connection.request("GET", path)
        content = connection.getresponse().read()
        connection.close()
        return content

    async def events():
        for index in range(3):
            await asyncio.sleep(0)
            yield f"data: {index}\n\n"

    async def main():
        async with aio.Stream() as server:
            server.route("/*")
            port = int(server.bind("http://127.0.0.1:*").split(":")[2].split("/")[0])

            async def serve():
                async for event in server:
                    if not isinstance(event, zlink.Request):
                        continue
                    match event.path:
                        case "/plain":
                            await server.reply(event.peer, 200, "plain")
                        case "/file":
                            await server.reply_file(event.peer, tmp_path / "file", fields={"X": "1"})
                        case "/events":
                            await server.reply_parts(event.peer, events(), fields={"X": "1"})
                        case "/list":
                            await server.reply_parts(event.peer, ["a", b"b"])

            task = asyncio.ensure_future(serve())
            for path, content in {
                "/plain": b"plain",
                "/file": b"content",
                "/events": b"data: 0\n\ndata: 1\n\ndata: 2\n\n",
                "/list": b"ab",
            }.items():
                assert await asyncio.to_thread(ask, port, path) == content
            server.close()
            await task

    run(main)


def test_poll_for_either_event(run):
    async def main():
        async with aio.Dealer() as dealer, aio.Dealer() as other:
            task = await waiting(dealer.poll, zlink.Poll.IN | zlink.Poll.OUT)
            other.connect(dealer.bind("tcp://127.0.0.1:*"))
            assert await task == zlink.Poll.OUT

    run(main)


def test_draining_beside_a_task_that_waits(run):
    async def main():
        async with aio.Stream() as server:
            client, peer, _ = await stream_pair(server)
            async with client:
                events = asyncio.ensure_future(client.recv())
                task = await waiting(server.recv)
                await server.drain(DEADLINE)
                went = await task
                assert isinstance(went, zlink.Disconnected) and went.peer == peer
                assert (await events).code == 1001

    run(main)


@contextlib.asynccontextmanager
async def peer_that_does_not_read(server):
    """Connects a peer for which so much is queued that it disconnects only when it is disconnected."""
    with socket.create_connection(server.bind("tcp://127.0.0.1:*").removeprefix("tcp://").split(":")) as peer:
        came = await server.recv()
        server.send_many([came.peer], bytes(20_000_000))
        yield peer


@pytest.mark.parametrize("timeout", [None, 1000])
def test_a_cancelled_drain_ends(run, timeout):
    async def main():
        async with aio.Stream() as server:
            async with peer_that_does_not_read(server):
                task = await waiting(server.drain, timeout)
                with pytest.raises(zlink.InUse):
                    await server.drain()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                server.bind("tcp://127.0.0.1:*")  # The socket can be used.
        assert server.closed

    run(main)


def test_closing_ends_a_drain(run):
    async def main():
        async with aio.Stream() as server, peer_that_does_not_read(server):
            task = await waiting(server.drain)
            server.close()
            with pytest.raises(zlink.Closed):
                await task

    run(main)


def test_a_drain_without_io_threads_is_left_to_its_thread(run):
    async def main():
        context = zlink.Context(io_threads=0)
        async with aio.Stream(context) as server, peer_that_does_not_read(server):
            task = await waiting(server.drain)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.close()
            assert server.closed
            context.shutdown()
        context.term()

    run(main)


def test_the_end_of_a_context_beside_other_tasks(run):
    async def main():
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with zlink.Context() as context:
            push, pull = aio.Push(context), aio.Pull(context)
            push.linger = 0.2
            push.connect("tcp://127.0.0.1:1")
            await push.send(b"x")
            task = await waiting(pull.recv)
            counting = asyncio.ensure_future(count())
        counting.cancel()
        assert context.closed and push.closed and turns > 10
        with pytest.raises((zlink.Closed, zlink.ContextTerminated)):
            await task

    run(main)


def test_the_end_of_a_context_can_be_cancelled(run, tmp_path):
    endpoint = f"ipc://{tmp_path}/later"

    async def main():
        async def close():
            async with zlink.Context() as context:
                push = aio.Push(context)
                push.connect(endpoint)
                await push.send(b"x")

        task = await waiting(close)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with aio.Pull() as pull:
            pull.bind(endpoint)
            assert await pull.recv() == b"x"  # The thread waits on.

    run(main)
