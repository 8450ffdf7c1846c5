#!/usr/bin/env python3
"""Adds up the JUnit files of ctest and pytest: prints 'PASSED FAILED SKIPPED'.

A ctest test whose output ends with doctest's summary counts as the number of tests in the summary.

With --list as the first argument it prints one line per test, 'PASS NAME', 'FAIL NAME' or 'SKIP NAME', and then
'N passed, M failed, K skipped'.
"""

import re
import sys
import xml.etree.ElementTree as tree

COLOUR = re.compile(r"\x1b\[[0-9;]*m|\[[0-9;]+m")
DOCTEST = re.compile(
    r"\[doctest\] test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed\s*\|\s*(\d+) skipped"
)


def counts(case):
    """The numbers of passed, failed and skipped tests of one testcase element."""
    has_failed = case.find("failure") is not None or case.find("error") is not None
    has_failed = has_failed or case.get("status") == "fail"
    has_skipped = case.find("skipped") is not None or case.get("status") in ("disabled", "notrun")
    summary = DOCTEST.findall(COLOUR.sub("", case.findtext("system-out") or ""))
    if summary:
        passed, failed, _ = map(sum, zip(*[map(int, line) for line in summary]))
        # Tests that the program's filter excluded are counted by another ctest test.
        return passed, failed or int(has_failed), 0
    if has_failed:
        return 0, 1, 0
    return (0, 0, 1) if has_skipped else (1, 0, 0)


def described(case, counted):
    """The line of a testcase element."""
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
