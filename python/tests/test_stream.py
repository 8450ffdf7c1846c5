# SPDX-License-Identifier: MPL-2.0
"""Stream sockets: events, messages, batches, files."""

import collections.abc
import errno
import os
import socket

import pytest

import zlink
from conftest import DEADLINE, Pair


@pytest.mark.parametrize("endpoint", ["ws://127.0.0.1:*/path", "tcp://127.0.0.1:*", "ipc://*"])
def test_events_and_messages(context, endpoint):
    pair = Pair(context, endpoint)
    assert isinstance(pair.came, zlink.Connected)
    if endpoint.startswith("ws"):
        assert pair.came.path == "/path" and pair.came.address.startswith("ws://127.0.0.1:")
    pair.server.send(pair.peer, b"binary")
    received = pair.client.recv()
    assert isinstance(received, zlink.Message)
    assert received.data == b"binary" and not received.is_text and len(received) == 6
    pair.client.send(pair.server_peer, b"back")
    assert pair.server.recv().data == b"back"
    pair.server.close_peer(pair.peer, 4001, "enough")
    went = pair.client.recv()
    assert isinstance(went, zlink.Disconnected)
    if endpoint.startswith("ws"):
        assert (went.code, went.reason) == (4001, "enough")
    gone = pair.server.recv()
    assert isinstance(gone, zlink.Disconnected) and gone.peer == pair.peer


def test_text(ws):
    ws.server.send(ws.peer, "grün")
    received = ws.client.recv()
    assert received.is_text and received.text == "grün" and received.data == "grün".encode()
    ws.server.send(ws.peer, "grün".encode(), text=True)
    assert ws.client.recv().is_text
    with pytest.raises(zlink.Error):
        ws.server.send(ws.peer, b"\xff", text=True)
    with pytest.raises(UnicodeEncodeError):
        ws.server.send(ws.peer, "\ud800")
    ws.server.send(ws.peer, b"\xff")
    with pytest.raises(UnicodeDecodeError):
        ws.client.recv().text


def test_matching(ws):
    ws.server.send(ws.peer, "x")
    match ws.client.recv():
        case zlink.Message(peer, data, is_text):
            assert (peer, data, is_text) == (ws.server_peer, b"x", True)
        case _:
            pytest.fail("no message")


def test_events_can_be_made():
    assert zlink.Connected(1, path="/x").path == "/x"
    assert zlink.Disconnected(1, 1006, "y").reason == "y"
    assert zlink.Message(1, b"\xc3\xa4", True).text == "ä"
    request = zlink.Request(7, b"POST /a?b=c HTTP/1.1\r\nHost: h\r\nX: 1\r\nContent-Length: 2\r\n\r\nhi")
    assert (request.method, request.path, request.query, request.content) == ("POST", "/a", "b=c", b"hi")
    assert request.field("x") == "1" and request.field("none") is None
    assert request.fields[0] == ("Host", "h")
    with pytest.raises(zlink.InvalidValue):
        zlink.Request(7, b"nonsense")


@pytest.mark.parametrize("peer", [-1, 1 << 32, "1", None, 1.5])
def test_a_peer_that_is_none(ws, peer):
    with pytest.raises(TypeError):
        ws.server.send(peer, b"x")


def test_a_peer_that_is_unknown(ws):
    for call in (
        lambda: ws.server.send(999, b"x"),
        lambda: ws.server.close_peer(999),
        lambda: ws.server.abort_peer(999),
        lambda: ws.server.peer(999),
        lambda: ws.server.send_file(999, __file__),
        lambda: ws.server.reply(999),
    ):
        with pytest.raises(zlink.PeerUnreachable):
            call()


def test_a_close_code_that_is_none(ws):
    with pytest.raises(zlink.InvalidValue, match="a close code is"):
        ws.server.close_peer(ws.peer, 5)
    with pytest.raises(zlink.InvalidValue):
        ws.server.close_peer(ws.peer, 1000, "x" * 124)


def test_abort(ws):
    ws.server.abort_peer(ws.peer, 1008, "no")
    assert ws.client.recv().code == 1008


def test_a_full_peer(context):
    server = zlink.Stream(context)
    server.recv_timeout, server.send_hwm = DEADLINE, 3
    port = int(server.bind("tcp://127.0.0.1:*").rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)):  # Reads nothing.
        peer = server.recv().peer
        with pytest.raises(zlink.Again):
            while True:
                server.send(peer, bytes(1_000_000), timeout=0.5)
        assert server.send_each([peer, 999], b"x") == {peer: errno.EAGAIN, 999: errno.EHOSTUNREACH}
        assert server.send_many([peer, 999], b"x") == 0
        with pytest.raises(zlink.Again, match="the peer of message 0 has no room"):
            server.send_batch([(peer, b"x")], timeout=0)
        for call in (server.send, server.send_file):
            with pytest.raises(zlink.Again):
                call(peer, b"x" if call == server.send else __file__, timeout=0)
        assert server.peer(peer).messages > 0 and server.peer(peer).peer == peer
        assert server.dropped > 0


