# SPDX-License-Identifier: MPL-2.0
"""Runs the programs of examples/python, which the guide quotes."""

import asyncio
import contextlib
import http.client
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

import zlink
from conftest import DEADLINE
from zlink import aio

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def run(name, *arguments):
    ended = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@contextlib.contextmanager
def server(name, *arguments):
    """Runs a server; gives its host and port, and ends it as Ctrl+C does."""
    with subprocess.Popen([sys.executable, EXAMPLES / name, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().split()[1]
            yield address.partition("://")[2].split("/")[0]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(DEADLINE) == 0


def ask(address, method, path, body=None):
    connection = http.client.HTTPConnection(address, timeout=DEADLINE)
    connection.request(method, path, body)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content


@pytest.fixture
def client(context):
    made = zlink.Stream(context)
    made.recv_timeout = DEADLINE
    return made


def test_all_are_run():
    tested = pathlib.Path(__file__).read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.name}"' in tested, path


def test_first():
    assert run("first.py") == "hello\n"


@pytest.mark.skipif(not zlink.has("draft"), reason="the library was built without drafts")
def test_drafts():
    assert run("drafts.py") == "re: question\nweather: sunny\n"


def test_loop():
    assert run("loop.py") == "ONE TWO THREE\n"


def test_errors():
    lines = run("errors.py").splitlines()
    assert "nonsense" in lines[0] and lines[1:3] == ["no message in 0.1 s", "Pull.recv: the socket is closed"]
    assert lines[-1] == "late"


def test_echo(client):
    with server("echo.py", "ws://127.0.0.1:*") as address:
        client.connect(f"ws://{address}")
        peer = client.recv().peer
        client.send(peer, "text")
        assert client.recv().text == "text"


def test_chat(client):
    with server("chat.py", "http://127.0.0.1:*") as address:
        assert b"<title>Chat" in ask(address, "GET", "/")[1]
        client.connect(f"ws://{address}/chat")
        peer = client.recv().peer
        assert json.loads(client.recv().text)["text"].endswith("came")
        client.send(peer, "hello")
        assert json.loads(client.recv().text)["text"].endswith(": hello")


def test_api(tmp_path):
    (tmp_path / "index.html").write_text("page")
    with server("api.py", os.fspath(tmp_path), "http://127.0.0.1:*") as address:
        assert ask(address, "GET", "/") == (200, b"page")
        assert ask(address, "GET", "/api/notes") == (200, b"[]")
        assert ask(address, "POST", "/api/notes", "nonsense")[0] == 400
        follower = http.client.HTTPConnection(address, timeout=DEADLINE)
        follower.request("GET", "/api/events")
        events = follower.getresponse()
        assert ask(address, "POST", "/api/notes", '{"text": "note"}')[0] == 201
        assert events.read1() == b'data: "note"\n\n'
        follower.close()
        assert ask(address, "GET", "/api/notes") == (200, b'["note"]')
        assert ask(address, "GET", "/api/other")[0] == 404


def test_api_answers_when_it_fails(context, caplog):
    spec = importlib.util.spec_from_file_location("api", EXAMPLES / "api.py")
    api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api)

    async def main():
        async with aio.Stream(context) as stream:
            stream.route("/*")
            address = stream.bind("http://127.0.0.1:*").split("/")[2]
            asked = asyncio.create_task(asyncio.to_thread(ask, address, "GET", "/api/notes"))
            await api.answer(stream, None, await stream.recv())
            assert (await asked)[0] == 500

    asyncio.run(main())
    assert "GET /api/notes" in caplog.text
