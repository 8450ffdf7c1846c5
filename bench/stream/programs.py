# SPDX-License-Identifier: MPL-2.0
"""The echo servers, and one run of the load client against one of them."""

import contextlib
import dataclasses
import os
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))

import runner  # noqa: E402

TRANSPORTS = ("tcp", "tls", "ws", "wss")
LIBRARIES = ("-lssl", "-lcrypto")
OF_ZLINK = ("zlink_echo", "coroutine_echo")
NEEDS = "libssl-dev and libboost1.81-dev"

# A process exits if its run takes this much longer than planned.
TIME_LIMIT_SLACK_SECONDS = 30


@dataclasses.dataclass(frozen=True)
class Server:
    name: str
    program: str
    transports: tuple
    options: tuple = ()
    caller_driven: bool = False  # --io-threads is always 0.
    is_variant: bool = False  # Runs only if it is named.

    def io_threads(self, profile):
        return 0 if self.caller_driven else profile["io_threads"]


SERVERS = {
    server.name: server
    for server in (
        Server("epoll", "epoll_echo", ("tcp", "ws")),
        Server("asio", "asio_session_echo", ("tcp", "tls")),
        Server(
            "asio-per-message", "asio_session_echo", ("tcp", "tls"), ("--per-message", "1"),
            is_variant=True,
        ),
        Server("beast", "beast_echo", ("ws", "wss")),
        Server("beast-tuned", "beast_echo", ("ws", "wss"), ("--tuned", "1")),
        Server("zlink", "zlink_echo", TRANSPORTS, caller_driven=True),
        Server("zlink-io", "zlink_echo", TRANSPORTS),
        Server(
            "zlink-messages", "zlink_echo", TRANSPORTS, ("--messages", "1"), caller_driven=True,
            is_variant=True,
        ),
        Server("coroutines", "coroutine_echo", TRANSPORTS, caller_driven=True, is_variant=True),
        Server("coroutines-io", "coroutine_echo", TRANSPORTS, is_variant=True),
        Server(
            "coroutine-messages", "coroutine_echo", TRANSPORTS, ("--messages", "1"),
            caller_driven=True, is_variant=True,
        ),
    )
}

# The locked profile, without the parameters of a load (ccu, inflight, size).
PROFILE = {
    "warmup": 3.0,
    "measure": 10.0,
    "drain_timeout": 10.0,
    "connect_concurrency": 256,
    "connect_timeout": 10.0,
    "retries": 3,
    "retry_delay": 100,
    "backlog": 32768,
    "hwm": 1_000_000,
    "sndbuf": 262144,
    "rcvbuf": 262144,
    "io_threads": 1,
    "latency_sample_rate": 16,
    "workers": 1,
    "batch": 30,
    "verify": 0,
}
CLIENT_KEYS = (
    "warmup", "measure", "drain_timeout", "connect_concurrency", "connect_timeout", "retries",
    "retry_delay", "sndbuf", "rcvbuf", "latency_sample_rate", "workers", "batch", "verify",
)
SERVER_KEYS = ("backlog", "hwm", "sndbuf", "rcvbuf")


@dataclasses.dataclass(frozen=True)
class Load:
    scenario: str
    transport: str
    ccu: int
    inflight: int
    size: int
    changes: tuple = ()  # Differences from the profile, as (name, value) pairs.

    def profile(self, base):
        return {**base, **dict(self.changes)}


def options_of(values):
    return [
        word for name, value in values for word in ("--" + name.replace("_", "-"), str(value))
    ]


class Programs:
    """Finds the programs in `folder`, or builds them if no folder is given."""

    def __init__(self, folder=None, library_dir=None):
        self._folder = folder
        self._library_dir = library_dir or runner.default_zlink_dir()
        self._paths = {}

    def path(self, program):
        if program not in self._paths:
            self._paths[program] = self._find(program)
        return self._paths[program]

    def paths(self):
        """The programs that were looked up so far, by name."""
        return dict(self._paths)

    def environment(self):
        variables = dict(os.environ)
        variables["LD_LIBRARY_PATH"] = self._library_dir
        return variables

    def why_missing(self, program):
        """Why a program is unavailable, or None."""
        if self._folder:
            path = os.path.join(self._folder, program)
            return None if os.path.exists(path) else f"{path} does not exist"
        if program not in OF_ZLINK:
            return None
        header = os.path.join(runner.PROJECT_DIR, "include", "zlink.h")
        with open(header, encoding="utf-8") as text:
            if "ZLINK_STREAM_EVENTS" not in text.read():
                return "zlink.h lacks the framed STREAM socket"
        if not os.path.exists(os.path.join(self._library_dir, "libzlink.so")):
            return (
                f"{self._library_dir} has no libzlink.so; build it with "
                "`cmake --preset release && cmake --build --preset release --target zlink`"
            )
        return None

    def _find(self, program):
        if self._folder:
            return os.path.join(self._folder, program)
        libraries = LIBRARIES
        if program in OF_ZLINK:
            libraries += (f"-L{self._library_dir}", "-lzlink")
        return runner.build_binary(program, FOLDER, libraries, NEEDS)


