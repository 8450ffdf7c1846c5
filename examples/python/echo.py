# SPDX-License-Identifier: MPL-2.0
"""Sends every message of a browser or game client back, in batches."""

import sys

import zlink


def main(endpoint: str) -> None:
    with zlink.Stream() as server:
        print("open", server.bind(endpoint), flush=True)
        while True:
            server.send_batch(server.recv_batch())


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:8080")
    except KeyboardInterrupt:
        pass