def test_broadcast(context):
    server = zlink.Stream(context)
    server.recv_timeout = DEADLINE
    endpoint = server.bind("ws://127.0.0.1:*")
    clients = [zlink.Stream(context) for _ in range(5)]
    for client in clients:
        client.recv_timeout = DEADLINE
        client.connect(endpoint)
    peers = {server.recv().peer for _ in clients}
    assert server.send_many(peers, "to all") == 5
    assert server.send_each([*peers, 999], b"again") == {999: errno.EHOSTUNREACH}
    for client in clients:
        assert isinstance(client.recv(), zlink.Connected)
        assert (client.recv().text, client.recv().data) == ("to all", b"again")
    with pytest.raises(TypeError, match="peers, which are ints"):
        server.send_many(["1"], b"x")
    with pytest.raises(TypeError):
        server.send_many(5, b"x")


def filled(ws, count):
    """Sends `count` messages to the server, and waits until all can be received."""
    for index in range(count):
        ws.client.send(ws.server_peer, b"%d" % index)
    received = 0
    batches = []
    while received < count:
        batch = ws.server.recv_batch(count)
        received += len(batch)
        batches.append([bytes(message) for message in batch])
    return [each for batch in batches for each in batch]


def test_batches_have_all_messages_in_order(ws):
    assert filled(ws, 1000) == [b"%d" % index for index in range(1000)]


def test_a_batch_is_a_sequence(ws):
    ws.client.send(ws.server_peer, "text")
    batch = ws.server.recv_batch()
    assert len(batch) == 1 and batch[0].peer == batch[-1].peer == ws.peer
    (message,) = batch
    assert isinstance(message.data, memoryview) and message.data.readonly
    assert message.data == b"text" and message.text == "text" and message.is_text and len(message) == 4
    assert message.data is message.data
    for index in (1, -2):
        with pytest.raises(IndexError):
            batch[index]


def poll(server):
    server.poll(timeout=0)


def poll_several(server):
    poller = zlink.Poller()
    poller.register(server)
    poller.poll(timeout=0)


def read_events(server):
    server.get_option(zlink.Option.EVENTS, int)


@pytest.mark.parametrize("call", [poll, poll_several, read_events])
def test_a_batch_ends_when_the_socket_is_polled(ws, call):
    ws.client.send(ws.server_peer, b"one")
    batch = ws.server.recv_batch()
    view = batch[0].data
    call(ws.server)
    with pytest.raises(ValueError, match="released"):
        view[0]
    with pytest.raises(BufferError, match="batch"):
        bytes(batch[0])


def test_a_batch_ends_with_the_next_receiving_call(ws):
    ws.client.send(ws.server_peer, b"one")
    batch = ws.server.recv_batch()
    message = batch[0]
    view = message.data
    ws.server.send(ws.peer, b"x")
    ws.server.send_many([ws.peer], b"x")
    assert ws.server.linger is None
    ws.server.peers()
    ws.server.bind("ws://127.0.0.1:*")
    assert view == b"one" and repr(message) == f"MessageView(peer={ws.peer}, 3 bytes)"
    with pytest.raises(zlink.Again):
        ws.server.recv(timeout=0)
    with pytest.raises(ValueError, match="released"):
        view[0]
    for use in (lambda: message.data, lambda: bytes(message), lambda: memoryview(message), lambda: len(message)):
        with pytest.raises(BufferError, match="batch"):
            use()
    with pytest.raises(BufferError):
        ws.server.send_batch(batch)
    assert repr(message) == f"MessageView(peer={ws.peer}, ended)"


def test_a_batch_is_valid_while_its_peer_is_aborted(ws):
    ws.client.send(ws.server_peer, bytes(100_000))
    batch = ws.server.recv_batch()
    ws.server.abort_peer(ws.peer)
    assert isinstance(ws.client.recv(), zlink.Disconnected)
    assert batch[0].data == bytes(100_000)


