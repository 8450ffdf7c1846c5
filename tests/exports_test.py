#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Checks that a library exports what src/api/functions.def lists, under one prefix, and no more. Functions that
libzmq lacks have the prefix zlink_ in every library.

    exports_test.py FUNCTIONS.DEF LIBRARY PREFIX [drafts]

With the word drafts, libzmq's draft functions are expected, too.

Prints each symbol that is missing, superfluous or carries a version.
"""
import pathlib
import re
import subprocess
import sys


def main(table, library, prefix, has_drafts):
    listed = re.findall(r"^ZLINK_(OWN_|DRAFT_)?FUNCTION\((\w+)\)$", pathlib.Path(table).read_text(), re.M)
    wanted = {("zlink_" if kind == "OWN_" else prefix) + name
              for kind, name in listed if has_drafts or kind != "DRAFT_"}
    # What a static library does not export is local in its one object.
    symbols = "-g" if library.endswith(".a") else "-D"
    lines = subprocess.run(["nm", symbols, "--defined-only", library],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    exported = {line.split()[-1] for line in lines if " " in line}

    for symbol in sorted(wanted - exported):
        print(f"{library}: lacks {symbol}")
    for symbol in sorted(exported - wanted):
        print(f"{library}: should not export {symbol}")
    return 0 if listed and exported == wanted else 1


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[4:] not in ([], ["drafts"]):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:4], len(sys.argv) == 5))
