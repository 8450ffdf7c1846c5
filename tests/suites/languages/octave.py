"""Octave: the package zeromq 1.5.5. Its own tests are installed with it."""

import re
from pathlib import Path

import exchange

OCTAVE = ("octave-cli", "--quiet", "--no-init-file", "--no-history")
COUNTS = r"""
pkg load zeromq
[passed, tests, broken, skipped] = test("{file}", "quiet", stdout);
printf("\nCOUNT %d %d %d\n", passed, tests, skipped);
"""


def run(place):
    exchange.exchange(place, *OCTAVE, exchange.HERE / "exchange.m")
    for file in sorted(Path("/usr/lib").glob("*/octave/packages/zeromq-*/*/*-tst")):
        name = f"own.{file.name.split('.')[0]}"
        status = place.run(name, *OCTAVE, "--eval", COUNTS.format(file=file))
        counts = re.search(r"^COUNT (\d+) (\d+) (\d+)$", place.said(name), re.M)
        passed, tests, skipped = map(int, counts.groups()) if counts else (0, 0, 0)
        if status == 0 and counts and tests == passed + skipped and not passed:
            place.skipped(name, "it has no test")
        else:
            holds = status == 0 and passed and tests == passed + skipped
            place.check(name, holds, f"{passed} of {tests}, status {status}")
