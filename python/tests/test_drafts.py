# SPDX-License-Identifier: MPL-2.0
"""libzmq's draft types, in a build with them; and what a build without them says."""

import asyncio

import pytest

import zlink
from conftest import DEADLINE
from zlink import aio

KINDS = (
    zlink.Server,
    zlink.Client,
    zlink.Radio,
    zlink.Dish,
    zlink.Gather,
    zlink.Scatter,
    zlink.Peer,
    zlink.Channel,
)
AIO_KINDS = tuple(getattr(aio, each.__name__) for each in KINDS)

# The only one whose messages have two frames, and that one thread at a time may use.
OTHERS = (zlink.Dgram, aio.Dgram)

with_drafts = pytest.mark.skipif(not zlink.has("draft"), reason="the library was built without drafts")


@pytest.mark.skipif(zlink.has("draft"), reason="the library was built with drafts")
@pytest.mark.parametrize("kind", KINDS + AIO_KINDS + OTHERS)
def test_a_build_without_drafts_says_so(context, kind):
    with pytest.raises(zlink.Unsupported, match=f"^.*{kind.__name__}: .*ZLINK_DRAFTS=ON"):
        kind(context)


def opened(kind, context):
    made = kind(context)
    made.recv_timeout = made.send_timeout = DEADLINE
    return made


@with_drafts
@pytest.mark.parametrize("kind", KINDS + AIO_KINDS)
def test_each_type(context, kind):
    socket = kind(context)
    assert socket.get_option(zlink.Option.TYPE, int) == kind.pattern
    assert socket.get_option(zlink.Option.THREAD_SAFE, bool)
    assert not hasattr(socket, "send_multipart") and not hasattr(socket, "recv_multipart")


@with_drafts
@pytest.mark.parametrize(
    ("kind", "method"),
    [
        (zlink.Client, "join"),
        (zlink.Dish, "send"),
        (zlink.Gather, "send"),
        (zlink.Radio, "recv"),
        (zlink.Scatter, "recv_frame"),
        (zlink.Server, "connect_peer"),
        (zlink.Client, "disconnect_peer"),
        (zlink.Sub, "join"),
    ],
)
def test_what_a_type_cannot_do(context, kind, method):
    with pytest.raises(AttributeError, match=f"a {kind.__name__} does not .*{method}"):
        getattr(kind(context), method)


@with_drafts
def test_messages_tell_of_connections_that_come_and_go(context):
    server = opened(zlink.Server, context)
    server.set_option(zlink.Option.HELLO_MSG, b"welcome")
    server.set_option(zlink.Option.DISCONNECT_MSG, b"gone")
    client = opened(zlink.Client, context)
    client.connect(server.bind("tcp://127.0.0.1:*"))
    assert client.recv() == b"welcome"
    client.close()
    assert server.recv() == b"gone"


@with_drafts
@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:*", "inproc://server", "ipc://*"])
def test_a_server_answers_its_clients(context, endpoint):
    server = opened(zlink.Server, context)
    bound = server.bind(endpoint)
    clients = [opened(zlink.Client, context) for _ in range(3)]
    for number, client in enumerate(clients):
        client.connect(bound)
        client.send(b"%d" % number)
    for _ in clients:
        request = server.recv_frame()
        assert request.routing_id != 0
        server.send(b"re: " + bytes(request), routing_id=request.routing_id)
    assert [client.recv() for client in clients] == [b"re: 0", b"re: 1", b"re: 2"]
    clients[0].send_json({"a": 1})
    request = server.recv_frame()
    server.send_string("ö", routing_id=request.routing_id)
    assert clients[0].recv_string() == "ö"
    large = bytes(100_000)
    server.send(large, routing_id=request.routing_id)
    assert clients[0].recv() == large


@with_drafts
def test_a_server_and_a_peer_that_is_not_there(context):
    server = opened(zlink.Server, context)
    client = opened(zlink.Client, context)
    client.connect(server.bind("inproc://server"))
    client.send(b"x")
    number = server.recv_frame().routing_id
    with pytest.raises(zlink.PeerUnreachable, match="Server.send: the peer is unknown"):
        server.send(b"x", routing_id=number + 1)
    with pytest.raises(TypeError, match="routing_id"):
        server.send(b"x")
    for wrong in ("1", -1, 2**32):
        with pytest.raises(TypeError, match="a peer is an int from 0|an int from 0"):
            server.send(b"x", routing_id=wrong)
    server.disconnect_peer(number)
    with pytest.raises(zlink.PeerUnreachable):
        server.send(b"x", routing_id=number)
    with pytest.raises(zlink.PeerUnreachable):
        server.disconnect_peer(number)


