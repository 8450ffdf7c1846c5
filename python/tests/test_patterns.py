# SPDX-License-Identifier: MPL-2.0
"""Sending and receiving with each pattern."""

import itertools
import os
import pathlib
import socket
import sys
import threading

import pytest

import zlink
from conftest import DEADLINE


def pair_of(context, first, second, endpoint="inproc://pair"):
    binding, connecting = first(context), second(context)
    binding.recv_timeout = connecting.recv_timeout = DEADLINE
    connecting.connect(binding.bind(endpoint))
    return binding, connecting


def test_a_message_arrives(pipeline):
    push, pull = pipeline
    push.send(b"hello")
    assert pull.recv() == b"hello"
    assert not pull.more


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:*", "ipc://*", "inproc://name", "ws://127.0.0.1:*"])
def test_transports(context, endpoint):
    pull, push = pair_of(context, zlink.Pull, zlink.Push, endpoint)
    push.send(b"x")
    assert pull.recv() == b"x"


@pytest.mark.parametrize("size", [0, 1, 64, 8191, 8192, 65535, 65536, 1 << 20])
def test_sizes_by_every_way_to_receive(pipeline, size):
    push, pull = pipeline
    sent = os.urandom(size)
    for _ in range(4):
        push.send(sent)
    assert pull.recv() == sent
    room = bytearray(size + 10)
    assert pull.recv_into(room) == size
    assert room[:size] == sent
    frame = pull.recv_frame()
    assert len(frame) == size and bytes(frame) == sent and memoryview(frame) == sent
    assert pull.recv_multipart() == [sent]


def test_what_can_be_sent(pipeline):
    push, pull = pipeline
    for data in (b"abc", bytearray(b"abc"), memoryview(b"xabc")[1:]):
        push.send(data)
        assert pull.recv() == b"abc"


def test_large_constant_bytes_are_shared_and_given_back(pipeline):
    push, pull = pipeline
    data = os.urandom(1 << 20)
    before = sys.getrefcount(data)
    for _ in range(20):
        push.send(data)
        assert pull.recv_frame().more is False
    for _ in range(1000):  # Each call gives back what has been sent.
        push.send(b"")
        pull.recv()
        if sys.getrefcount(data) == before:
            break
    assert sys.getrefcount(data) == before


def test_a_buffer_may_change_after_it_was_sent(pipeline):
    push, pull = pipeline
    data = bytearray(os.urandom(1 << 20))
    sent = bytes(data)
    push.send(data)
    data[:] = bytes(len(data))
    assert pull.recv() == sent


def test_multipart(pipeline):
    push, pull = pipeline
    push.send_multipart([b"a", b"", b"c"])
    assert pull.recv_multipart() == [b"a", b"", b"c"]
    push.send(b"1", more=True)
    push.send(b"2")
    assert pull.recv() == b"1" and pull.more
    frame = pull.recv_frame()
    assert bytes(frame) == b"2" and not frame.more


def test_frames_of_a_generator(pipeline):
    push, pull = pipeline
    push.send_multipart(os.urandom(20) + b"%d" % index for index in range(100))
    assert [frame[20:] for frame in pull.recv_multipart()] == [b"%d" % index for index in range(100)]


def test_a_multipart_message_with_a_bad_frame_is_not_begun(pipeline):
    push, pull = pipeline
    with pytest.raises(TypeError, match="got int"):
        push.send_multipart([b"a", 7])
    push.send(b"next")
    assert pull.recv_multipart() == [b"next"]


def test_recv_into_a_buffer_that_is_too_small(pipeline):
    push, pull = pipeline
    push.send(b"0123456789")
    room = bytearray(4)
    assert pull.recv_into(room) == 10
    assert room == b"0123"


def test_recv_into_a_buffer_that_cannot_be_written(pipeline):
    _, pull = pipeline
    with pytest.raises((TypeError, BufferError)):
        pull.recv_into(b"constant")


def test_properties_of_a_frame(pipeline):
    push, pull = pipeline
    push.send(b"x")
    frame = pull.recv_frame()
    assert frame.property("Socket-Type") == "PUSH"
    assert frame.property("Peer-Address") == "127.0.0.1"
    assert frame.property("nothing") is None


def test_request_and_reply(context):
    rep, req = pair_of(context, zlink.Rep, zlink.Req)
    req.send(b"question")
    assert rep.recv() == b"question"
    rep.send(b"answer")
    assert req.recv() == b"answer"


def test_a_request_out_of_turn(context):
    _, req = pair_of(context, zlink.Rep, zlink.Req)
    with pytest.raises(zlink.WrongState, match="Req.recv: it is not this socket's turn to receive"):
        req.recv()


def test_publish_and_subscribe(context):
    xpub, sub = pair_of(context, zlink.XPub, zlink.Sub)
    sub.subscribe(b"a")
    assert xpub.recv() == b"\x01a"
    sub.subscribe("ä")
    assert xpub.recv() == b"\x01" + "ä".encode()
    xpub.send(b"b1")
    xpub.send(b"a1")
    assert sub.recv() == b"a1"
    sub.unsubscribe(b"a")
    assert xpub.recv() == b"\x00a"
    assert xpub.topics_count == 1