@contextlib.contextmanager
def certificate():
    """Options with a certificate of 127.0.0.1 and its key, created for this run."""
    with tempfile.TemporaryDirectory(prefix="zbench-") as folder:
        files = [os.path.join(folder, name) for name in ("certificate.pem", "key.pem")]
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"]
        command += ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=127.0.0.1"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1"]
        command += ["-out", files[0], "-keyout", files[1]]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            sys.exit(f"openssl could not create a certificate: {made.stderr.strip()}")
        yield ["--certificate", files[0], "--key", files[1]]


TCP_MEMORY_FILE = "/proc/sys/net/ipv4/tcp_mem"


@contextlib.contextmanager
def tcp_memory(bytes_min, path=TCP_MEMORY_FILE):
    """Raises the kernel's limits for TCP memory to at least `bytes_min`, and restores them afterwards.

    Yields the limits in force, in pages: above the first the kernel may save memory, above the last it
    drops. They are not changed if they suffice, if `bytes_min` exceeds half of the machine's memory, or
    if this process may not change them.
    """
    try:
        with open(path, encoding="ascii") as file:
            before = [int(word) for word in file.read().split()]
    except OSError:
        yield []
        return
    pages_min = -(-bytes_min // os.sysconf("SC_PAGE_SIZE"))
    if pages_min <= before[0] or pages_min > os.sysconf("SC_PHYS_PAGES") // 2:
        yield before
        return
    wanted = [pages_min, pages_min * 5 // 4, pages_min * 3 // 2]
    try:
        _write_numbers(path, wanted)
    except OSError:
        yield before
        return
    try:
        yield wanted
    finally:
        _write_numbers(path, before)


def _write_numbers(path, numbers):
    with open(path, "w", encoding="ascii") as file:
        file.write(" ".join(map(str, numbers)))


def pinned(processor):
    return [] if processor is None else ["taskset", "-c", str(processor)]


def seconds_max(load, profile):
    seconds = profile["warmup"] + profile["measure"] + profile["drain_timeout"]
    rounds = -(-load.ccu // profile["connect_concurrency"])
    attempts = profile["retries"] + 1
    # A few rounds of connecting may time out entirely; that all do is not considered.
    return seconds + min(rounds, 4) * attempts * profile["connect_timeout"]


class Sitting:
    """A server and its clients, which stay connected from one run of the load to the next.

    All methods raise RunFailed if a process fails or hangs. A run that does not meet the pass rule has
    `pass` False; later runs on the same connections may pass.
    """

    def __init__(self, programs, server, load, base_profile, certificate_options, pins=(None, None),
                 runs=1, others=0):
        """At most `runs` runs; `others` sittings run in between."""
        profile = load.profile(base_profile)
        self._limit = int(seconds_max(load, profile) + TIME_LIMIT_SLACK_SECONDS)
        self._server_name = server.name
        environment = programs.environment()
        port = runner.free_port()
        shared = ["--transport", load.transport, "--port", str(port)]
        command = pinned(pins[0]) + [programs.path(server.program)] + shared + list(server.options)
        command += options_of((key, profile[key]) for key in SERVER_KEYS)
        command += ["--io-threads", str(server.io_threads(profile))]
        command += ["--limit", str(self._limit * runs * (1 + others))]
        if load.transport in ("tls", "wss"):
            command += certificate_options
        client_command = pinned(pins[1]) + [programs.path("load_client")] + shared
        client_command += ["--scenario", load.scenario, "--server", server.name, "--paced", "1"]
        client_command += ["--limit", str(self._limit)]
        client_command += options_of(
            [("ccu", load.ccu), ("inflight", load.inflight), ("size", load.size)]
            + [(key, profile[key]) for key in CLIENT_KEYS]
        )
        self._client = None
        self._server = runner.Side(server.name, command, environment)
        try:
            self._server.wait_for("ready", self._deadline())
            client_command += ["--server-pid", str(self._server.pid)]
            self._client = runner.Side("load_client", client_command, environment)
            self._wait_for_client("ready")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def run(self):
        """Puts the load on the server once, and returns the client's result line."""
        self._client.release()
        return self._wait_for_client("result")

    def close(self):
        if self._client is not None:
            self._client.close()
        self._server.close()

    def _deadline(self):
        return time.monotonic() + self._limit + runner.LIMIT_MARGIN_SECONDS

    def _wait_for_client(self, event):
        try:
            return self._client.wait_for(event, self._deadline())
        except runner.RunFailed as failure:
            told = self._server.stderr_tail()
            raise runner.RunFailed(f"{failure}; {self._server_name}: {told}") from None


def run_once(programs, server, load, base_profile, certificate_options, pins=(None, None)):
    """Starts the server, puts the load on it and returns the client's result line."""
    with Sitting(programs, server, load, base_profile, certificate_options, pins) as sitting:
        return sitting.run()
