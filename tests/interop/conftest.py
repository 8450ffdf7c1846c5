"""Environments and processes for the interop tests.

`stock` is pyzmq's wheel with its own libzmq, `zlink` the same wheel with our libzmq.so.5 in its place. ZLINK_LIBRARY
names another file to test instead of zlink; to check the tests themselves, name Debian's libzmq.so.5.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import zlib
from pathlib import Path

import pytest

from driver import Peer

CONNECTION_SECONDS_MAX = 10
ROOT = Path(__file__).resolve().parents[2]
PEER = Path(__file__).with_name("peer.py")

# Other implementations need compilers that the other tests do not need; tests/suites/foreign builds them.
collect_ignore = [] if "ZLINK_FOREIGN_PEERS" in os.environ else ["foreign"]


def make_venv(name, *arguments):
    folder = ROOT / ".venv" / name
    subprocess.run([ROOT / "scripts" / "make_venv", folder, *arguments], check=True)
    return str(folder / "bin" / "python")


def sanitizer_of(library):
    """The sanitizer runtime that has to be loaded before everything else, or None."""
    for line in subprocess.run(["ldd", library], capture_output=True, text=True).stdout.splitlines():
        if "libasan" in line or "libtsan" in line:
            return line.split()[2]
    return None


@pytest.fixture(scope="session")
def candidate_library():
    chosen = os.environ.get("ZLINK_LIBRARY")
    library = Path(chosen) if chosen else ROOT / "build" / "release" / "libzmq.so.5"
    if not library.exists():
        pytest.exit(f"{library} is not there: build it first, or name another in ZLINK_LIBRARY", 2)
    return library.absolute()


@pytest.fixture(scope="session")
def environments(candidate_library):
    """Interpreter and extra environment variables of both kinds of peer."""
    name = "zlink"
    if "ZLINK_LIBRARY" in os.environ:
        name = f"candidate-{zlib.crc32(bytes(candidate_library)):08x}"
    extra = {}
    runtime = sanitizer_of(candidate_library)
    if runtime:
        # The interpreter's own allocations at exit are not leaks of ours.
        extra = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    return {
        "stock": (make_venv("stock", "stock"), {}),
        "zlink": (make_venv(name, "zlink", str(candidate_library)), extra),
    }


@pytest.fixture(scope="session")
def system_library():
    """Debian's libzmq.so.5, which speaks ws; the one in pyzmq's wheel does not."""
    command = ["cc", "-print-file-name=libzmq.so.5"]
    found = Path(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    if not found.exists():
        pytest.skip("the system has no libzmq.so.5")
    return found


@pytest.fixture(scope="session")
def programs(environments):
    """Command and extra environment variables of each kind of peer."""
    return {kind: ([python, PEER], extra) for kind, (python, extra) in environments.items()}


class Peers:
    """Starts peers for one test and ends them after it."""

    def __init__(self, programs):
        self._programs = programs
        self._running = []

    def __call__(self, kind):
        """A new peer of a kind such as `stock` or `zlink`."""
        command, extra = self._programs[kind]
        peer = Peer(command, kind, extra)
        self._running.append(peer)
        return peer

    def close(self):
        failures = []
        for peer in self._running:
            try:
                peer.close()
            except AssertionError as failure:
                failures.append(str(failure))
        assert not failures, "\n".join(failures)


@pytest.fixture
def peers(programs):
    running = Peers(programs)
    yield running
    running.close()


@pytest.fixture
def ipc_folder():
    """A folder with a short name, because a socket's path has at most 107 bytes."""
    folder = tempfile.mkdtemp(prefix="zl-")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def wildcard(ipc_folder):
    """Returns an endpoint to bind, given a transport's name."""

    def endpoint(transport):
        return {
            "tcp": "tcp://127.0.0.1:*",
            "ipc": f"ipc://{ipc_folder}/socket",
            "inproc": "inproc://interop",
        }[transport]

    return endpoint


@pytest.fixture(params=["stock", "zlink"])
def library(request, peers):
    """A peer of either kind, for behaviour that both share."""
    return peers(request.param)


@pytest.fixture(params=["library binds", "library connects"])
def join(request):
    """Returns a bare connection to a socket of a peer, which binds or connects for it."""
    opened = []

    def joined(owner):
        if request.param == "library binds":
            port = int(owner.bind("tcp://127.0.0.1:*").rpartition(":")[2])
            opened.append(socket.create_connection(("127.0.0.1", port)))
        else:
            listening = socket.create_server(("127.0.0.1", 0))
            opened.append(listening)
            listening.settimeout(CONNECTION_SECONDS_MAX)
            owner.connect(f"tcp://127.0.0.1:{listening.getsockname()[1]}")
            opened.append(listening.accept()[0])
        opened[-1].settimeout(CONNECTION_SECONDS_MAX)
        return opened[-1]

    yield joined
    for each in opened:
        each.close()


@pytest.fixture
def listener():
    """A bare port that listens."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(CONNECTION_SECONDS_MAX)
        yield listening


@pytest.fixture
def late_endpoint(ipc_folder):
    """Returns an endpoint that is not bound yet, given a transport's name.

    A tcp port is held by a socket that does not listen: peers may bind to it, because both sides set SO_REUSEADDR, but
    the system assigns it to no other socket.
    """
    holders = []

    def choose(transport):
        if transport == "ipc":
            return f"ipc://{ipc_folder}/late"
        holder = socket.socket()
        holders.append(holder)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{holder.getsockname()[1]}"

    yield choose
    for holder in holders:
        holder.close()