def test_pub_and_xsub(context):
    pub, xsub = pair_of(context, zlink.Pub, zlink.XSub)
    xsub.send(b"\x01t")
    while pub.topics_count == 0:
        pass
    pub.send(b"t1")
    assert xsub.recv() == b"t1"


def test_dealer_and_router(context):
    router, dealer = zlink.Router(context), zlink.Dealer(context)
    dealer.routing_id = b"name"
    dealer.connect(router.bind("tcp://127.0.0.1:*"))
    dealer.send(b"hello")
    assert router.recv_multipart() == [b"name", b"hello"]
    assert router.peers()[0].routing_id == b"name"
    router.send_multipart([b"name", b"answer"])
    assert dealer.recv() == b"answer"
    router.mandatory = True
    with pytest.raises(zlink.PeerUnreachable):
        router.send_multipart([b"nobody", b"x"])


def test_pair(context):
    one, two = pair_of(context, zlink.Pair, zlink.Pair)
    one.send(b"1")
    two.send(b"2")
    assert (one.recv(), two.recv()) == (b"2", b"1")


def test_raw_stream(context):
    raw = zlink.RawStream(context)
    raw.recv_timeout = DEADLINE
    port = int(raw.bind("tcp://127.0.0.1:*").rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)) as client:
        name, empty = raw.recv_multipart()
        assert empty == b""
        client.sendall(b"bytes")
        assert raw.recv_multipart() == [name, b"bytes"]
        raw.send_multipart([name, b"back"])
        assert client.recv(4) == b"back"


def test_iteration_ends_with_the_context(pipeline):
    push, pull = pipeline
    push.send(b"1")
    push.send(b"2")
    received = iter(pull)
    assert list(itertools.islice(received, 2)) == [b"1", b"2"]
    push.context.shutdown()
    assert list(received) == []


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        (zlink.Push, "recv"),
        (zlink.Push, "recv_multipart"),
        (zlink.Pull, "send"),
        (zlink.Pub, "recv"),
        (zlink.Sub, "send"),
        (zlink.Push, "subscribe"),
        (zlink.Router, "serve"),
        (zlink.Stream, "send_multipart"),
    ],
)
def test_what_a_pattern_cannot_do(context, kind, method):
    with pytest.raises(AttributeError, match=f"a {kind.__name__} does not .*{method}"):
        getattr(kind(context), method)


def test_the_default_context():
    with zlink.Push() as one, zlink.Pull() as other:
        assert one.context is other.context is zlink.Context.default()


def test_proxy(context):
    frontend, backend, control = zlink.Pull(context), zlink.Push(context), zlink.Pair(context)
    steering, source, target = zlink.Pair(context), zlink.Push(context), zlink.Pull(context)
    target.recv_timeout = DEADLINE
    control.bind("inproc://control")
    steering.connect("inproc://control")
    source.connect(frontend.bind("tcp://127.0.0.1:*"))
    target.connect(backend.bind("tcp://127.0.0.1:*"))
    thread = threading.Thread(target=zlink.proxy, args=(frontend, backend, None, control))
    thread.start()
    source.send_multipart([b"through", b"it"])
    assert target.recv_multipart() == [b"through", b"it"]
    steering.send(b"TERMINATE")
    thread.join(DEADLINE)
    assert not thread.is_alive()


#: Around those from which a payload is not copied, by the library and by Python.
SIZES = [0, 1, 255, 256, 8191, 8192, 8193, 64 * 1024, 1 << 20]


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:*", "inproc://{}", "ipc://*", "ws://127.0.0.1:*"])
@pytest.mark.parametrize("captures", [False, True])
def test_a_proxy_forwards_messages_of_every_size(context, endpoint, captures):
    frontend, backend, steered = zlink.Router(context), zlink.Dealer(context), zlink.Pair(context)
    client, worker, steering = zlink.Req(context), zlink.Rep(context), zlink.Pair(context)
    capture, captured = (zlink.Push(context), zlink.Pull(context)) if captures else (None, None)
    for each in (client, worker, steering, captured):
        if each is not None:
            each.recv_timeout = each.send_timeout = DEADLINE
    client.connect(frontend.bind(endpoint.format("frontend")))
    worker.connect(backend.bind(endpoint.format("backend")))
    steered.bind("inproc://steered")
    steering.connect("inproc://steered")
    if captures:
        captured.connect(capture.bind("inproc://captured"))
    thread = threading.Thread(target=zlink.proxy, args=(frontend, backend, capture, steered))
    thread.start()
    for size in SIZES:
        question, answer = os.urandom(size), [os.urandom(size), b"", os.urandom(size)]
        client.send(question)
        assert worker.recv() == question
        worker.send_multipart(answer)
        assert client.recv_multipart() == answer
        if captures:
            assert captured.recv_multipart()[2:] == [question]
            assert captured.recv_multipart()[2:] == answer
    steering.send(b"TERMINATE")
    thread.join(DEADLINE)
    assert not thread.is_alive()


