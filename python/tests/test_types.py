# SPDX-License-Identifier: MPL-2.0
"""Types: the package's own, the stubs of its module, and those that a program sees."""

import os
import pathlib
import subprocess
import sys

import pytest

import zlink

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


def wrong(push: zlink.Push, pull: zlink.Pull) -> None:
    push.recv()  # E
    pull.send(b"x")  # E
    push.send("text")  # E
    push.linger = "1"  # E
    push.lingerr = 1  # E
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


def test_everything_public_has_a_text():
    for name in zlink.__all__:
        value = getattr(zlink, name)
        if callable(value) and name not in ("Fields", "File", "StreamEvent"):
            assert value.__doc__, name
            for member in vars(value) if isinstance(value, type) else ():
                if not member.startswith("_") and callable(getattr(value, member)):
                    assert getattr(value, member).__doc__, f"{name}.{member}"
