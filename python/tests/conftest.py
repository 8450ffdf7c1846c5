# SPDX-License-Identifier: MPL-2.0
"""Fixtures and functions of the tests of the Python package."""

import os
import subprocess
import sys
import warnings

import pytest

import zlink

#: Seconds after which something that has to happen has failed.
DEADLINE = 20

#: A child may inherit the lock of the sanitizer's allocator from a thread that it does not have.
forks = pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="forks under a sanitizer may hang")


@pytest.fixture
def context():
    with zlink.Context() as made:
        yield made


@pytest.fixture
def pipeline(context):
    """A Push and a Pull that are connected."""
    pull = zlink.Pull(context)
    push = zlink.Push(context)
    pull.recv_timeout = push.send_timeout = DEADLINE
    push.connect(pull.bind("tcp://127.0.0.1:*"))
    return push, pull


class Pair:
    """A Stream with one peer, and the Stream that is that peer."""

    def __init__(self, context, endpoint="ws://127.0.0.1:*", server=None):
        self.server = server or zlink.Stream(context)
        self.client = zlink.Stream(context)
        self.server.recv_timeout = self.client.recv_timeout = DEADLINE
        self.endpoint = self.server.bind(endpoint)
        self.client.connect(self.endpoint)
        self.came = self.server.recv()
        self.peer = self.came.peer
        self.server_peer = self.client.recv().peer


@pytest.fixture
def ws(context):
    return Pair(context)


def run_python(code, *arguments, timeout=DEADLINE, **environment):
    """Runs a program in a new interpreter; returns what it prints."""
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore::ResourceWarning", "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(autouse=True)
def no_unclosed_sockets():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
