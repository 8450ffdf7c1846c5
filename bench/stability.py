#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Runs the stability matrix: messages arrive whole and in order, no run hangs, memory does not grow.

Each cell runs its rounds in the same two processes (one for inproc), with a new context for each
round. A cell passes if every round ends in time without a loss, a reordering or an altered byte
and the resident memory of each process after closing its context does not grow.
"""

import argparse
import statistics
import sys
import time

import runner
from compare import decode_size, format_size
from turns import Progress, listed

PATTERNS = ["pair", "push_pull", "dealer_dealer", "dealer_router", "pub_sub", "router_router"]
TRANSPORTS = ["tcp", "ipc", "inproc"]
SIZES = [64, 1024]
COUNTS = [2_000, 10_000, 200_000]

# Memory that allocators and thread stacks may gain from the early rounds to the late ones.
RSS_SLACK_KIB = 8 * 1024
# Rounds excluded from the comparison, in which pools and arenas fill.
SETTLING_ROUNDS = 2
COMPARED_ROUNDS_MAX = 3


def growth_kib(resident):
    """The memory that the last rounds hold in excess of the first ones after settling."""
    settled = resident[min(SETTLING_ROUNDS, max(0, len(resident) - 2)) :]
    span = min(COMPARED_ROUNDS_MAX, max(1, len(settled) // 2))
    return int(statistics.median(settled[-span:]) - statistics.median(settled[:span]))


def run_cell(arguments, subject, cell):
    """Runs one cell and returns the growth per process; raises RunFailed."""
    pattern, transport, size, count = cell
    options = ["--size", str(size), "--count", str(count), "--peers", str(arguments.peers)]
    options += ["--io-threads", str(arguments.io_threads), "--api", arguments.api, "--verify"]
    outcome = runner.run_pattern(
        arguments.binary,
        subject,
        pattern,
        transport,
        options,
        arguments.limit,
        rounds=arguments.rounds,
        peer_subject=arguments.receiver,
    )
    for lines in outcome.results:
        received = lines["receiver"]["received"]
        expected = count * (arguments.peers if pattern == "pub_sub" else 1)
        if received != expected:
            raise runner.RunFailed(f"{received} of {expected} messages arrived")
    growth = {
        role: growth_kib([closing[role]["rss_kib"] for closing in outcome.closings])
        for role in outcome.closings[0]
    }
    for role, kib in growth.items():
        if kib > RSS_SLACK_KIB:
            raise runner.RunFailed(f"{role} grew by {kib} KiB in {arguments.rounds} rounds")
    return growth


def decode_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subject", default="zlink", metavar="NAME=DIR")
    parser.add_argument(
        "--receiver", metavar="NAME=DIR", help="another library for the receiver; excludes inproc"
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--patterns", type=listed(str, PATTERNS), default=PATTERNS)
    parser.add_argument("--transports", type=listed(str, TRANSPORTS), default=TRANSPORTS)
    parser.add_argument("--sizes", type=listed(decode_size), default=SIZES)
    parser.add_argument("--counts", type=listed(int), default=COUNTS, help="messages per round")
    parser.add_argument("--peers", type=int, default=2, help="subscribers of pub_sub")
    parser.add_argument("--api", choices=["buffer", "msg", "ref", "frames"], default="buffer")
    parser.add_argument("--io-threads", type=int, default=1)
    parser.add_argument("--limit", type=int, default=60, help="seconds after which a round counts as hung")
    parser.add_argument("--binary", help="pattern_bench to run (default: built if needed)")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    try:
        subject = runner.decode_subject(arguments.subject)
        if arguments.receiver:
            arguments.receiver = runner.decode_subject(arguments.receiver)
            arguments.transports = [name for name in arguments.transports if name != "inproc"]
    except ValueError as problem:
        parser.error(str(problem))
    arguments.binary = arguments.binary or runner.build_binary("pattern_bench")
    return arguments, subject


def main():
    arguments, subject = decode_arguments()
    runner.exit_on_signals()
    cells = [
        (pattern, transport, size, count)
        for pattern in arguments.patterns
        for transport in arguments.transports
        for size in arguments.sizes
        for count in arguments.counts
    ]
    progress = Progress(len(cells))
    passed = 0
    failed = 0
    try:
        for cell in cells:
            pattern, transport, size, count = cell
            label = f"{pattern} {transport} {format_size(size)} x {count}"
            progress.show(label)
            start = time.monotonic()
            try:
                growth = run_cell(arguments, subject, cell)
            except runner.RunFailed as failure:
                failed += 1
                progress.step(label)
                progress.clear()
                print(f"FAILED {label}: {failure}", flush=True)
                continue
            passed += 1
            progress.step(label)
            progress.clear()
            grown = ", ".join(f"{role} {kib:+d} KiB" for role, kib in growth.items())
            elapsed = time.monotonic() - start
            print(f"ok     {label}: {grown}, {elapsed:.1f} s", flush=True)
    finally:
        progress.clear()
        runner.end_all()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
