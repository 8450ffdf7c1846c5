"""ZLINK_STREAM over ws and wss with Python's websockets at the other end, as client and as server."""

import json
import os
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory, ServerPerMessageDeflateFactory
from websockets.sync.client import connect
from websockets.sync.server import serve

from tls_echo import OPTIONS, make_certificates

ECHO = Path(__file__).with_name("stream_echo.py")
SECONDS_MAX = 20
DEFLATE, DEFLATE_MIN, DEFLATE_WINDOW, DEFLATE_CONTEXT = 1050, 1051, 1053, 1054
COMPRESSION = [
    {DEFLATE: 1},
    {DEFLATE: 1, DEFLATE_MIN: 0, DEFLATE_WINDOW: 10},
    {DEFLATE: 1, DEFLATE_MIN: 0, DEFLATE_CONTEXT: 1},
]
MESSAGES = ["", "text", "gr\u00fcn \U0001f600", b"", b"\xff\x00", b"x" * 125, b"x" * 126, "y" * 65535, bytes(range(256)) * 5000]


class Echo:
    def __init__(self, command, environment, way, endpoint, options):
        arguments = [way, endpoint, *(f"{option}={value}" for option, value in options.items())]
        self._process = subprocess.Popen([*command, *arguments], env=environment, stdout=subprocess.PIPE, text=True)
        self.endpoint = self._line()

    def _line(self):
        return self._process.stdout.readline().strip()

    def news(self):
        """Whether a peer has come, or has gone, and what is said of it."""
        event, text = json.loads(self._line())
        return bool(event), text

    def close(self):
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    return folder


@pytest.fixture
def echo(environments, candidate_library, certificates):
    python, extra = environments["zlink"]
    running = []
    files = {"CERTIFICATE": "server.crt", "KEY": "server.key", "CA": "authority.crt"}

    def start(way, endpoint, options={}):
        given = {**{OPTIONS[name]: certificates / file for name, file in files.items()}, **options}
        running.append(Echo([python, ECHO, str(candidate_library)], {**os.environ, **extra}, way, endpoint, given))
        return running[-1]

    yield start
    for each in running:
        each.close()


def trusting(scheme, certificates):
    """What connect() needs besides."""
    return {"ssl": ssl.create_default_context(cafile=certificates / "authority.crt")} if scheme == "wss" else {}


def identified(scheme, certificates):
    """What serve() needs besides."""
    if scheme == "ws":
        return {}
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    return {"ssl": shown}


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_a_client_gets_everything_back(scheme, echo, certificates):
    server = echo("bind", f"{scheme}://127.0.0.1:*/chat")
    extra = trusting(scheme, certificates)
    with connect(server.endpoint, compression=None, max_size=None, open_timeout=SECONDS_MAX, **extra) as client:
        has_come, text = server.news()
        assert has_come and text.splitlines()[1] == "Path: /chat"
        for message in MESSAGES:
            client.send(message)
            assert client.recv(SECONDS_MAX) == message
        client.send(["frag", "men", "ted"])
        assert client.recv(SECONDS_MAX) == "fragmented"
        assert client.ping("?").wait(SECONDS_MAX)
        for message in MESSAGES:
            client.send(message)
        for message in MESSAGES:
            assert client.recv(SECONDS_MAX) == message
        client.close(4000, "enough")
    assert server.news() == (False, "4000 enough")


def test_a_client_that_offers_compression_is_served_without(echo):
    server = echo("bind", "ws://127.0.0.1:*/")
    with connect(server.endpoint, open_timeout=SECONDS_MAX) as client:
        client.send("hello")
        assert client.recv(SECONDS_MAX) == "hello"


@pytest.mark.parametrize("offer", [{}, {"server_no_context_takeover": True}, {"server_max_window_bits": 9, "client_max_window_bits": 9}], ids=str)
@pytest.mark.parametrize("options", COMPRESSION, ids=str)
def test_a_client_that_compresses_gets_everything_back(echo, options, offer):
    server = echo("bind", "ws://127.0.0.1:*/", options)
    factory = ClientPerMessageDeflateFactory(**{"client_max_window_bits": True, **offer})
    with connect(server.endpoint, extensions=[factory], compression=None, max_size=None, open_timeout=SECONDS_MAX) as client:
        assert "permessage-deflate" in client.response.headers["Sec-WebSocket-Extensions"]
        for message in MESSAGES * 2:
            client.send(message)
            assert client.recv(SECONDS_MAX) == message
        client.send(["frag" * 1000, "men", "ted"])
        assert client.recv(SECONDS_MAX) == "frag" * 1000 + "mented"
        for message in MESSAGES:
            client.send(message)
        for message in MESSAGES:
            assert client.recv(SECONDS_MAX) == message
    has_come, text = server.news()
    assert has_come and "Extensions: permessage-deflate" in text


def test_a_zip_bomb_ends_who_sends_it(echo):
    server = echo("bind", "ws://127.0.0.1:*/", {DEFLATE: 1})
    with connect(server.endpoint, max_size=None, open_timeout=SECONDS_MAX) as client:
        client.send(bytes(100_000_000))
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(SECONDS_MAX)
        assert closed.value.rcvd.code == 1009
    with connect(server.endpoint, open_timeout=SECONDS_MAX) as client:
        client.send("still there")
        assert client.recv(SECONDS_MAX) == "still there"


def test_another_path_is_not_found(echo):
    server = echo("bind", "ws://127.0.0.1:*/chat")
    with pytest.raises(InvalidStatus) as refused:
        connect(server.endpoint.replace("/chat", "/other"), open_timeout=SECONDS_MAX)
    assert refused.value.response.status_code == 404


def test_a_client_that_does_not_know_the_authority_is_not_reached(echo):
    server = echo("bind", "wss://127.0.0.1:*/")
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(server.endpoint, open_timeout=SECONDS_MAX, ssl=ssl.create_default_context())


@pytest.mark.parametrize("answer", [None, {}, {"client_no_context_takeover": True}], ids=str)
@pytest.mark.parametrize("options", [{}, *COMPRESSION], ids=str)
@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_a_server_gets_everything_back(scheme, echo, certificates, options, answer):
    extensions = None if answer is None else [ServerPerMessageDeflateFactory(**answer)]
    received, outcome = [], []
    done = threading.Event()

    def handle(connection):
        try:
            for message in MESSAGES * 2:
                connection.send(message)
                received.append(connection.recv(SECONDS_MAX))
            connection.close(1001, "going")
        except ConnectionClosed as closed:
            outcome.append(closed)
        done.set()

    extra = identified(scheme, certificates)
    with serve(handle, "127.0.0.1", 0, extensions=extensions, compression=None, max_size=None, **extra) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = echo("connect", f"{scheme}://127.0.0.1:{server.socket.getsockname()[1]}/chat?room=1", options)
        has_come, text = client.news()
        assert has_come and text.splitlines()[1] == "Path: /chat?room=1"
        assert done.wait(SECONDS_MAX)
        assert received == MESSAGES * 2 and not outcome
        assert ("Extensions: permessage-deflate" in text) == (bool(options) and answer is not None)
        assert client.news() == (False, "1001 going")
        server.shutdown()
