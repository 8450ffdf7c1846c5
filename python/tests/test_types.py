# SPDX-License-Identifier: MPL-2.0
"""Types: the package's own, the stubs of its module, and those that a program sees."""

import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import zlink
from zlink import _zlink, aio

pytest.importorskip("mypy")

PACKAGE = pathlib.Path(zlink.__file__).parent
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"

PROGRAM = """
from typing import assert_type

import zlink
from zlink import aio


def wait(push: zlink.Push, pull: zlink.Pull, stream: zlink.Stream) -> None:
    push.send(bytearray(b"x"))
    assert_type(pull.recv(), bytes)
    assert_type(pull.linger, float | None)
    assert_type(pull.ipv6, bool)
    assert_type(pull.recv_hwm, int | None)
    assert_type(pull.handshake_timeout, float | None)
    push.send_hwm = None
    push.max_message_size = -1
    stream.http_request_rate = None
    match stream.recv():
        case zlink.Message(peer, data):
            assert_type(peer, int)
            assert_type(data, bytes)
        case zlink.Request() as request:
            assert_type(request.field("x"), str | None)
    for each in stream.recv_batch():
        if isinstance(each, zlink.MessageView):
            assert_type(each.data, memoryview)


def drafts(server: zlink.Server, dish: zlink.Dish, radio: zlink.Radio, client: zlink.Client) -> None:
    assert_type(server.recv_frame().routing_id, int)
    server.send(b"x", routing_id=1)
    for heard in dish:
        assert_type(heard.group, str)
    radio.send(b"x", group="g")
    assert_type(client.recv(), bytes)


async def wait_not(dealer: aio.Dealer, stream: aio.Stream) -> None:
    assert_type(await dealer.recv(), bytes)
    async for event in stream:
        assert_type(event, zlink.Message | zlink.Connected | zlink.Disconnected | zlink.Request)


async def wait_or_not(stream: aio.Stream, sub: aio.Sub, dish: aio.Dish, peer: aio.Peer) -> None:
    endpoint: str = stream.bind("ws://*:*")
    assert_type(await stream.bind("ws://*:*"), str)
    assert_type(await stream.upgrade(1), None)
    stream.upgrade(1)
    assert_type(await stream.close_peer(1), None)
    count: int = stream.send_many([1], endpoint)
    assert_type(await stream.send_many([1], "x"), int)
    assert_type(await stream.send_each([1], "x"), dict[int, int])
    assert_type(stream.peer(1).messages, int)
    assert_type(await stream.peer(1), zlink.PeerInfo)
    assert_type((await sub.peers())[count], zlink.PeerInfo)
    await sub.connect(endpoint)
    await sub.subscribe(b"x")
    await dish.join("x")
    assert_type(await peer.connect_peer(endpoint), int)
    async with await sub.monitor() as monitor:
        assert_type(monitor, aio.Monitor)
    await sub.close()


def wrong(push: zlink.Push, pull: zlink.Pull) -> None:
    push.recv()  # E
    pull.send(b"x")  # E
    push.send("text")  # E
    push.linger = "1"  # E
    push.lingerr = 1  # E
    push.send_hwm = "1"  # E
    push.send_hwm + 1  # E
    push.subscribe(b"")  # E
    zlink.Push("context")  # E


def wrong_drafts(server: zlink.Server, client: zlink.Client, scatter: zlink.Scatter) -> None:
    server.send(b"x")  # E
    client.send(b"x", more=True)  # E
    client.recv_multipart()  # E
    scatter.recv()  # E
    client.join("g")  # E
"""


def run_mypy(*arguments, cwd=None):
    # An installed package is found, and must not be in the path.
    path = "" if PACKAGE.parent.name == "site-packages" else str(PACKAGE.parent)
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, *map(str, arguments)],
        env={**os.environ, "MYPYPATH": path, "LD_PRELOAD": ""},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.timeout(240)
def test_the_package():
    _, printed = run_mypy("--no-silence-site-packages", "-p", "zlink")
    assert "checked" in printed or "no issues" in printed, printed
    # Those of pyzmq, which zlink.compat imports, are not ours.
    assert [line for line in printed.splitlines() if ": error:" in line and "zlink/" in line] == []


