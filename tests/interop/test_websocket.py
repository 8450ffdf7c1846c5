"""ZLINK_STREAM over ws and wss with Python's websockets at the other end, as client and as server.

That end uses one thread only: the threaded variant of that library reads and writes an SSL object on two threads at a
time, which OpenSSL does not allow, and loses its request about once in 200 connections, whatever server it talks to.
"""

import asyncio
import functools
import json
import os
import queue
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory, ServerPerMessageDeflateFactory

from tls_echo import OPTIONS, make_certificates

ECHO = Path(__file__).with_name("stream_echo.py")
SECONDS_MAX = 60
DEFLATE, DEFLATE_MIN, DEFLATE_WINDOW, DEFLATE_CONTEXT = 1050, 1051, 1053, 1054
COMPRESSION = [
    {DEFLATE: 1},
    {DEFLATE: 1, DEFLATE_MIN: 0, DEFLATE_WINDOW: 10},
    {DEFLATE: 1, DEFLATE_MIN: 0, DEFLATE_CONTEXT: 1},
]
MESSAGES = ["", "text", "gr\u00fcn \U0001f600", b"", b"\xff\x00", b"x" * 125, b"x" * 126, "y" * 65535, bytes(range(256)) * 5000]


def in_time(test):
    """Makes a test of a coroutine, with a time limit."""

    @functools.wraps(test)
    def run(*arguments, **named):
        asyncio.run(asyncio.wait_for(test(*arguments, **named), SECONDS_MAX))

    return run


class Echo:
    def __init__(self, command, environment, way, endpoint, options):
        arguments = [way, endpoint, *(f"{option}={value}" for option, value in options.items())]
        self._process = subprocess.Popen([*command, *arguments], env=environment, stdout=subprocess.PIPE, text=True)
        self._lines = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.endpoint = self._line()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line.strip())

    def _line(self):
        return self._lines.get(timeout=SECONDS_MAX / 3)

    async def news(self):
        """Whether a peer has come or gone, and the text of the event."""
        event, text = json.loads(await asyncio.to_thread(self._line))
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
    """Further arguments of connect()."""
    return {"ssl": ssl.create_default_context(cafile=certificates / "authority.crt")} if scheme == "wss" else {}


def identified(scheme, certificates):
    """Further arguments of serve()."""
    if scheme == "ws":
        return {}
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    return {"ssl": shown}


@pytest.mark.parametrize("scheme", ["ws", "wss"])
@in_time
async def test_a_client_gets_everything_back(scheme, echo, certificates):
    server = echo("bind", f"{scheme}://127.0.0.1:*/chat")
    extra = trusting(scheme, certificates)
    async with connect(server.endpoint, compression=None, max_size=None, **extra) as client:
        is_connect, text = await server.news()
        assert is_connect and text.splitlines()[1] == "Path: /chat"
        for message in MESSAGES:
            await client.send(message)
            assert await client.recv() == message
        await client.send(["frag", "men", "ted"])
        assert await client.recv() == "fragmented"
        await (await client.ping("?"))
        for message in MESSAGES:
            await client.send(message)
        for message in MESSAGES:
            assert await client.recv() == message
        await client.close(4000, "enough")
    assert await server.news() == (False, "4000 enough")


@in_time
async def test_a_client_that_offers_compression_is_served_without(echo):
    server = echo("bind", "ws://127.0.0.1:*/")
    async with connect(server.endpoint) as client:
        await client.send("hello")
        assert await client.recv() == "hello"


@pytest.mark.parametrize("offer", [{}, {"server_no_context_takeover": True}, {"server_max_window_bits": 9, "client_max_window_bits": 9}], ids=str)
@pytest.mark.parametrize("options", COMPRESSION, ids=str)
@in_time
async def test_a_client_that_compresses_gets_everything_back(echo, options, offer):
    server = echo("bind", "ws://127.0.0.1:*/", options)
    factory = ClientPerMessageDeflateFactory(**{"client_max_window_bits": True, **offer})
    async with connect(server.endpoint, extensions=[factory], compression=None, max_size=None) as client:
        assert "permessage-deflate" in client.response.headers["Sec-WebSocket-Extensions"]
        for message in MESSAGES * 2:
            await client.send(message)
            assert await client.recv() == message
        await client.send(["frag" * 1000, "men", "ted"])
        assert await client.recv() == "frag" * 1000 + "mented"
        for message in MESSAGES:
            await client.send(message)
        for message in MESSAGES:
            assert await client.recv() == message
    is_connect, text = await server.news()
    assert is_connect and "Extensions: permessage-deflate" in text


@in_time
async def test_a_zip_bomb_ends_its_sender(echo):
    server = echo("bind", "ws://127.0.0.1:*/", {DEFLATE: 1})
    async with connect(server.endpoint, max_size=None) as client:
        await client.send(bytes(100_000_000))
        with pytest.raises(ConnectionClosed) as closed:
            await client.recv()
        assert closed.value.rcvd.code == 1009
    async with connect(server.endpoint) as client:
        await client.send("still there")
        assert await client.recv() == "still there"


@in_time
async def test_another_path_is_not_found(echo):
    server = echo("bind", "ws://127.0.0.1:*/chat")
    with pytest.raises(InvalidStatus) as refused:
        await connect(server.endpoint.replace("/chat", "/other"))
    assert refused.value.response.status_code == 404


@in_time
async def test_a_client_that_does_not_know_the_authority_is_not_reached(echo):
    server = echo("bind", "wss://127.0.0.1:*/")
    with pytest.raises(ssl.SSLCertVerificationError):
        await connect(server.endpoint, ssl=ssl.create_default_context())


@pytest.mark.parametrize("answer", [None, {}, {"client_no_context_takeover": True}], ids=str)
@pytest.mark.parametrize("options", [{}, *COMPRESSION], ids=str)
@pytest.mark.parametrize("scheme", ["ws", "wss"])
@in_time
async def test_a_server_gets_everything_back(scheme, echo, certificates, options, answer):
    extensions = None if answer is None else [ServerPerMessageDeflateFactory(**answer)]
    received, outcome = [], []
    done = asyncio.Event()

    async def handle(connection):
        try:
            for message in MESSAGES * 2:
                await connection.send(message)
                received.append(await connection.recv())
            await connection.close(1001, "going")
        except ConnectionClosed as closed:
            outcome.append(closed)
        done.set()

    extra = identified(scheme, certificates)
    async with serve(handle, "127.0.0.1", 0, extensions=extensions, compression=None, max_size=None, **extra) as server:
        client = echo("connect", f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/chat?room=1", options)
        is_connect, text = await client.news()
        assert is_connect and text.splitlines()[1] == "Path: /chat?room=1"
        await done.wait()
        assert received == MESSAGES * 2 and not outcome
        assert ("Extensions: permessage-deflate" in text) == (bool(options) and answer is not None)
        assert await client.news() == (False, "1001 going")
