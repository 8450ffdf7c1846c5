#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Runs an example that needs somebody at the other end, or files, and checks what it does.

    examples_test.py NAME PROGRAM

NAME is that of a function below.
"""

import signal
import socket
import subprocess
import sys
import time

from web_client import SECONDS_MAX, WebClient


class Server:
    """A running example that is bound to ws://127.0.0.1:PORT/PATH."""

    def __init__(self, program, path):
        self.path = path
        for _ in range(5):
            self.port = free_port()
            endpoint = f"ws://127.0.0.1:{self.port}{path}"
            self._process = subprocess.Popen([program, endpoint], stdout=subprocess.PIPE, text=True)
            if self._listens():
                return
        raise RuntimeError(f"{program} does not listen")

    def _listens(self):
        """Until it does; not if it has ended, because somebody else took the port meanwhile."""
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
        """Has it end by itself, which `players` are told; gives the lines that it printed."""
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
    """How its connection ends, whatever is received before."""
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


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    {each.__name__: each for each in (browser_echo,)}[sys.argv[1]](sys.argv[2])
