# SPDX-License-Identifier: MPL-2.0
"""Starts the two processes of a pattern benchmark, paces their rounds and collects their lines.

Every process runs in a group of its own, has a time limit of its own and one of the driver, and is
ended by its id after any failure.
"""

import atexit
import dataclasses
import glob
import json
import os
import queue
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BENCH_DIR = os.path.dirname(os.path.abspath(__file__))
PROJECT_DIR = os.path.dirname(BENCH_DIR)
BUILD_DIR = os.path.join(PROJECT_DIR, "build", "bench")

# Ports below the range from which Linux takes ephemeral ones.
PORT_MIN = 20000
PORT_MAX = 32767
PORT_ATTEMPTS_MAX = 200

# The binary exits at its limit; the driver ends it this much later.
LIMIT_MARGIN_SECONDS = 5.0
STDERR_KEPT_BYTES = 4000

PUBLISHER_PATTERNS = ("pub_sub",)
LATENCY_PATTERNS = ("req_rep", "dealer_router_latency")


class RunFailed(Exception):
    """A run that crashed, hung, lost messages or loaded the wrong library."""


@dataclasses.dataclass(frozen=True)
class Subject:
    """A library under test: a folder that holds libzmq.so.5."""

    name: str
    library_dir: str

    def environment(self):
        variables = dict(os.environ)
        variables["LD_LIBRARY_PATH"] = self.library_dir
        return variables

    def library(self):
        return os.path.realpath(os.path.join(self.library_dir, "libzmq.so.5"))


_live = set()
_live_lock = threading.Lock()


def _end(process):
    """Ends a process and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()
    with _live_lock:
        _live.discard(process)


def end_all():
    with _live_lock:
        remaining = list(_live)
    for process in remaining:
        _end(process)


atexit.register(end_all)


# Computes until its parent exits or ends it.
BUSY_PROGRAM = """
import os
parent = os.getppid()
while os.getppid() == parent:
    sum(range(1000))
