#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Runs an example that needs a peer, or files, and checks its behaviour.

    examples_test.py NAME PROGRAM

NAME is a function below.
"""

import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

from web_client import SECONDS_MAX, WebClient


class Server:
    """A running example that is bound to ws://127.0.0.1:PORT/PATH, or another scheme."""

    def __init__(self, program, path, *arguments, scheme="ws"):
        self.path = path
        for _ in range(5):
            self.port = free_port()
            endpoint = f"{scheme}://127.0.0.1:{self.port}{path}"
            self._process = subprocess.Popen([program, endpoint, *arguments], stdout=subprocess.PIPE, text=True)
            if self._listens():
                return
        raise RuntimeError(f"{program} does not listen")

    def _listens(self):
        """Waits until it listens. False if it has ended, because another process took the port."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return True
            except ConnectionRefusedError:
                time.sleep(0.02)
        return False

    def client(self, **options):
        return WebClient(self.port, self.path, **options)

    def end(self, players):
        """Ends it by SIGTERM, and checks that `players` are told; returns the lines that it printed."""
        self._process.send_signal(signal.SIGTERM)
        for player in players:
            equal(end_of(player)[1], 1001)
        output, _ = self._process.communicate(timeout=SECONDS_MAX)
        equal(self._process.returncode, 0)
        return output.splitlines()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def equal(found, expected):
    if found != expected:
        sys.exit(f"{found!r} instead of {expected!r}")


def end_of(client):
    """The end of the client's connection; data before it is skipped."""
    while not isinstance(received := client.receive(), tuple):
        pass
    return received


def browser_echo(program):
    with Server(program, "/echo") as server:
        client, other = server.client(), server.client()
        for text in ("hello from the page", "", "grün 😀", "x" * 5000):
            client.send(text)
            equal(client.receive(), text)
        other.send_binary(b"\x00\xff")
        equal(other.receive(), b"\x00\xff")
        client.close()
        other.close()


def echo_server(program):
    with Server(program, "/echo") as server:
        clients = [server.client() for _ in range(20)]
        for number, client in enumerate(clients):
            client.send(f"from {number}")
        for number, client in enumerate(clients):
            equal(client.receive(), f"from {number}")
        clients.pop().abandon()
        clients[0].send_binary(b"\x00\xff")
        equal(clients[0].receive(), b"\x00\xff")
        server.end(clients)


def state_with(client, wanted):
    """The first state with all the positions in `wanted`."""
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        state = client.receive()
        if isinstance(state, tuple):
            sys.exit(f"{state} instead of a state")
        if set(wanted) <= set(state.split(";")):
            return state
    sys.exit(f"no state has {wanted}")


def game_server(program):
    with Server(program, "/game") as server:
        first, second, cheat = server.client(), server.client(), server.client()
        first.send("move 10 20")
        second.send("move -5 300")
        for player in (first, second):
            state_with(player, ["10 20", "-5 300"])
        cheat.send("teleport")
        equal(end_of(cheat), ("closed", 1008, "against the rules"))
        slow_player_is_disconnected(server)
        lines = server.end([first, second])
        equal(lines[-1], "all have gone")
        equal(any(line.startswith("left: 4000") for line in lines), True)
        equal(sum(line == "left: 1008 against the rules" for line in lines), 1)


def slow_player_is_disconnected(server):
    """One of many never reads. The others do, and see it vanish."""
    slow = server.client(receive_buffer_bytes=2048)
    slow.send("move 777 777")
    others = [server.client() for _ in range(40)]
    for other in others:
        other.send("move -1000000 -1000000")
    observer = server.client()
    state_with(observer, ["777 777"])
    deadline = time.monotonic() + SECONDS_MAX
    is_there = True
    while is_there and time.monotonic() < deadline:
        readable, _, _ = select.select(others, [], [], 0)
        for other in readable:
            other.drain_socket()
        is_there = "777 777" in observer.receive().split(";")
    equal(is_there, False)
    for each in [*others, observer, slow]:
        each.abandon()


def chat_server(program):
    with Server(program, "/chat") as server:
        ann = server.client()
        # The connection that tested the port has no number: it never asked for WebSocket.
        equal(ann.receive(), "guest 1 has joined")
        bob = server.client()
        equal(ann.receive(), "guest 2 has joined")
        equal(bob.receive(), "guest 2 has joined")
        bob.send("hello, all")
        equal(ann.receive(), "guest 2: hello, all")
        equal(bob.receive(), "guest 2: hello, all")
        bob.send_binary(b"bytes")
        equal(bob.receive(), ("closed", 1003, "text only"))
        equal(ann.receive(), "guest 2 has left: 1003 text only")
        equal(server.end([ann])[-1], "all have gone")


def notes_server(program):
    with tempfile.TemporaryDirectory() as folder, Server(program, "", folder, scheme="http") as server:
        (Path(folder) / "page.html").write_text("<p>A page")
        follower = HTTPConnection("127.0.0.1", server.port, timeout=SECONDS_MAX)
        follower.request("GET", "/api/events")
        events = follower.getresponse()
        equal(events.getheader("Content-Type"), "text/event-stream")
        equal(events.readline() + events.readline(), b": begins\n\n")
        client = HTTPConnection("127.0.0.1", server.port, timeout=SECONDS_MAX)
        for method, path, content, expected in (
            ("GET", "/page.html", None, (200, b"<p>A page")),
            ("POST", "/api/notes", b"one", (201, b"")),
            ("POST", "/api/notes", b"two", (201, b"")),
            ("GET", "/api/notes", None, (200, b"one\ntwo\n")),
        ):
            client.request(method, path, content)
            answer = client.getresponse()
            equal((answer.status, answer.read()), expected)
        equal([events.readline() for _ in range(4)], [b"data: one\n", b"\n", b"data: two\n", b"\n"])
        # A follower that has gone does not end the server, nor the notes of others.
        follower.sock.close()
        events.close()
        client.request("POST", "/api/notes", b"three")
        answer = client.getresponse()
        equal((answer.status, answer.read()), (201, b""))


def tls(program):
    with tempfile.TemporaryDirectory() as folder:
        for command in commands_of("docs/guide/tls.md"):
            subprocess.run(["sh", "-c", command], cwd=folder, check=True, capture_output=True)
        command = [program, "server.crt", "server.key", "authority.crt"]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        equal(done.stdout, "ping by TLSv1.3\n")


def commands_of(page):
    """The calls of openssl on a page; a backslash continues a call in the next line."""
    text = (Path(__file__).resolve().parents[2] / page).read_text().replace("\\\n", " ")
    found = [line.strip() for line in text.splitlines() if line.startswith("    openssl ")]
    return found or sys.exit(f"{page} has no command")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tests = (browser_echo, echo_server, game_server, chat_server, notes_server, tls)
    {each.__name__: each for each in tests}[sys.argv[1]](sys.argv[2])
