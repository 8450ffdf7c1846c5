#!/usr/bin/env python3
"""Adds up the JUnit files of ctest and pytest: prints 'PASSED FAILED SKIPPED'.

A ctest test that closes with doctest's summary counts as many tests as that says.

With --list first: a line a test, 'PASS NAME', 'FAIL NAME' or 'SKIP NAME', and 'N passed, M failed, K skipped'.
"""

import re
import sys
import xml.etree.ElementTree as tree

COLOUR = re.compile(r"\x1b\[[0-9;]*m|\[[0-9;]+m")
DOCTEST = re.compile(
    r"\[doctest\] test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed\s*\|\s*(\d+) skipped"
)


def counts(case):
    """Passed, failed, skipped of one testcase element."""
    has_failed = case.find("failure") is not None or case.find("error") is not None
    has_failed = has_failed or case.get("status") == "fail"
    has_skipped = case.find("skipped") is not None or case.get("status") in ("disabled", "notrun")
    summary = DOCTEST.findall(COLOUR.sub("", case.findtext("system-out") or ""))
    if summary:
        passed, failed, _ = map(sum, zip(*[map(int, line) for line in summary]))
        # What a program did not run because of its own filter is another test's.
        return passed, failed or int(has_failed), 0
    if has_failed:
        return 0, 1, 0
    return (0, 0, 1) if has_skipped else (1, 0, 0)


def described(case, counted):
    """A testcase element's line."""
    word = ("PASS", "FAIL", "SKIP")[counted.index(max(counted))]
    return f"{word} {case.get('classname').rpartition('.')[2]}::{case.get('name')}"


def main():
    is_listing = sys.argv[1:2] == ["--list"]
    total = [0, 0, 0]
    for path in sys.argv[1 + is_listing :]:
        for case in tree.parse(path).iter("testcase"):
            counted = counts(case)
            total = [a + b for a, b in zip(total, counted)]
            if is_listing:
                print(described(case, counted))
    print("{} passed, {} failed, {} skipped".format(*total) if is_listing else "{} {} {}".format(*total))


if __name__ == "__main__":
    main()