@with_drafts
def test_a_server_waits_for_a_client_that_is_full(context):
    server = opened(zlink.Server, context)
    client = opened(zlink.Client, context)
    server.send_hwm = client.recv_hwm = 1
    client.connect(server.bind("inproc://server"))
    client.send(b"x")
    number = server.recv_frame().routing_id
    sent = 0
    with pytest.raises(zlink.Again):
        while True:
            server.send(b"y", routing_id=number, timeout=0)
            sent += 1
    with pytest.raises(zlink.Again, match="no peer had room in time"):
        server.send(b"y", routing_id=number, timeout=0.01)
    for _ in range(sent):
        assert client.recv() == b"y"
    server.send(b"z", routing_id=number)
    assert client.recv() == b"z"


@with_drafts
def test_a_dish_receives_the_groups_that_it_joined(context):
    radio = opened(zlink.Radio, context)
    dish = opened(zlink.Dish, context)
    dish.join("news")
    dish.join("ö" * 127)
    dish.connect(radio.bind("inproc://radio"))
    radio.send(b"not joined", group="sports")
    radio.send(b"no group")
    radio.send_string("1", group="news")
    radio.send_json([2], group="ö" * 127)
    heard = dish.recv_frame()
    assert (heard.group, bytes(heard), heard.routing_id) == ("news", b"1", 0)
    heard = dish.recv_frame()
    assert (heard.group, bytes(heard)) == ("ö" * 127, b"[2]")
    dish.leave("news")
    radio.send(b"left", group="news")
    with pytest.raises(zlink.Again):
        dish.recv(timeout=0)
    with pytest.raises(zlink.InvalidValue, match=r"Dish\.leave"):
        dish.leave("news")
    with pytest.raises(zlink.InvalidValue, match=r"Dish\.join"):
        dish.join("g" * 256)
    with pytest.raises(ValueError, match="zero byte|null"):
        dish.join("a\0b")
    with pytest.raises(ValueError, match="at most 255 bytes, not 256"):
        radio.send(b"x", group="g" * 256)
    with pytest.raises(TypeError, match="group"):
        radio.send(b"x", group=b"news")


@with_drafts
def test_a_radio_that_does_not_drop(context):
    radio = opened(zlink.Radio, context)
    dish = opened(zlink.Dish, context)
    radio.send_hwm = dish.recv_hwm = 5
    dish.join("g")
    dish.connect(radio.bind("inproc://radio"))
    for _ in range(20):
        radio.send(b"x", group="g")
    radio.nodrop = True
    with pytest.raises(zlink.Again):
        radio.send(b"x", group="g", timeout=0)
    for _ in range(10):
        dish.recv()
    radio.send(b"y", group="g")
    assert dish.recv() == b"y"


@with_drafts
def test_scatter_gather_and_channel(context):
    gather = opened(zlink.Gather, context)
    scatter = opened(zlink.Scatter, context)
    scatter.connect(gather.bind("tcp://127.0.0.1:*"))
    scatter.send(b"x")
    assert gather.recv() == b"x"
    one = opened(zlink.Channel, context)
    other = opened(zlink.Channel, context)
    other.connect(one.bind("tcp://127.0.0.1:*"))
    other.send(b"ping")
    assert one.recv() == b"ping"
    one.send_json(1)
    assert other.recv_json() == 1
    room = bytearray(2)
    other.send(b"abc")
    assert one.recv_into(room) == 3 and room == b"ab"


@with_drafts
def test_datagrams(context):
    server = opened(zlink.Dgram, context)
    client = opened(zlink.Dgram, context)
    endpoint = server.bind("udp://127.0.0.1:*")
    client.bind("udp://127.0.0.1:*")
    client.send_multipart([endpoint.removeprefix("udp://").encode(), b"question"])
    sender, question = server.recv_multipart()
    assert question == b"question"
    server.send_multipart([sender, b"answer"])
    assert client.recv_multipart()[1] == b"answer"


@with_drafts
def test_groups_over_udp(context):
    dish = opened(zlink.Dish, context)
    radio = opened(zlink.Radio, context)
    dish.join("g")
    radio.connect(dish.bind("udp://127.0.0.1:*"))
    radio.send(b"not joined", group="h")
    radio.send(b"joined", group="g")
    heard = dish.recv_frame()
    assert (heard.group, bytes(heard)) == ("g", b"joined")
    with pytest.raises(zlink.Unsupported, match="udp"):
        radio.bind("udp://127.0.0.1:*")


