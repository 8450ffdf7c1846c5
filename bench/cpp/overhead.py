#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Counts the instructions of a message of 64 bytes through the C API and through the C++ interface, with callgrind.

    overhead.py [--program PROGRAM] [--library FOLDER]

The goal is at most 3 % more. The exit status is 0 if it is reached.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, BENCH)

import runner  # noqa: E402

GOAL = 1.03
FEW, MANY = 2000, 12000


def instructions(program, library, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, *map(str, arguments)]
        environment = {**os.environ, "LD_LIBRARY_PATH": library}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def per_message(program, library, through, what):
    few, many = (instructions(program, library, through, what, count) for count in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    release = runner.default_zlink_dir()
    parser.add_argument("--program", default=os.path.join(release, "bench", "cpp", "overhead"))
    parser.add_argument("--library", default=release, help="folder of libzlink.so")
    arguments = parser.parse_args()
    is_reached = True
    for what in ("bytes", "message"):
        c, cpp = (per_message(arguments.program, arguments.library, through, what) for through in ("c", "cpp"))
        is_reached &= cpp <= GOAL * c
        print(f"{what}: C {c:.0f}, C++ {cpp:.0f} instructions a message, {cpp / c:.3f} x (goal: at most {GOAL} x)")
    sys.exit(not is_reached)


if __name__ == "__main__":
    main()