def test_poll(pipeline):
    push, pull = pipeline
    assert pull.poll(timeout=0) == zlink.Poll(0)
    assert push.poll(zlink.Poll.OUT, timeout=DEADLINE) == zlink.Poll.OUT
    push.send(b"x")
    assert pull.poll(timeout=DEADLINE) == zlink.Poll.IN


def test_poller_with_sockets_and_files(pipeline):
    push, pull = pipeline
    read, write = os.pipe()
    with open(read, "rb") as reading, open(write, "wb", buffering=0) as writing:
        poller = zlink.Poller()
        poller.register(pull)
        poller.register(reading)
        poller.register(writing.fileno(), zlink.Poll.OUT)
        assert poller.poll(DEADLINE) == [(write, zlink.Poll.OUT)]
        poller.unregister(write)
        writing.write(b"x")
        assert poller.poll(DEADLINE) == [(reading, zlink.Poll.IN)]
        assert reading.read(1) == b"x"
        push.send(b"x")
        assert poller.poll(DEADLINE) == [(pull, zlink.Poll.IN)]
        assert pull in poller and len(poller) == 2
        with pytest.raises(KeyError):
            poller.unregister(push)
        with pytest.raises(TypeError, match="a Poller takes a Socket, a file or a descriptor, not str"):
            poller.register("pull")


def test_peers_and_drain(pipeline):
    push, pull = pipeline
    push.send(b"x")
    pull.recv()
    (peer,) = push.peers()
    assert peer.endpoint.startswith("tcp://") and peer.dropped == 0
    push.drain(DEADLINE)
    assert push.peers() == []


def test_blockers():
    context = zlink.Context()
    push = zlink.Push(context)
    push.linger = 60
    push.connect("tcp://127.0.0.1:1")
    (blocker,) = context.blockers()
    assert blocker.is_open and blocker.pattern == zlink.Pattern.PUSH
    push.send(b"x")
    push.close()
    while not (blockers := context.blockers()):
        pass  # An I/O thread has not taken over yet.
    (blocker,) = blockers
    assert not blocker.is_open and blocker.messages == 1 and 0 < blocker.linger <= 60


def test_dropped(context):
    pub, sub = zlink.Pub(context), zlink.Sub(context)
    pub.send_hwm = sub.recv_hwm = 1
    sub.connect(pub.bind("inproc://slow"))
    sub.subscribe()
    while pub.topics_count == 0:
        pass
    for _ in range(100):
        pub.send(b"x")
    assert pub.dropped > 0


def test_monitor(context):
    pull, push = zlink.Pull(context), zlink.Push(context)
    with pull.monitor() as monitor:
        endpoint = pull.bind("tcp://127.0.0.1:*")
        event = monitor.recv(timeout=DEADLINE)
        assert (event.event, event.endpoint) == (zlink.Event.LISTENING, endpoint)
        push.connect(endpoint)
        assert monitor.recv(timeout=DEADLINE).event == zlink.Event.ACCEPTED
        assert monitor.recv(timeout=DEADLINE).event == zlink.Event.HANDSHAKE_SUCCEEDED
        with pytest.raises(zlink.Again):
            monitor.recv(timeout=0)
        pull.close()
        assert [event.event for event in monitor][0] in (zlink.Event.CLOSED, zlink.Event.DISCONNECTED)


def test_a_context_without_threads():
    with zlink.Context(io_threads=0) as context:
        pull, push = zlink.Pull(context), zlink.Push(context)
        push.connect(pull.bind("tcp://127.0.0.1:*"))
        push.send(b"x")
        assert pull.recv(timeout=DEADLINE) == b"x"
        assert context.fileno() >= 0
        context.run()
    with zlink.Context() as context, pytest.raises(zlink.Unsupported, match="has I/O threads"):
        context.fileno()


def test_versions():
    header = pathlib.Path(__file__).parents[2] / "include" / "zlink.h"
    if header.exists():
        parts = [
            line.split()[-1]
            for line in header.read_text().splitlines()
            if line.startswith("#define ZLINK_LIBRARY_VERSION_") and line.split()[-1].isdigit()
        ]
        assert zlink.__version__ == ".".join(parts)
    assert zlink.has("zlink") and zlink.has("ws") and not zlink.has("nothing")


def test_texts_and_json(pipeline):
    push, pull = pipeline
    push.send_string("grün", more=True)
    push.send_json({"a": [1, None, "ü"]})
    assert pull.recv_string() == "grün" and pull.more
    assert pull.recv_json() == {"a": [1, None, "ü"]}
    with pytest.raises(ValueError):
        push.send(b"no JSON")
        pull.recv_json()
    with pytest.raises(zlink.Again):
        pull.recv_string(timeout=0)
