# SPDX-License-Identifier: MPL-2.0
"""pyzmq on zlink: python -m zlink run, and zlink.compat."""

import os
import subprocess
import sys

import pytest

from conftest import DEADLINE, run_python

pytest.importorskip("zmq")

PROGRAM = """
import asyncio, sys, zmq, zmq.asyncio
context = zmq.Context()
pull, push = context.socket(zmq.PULL), context.socket(zmq.PUSH)
port = pull.bind_to_random_port("tcp://127.0.0.1")
push.connect(f"tcp://127.0.0.1:{port}")
push.send_multipart([b"a", b"b"])
assert pull.recv_multipart() == [b"a", b"b"]
async def main():
    context = zmq.asyncio.Context()
    rep, req = context.socket(zmq.REP), context.socket(zmq.REQ)
    rep.bind("inproc://x")
    req.connect("inproc://x")
    await req.send(b"question")
    await rep.send((await rep.recv()).upper())
    assert await req.recv() == b"QUESTION"
    context.destroy()
asyncio.run(main())
context.destroy()
print(zmq.has("zlink"), *sys.argv[1:])
"""


def run_zlink(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "zlink", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def test_without_zlink_the_program_runs_on_libzmq(program):
    assert run_python(f"exec({PROGRAM!r})").split() == ["False"]


def test_run(program):
    ended = run_zlink("run", program, "one", "--two")
    assert ended.stdout.split() == ["True", "one", "--two"], ended.stderr


def test_run_a_module(program):
    ended = run_zlink("run", "-m", "program", "x", PYTHONPATH=os.pathsep.join([os.path.dirname(program), *sys.path]))
    assert ended.stdout.split() == ["True", "x"], ended.stderr


def test_the_status_of_the_program(tmp_path):
    path = tmp_path / "fails.py"
    path.write_text("import zmq, sys; sys.exit(7 if zmq.has('zlink') else 8)")
    assert run_zlink("run", str(path)).returncode == 7


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run"], "run needs the name of a program"),
        (["run", "-m"], "run needs the name of a program"),
        (["run", "/nowhere.py"], "/nowhere.py does not exist"),
        (["fly"], "unknown command 'fly'"),
    ],
)
def test_a_wrong_command(arguments, text):
    ended = run_zlink(*arguments)
    assert ended.returncode == 2 and text in ended.stderr


def test_help_and_version():
    import zlink

    assert "run PROGRAM" in run_zlink("--help").stdout
    assert run_zlink("version").stdout.strip() == zlink.__version__


def test_compat():
    assert run_python("import zlink.compat\n" + PROGRAM).split() == ["True"]
    assert run_python("import zlink.compat; print(zlink.compat.is_active())").split() == ["True"]


def test_compat_beside_zlink_itself():
    run_python(
        """
import zlink.compat, zlink, zmq
with zlink.Context() as context, zlink.Pull(context) as pull:
    theirs = zmq.Context()
    push = theirs.socket(zmq.PUSH)
    push.connect(pull.bind("tcp://127.0.0.1:*"))
    push.send(b"x")
    assert pull.recv(timeout=10) == b"x"
    theirs.destroy()
"""
    )


def test_compat_that_comes_too_late():
    printed = run_python(
        """
import zmq
try:
    import zlink.compat
except ImportError as error:
    print(error)
"""
    )
    assert "import it before zmq" in printed


def test_run_when_the_library_does_not_take_its_place(tmp_path):
    # Stands for a pyzmq whose libzmq is a part of its module.
    (tmp_path / "zmq.py").write_text("def has(name): return False")
    (tmp_path / "program.py").write_text("")
    ended = run_zlink(
        "run", str(tmp_path / "program.py"), PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path])
    )
    assert ended.returncode == 2 and "still runs on its own libzmq" in ended.stderr
