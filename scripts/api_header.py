# SPDX-License-Identifier: MPL-2.0
"""Reads the documentation comments of include/zlink.h.

A comment of `///` lines belongs to the declarations that follow it up to the next empty line. `///<` belongs to the macro
on its left. `/// @name` begins a group.
"""

import dataclasses
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "include" / "zlink.h"

TAG = re.compile(r"@(\w+)\s*(.*)")
MACRO = re.compile(r"#\s*define\s+(ZLINK_\w+|E[A-Z]+)\s+(\S+.*?)\s*(?:///<\s*(.*))?$")
FUNCTION = re.compile(r"\b(zlink_\w+)\(")
TYPE = re.compile(r"(zlink_\w+)\)?(?:\(.*\))?;$")


@dataclasses.dataclass
class Comment:
    """A comment: the paragraphs of its text, and its tags, each with its lines joined."""

    text: list
    tags: list  # (name, text), in order

    def tagged(self, name):
        return [text for tag, text in self.tags if tag == name]


@dataclasses.dataclass
class Macro:
    name: str
    value: str
    comment: Comment


@dataclasses.dataclass
class Function:
    name: str
    declaration: str
    comment: Comment


@dataclasses.dataclass
class Type:
    name: str
    declaration: str  # Its lines, with the comments of its members.
    comment: Comment


@dataclasses.dataclass
class Group:
    name: str
    comment: Comment
    members: list


def parse_comment(lines):
    paragraphs, tags = [[]], []
    for line in lines:
        tag = TAG.match(line)
        if tag:
            tags.append([tag[1], tag[2]])
        elif tags and line:
            tags[-1][1] += " " + line
        elif line.startswith("- "):
            paragraphs.append([line])
        elif line:
            paragraphs[-1].append(line)
        else:
            paragraphs.append([])
    return Comment([" ".join(each) for each in paragraphs if each], [tuple(each) for each in tags])


def logical_lines(text):
    """The header's lines; lines continued by a backslash are joined."""
    joined = re.sub(r"\s*\\\n\s*", " ", text)
    return [line.rstrip() for line in joined.split("\n")]


def read():
    """The header's own comment, and its groups."""
    lines = logical_lines(HEADER.read_text())
    preamble, groups = None, []
    comment, is_used, index = [], False, 0
    while index < len(lines):
        line = lines[index].strip()
        index += 1
        if line.startswith("///") and not line.startswith("///<"):
            comment, is_used = ([] if is_used else comment) + [line[3:].strip()], False
            continue
        is_used = True
        if comment and comment[0].startswith("@file"):
            preamble = parse_comment(comment[1:])
            comment = []
        elif comment and comment[0].startswith("@name"):
            groups.append(Group(comment[0][len("@name") :].strip(), parse_comment(comment[1:]), []))
            comment = []
        macro = MACRO.match(line)
        if not line:
            comment = []
        elif macro and groups:
            said = [macro[3]] if macro[3] else []
            while index < len(lines) and lines[index].strip().startswith("///<"):
                said.append(lines[index].strip()[4:].strip())
                index += 1
            groups[-1].members.append(Macro(macro[1], macro[2], parse_comment(said or comment)))
        elif line.startswith("typedef") and groups:
            declaration = [line]
            while "{" in line and not declaration[-1].startswith("}"):
                declaration.append(lines[index])
                index += 1
            if "zmq_" not in line:  # Those that zmq.h declares have other names there, and no members here.
                name = TYPE.search(declaration[-1])[1]
                groups[-1].members.append(Type(name, "\n".join(declaration), parse_comment(comment)))
        elif line.startswith("ZLINK_EXPORT"):
            while not line.endswith(";"):
                line += " " + lines[index].strip()
                index += 1
            declaration = line[len("ZLINK_EXPORT ") :]
            name = FUNCTION.search(declaration)[1]
            groups[-1].members.append(Function(name, declaration, parse_comment(comment)))
    return preamble, groups


def write_pages(pages, check):
    """Writes pages, given as texts by path below the project, or with `check` only compares them.

    Returns the number of pages that were out of date.
    """
    stale = 0
    for path, text in pages.items():
        file = ROOT / path
        if file.exists() and file.read_text() == text:
            continue
        stale += 1
        if check:
            print(f"{path} is out of date")
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            print(f"{path} written")
    return stale