@with_drafts
def test_peers(context):
    one = opened(zlink.Peer, context)
    other = opened(zlink.Peer, context)
    with pytest.raises(zlink.InvalidValue, match="nonsense"):
        other.connect_peer("nonsense")
    number = other.connect_peer(one.bind("tcp://127.0.0.1:*"))
    other.send(b"ping", routing_id=number)
    asked = one.recv_frame()
    one.send(b"pong", routing_id=asked.routing_id)
    answer = other.recv_frame()
    assert (bytes(answer), answer.routing_id) == (b"pong", number)


@with_drafts
def test_iteration_gives_frames_where_the_sender_or_group_matters(context):
    server = opened(zlink.Server, context)
    client = opened(zlink.Client, context)
    client.connect(server.bind("inproc://server"))
    client.send(b"x")
    for request in server:
        assert request.routing_id != 0
        server.send(bytes(request), routing_id=request.routing_id)
        break
    for answer in client:
        assert answer == b"x"
        client.close()


def run(function):
    return asyncio.run(asyncio.wait_for(function(), DEADLINE))


@with_drafts
def test_a_server_with_asyncio():
    async def main():
        async with zlink.Context() as context:
            server, client = aio.Server(context), aio.Client(context)
            client.connect(server.bind("tcp://127.0.0.1:*"))

            async def answer():
                async for request in server:
                    await server.send(bytes(request).upper(), routing_id=request.routing_id)

            answering = asyncio.ensure_future(answer())
            for number in range(300):
                await client.send(b"abc %d" % number)
                assert await client.recv() == b"ABC %d" % number
            await client.send_json("x")
            assert await client.recv_json() == "X"
            server.close()
            await answering

    run(main)


@with_drafts
def test_a_server_with_asyncio_waits_for_one_client_and_serves_another():
    async def main():
        async with zlink.Context() as context:
            server, full, other = aio.Server(context), aio.Client(context), aio.Client(context)
            server.send_hwm = full.recv_hwm = 1
            endpoint = server.bind("inproc://server")
            numbers = []
            for client in (full, other):
                client.connect(endpoint)
                await client.send(b"x")
                numbers.append((await server.recv_frame()).routing_id)
            server.send_timeout = 0
            sent = 0
            with pytest.raises(zlink.Again):
                while True:
                    await server.send(b"y", routing_id=numbers[0])
                    sent += 1
            server.send_timeout = None
            waiting = asyncio.ensure_future(server.send(b"z", routing_id=numbers[0]))
            await asyncio.sleep(0)
            await server.send_string("for you", routing_id=numbers[1])
            assert await other.recv() == b"for you"
            assert not waiting.done()
            for _ in range(sent):
                assert await full.recv() == b"y"
            await waiting
            assert await full.recv() == b"z"
            with pytest.raises(zlink.PeerUnreachable):
                await server.send_json(1, routing_id=max(numbers) + 1)
            server.disconnect_peer(numbers[0])

    run(main)


@with_drafts
def test_groups_and_peers_with_asyncio():
    async def main():
        async with zlink.Context() as context:
            server, client = aio.Dgram(context), aio.Dgram(context)
            endpoint = server.bind("udp://127.0.0.1:*")
            client.bind("udp://127.0.0.1:*")
            await client.send_multipart([endpoint.removeprefix("udp://").encode(), b"datagram"])
            assert (await server.recv_multipart())[1] == b"datagram"
            radio, dish = aio.Radio(context), aio.Dish(context)
            dish.join("g")
            dish.connect(radio.bind("inproc://radio"))
            receiving = asyncio.ensure_future(dish.recv_frame())
            await radio.send(b"other", group="h")
            await radio.send_string("mine", group="g")
            heard = await receiving
            assert (heard.group, bytes(heard)) == ("g", b"mine")
            dish.leave("g")
            async with aio.Peer(context) as one, aio.Peer(context) as another:
                number = another.connect_peer(one.bind("tcp://127.0.0.1:*"))
                await another.send(b"ping", routing_id=number)
                asked = await one.recv_frame()
                await one.send(b"pong", routing_id=asked.routing_id)
                assert (await another.recv_frame()).routing_id == number
            scatter, gather = aio.Scatter(context), aio.Gather(context)
            scatter.connect(gather.bind("tcp://127.0.0.1:*"))
            await scatter.send(b"x")
            assert await gather.recv() == b"x"
            one, another = aio.Channel(context), aio.Channel(context)
            another.connect(one.bind("tcp://127.0.0.1:*"))
            await another.send(b"x")
            assert await one.recv() == b"x"

    run(main)