def test_a_batch_is_a_sequence(context):
    with zlink.Stream(context) as server:
        server.recv_timeout = DEADLINE
        client = zlink.Stream(context)
        client.connect(server.bind("tcp://127.0.0.1:*"))
        (came,) = server.recv_batch()
        server_peer = client.recv(timeout=DEADLINE).peer
        client.send_batch([(server_peer, b"%d" % index) for index in range(3)])
        server.poll(timeout=DEADLINE)
        count = 0
        while count < 3:
            batch = server.recv_batch()
            contents = [bytes(each) for each in batch]
            assert [bytes(each) for each in batch[1:]] == contents[1:]
            assert [bytes(each) for each in batch[::-1]] == contents[::-1]
            assert [bytes(each) for each in reversed(batch)] == contents[::-1]
            assert isinstance(batch, collections.abc.Sequence) and batch.count(came) == 0
            assert batch[5:] == []
            count += len(batch)


def test_a_part_of_a_view_that_is_in_use(ws):
    ws.client.send(ws.server_peer, b"one")
    part = ws.server.recv_batch()[0].data[1:]
    for call in (lambda: ws.server.recv(timeout=0), ws.server.close):
        with pytest.raises(BufferError, match="still in use"):
            call()
    assert part == b"ne"
    part.release()
    with pytest.raises(zlink.Again):
        ws.server.recv(timeout=0)


def test_a_batch_outlives_its_variable_and_its_socket(context):
    pair = Pair(context)
    pair.client.send(pair.server_peer, b"one")
    view = pair.server.recv_batch()[0].data
    assert view == b"one"
    pair.server.close()
    with pytest.raises(ValueError, match="released"):
        view[0]


def test_events_in_a_batch(context):
    pair = Pair(context)
    pair.client.send(pair.server_peer, b"last")
    pair.client.close()
    seen = []
    while not seen or not isinstance(seen[-1], zlink.Disconnected):
        seen.extend(each if isinstance(each, zlink.Disconnected) else bytes(each) for each in pair.server.recv_batch())
    assert seen[0] == b"last" and seen[-1].peer == pair.peer


def test_a_batch_is_sent_back(ws):
    for index in range(10):
        ws.client.send(ws.server_peer, "%d" % index)
    back = 0
    while back < 10:
        back += ws.server.send_batch(ws.server.recv_batch())
    received = [ws.client.recv() for _ in range(10)]
    assert [each.text for each in received] == ["%d" % index for index in range(10)]
    assert all(each.is_text for each in received)


def test_messages_of_every_kind_are_sent_in_a_batch(ws):
    ws.client.send(ws.server_peer, "view")
    view = ws.server.recv_batch()[0]
    sent = [(ws.peer, b"bytes"), (ws.peer, "text"), (999, b"gone"), zlink.Message(ws.peer, b"message"), view]
    assert ws.server.send_batch(sent) == 4
    assert [ws.client.recv().data for _ in range(4)] == [b"bytes", b"text", b"message", b"view"]
    assert ws.server.send_batch([]) == 0
    for wrong in ([5], [("1", b"x")], [(1, 5)], 5, [(1, b"x", b"y")]):
        with pytest.raises(TypeError):
            ws.server.send_batch(wrong)


@pytest.mark.parametrize("count", [0, 1 << 20])
def test_a_batch_of_a_wrong_size(ws, count):
    with pytest.raises(ValueError, match="from 1 to 65536"):
        ws.server.recv_batch(count)


def test_files(ws, tmp_path):
    content = os.urandom(300_000)
    path = tmp_path / "file"
    path.write_bytes(content)
    ws.server.send_file(ws.peer, path)
    ws.server.send_file(ws.peer, str(path), offset=10, length=5)
    with path.open("rb") as file:
        ws.server.send_file(ws.peer, file, offset=299_999)
        ws.server.send_file(ws.peer, file.fileno(), length=1)
    received = [ws.client.recv().data for _ in range(4)]
    assert received == [content, content[10:15], content[-1:], content[:1]]
    with pytest.raises(FileNotFoundError):
        ws.server.send_file(ws.peer, tmp_path / "none")
    with pytest.raises(zlink.InvalidValue):
        ws.server.send_file(ws.peer, path, offset=300_001, length=1)
    with pytest.raises(zlink.Error):
        ws.server.send_file(ws.peer, os.open(tmp_path, os.O_RDONLY))


def test_large_messages(ws):
    data = os.urandom(1 << 20)
    for sent in (data, bytearray(data), memoryview(data)):
        ws.server.send(ws.peer, sent)
        assert ws.client.recv().data == data


def test_subprotocols(context):
    server, client = zlink.Stream(context), zlink.Stream(context)
    server.ws_subprotocols, client.ws_subprotocols = "b,a", "a,b"
    client.connect(server.bind("ws://127.0.0.1:*"))
    assert server.recv(timeout=DEADLINE).subprotocol == "b"


def test_iteration(ws):
    ws.client.send(ws.server_peer, b"1")
    events = iter(ws.server)
    assert next(events).data == b"1"
    ws.server.context.shutdown()
    assert list(events) == []
