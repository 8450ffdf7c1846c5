"""The tests' side of peer.py: processes, their sockets, and calls with a time limit."""

import base64
import itertools
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time

CALL_SECONDS_MAX = 40
POLL_SECONDS = 0.01


class PeerError(Exception):
    """A command that failed in the peer; `errno` is the name of zmq's error, or empty."""

    def __init__(self, text, errno):
        super().__init__(text)
        self.errno = errno


def eventually(claim, seconds=10, what=None):
    """Calls `claim` until the result is true, and returns it; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = claim()
        if value:
            return value
        assert time.monotonic() < deadline, f"not true after {seconds} s: {what or claim}"
        time.sleep(POLL_SECONDS)


class Call:
    """A command whose reply is pending."""

    def __init__(self, peer, number, command):
        self._peer = peer
        self._number = number
        self._command = command

    def result(self, seconds=CALL_SECONDS_MAX):
        reply = self._peer.wait(self._number, seconds, self._command)
        if "error" in reply:
            raise PeerError(f"{self._command['op']}: {reply['error']}", reply["errno"])
        return reply["ok"]

    def is_done(self):
        return self._peer.has_reply(self._number)


class Peer:
    """A process that takes commands as lines of JSON: peer.py, or another program."""

    def __init__(self, command, label, environment=None):
        self.label = label
        self._stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})},
        )
        self._numbers = itertools.count()
        self._names = itertools.count()
        self._replies = {}
        self._is_over = False
        self._is_killed = False
        self._arrived = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            reply = json.loads(line)
            with self._arrived:
                self._replies[reply["id"]] = reply
                self._arrived.notify_all()
        with self._arrived:
            self._is_over = True
            self._arrived.notify_all()

    def start(self, op, socket=None, **fields):
        command = {"id": next(self._numbers), "op": op, "socket": socket, **fields}
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise AssertionError(self.obituary(command)) from None
        return Call(self, command["id"], command)

    def call(self, op, socket=None, **fields):
        return self.start(op, socket, **fields).result()

    def has_reply(self, number):
        with self._arrived:
            return number in self._replies

    def wait(self, number, seconds, command):
        with self._arrived:
            self._arrived.wait_for(lambda: number in self._replies or self._is_over, seconds)
            if number in self._replies:
                return self._replies.pop(number)
        raise AssertionError(self.obituary(command))

    def obituary(self, command):
        """The reason why no reply came: the process is gone, or where it hangs."""
        status = self.process.poll()
        if status is None:
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(0.3)  # A stack dump is not acknowledged.
            state = "does not answer"
        else:
            state = f"ended with status {status}"
        shown = {key: str(value)[:80] for key, value in command.items()}
        return f"the {self.label} peer {state} to {shown}\n{self.stderr_text()}"

    def stderr_text(self):
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")[-6000:]

    def socket(self, kind, **options):
        return Socket(self, kind, options)

    def status(self, key):
        """A number of /proc/PID/status, such as VmRSS in kB."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith(key + ":"):
                    return int(line.split()[1])
        raise KeyError(key)

    def await_idle(self):
        """Waits until every thread of the process is blocked in the kernel, so that nothing is in flight any more."""

        def is_idle():
            return all(is_blocked(self.process.pid, thread) for thread in self.threads())

        eventually(is_idle, what=f"the {self.label} peer comes to rest")

    def threads(self):
        return os.listdir(f"/proc/{self.process.pid}/task")

    def kill(self):
        """Ends the process like a crash."""
        self._is_killed = True
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def close(self):
        """Ends the process. Asserts that it was still there."""
        status = None if self._is_killed else self.process.poll()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
        self._reader.join()
        self.process.stdout.close()
        text = self.stderr_text()
        self._stderr.close()
        assert status is None, f"the {self.label} peer ended by itself with status {status}\n{text}"


def encoded(content):
    parts = [content] if isinstance(content, bytes) else content
    return [base64.b64encode(part).decode() for part in parts]


def option_value(value):
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


class Socket:
    """One socket of a peer. The methods wait for their reply; start() does not."""

    def __init__(self, peer, kind, options):
        self.peer = peer
        self.kind = kind
        self.name = f"{kind}-{next(peer._names)}"
        options = {"LINGER": 0, **options}
        self.call("open", kind=kind, **{key: option_value(value) for key, value in options.items()})

    def start(self, op, **fields):
        return self.peer.start(op, self.name, **fields)

    def call(self, op, **fields):
        return self.start(op, **fields).result()

    def bind(self, endpoint):
        """Returns the endpoint with its wildcards resolved."""
        return self.call("bind", endpoint=endpoint)

    def connect(self, endpoint):
        self.call("connect", endpoint=endpoint)

    def set(self, option, value):
        self.call("set", option=option, value=option_value(value))

    def get(self, option):
        value = self.call("get", option=option)
        return base64.b64decode(value) if isinstance(value, str) else value

    def send(self, *parts, timeout=20000):
        self.call("send", parts=encoded(list(parts)), timeout=timeout)

    def start_send(self, *parts, timeout=20000):
        return self.start("send", parts=encoded(list(parts)), timeout=timeout)

    def try_send(self, *parts):
        self.call("send", parts=encoded(list(parts)), wait=False)

    def recv(self, timeout=20000):
        return [base64.b64decode(part) for part in self.call("recv", timeout=timeout)]

    def try_recv(self, timeout=0):
        """The next message, or None if none comes within `timeout` milliseconds."""
        try:
            return self.recv(timeout)
        except PeerError as error:
            if error.errno != "EAGAIN":
                raise
            return None

    def close(self, linger=None):
        self.call("close", linger=linger)


def is_blocked(pid, thread_id):
    """Whether a thread is blocked in the kernel at each of five checks."""
    for _ in range(5):
        with open(f"/proc/{pid}/task/{thread_id}/stat", encoding="utf-8", errors="replace") as stat:
            state = stat.read().rpartition(")")[2].split()[0]
        if state != "S":
            return False
        time.sleep(0.002)
    return True
