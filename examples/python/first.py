# SPDX-License-Identifier: MPL-2.0
"""Sends a message from a Push socket to a Pull socket."""

import sys

import zlink


def main(endpoint: str) -> None:
    with zlink.Context() as context:
        worker = zlink.Pull(context)
        source = zlink.Push(context)
        source.connect(worker.bind(endpoint))

        source.send(b"hello")
        print(worker.recv(timeout=5).decode())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:*")
