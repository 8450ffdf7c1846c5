"""STREAM, and ROUTER with ROUTER_RAW, with bare connections: zlink behaves like stock libzmq."""

import pytest

from driver import PeerError

LONG = bytes(range(256)) * 400


@pytest.fixture(params=["STREAM", "ROUTER"])
def raw(request, library):
    options = {"ROUTER_RAW": 1} if request.param == "ROUTER" else {}
    return library.socket(request.param, **options)


def expect(connection, data):
    heard = b""
    while len(heard) < len(data):
        more = connection.recv(len(data) - len(heard))
        assert more
        heard += more
    assert heard == data


def recv_bytes(stream, name, count):
    data = b""
    while len(data) < count:
        sender, part = stream.recv()
        assert sender == name and 0 < len(part) <= 8192
        data += part
    return data


def test_bytes_pass_both_ways(raw, join):
    connection = join(raw)
    name, news = raw.recv()
    assert len(name) == 5 and name[0] == 0 and news == b""
    connection.sendall(b"hello")
    assert raw.recv() == [name, b"hello"]
    raw.send(name, b"world")
    expect(connection, b"world")
    connection.sendall(LONG)
    assert recv_bytes(raw, name, len(LONG)) == LONG
    raw.send(name, LONG)
    raw.send(name, b"x")
    expect(connection, LONG + b"x")


def test_the_peer_goes(raw, join):
    connection = join(raw)
    name, _ = raw.recv()
    connection.sendall(b"last words")
    connection.close()
    assert raw.recv() == [name, b"last words"]
    assert raw.recv() == [name, b""]


def test_an_empty_frame_sends_the_peer_away(library, join):
    stream = library.socket("STREAM")
    connection = join(stream)
    name, _ = stream.recv()
    stream.send(name, LONG)
    stream.send(name, b"")
    expect(connection, LONG)
    assert stream.try_recv(50) is None  # libzmq closes it in a later call.
    assert connection.recv(1) == b""


def test_a_name_that_nobody_has(library, join):
    stream = library.socket("STREAM")
    join(stream)
    name, _ = stream.recv()
    with pytest.raises(PeerError) as failure:
        stream.call("send_part", part="", more=True)
    assert failure.value.errno == "EHOSTUNREACH"
    stream.send(name, b"somebody")


def test_without_news(library, join):
    stream = library.socket("STREAM", STREAM_NOTIFY=0)
    connection = join(stream)
    connection.sendall(b"hello")
    name, first = stream.recv()
    assert first == b"hello"
    connection.close()
    assert stream.try_recv(50) is None


@pytest.mark.parametrize("name", [b"", b"server"])
def test_the_name_of_a_server(library, listener, name):
    stream = library.socket("STREAM")
    if name:
        stream.set("CONNECT_ROUTING_ID", name)
    stream.connect(f"tcp://127.0.0.1:{listener.getsockname()[1]}")
    chosen = stream.get("ROUTING_ID")
    assert len(chosen) == (0 if name else 5)
    stream.send(name or chosen, b"early")
    connection, _ = listener.accept()
    expect(connection, b"early")
    assert stream.recv() == [name or chosen, b""]
    connection.close()
    assert stream.recv() == [name or chosen, b""]
    again, _ = listener.accept()
    assert stream.recv() == [name or chosen, b""]
    again.close()


def test_the_address_of_a_peer(library, join):
    stream = library.socket("STREAM")
    join(stream)
    assert stream.call("recv_properties", names=["Peer-Address"]) == ["127.0.0.1"]