"""


_group = {"start_new_session": True}


def start_busy(count):
    """Starts compute-bound processes, which run until end_all()."""
    if count:
        # The system distributes processor time among sessions first (sched(7), autogroup), so
        # processes of one session compete harder.
        _group.clear()
        _group["process_group"] = 0
    for _ in range(count):
        process = subprocess.Popen([sys.executable, "-c", BUSY_PROGRAM], **_group)
        with _live_lock:
            _live.add(process)


def exit_on_signals():
    """Makes SIGTERM and SIGHUP end the children like an interrupt."""

    def on_signal(number, _frame):
        raise KeyboardInterrupt(f"signal {number}")

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGHUP, on_signal)


class Side:
    """One started process, its event lines and its standard input."""

    def __init__(self, name, command, environment):
        self.name = name
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            text=True,
            **_group,
        )
        with _live_lock:
            _live.add(self._process)
        self._events = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self):
        return self._process.pid

    def is_running(self):
        return self._process.poll() is None

    def _read(self):
        for line in self._process.stdout:
            try:
                self._events.put(json.loads(line))
            except ValueError:
                self._events.put({"event": f"unreadable: {line.strip()}"})
        self._events.put(None)

    def next_event(self, deadline, wanted="event"):
        """Returns the next event line, of any kind; `wanted` is for the message if there is none."""
        try:
            line = self._events.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise RunFailed(f"{self.name}: no '{wanted}' line within the time limit") from None
        if line is None:
            status = self._process.wait()
            raise RunFailed(f"{self.name} ended with status {status}: {self.stderr_tail()}")
        return line

    def wait_for(self, event, deadline):
        """Returns the next event line, which must be of this kind."""
        line = self.next_event(deadline, event)
        if line["event"] != event:
            raise RunFailed(f"{self.name}: '{line['event']}' line instead of '{event}'")
        return line

    def release(self):
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # The next wait_for reports how the process ended.

    def interrupt(self):
        self._process.send_signal(signal.SIGINT)

    def join_any(self, deadline):
        """Waits until the process exits, and returns its status."""
        try:
            return self._process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{self.name} did not exit within the time limit") from None

    def join(self, deadline):
        status = self.join_any(deadline)
        if status != 0:
            raise RunFailed(f"{self.name} ended with status {status}: {self.stderr_tail()}")

    def stderr_text(self):
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")

    def stderr_tail(self):
        return " ".join(self.stderr_text()[-STDERR_KEPT_BYTES:].split()) or "no message"

    def close(self):
        _end(self._process)
        self._reader.join()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # The process exited before it read a release.
        self._process.stdout.close()
        self._stderr.close()


def free_port():
    for _ in range(PORT_ATTEMPTS_MAX):
        port = random.randint(PORT_MIN, PORT_MAX)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RunFailed(f"no free port between {PORT_MIN} and {PORT_MAX}")


def make_endpoint(transport, folder):
    if transport == "tcp":
        return f"tcp://127.0.0.1:{free_port()}"
    if transport == "ipc":
        return f"ipc://{folder}/{random.getrandbits(32):08x}"
    return "inproc://bench"


def check_library(ready, subject):
    if os.path.realpath(ready["library"]) != subject.library():
        raise RunFailed(f"{subject.name}: {ready['library']} was loaded, not {subject.library()}")


@dataclasses.dataclass
class RunOutcome:
    """The result lines per round: {"sender": {...}, "receiver": {...}} and the closing lines."""

    results: list
    closings: list
    stderr: dict


def run_pattern(
    binary, subject, pattern, transport, options, seconds_max, rounds=1, wrap=None, peer_subject=None
):
    """Runs both sides on `subject`, or the receiver on `peer_subject`, and returns their lines.

    `options` are further arguments of the binary; `seconds_max` limits each round; `wrap` maps a
    role to a command that runs it, such as strace.
    """
    wrap = wrap or (lambda role: [])
    receiver_subject = peer_subject or subject
    with tempfile.TemporaryDirectory(prefix="zbench-") as folder:
        endpoint = make_endpoint(transport, folder)
        shared = ["--pattern", pattern, "--transport", endpoint, "--rounds", str(rounds)]
        shared += ["--limit", str(int(seconds_max)), "--paced"] + options

        def start(role, library):
            return Side(role, wrap(role) + [binary, role] + shared, library.environment())

        sides = {}
        try:
            if transport == "inproc":
                sides["both"] = start("both", subject)
                return _run_one_process(sides["both"], subject, seconds_max, rounds)
            binder = "sender" if pattern in PUBLISHER_PATTERNS else "receiver"
            for role in (binder, "receiver" if binder == "sender" else "sender"):
                sides[role] = start(role, subject if role == "sender" else receiver_subject)
            by_role = {"sender": subject, "receiver": receiver_subject}
            return _run_two_processes(sides, binder, by_role[binder], seconds_max, rounds)
        finally:
            for side in sides.values():
                side.close()


def _run_one_process(side, subject, seconds_max, rounds):
    outcome = RunOutcome([], [], {})
    for _ in range(rounds):
        deadline = time.monotonic() + seconds_max + LIMIT_MARGIN_SECONDS
        check_library(side.wait_for("ready", deadline), subject)
        lines = [side.wait_for("result", deadline) for _ in range(2)]
        outcome.results.append({line["role"]: line for line in lines})
        outcome.closings.append({"both": side.wait_for("closed", deadline)})
    side.join(time.monotonic() + LIMIT_MARGIN_SECONDS)
    outcome.stderr = {"both": side.stderr_text()}
    return outcome


def _run_two_processes(sides, binder, binder_subject, seconds_max, rounds):
    sender = sides["sender"]
    receiver = sides["receiver"]
    connector = receiver if binder == "sender" else sender
    outcome = RunOutcome([], [], {})
    for _ in range(rounds):
        deadline = time.monotonic() + seconds_max + LIMIT_MARGIN_SECONDS
        check_library(sides[binder].wait_for("ready", deadline), binder_subject)
        connector.release()
        # The receiver first: it reports a loss, while the sender only sees its peer disconnect.
        lines = {"receiver": receiver.wait_for("result", deadline)}
        lines["sender"] = sender.wait_for("result", deadline)
        sender.release()
        outcome.results.append(lines)
        outcome.closings.append(
            {role: side.wait_for("closed", deadline) for role, side in sides.items()}
        )
    for side in sides.values():
        side.join(time.monotonic() + LIMIT_MARGIN_SECONDS)
    outcome.stderr = {role: side.stderr_text() for role, side in sides.items()}
    return outcome


def run_raw(binary, transport, size, seconds, warmup, is_latency):
    """Runs the raw-socket limit and returns its result line."""
    command = [binary, "--transport", transport, "--size", str(size)]
    command += ["--seconds", str(seconds), "--warmup", str(warmup)]
    command += ["--latency"] if is_latency else []
    side = Side("raw_limit", command, dict(os.environ))
    try:
        line = side.wait_for("result", time.monotonic() + seconds + warmup + 20)
        side.join(time.monotonic() + LIMIT_MARGIN_SECONDS)
        return line
    finally:
        side.close()


def build_binary(
    name, folder=BENCH_DIR, libraries=("-lzmq",), needs="libzmq3-dev or -DZLINK_BENCH_LIBZMQ",
    output_dir=BUILD_DIR,
):
    """Builds a bench program with the system's compiler unless it is up to date."""
    source = os.path.join(folder, name + ".cpp")
    target = os.path.join(output_dir, name)
    sources = [entry.path for entry in os.scandir(folder) if entry.name.endswith(".hpp")] + [source]
    changed = max(os.path.getmtime(path) for path in sources)
    if os.path.exists(target) and os.path.getmtime(target) > changed:
        return target
    os.makedirs(output_dir, exist_ok=True)
    compiler = os.environ.get("CXX", "c++")
    # Another process may be building or running it.
    fresh = f"{target}.{os.getpid()}"
    command = [compiler, "-std=c++20", "-O2", "-pthread", source, "-o", fresh]
    include_dir = os.path.join(PROJECT_DIR, "include")
    if os.path.exists(os.path.join(include_dir, "zmq.h")):
        command += ["-I", include_dir]
    print(f"building {name}", file=sys.stderr)
    status = subprocess.run(command + list(libraries), check=False)
    if status.returncode != 0:
        sys.exit(f"{name} did not build; {needs} is needed")
    os.replace(fresh, target)
    return target


