#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Compares sockets that several threads use, in alternating runs of two processes each.

    compare.py [--pairs N] [--seconds S] [--bytes B] [--transport tcp|ipc] [--zlink FOLDER] [--libzmq FOLDER]

option: one thread with ZMQ_THREAD_SAFE, over one thread without. The goal is at least 0.9.
shared: eight threads on one socket with ZMQ_THREAD_SAFE, over eight threads with a mutex around a PUSH of libzmq. The goal
is at least 3.

The exit status is 0 if both are reached.
"""

import argparse
import os
import statistics
import subprocess
import sys

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, BENCH)

import runner  # noqa: E402

THREADS = 8


def rate(arguments, library, threads, guard):
    program = os.path.join(arguments.zlink, "bench", "threads", "senders")
    command = [program, arguments.transport, str(threads), guard, str(arguments.bytes), str(arguments.seconds)]
    environment = {**os.environ, "LD_LIBRARY_PATH": library}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--bytes", type=int, default=64)
    parser.add_argument("--transport", choices=("tcp", "ipc"), default="tcp")
    parser.add_argument("--zlink", default=runner.default_zlink_dir(), help="build folder")
    parser.add_argument("--libzmq", default="/usr/lib/x86_64-linux-gnu", help="folder of libzmq.so.5")
    arguments = parser.parse_args()
    comparisons = {
        "option": ((arguments.zlink, 1, "none"), (arguments.zlink, 1, "option"), 0.9),
        "shared": ((arguments.libzmq, THREADS, "mutex"), (arguments.zlink, THREADS, "option"), 3),
    }
    is_reached = True
    for name, (base, tried, goal) in comparisons.items():
        pairs = [(rate(arguments, *base), rate(arguments, *tried)) for _ in range(arguments.pairs)]
        ratio = statistics.median(new / old for old, new in pairs)
        old, new = (statistics.median(side) / 1e6 for side in zip(*pairs))
        is_reached &= ratio >= goal
        print(f"{name}: {old:.2f} to {new:.2f} M/s, {ratio:.2f} x (goal: at least {goal} x)")
    sys.exit(not is_reached)


if __name__ == "__main__":
    main()
