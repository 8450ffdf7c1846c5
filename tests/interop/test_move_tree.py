"""The example that moves a folder, on either library at either end."""

import os
import re
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "move_tree"
SECONDS_MAX = 30


def start(python, *words, wrapper=()):
    """Starts the program; it is killed if it does not end in time, so that no pipe is read for ever."""
    process = subprocess.Popen(
        [*wrapper, python, EXAMPLE / "move_tree.py", *map(str, words)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return watched(process)


def watched(process):
    process.watchdog = threading.Timer(SECONDS_MAX, process.kill)
    process.watchdog.daemon = True
    process.watchdog.start()
    return process


def endpoint_of(receiver):
    first = receiver.stdout.readline()
    assert first.startswith("listening on "), f"the receiver said {first!r}"
    return first.split()[-1]


def finish(process):
    output, errors = process.communicate()
    process.watchdog.cancel()
    return process.returncode, output, errors


def move(send_python, receive_python, tree, copy, *options):
    receiver = start(receive_python, "receive", copy, "--listen", "tcp://127.0.0.1:*", *options)
    sender = start(send_python, "send", tree, "--to", endpoint_of(receiver), *options)
    sent = finish(sender)
    if sent[0] != 0:
        receiver.kill()
    return sent, finish(receiver)


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "empty folder").mkdir()
    (root / "empty").touch()
    (root / "one").write_bytes(b"1")
    for size in (255, 256, 257, 65536, 3_000_001):
        (root / "deep" / f"of {size}").write_bytes(os.urandom(size))
    (root / "deep" / "er" / "script").write_text("#!/bin/sh\n")
    (root / "deep" / "er" / "script").chmod(0o755)
    (root / "read-only").write_bytes(b"x")
    (root / "read-only").chmod(0o400)
    (root / "link").symlink_to("one")
    (root / "dangling").symlink_to("/no/such/file")
    Path(os.fsdecode(bytes(root) + b"/no \xff text")).write_bytes(b"odd name")
    (root / "deep" / "er").chmod(0o555)
    yield root
    (root / "deep" / "er").chmod(0o755)


def described(root):
    """Everything in a tree that must arrive."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                content = Path(os.fsdecode(path)).read_bytes()
            else:
                content = None
            found[os.path.relpath(path, os.fsencode(root))] = status.st_mode, content
    return found


@pytest.mark.parametrize("chunk", ["1", "256", "64K"])
@pytest.mark.parametrize("pairing", ["stock-stock", "stock-zlink", "zlink-stock", "zlink-zlink"])
def test_a_tree_arrives_as_it_was(pairing, chunk, tree, tmp_path, environments):
    sends, receives = [environments[kind][0] for kind in pairing.split("-")]
    if chunk == "1":
        (tree / "deep" / "of 3000001").unlink()
    sender, receiver = move(sends, receives, tree, tmp_path / "copy", "--chunk", chunk)
    assert sender[0] == 0, sender
    assert receiver[0] == 0, receiver
    assert "all checksums match" in sender[1]
    files = 10 - (chunk == "1")
    assert re.match(rf"{files} files, 2 links, \d+ bytes in [\d.]+ s: [\d.]+ MB/s, \d+ messages/s", sender[1])
    assert described(tree) == described(tmp_path / "copy")


def test_what_cannot_be_moved_is_named_and_counted(tree, tmp_path, environments):
    os.mkfifo(tree / "fifo")
    with socket.socket(socket.AF_UNIX) as holder:
        os.chdir(tree)
        holder.bind("socket")
    os.chdir(tmp_path)
    python = environments["zlink"][0]
    sender, receiver = move(python, python, tree, tmp_path / "copy")
    assert sender[0] == receiver[0] == 0
    assert "2 not moved" in sender[1]
    assert "not moved: fifo: not a file, folder or link" in sender[2]


def test_an_unreadable_file_is_named_and_counted(tree, tmp_path, environments):
    (tree / "one").chmod(0)
    python = environments["zlink"][0]
    receiver = start(python, "receive", tmp_path / "copy", "--listen", "tcp://127.0.0.1:*")
    endpoint = endpoint_of(receiver)
    sender = start(python, "send", tree, "--to", endpoint, wrapper=without_privilege())
    sender, receiver = finish(sender), finish(receiver)
    assert sender[0] == receiver[0] == 0
    assert "1 not moved" in sender[1]
    assert "not moved: one: Permission denied" in sender[2]


def without_privilege():
    """A command prefix that removes root's right to read everything."""
    if os.geteuid() != 0:
        return []
    rights = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"]


def test_a_missing_tree_is_an_error(tmp_path, environments):
    status, _, errors = finish(
        start(environments["zlink"][0], "send", tmp_path / "nothing", "--to", "tcp://127.0.0.1:1")
    )
    assert status == 1
    assert "cannot read the tree" in errors and "No such file or directory" in errors


def test_a_receiver_that_is_not_there_is_an_error(tree, environments):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        endpoint = f"tcp://127.0.0.1:{holder.getsockname()[1]}"
        status, _, errors = finish(
            start(environments["zlink"][0], "send", tree, "--to", endpoint, "--patience", "0.5")
        )
    assert status == 1
    assert f"no receiver answered at {endpoint}" in errors


def test_a_port_in_use_is_an_error(tmp_path, environments):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        endpoint = f"tcp://127.0.0.1:{holder.getsockname()[1]}"
        status, _, errors = finish(
            start(environments["zlink"][0], "receive", tmp_path / "copy", "--listen", endpoint)
        )
    assert status == 1
    assert f"{endpoint} is already in use; choose another port" in errors


def test_a_folder_that_holds_something_is_refused(tree, environments):
    status, _, errors = finish(start(environments["zlink"][0], "receive", tree))
    assert status == 1
    assert "is not empty" in errors


@pytest.mark.parametrize("words", [["send"], ["send", "x"], ["fly"], ["send", "x", "--to", "y", "--chunk", "0"]])
def test_wrong_arguments_are_explained(words, environments):
    status, _, errors = finish(start(environments["zlink"][0], *words))
    assert status == 2
    assert "usage:" in errors


def test_a_disk_that_is_full_ends_both_sides(tree, tmp_path, environments):
    """A limit on file sizes replaces the full disk: the same call fails, with another error."""
    python = environments["zlink"][0]
    words = ["receive", str(tmp_path / "copy"), "--listen", "tcp://127.0.0.1:*"]
    limited = (
        "import resource, runpy, signal, sys;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000));"
        f"sys.path.insert(0, {str(EXAMPLE)!r});"
        f"sys.argv = ['move_tree.py', *{words!r}];"
        f"runpy.run_path({str(EXAMPLE / 'move_tree.py')!r}, run_name='__main__')"
    )
    receiver = watched(
        subprocess.Popen(
            [python, "-c", limited], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    )
    endpoint = endpoint_of(receiver)
    sender = finish(start(python, "send", tree, "--to", endpoint))
    status, _, errors = finish(receiver)
    assert status == 1 and "cannot write deep/of 3000001: File too large" in errors
    assert sender[0] == 1 and "the receiver gave up: cannot write deep/of 3000001" in sender[2]


def test_names_outside_the_folder_are_refused(tmp_path, environments):
    """A sender must not write outside the folder."""
    python = environments["zlink"][0]
    for name in ("../escaped", "/tmp/escaped", "a/../../escaped"):
        copy = tmp_path / f"copy {abs(hash(name))}"
        receiver = start(python, "receive", copy, "--listen", "tcp://127.0.0.1:*")
        endpoint = endpoint_of(receiver)
        hostile = (
            "import struct, sys, zmq; s = zmq.Context.instance().socket(zmq.PAIR);"
            "s.connect(sys.argv[1]); s.rcvtimeo = 20000;"
            "s.send_multipart([b'hello', b'{\"version\": 1, \"chunk\": 256}']); s.recv_multipart();"
            "s.send_multipart([b'file', sys.argv[2].encode(), struct.pack('!IQ', 0o644, 1)]); s.send(b'x');"
            "print(s.recv_multipart()); s.close(0)"
        )
        told = subprocess.run(
            [python, "-c", hostile, endpoint, name], capture_output=True, text=True, timeout=SECONDS_MAX
        )
        assert "outside the tree" in told.stdout, told
        status, _, errors = finish(receiver)
        assert status == 1 and "outside the tree" in errors
    assert not (tmp_path / "escaped").exists()


def test_both_rates_are_printed_side_by_side(tree, environments, candidate_library):
    if "pyzmq.libs" in str(candidate_library):
        pytest.skip("the candidate is the stock library itself, which compare.py refuses")
    outcome = subprocess.run(
        [sys.executable, EXAMPLE / "compare.py", "--stock", environments["stock"][0], "--candidate",
         environments["zlink"][0], "--rounds", "1", tree],
        capture_output=True, text=True, timeout=SECONDS_MAX, stdin=subprocess.DEVNULL,
    )
    assert outcome.returncode == 0, outcome
    assert re.search(r"^libzmq +10 ", outcome.stdout, re.MULTILINE)
    assert re.search(r"^zlink +10 ", outcome.stdout, re.MULTILINE)
    assert "zlink is" in outcome.stdout and "all checksums match" in outcome.stdout