def default_zlink_dir():
    """The folder of this tree's libzmq.so.5, as a release build writes it."""
    release = os.path.join(PROJECT_DIR, "build", "release")
    for folder in (release, os.path.join(release, "lib"), os.path.join(release, "src")):
        if os.path.exists(os.path.join(folder, "libzmq.so.5")):
            return folder
    return release


DEFAULT_LIBZMQ_DIR = "/usr/lib/x86_64-linux-gnu"


def make_python(name, *kind):
    """Creates a Python environment with pyzmq unless it exists, and returns its folder."""
    folder = os.path.join(BUILD_DIR, "venv", name)
    command = [os.path.join(PROJECT_DIR, "scripts", "make_venv"), folder, *kind]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise RunFailed(f"creating a Python environment failed: {' '.join(made.stderr.split())}")
    return folder


def wheel_dir():
    """A folder with the libzmq 4.3.5 of pyzmq's wheel, under the name that programs load."""
    bundled = glob.glob(os.path.join(make_python("stock", "stock"), "lib", "*", "*", "pyzmq.libs", "*"))
    folder = os.path.join(BUILD_DIR, "wheel")
    os.makedirs(folder, exist_ok=True)
    for path in bundled:
        # The other files are its dependencies.
        name = os.path.basename(path)
        link = os.path.join(folder, "libzmq.so.5" if name.startswith("libzmq") else name)
        if not os.path.exists(link):
            os.symlink(path, link)
    return folder


def decode_subject(text):
    """Decodes NAME=DIR; the names libzmq, wheel, zlink and omq have default folders."""
    name, separator, folder = text.partition("=")
    if not separator:
        folder = {
            "libzmq": lambda: DEFAULT_LIBZMQ_DIR,
            "wheel": wheel_dir,
            "zlink": default_zlink_dir,
            "omq": lambda: os.path.join(BUILD_DIR, "omq"),
        }.get(name, str)()
    subject = Subject(name, os.path.abspath(os.path.expanduser(folder)))
    if not folder or not os.path.exists(subject.library()):
        raise ValueError(f"{name}: '{folder}' has no libzmq.so.5; give NAME=DIR")
    return subject