@pytest.mark.timeout(240)
def test_the_examples():
    status, printed = run_mypy(*EXAMPLES.glob("*.py"))
    assert status == 0, printed


@pytest.mark.timeout(240)
def test_what_a_program_sees(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    _, printed = run_mypy(path, cwd=tmp_path)
    expected = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# E")}
    found = {int(line.split(":")[1]) for line in printed.splitlines() if ": error:" in line}
    assert found == expected, printed


def test_the_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_zlink.pyi").exists()


def public_calls():
    """Every public class, function and method, and the names that Python adds to them."""
    for module in (zlink, aio):
        for name in module.__all__:
            value = getattr(module, name)
            if not callable(value) or name in ("Fields", "File", "StreamEvent"):
                continue
            yield f"{module.__name__}.{name}", value
            for member in dir(value) if isinstance(value, type) else ():
                is_ours = not hasattr(OSError, member) and not hasattr(int, member) and not hasattr(tuple, member)
                if not member.startswith("_") and is_ours and callable(getattr(value, member)):
                    yield f"{module.__name__}.{name}.{member}", getattr(value, member)


def test_everything_public_has_a_signature():
    missing = []
    calls = dict(public_calls())
    for name, value in calls.items():
        try:
            inspect.signature(value)
        except (TypeError, ValueError):
            missing.append(name)
    assert missing == []
    assert {"zlink.Push.send", "zlink.Context.term", "zlink.has", "zlink.aio.Stream.upgrade"} <= calls.keys()


def test_signatures_are_those_of_the_stubs(context):
    text = "(self, data: 'Buffer', *, more: 'bool' = False, timeout: 'float | None' = None) -> 'None'"
    assert str(inspect.signature(zlink.Push.send)) == text
    assert str(inspect.signature(zlink.Push(context).send)) == text.replace("self, ", "")
    text = "(self, peer: 'int', code: 'int' = 1000, reason: 'str' = '') -> 'None'"
    assert str(inspect.signature(zlink.Stream.close_peer)) == text
    assert str(inspect.signature(zlink.has)) == "(capability: 'str') -> 'bool'"
    assert str(inspect.signature(zlink.Message)) == "(peer: 'int', data: 'bytes', is_text: 'bool' = False)"
    assert str(inspect.signature(zlink.Push)) == "(context: 'Context | None' = None) -> 'None'"
    assert str(inspect.signature(zlink.Again)) == "(errno: 'int', strerror: 'str', /)"
    assert str(inspect.signature(zlink.Batch)) == "()"
    assert inspect.signature(zlink.Push.recv_timeout.__set__).parameters["value"]


def test_a_derived_class_has_a_signature_of_its_own():
    class Own(zlink.Message):
        def __init__(self, words):
            super().__init__(1, words.encode())

    class OwnError(zlink.Again):
        def __init__(self):
            super().__init__(11, "own")

    assert str(inspect.signature(Own)) == "(words)"
    assert str(inspect.signature(OwnError)) == "()"
    assert str(inspect.signature(type("Same", (zlink.Message,), {}))).startswith("(peer")


def test_functions_of_the_extension_keep_their_nature(context):
    push = zlink.Push(context)
    assert zlink.Push.send.__name__ == "send" and "Sends a frame" in zlink.Push.send.__doc__
    assert inspect.ismethod(push.send) and push.send.__self__ is push and inspect.isroutine(zlink.has)
    with pytest.raises(TypeError):
        zlink.Push.send()
    with pytest.raises(TypeError, match="Invoked with types"):
        zlink.has(1)
    assert type(zlink.has).__name__ == "function" and callable(_zlink.poll)
    with pytest.raises(TypeError):
        type(zlink.has)()


def test_everything_public_has_a_text():
    for name in zlink.__all__:
        value = getattr(zlink, name)
        if callable(value) and name not in ("Fields", "File", "StreamEvent"):
            assert value.__doc__, name
            for member in vars(value) if isinstance(value, type) else ():
                if not member.startswith("_") and callable(getattr(value, member)):
                    assert getattr(value, member).__doc__, f"{name}.{member}"
