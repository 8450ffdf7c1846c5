#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Checks that includes in src/ point down the layers only, as LAYERS lists them.

    includes_test.py SRC

Prints each line that includes a folder above its own, another protocol's folder, or a folder that is
no layer.
"""
import pathlib
import re
import sys

# From the bottom up. Folders on one line are one layer, and may not include each other. A pipe stores bytes in the
# frames of a wire protocol, so pipe is above wire, which does not use queues.
LAYERS = [
    {"base"},
    {"wire"},
    {"crypto"},
    {"pipe"},
    {"runtime", "files"},
    {"transport", "web"},
    {"codec", "security"},
    {"session"},
    {"socket"},
    {"api"},
]
HEIGHTS = {folder: height for height, layer in enumerate(LAYERS) for folder in layer}

# Layers whose sub-folders may not include each other: each protocol is a folder of wire/.
DIVIDED = {"wire"}

# Tests and their helpers may include everything.
ANYWHERE = {"testing"}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def is_unrestricted(path):
    return path.parts[0] in ANYWHERE or path.stem.endswith("_test")


def are_apart(path, target):
    """Whether both files are in sub-folders of one layer, and not in the same one."""
    return len(path.parts) > 2 and len(target.parts) > 2 and path.parts[1] != target.parts[1]


def complaint(src, path, target):
    """The error in the file `path`, below `src`, including `target`; None if there is none."""
    if (src.parent / "include" / target).is_file():
        return None
    if not (src / target).is_file():
        return "no such file in src/ or include/"
    folder, included = path.parts[0], pathlib.PurePath(target).parts[0]
    if included in ANYWHERE:
        return "only tests may include it"
    if included not in HEIGHTS:
        return f"{included}/ is no layer"
    if folder != included and HEIGHTS[folder] <= HEIGHTS[included]:
        return f"{included}/ is not below {folder}/"
    if folder in DIVIDED and folder == included and are_apart(path, pathlib.PurePath(target)):
        return f"{path.parent}/ may not include {pathlib.PurePath(target).parent}/"
    return None


def main(src):
    src = pathlib.Path(src).resolve()
    found = checked = 0
    for file in sorted(src.rglob("*.?pp")):
        path = file.relative_to(src)
        if is_unrestricted(path):
            continue
        if path.parts[0] not in HEIGHTS:
            print(f"src/{path}: {path.parts[0]}/ is no layer")
            found += 1
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            checked += 1
            wrong = complaint(src, path, match[1])
            if wrong:
                print(f'src/{path}:{number}: "{match[1]}": {wrong}')
                found += 1
    print(f"{checked} includes, {found} violations")
    return 0 if checked and not found else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
