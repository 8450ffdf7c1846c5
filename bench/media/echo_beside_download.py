#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Measures how much downloads at full speed delay WebSocket messages on the same I/O thread.

The server (echo_server) has one I/O thread, serves files and echoes messages at /echo. One peer sends
a message, waits for the echo, and sends the next one; each round trip is timed. In turns nothing else
happens, and users download ranges of a large file as fast as they are sent. Prints p50 and p99 of both
and their ratios, and a JSON line with all of it.
"""

import argparse
import base64
import datetime
import hashlib
import json
import math
import os
import socket
import statistics
import struct
import sys
import time

import loads
import servers

import runner
from compare import decode_size
from turns import Progress, describe_machine, read_commit, summarise

WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3.
OPCODE_BINARY = 2
SOCKET_SECONDS_MAX = 10.0
SERVER_SECONDS_MAX = 3600


class EchoPeer:
    """One WebSocket connection (RFC 6455) that sends binary messages and checks their echoes."""

    def __init__(self, port, path):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SOCKET_SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        self._upgrade(path)

    def round_trip(self, payload):
        """Sends a message, receives its echo and returns the seconds that this took."""
        frame = self._frame(payload)
        begin = time.perf_counter()
        self._socket.sendall(frame)
        echo = self._read_message()
        seconds = time.perf_counter() - begin
        if echo != payload:
            raise runner.RunFailed("an echo differs from its message")
        return seconds

    def close(self):
        self._socket.close()

    def _upgrade(self, path):
        key = base64.b64encode(os.urandom(16))
        request = (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key.decode()}\r\n\r\n"
        )
        self._socket.sendall(request.encode("ascii"))
        while b"\r\n\r\n" not in self._received:
            self._read_more()
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET_GUID).digest())
        if not head.startswith(b"HTTP/1.1 101") or accept not in head:
            raise runner.RunFailed(f"the upgrade was answered with {head[:100]!r}")

    @staticmethod
    def _frame(payload):
        """A final frame, masked as those of clients have to be."""
        mask = os.urandom(4)
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | OPCODE_BINARY, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | OPCODE_BINARY, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | OPCODE_BINARY, 0x80 | 127, size)
        repeated = (mask * (size // 4 + 1))[:size]
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
        return head + mask + masked.to_bytes(size, "big")

    def _read_message(self):
        first, size = self._take(2)
        if first != 0x80 | OPCODE_BINARY or size & 0x80:
            raise runner.RunFailed(f"an unexpected frame begins with {first:#x} {size:#x}")
        if size == 126:
            (size,) = struct.unpack("!H", self._take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._take(8))
        return self._take(size)

    def _take(self, size):
        while len(self._received) < size:
            self._read_more()
        taken, self._received = self._received[:size], self._received[size:]
        return taken

    def _read_more(self):
        try:
            got = self._socket.recv(65536)
        except TimeoutError:
            raise runner.RunFailed(f"no echo within {SOCKET_SECONDS_MAX:g} s") from None
        if not got:
            raise runner.RunFailed("the server closed the connection")
        self._received += got


def percentile(ordered, share):
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def time_echoes(peer, arguments):
    """Round trips for the warm-up and the measured time; returns the figures of the latter, in us."""
    payload = os.urandom(arguments.size)
    opening = time.monotonic() + arguments.warmup
    while time.monotonic() < opening:
        peer.round_trip(payload)
    times = []
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        times.append(peer.round_trip(payload) * 1e6)
        if arguments.interval > 0:
            time.sleep(arguments.interval)
    times.sort()
    return {
        "echoes": len(times),
        "p50_us": percentile(times, 0.50),
        "p99_us": percentile(times, 0.99),
        "max_us": times[-1],
    }


def start_download(client, port, arguments):
    """A load client that downloads for longer than echoes are timed."""
    options = {
        "port": port, "path": "/" + loads.VIDEO, "file-size": arguments.file_size,
        "chunk": arguments.chunk, "users": arguments.downloads, "warmup": arguments.warmup,
        "measure": arguments.seconds, "copy": 1, "drain-timeout": SOCKET_SECONDS_MAX,
        "limit": int(arguments.warmup + arguments.seconds + 2 * SOCKET_SECONDS_MAX),
    }
    words = [word for name, value in options.items() for word in ("--" + name, str(value))]
    return runner.Side("load_client", [client, *words], dict(os.environ))


def run_once(client, port, arguments, downloads):
    """One turn; returns its figures."""
    peer = EchoPeer(port, "/echo")
    side = None
    try:
        if downloads:
            side = start_download(client, port, arguments)
        figures = time_echoes(peer, arguments)
        figures["megabytes_per_second"] = 0.0
        if side is not None:
            deadline = time.monotonic() + 3 * SOCKET_SECONDS_MAX
            result = side.wait_for("result", deadline)
            if not result["pass"]:
                why = result["first_failure"] or "none was complete within the measured time"
                raise runner.RunFailed(f"{result['failures']} downloads failed: {why}")
            figures["megabytes_per_second"] = result["megabytes_per_second"]
        return figures
    except OSError as problem:
        raise runner.RunFailed(f"the echo peer: {problem}") from None
    finally:
        peer.close()
        if side is not None:
            side.close()


def start_server(arguments, port):
    """The echo server, ready."""
    if arguments.programs:
        program = os.path.join(arguments.programs, "echo_server")
        if not os.path.exists(program):
            sys.exit(f"{program} does not exist")
    else:
        libraries = (f"-L{arguments.library}", "-lzlink")
        program = runner.build_binary("echo_server", servers.FOLDER, libraries,
                                      "a release build of libzlink.so", servers.OUTPUT_DIR)
    environment = dict(os.environ, LD_LIBRARY_PATH=arguments.library)
    command = [program, "--port", str(port), "--folder", arguments.files]
    side = runner.Side("echo_server", command + ["--limit", str(SERVER_SECONDS_MAX)], environment)
    try:
        side.wait_for("ready", time.monotonic() + SOCKET_SECONDS_MAX)
    except runner.RunFailed:
        side.close()
        raise
    return side


def decode_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=3, help="runs without and with downloads, in turns (3)")
    parser.add_argument("--seconds", type=float, default=3.0, help="measured time of a run (3)")
    parser.add_argument("--warmup", type=float, default=0.5, help="(0.5)")
    parser.add_argument("--size", type=decode_size, default=64, help="bytes of a message (64)")
    parser.add_argument("--interval", type=float, default=0.001,
                        help="seconds between an echo and the next message (0.001)")
    parser.add_argument("--downloads", type=int, default=1, help="simultaneous downloads (1)")
    parser.add_argument("--chunk", type=decode_size, default=256 << 20, help="bytes of a download (256M)")
    parser.add_argument("--file-size", type=decode_size, default=1 << 30, help="of the large file (1024M)")
    parser.add_argument("--library", default=runner.default_zlink_dir(),
                        help="folder of libzlink.so (the release build's)")
    parser.add_argument("--programs", help="folder of load_client and echo_server (built if needed)")
    parser.add_argument("--files", default=os.path.join(servers.OUTPUT_DIR, "files"),
                        help="folder for the file that is downloaded")
    parser.add_argument("--output", default=os.path.join(servers.OUTPUT_DIR, "echo.jsonl"),
                        help="file for the JSON line")
    arguments = parser.parse_args()
    if arguments.pairs < 1 or arguments.seconds <= 0 or arguments.size < 1 or arguments.downloads < 1:
        parser.error("--pairs, --size and --downloads must be at least 1, and --seconds above 0")
    if not 0 < arguments.chunk <= arguments.file_size:
        parser.error("--chunk must be between 1 and --file-size")
    for name in ("library", "files", "output"):
        setattr(arguments, name, os.path.abspath(getattr(arguments, name)))
    return arguments


def measure(client, port, arguments, progress):
    """Runs by turns; returns the figures per kind of turn."""
    results = {"alone": [], "beside a download": []}
    for pair in range(arguments.pairs):
        for kind, figures in results.items():
            where = f"{kind} {pair + 1}/{arguments.pairs}"
            progress.show(where)
            figures.append(run_once(client, port, arguments, kind != "alone"))
            made = figures[-1]
            progress.step(f"{where} p50 {made['p50_us']:.0f} us, p99 {made['p99_us']:.0f} us")
    return results


def print_results(results, ratios):
    columns = (20, 8, 12, 26, 26, 10)
    titles = ("", "echoes", "download MB/s", "p50 us (min - max)", "p99 us (min - max)", "max us")
    print(" ".join(title.ljust(width) for title, width in zip(titles, columns)))
    for kind, figures in results.items():
        cells = [kind, f"{statistics.median(row['echoes'] for row in figures):.0f}",
                 f"{statistics.median(row['megabytes_per_second'] for row in figures):.0f}"]
        for name in ("p50_us", "p99_us"):
            whole = summarise([row[name] for row in figures])
            cells.append(f"{whole['median']:.0f} ({whole['minimum']:.0f} - {whole['maximum']:.0f})")
        cells.append(f"{max(row['max_us'] for row in figures):.0f}")
        print(" ".join(cell.ljust(width) for cell, width in zip(cells, columns)).rstrip())
    for name, whole in ratios.items():
        print(f"{name} beside a download / alone: {whole['median']:.2f} "
              f"({whole['minimum']:.2f} - {whole['maximum']:.2f})")


def main():
    arguments = decode_arguments()
    runner.exit_on_signals()
    progress = Progress(2 * arguments.pairs)
    try:
        client = servers.client_program(arguments)
        servers.make_files(client, arguments.files, {loads.VIDEO: arguments.file_size})
        port = runner.free_port()
        start_server(arguments, port)
        results = measure(client, port, arguments, progress)
    except runner.RunFailed as failure:
        progress.clear()
        sys.exit(f"failed: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        runner.end_all()
    progress.clear()
    ratios = {}
    for name in ("p50_us", "p99_us"):
        alone, beside = ([row[name] for row in figures] for figures in results.values())
        ratios[name] = summarise([theirs / mine for mine, theirs in zip(alone, beside)])
    print_results(results, ratios)
    line = {
        "kind": "echo beside a download",
        "commit": read_commit(),
        "machine": describe_machine(),
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "parameters": {
            name: getattr(arguments, name)
            for name in ("pairs", "seconds", "warmup", "size", "interval", "downloads", "chunk", "file_size")
        },
        "results": results,
        "ratios": ratios,
    }
    os.makedirs(os.path.dirname(arguments.output), exist_ok=True)
    with open(arguments.output, "w", encoding="utf-8") as output:
        output.write(json.dumps(line) + "\n")
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
