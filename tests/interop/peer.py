"""A process with sockets that a test controls through standard input.

One line of JSON per command: {"id", "op", "socket", ...}; one line per reply: {"id", "ok"} or {"id", "error", "errno"}.
Each socket has a thread of its own that runs its commands in order, so a call that waits blocks no other socket, and
replies may come in any order. Commands without a socket run on the context's thread. Bytes are encoded as base64. This
file imports pyzmq only and nothing of the tests, because it runs in environments that have nothing else.
"""

import base64
import errno
import faulthandler
import json
import os
import queue
import signal
import struct
import sys
import threading
import time

import zmq

COUNTER = struct.Struct("!IQ")
output_lock = threading.Lock()


def encode(parts):
    return [base64.b64encode(part).decode() for part in parts]


def decode(parts):
    return [base64.b64decode(part) for part in parts]


def reply(number, **fields):
    line = json.dumps({"id": number, **fields})
    with output_lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def numbered(stream, index, size):
    """The index-th message of a numbered stream: the stream's number, the message's number, filling."""
    head = COUNTER.pack(stream, index)
    return head + bytes([index & 0xFF]) * max(0, size - len(head))


class Worker(threading.Thread):
    """Carries out the commands of one socket, or with name None those of the context."""

    def __init__(self, peer, name):
        super().__init__(daemon=True)
        self.peer = peer
        self.commands = queue.Queue()
        self.socket = None
        self.start()

    def run(self):
        while True:
            command = self.commands.get()
            number = command.pop("id")
            op = command.pop("op")
            command.pop("socket", None)
            try:
                result = getattr(self, "do_" + op)(**command)
            except zmq.ZMQError as error:
                name = errno.errorcode.get(error.errno, zmq_name(error.errno))
                reply(number, error=str(error), errno=name)
            except Exception as error:
                reply(number, error=f"{type(error).__name__}: {error}", errno="")
            else:
                reply(number, ok=result)

    # The context's commands.

    def do_context(self, **options):
        self.peer.context = zmq.Context()
        for name, value in options.items():
            self.peer.context.set(getattr(zmq, name), value)

    def do_term(self):
        started = time.monotonic()
        self.peer.context.term()
        return time.monotonic() - started

    def do_about(self):
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = sorted({line.split(None, 5)[-1].strip() for line in maps if "/libz" in line})
        libraries = [p for p in paths if os.path.basename(p).startswith(("libzmq", "libzlink"))]
        return {"version": zmq.zmq_version(), "libraries": libraries, "is_zlink": zmq.has("zlink")}

    def do_thread_count(self):
        return len(os.listdir("/proc/self/task"))

    def do_make_keys(self):
        public, secret = zmq.curve_keypair()
        return zmq.has("curve") and len(public) == 40 and zmq.curve_public(secret) == public

    # A socket's commands.

    def do_open(self, kind, **options):
        self.socket = self.peer.context.socket(getattr(zmq, kind))
        for name, value in options.items():
            self.do_set(name, value)

    def do_set(self, option, value):
        self.socket.set(getattr(zmq, option), base64.b64decode(value) if isinstance(value, str) else value)

    def do_get(self, option):
        value = self.socket.get(getattr(zmq, option))
        return encode([value])[0] if isinstance(value, bytes) else value

    def do_bind(self, endpoint):
        self.socket.bind(endpoint)
        return self.socket.get(zmq.LAST_ENDPOINT).rstrip(b"\0").decode()

    def do_unbind(self, endpoint):
        self.socket.unbind(endpoint)

    def do_connect(self, endpoint):
        self.socket.connect(endpoint)

    def do_disconnect(self, endpoint):
        self.socket.disconnect(endpoint)

    def do_close(self, linger=None):
        self.socket.close(linger)

    def do_send(self, parts, timeout=None, wait=True):
        if timeout is not None:
            self.socket.set(zmq.SNDTIMEO, timeout)
        self.socket.send_multipart(decode(parts), 0 if wait else zmq.DONTWAIT)

    def do_recv(self, timeout=None, wait=True):
        if timeout is not None:
            self.socket.set(zmq.RCVTIMEO, timeout)
        return encode(self.socket.recv_multipart(0 if wait else zmq.DONTWAIT))

    def do_recv_properties(self, names, timeout=10000):
        """Receives the next frame and returns its properties."""
        self.socket.set(zmq.RCVTIMEO, timeout)
        received = self.socket.recv(copy=False)
        return [received.get(name) for name in names]

    def do_send_part(self, part, more, wait=True):
        flags = (zmq.SNDMORE if more else 0) | (0 if wait else zmq.DONTWAIT)
        self.socket.send(base64.b64decode(part), flags)

    def do_poll(self, timeout, flags):
        return self.socket.poll(timeout, flags)

    def do_send_numbered(self, count, size, stream=0, first=0, prefix=(), timeout=30000):
        """Sends messages `first` to `first + count - 1` of a stream, with the parts `prefix` before each."""
        self.socket.set(zmq.SNDTIMEO, timeout)
        prefix = decode(prefix)
        for index in range(first, first + count):
            self.socket.send_multipart([*prefix, numbered(stream, index, size)])

    def do_recv_numbered(self, count, size, skip=0, timeout=30000):
        """Receives `count` numbered messages and checks each stream's order and every byte.

        `skip` is the number of parts before the numbered one. Returns the number received from each stream, and the
        order in which the streams took turns.
        """
        self.socket.set(zmq.RCVTIMEO, timeout)
        expected = {}
        turns = []
        for taken in range(count):
            try:
                parts = self.socket.recv_multipart()
            except zmq.Again:
                raise ValueError(f"after {taken} of {count} messages nothing came any more") from None
            if len(parts) != skip + 1:
                raise ValueError(f"{len(parts)} parts where {skip + 1} were expected")
            stream, index = COUNTER.unpack(parts[skip][: COUNTER.size])
            if index != expected.setdefault(stream, 0):
                raise ValueError(f"stream {stream}: {index} came where {expected[stream]} was due")
            if parts[skip] != numbered(stream, index, size):
                raise ValueError(f"stream {stream}: message {index} has other bytes")
            expected[stream] = index + 1
            turns.append(stream)
        return {"streams": expected, "turns": turns}

    def do_fill(self, size, count_max):
        """Sends without waiting until a send is refused. Returns the number of messages sent."""
        body = b"x" * size
        for count in range(count_max):
            try:
                self.socket.send(body, zmq.DONTWAIT)
            except zmq.Again:
                return count
        return count_max

    def do_drain(self, timeout):
        """Receives until none comes for `timeout` milliseconds. Returns the number of messages received."""
        self.socket.set(zmq.RCVTIMEO, timeout)
        count = 0
        try:
            while True:
                self.socket.recv_multipart()
                count += 1
        except zmq.Again:
            return count

    def do_echo(self, count, timeout=30000):
        """Sends back `count` messages unchanged, including envelopes."""
        self.socket.set(zmq.RCVTIMEO, timeout)
        self.socket.set(zmq.SNDTIMEO, timeout)
        for _ in range(count):
            self.socket.send_multipart(self.socket.recv_multipart())

    def do_ask(self, count, size, timeout=30000):
        """Sends numbered requests one at a time and checks that each comes back unchanged."""
        self.socket.set(zmq.RCVTIMEO, timeout)
        self.socket.set(zmq.SNDTIMEO, timeout)
        for index in range(count):
            request = numbered(0, index, size)
            self.socket.send(request)
            if self.socket.recv_multipart() != [request]:
                raise ValueError(f"request {index} was answered with something else")

    def do_proxy(self, backend):
        """Runs until the context ends."""
        other = self.peer.context.socket(getattr(zmq, backend["kind"]))
        try:
            other.bind(backend["endpoint"])
            zmq.proxy(self.socket, other)
        except zmq.ContextTerminated:
            return "ETERM"
        finally:
            other.close(0)
            self.socket.close(0)

    def do_poll_mixed(self, timeout):
        """Polls this socket and a pipe together, twice: with a byte in the pipe, then without."""
        readable, writable = os.pipe()
        try:
            poller = zmq.Poller()
            poller.register(self.socket, zmq.POLLIN)
            poller.register(readable, zmq.POLLIN)
            os.write(writable, b"x")
            with_byte = dict(poller.poll(timeout))
            os.read(readable, 1)
            without_byte = dict(poller.poll(timeout))
            return [
                [self.socket in found, readable in found] for found in (with_byte, without_byte)
            ]
        finally:
            os.close(readable)
            os.close(writable)

    def do_fd_loop(self, count, timeout=30000):
        """Receives through ZMQ_FD and ZMQ_EVENTS alone, as an event loop does. Returns the number of wake-ups."""
        import select

        watcher = select.poll()
        watcher.register(self.socket.get(zmq.FD), select.POLLIN)
        wakeups = 0
        taken = 0
        while taken < count:
            # The descriptor is edge-triggered: all events are handled before waiting for it.
            while self.socket.get(zmq.EVENTS) & zmq.POLLIN:
                self.socket.recv_multipart(zmq.DONTWAIT)
                taken += 1
            if taken < count:
                if not watcher.poll(timeout):
                    raise ValueError(f"ZMQ_FD did not wake after {taken} of {count} messages")
                wakeups += 1
        return wakeups

    def do_hold_until_term(self):
        """Waits in recv without a limit; when the context ends, closes and returns the error's name."""
        self.socket.set(zmq.RCVTIMEO, -1)
        try:
            self.socket.recv()
        except zmq.ContextTerminated:
            return "ETERM"
        finally:
            self.socket.close(0)
        return "a message"

    def do_native_id(self):
        return threading.get_native_id()


def zmq_name(number):
    try:
        return zmq.Errno(number).name
    except ValueError:
        return str(number)


class Peer:
    def __init__(self):
        self.context = zmq.Context()
        self.workers = {}

    def run(self):
        for line in sys.stdin:
            command = json.loads(line)
            name = command.get("socket")
            if name not in self.workers:
                self.workers[name] = Worker(self, name)
            self.workers[name].commands.put(command)
        # The test is over. Sockets that a library still holds open are not waited for.
        os._exit(0)


if __name__ == "__main__":
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    Peer().run()
