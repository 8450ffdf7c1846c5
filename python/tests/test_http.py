# SPDX-License-Identifier: MPL-2.0
"""Files, requests and upgrades over HTTP, with http.client at the other end."""

import contextlib
import http.client
import threading

import pytest

import zlink
from conftest import DEADLINE


class Server:
    """A Stream bound to http, and its clients."""

    def __init__(self, context):
        self.stream = zlink.Stream(context)
        self.stream.recv_timeout = DEADLINE

    def bind(self, endpoint="http://127.0.0.1:*"):
        endpoint = self.stream.bind(endpoint)
        self.port = int(endpoint.split(":")[2].split("/")[0])

    @contextlib.contextmanager
    def ask(self, method, path, body=None, fields=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        connection.request(method, path, body, fields or {})
        try:
            yield connection
        finally:
            connection.close()


@pytest.fixture
def server(context):
    return Server(context)


def answer(connection):
    response = connection.getresponse()
    return response.status, response.read(), response.headers


def test_a_folder(server, tmp_path):
    (tmp_path / "index.html").write_text("<p>index")
    (tmp_path / "x.js").write_text("x")
    server.stream.serve("/", tmp_path, cache_control="*.js: max-age=60", cors_origin="*")
    server.bind()
    with server.ask("GET", "/") as asked:
        assert answer(asked)[:2] == (200, b"<p>index")
    with server.ask("GET", "/x.js") as asked:
        headers = answer(asked)[2]
        assert headers["Cache-Control"] == "max-age=60" and headers["Access-Control-Allow-Origin"] == "*"
    with server.ask("GET", "/none") as asked:
        assert answer(asked)[0] == 404
    with server.ask("GET", "/index.html", fields={"Range": "bytes=1-1"}) as asked:
        assert answer(asked)[:2] == (206, b"p")


def test_a_folder_that_is_none(server, tmp_path):
    with pytest.raises(zlink.Error, match="nowhere"):
        server.stream.serve("/", "/nowhere")
    with pytest.raises(zlink.InvalidValue):
        server.stream.serve("no slash", tmp_path)


def test_a_request_and_its_answer(server):
    server.stream.route("/api/*")
    server.bind()
    with server.ask("POST", "/api/a%20b?x=1&y", b"content", {"X-Own": " value ", "Cookie": "id=5"}) as asked:
        request = server.stream.recv()
        assert isinstance(request, zlink.Request)
        assert (request.method, request.path, request.query) == ("POST", "/api/a%20b", "x=1&y")
        assert request.content == b"content"
        assert request.field("x-own") == "value" and request.field("cookie") == "id=5"
        assert ("X-Own", "value") in request.fields
        assert not request.is_upgrade
        server.stream.reply(request.peer, 201, "grün", fields={"Content-Type": "text/plain", "X-Back": "1"})
        status, content, headers = answer(asked)
        assert (status, content.decode(), headers["X-Back"]) == (201, "grün", "1")
        with pytest.raises(zlink.WrongState, match="reply: no request of this peer waits for an answer"):
            server.stream.reply(request.peer)
        with pytest.raises(zlink.WrongState, match="no answer to this peer was begun"):
            server.stream.reply_part(request.peer, b"x")
        asked.request("GET", "/api/2")  # On the same connection.
        again = server.stream.recv()
        assert again.peer == request.peer
        server.stream.reply(again.peer, fields=[("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
        assert answer(asked)[2].get_all("Set-Cookie") == ["a=1", "b=2"]


def test_requests_in_a_batch(server):
    server.stream.route("/*")
    server.bind()
    with server.ask("GET", "/x") as asked:
        (request,) = server.stream.recv_batch()
        assert request.path == "/x"
        server.stream.reply(request.peer, 204)
        assert answer(asked)[0] == 204


@pytest.mark.parametrize(
    "fields",
    [
        {"X": "a\r\nSet-Cookie: b"},
        {"X\nY": "a"},
        {"X": "a\0"},
        {"X\r": "a"},
        {"X: a\nY": "b"},
        {"X: Y": "a"},
        {"": "a"},
        {"Content-Length": "5"},
        {"no name": "x"},
    ],
)
def test_fields_that_are_refused(server, fields):
    server.stream.route("/*")
    server.bind()
    with server.ask("GET", "/") as asked:
        request = server.stream.recv()
        with pytest.raises(zlink.InvalidValue):
            server.stream.reply(request.peer, fields=fields)
        with pytest.raises(zlink.InvalidValue, match="the status of a response is from 200 to 599"):
            server.stream.reply(request.peer, 99)
        server.stream.reply(request.peer, 200, b"x")
        assert answer(asked)[1] == b"x"


def test_a_file_as_an_answer(server, tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    server.stream.route("/*")
    server.bind()
    with server.ask("GET", "/") as asked:
        server.stream.reply_file(
            server.stream.recv().peer, tmp_path / "file", fields={"X": "1"}, offset=2, length=3
        )
        assert answer(asked)[:2] == (200, b"234")


@pytest.mark.parametrize("region", [{"offset": -1}, {"length": -1}, {"length": 1 << 64}])
def test_a_region_that_is_none(ws, tmp_path, region):
    (tmp_path / "file").write_bytes(b"0123456789")
    for call in (ws.server.send_file, ws.server.reply_file):
        with pytest.raises(ValueError, match=f"{next(iter(region))} is 0 or more bytes"):
            call(ws.peer, tmp_path / "file", **region)
    with pytest.raises(TypeError, match="a file is a path"):
        ws.server.send_file(ws.peer, 1.5)


def test_an_answer_in_parts(server):
    server.stream.route("/*")
    server.bind()
    with server.ask("GET", "/events") as asked:
        peer = server.stream.recv().peer
        server.stream.reply(peer, fields={"Content-Type": "text/event-stream"}, more=True)
        response = asked.getresponse()
        server.stream.reply_part(peer, "data: 1\n\n")
        assert response.read1() == b"data: 1\n\n"
        server.stream.reply_part(peer, "data: 2\n\n", more=False)
        assert response.read() == b"data: 2\n\n"
        asked.request("GET", "/")
        server.stream.reply_parts(server.stream.recv().peer, (b"%d" % index for index in range(100)))
        assert asked.getresponse().read() == b"".join(b"%d" % index for index in range(100))


def test_parts_that_raise(server):
    server.stream.route("/*")
    server.bind()

    def parts():
        yield b"begin"
        raise LookupError("no more")

    with server.ask("GET", "/") as asked:
        with pytest.raises(LookupError):
            server.stream.reply_parts(server.stream.recv().peer, parts())
        with pytest.raises((http.client.HTTPException, OSError)):
            answer(asked)


def test_a_client_that_goes(server):
    server.stream.route("/*")
    server.bind()
    with server.ask("GET", "/"):
        request = server.stream.recv()
    assert isinstance(server.stream.recv(), zlink.Disconnected)
    with pytest.raises(zlink.PeerUnreachable):
        server.stream.reply(request.peer)


def test_upgrades(server, context):
    server.stream.ws_subprotocols = "chat"
    server.stream.route("/ws/*", requests=False, upgrades=True)
    server.stream.route("/open", requests=False, peers=True)
    server.bind()
    client = zlink.Stream(context)
    client.recv_timeout = DEADLINE
    client.ws_subprotocols = "chat"
    client.connect(f"ws://127.0.0.1:{server.port}/ws/room")
    request = server.stream.recv()
    assert request.is_upgrade and request.path == "/ws/room"
    server.stream.upgrade(request.peer, subprotocol="chat", fields={"Set-Cookie": "id=5"})
    came = server.stream.recv()
    assert isinstance(came, zlink.Connected) and came.peer == request.peer
    assert (came.path, came.subprotocol) == ("/ws/room", "chat")
    server.stream.send(came.peer, "welcome")
    client.recv()
    assert client.recv().text == "welcome"
    other = zlink.Stream(context)
    other.connect(f"ws://127.0.0.1:{server.port}/open")
    assert server.stream.recv().path == "/open"
    with pytest.raises((zlink.WrongState, zlink.PeerUnreachable)):
        server.stream.upgrade(came.peer)


def test_an_upgrade_that_is_refused(server, context):
    server.stream.route("/ws", upgrades=True)
    server.bind()
    client = zlink.Stream(context)
    client.reconnect_interval = None
    with client.monitor(zlink.Event.HANDSHAKE_FAILED_NO_DETAIL) as monitor:
        client.connect(f"ws://127.0.0.1:{server.port}/ws")
        server.stream.reply(server.stream.recv().peer, 401)
        event = monitor.recv(timeout=DEADLINE)
    assert event.value == 401 and "401" in event.endpoint


@pytest.mark.parametrize("takes", [lambda stream: stream.recv(), lambda stream: stream.recv_batch()[0]])
def test_an_upgrade_for_which_nobody_asked(server, takes):
    server.stream.route("/*")
    server.bind()
    with server.ask("GET", "/") as asked:
        request = takes(server.stream)
        assert not request.is_upgrade
        with pytest.raises(zlink.WrongState, match="no request for an upgrade of this peer"):
            server.stream.upgrade(request.peer)
        server.stream.reply(request.peer, 200, b"x")
        assert answer(asked)[:2] == (200, b"x")


def test_a_path_that_is_none(server):
    with pytest.raises(zlink.InvalidValue, match="'api'"):
        server.stream.route("api")
    with pytest.raises(ValueError, match="peers and upgrades"):
        server.stream.route("/", peers=True, upgrades=True)


def test_head_and_many_clients(server):
    server.stream.route("/*")
    server.bind()
    count = 20

    def serve():
        for _ in range(count):
            request = server.stream.recv()
            server.stream.reply(request.peer, 200, request.path.encode())

    thread = threading.Thread(target=serve)
    thread.start()
    with contextlib.ExitStack() as stack:
        asked = [stack.enter_context(server.ask("HEAD" if index == 0 else "GET", f"/{index}")) for index in range(count)]
        contents = [answer(each)[1] for each in asked]
    thread.join(DEADLINE)
    assert contents == [b""] + [b"/%d" % index for index in range(1, count)]
