# SPDX-License-Identifier: MPL-2.0
"""Reads Markdown as far as this project writes it: headings, links, and blocks of code.

Headings get the anchors that GitHub gives them, so a link that works in a repository's viewer works on the site.
"""

import dataclasses
import re

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^(#+) +([^\n]*)$", re.M)
# Code, in which nothing is a link, or else a link.
CODE_OR_LINK = re.compile(rf"{FENCE.pattern}|{CODE.pattern}|{LINK.pattern}", re.M | re.S)
CODE_OR_HEADING = re.compile(rf"{FENCE.pattern}|{HEADING.pattern}", re.M | re.S)


@dataclasses.dataclass(frozen=True)
class Heading:
    level: int
    title: str
    anchor: str


def make_anchor(title, taken):
    plain = re.sub(r"\]\([^)]*\)", "", title).lower()
    name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
    count = 0
    while f"{name}-{count}" in taken or (count == 0 and name in taken):
        count += 1
    return f"{name}-{count}" if count else name


def headings(text):
    found, taken = [], set()
    for level, title in HEADING.findall(FENCE.sub("", text)):
        anchor = make_anchor(title, taken)
        taken.add(anchor)
        found.append(Heading(len(level), title, anchor))
    return found


def links(text):
    """The targets of all links that are not in code."""
    return LINK.findall(CODE.sub("", FENCE.sub("", text)))


def replace_links(text, replace):
    """The text with `replace(target)` in place of each link's target."""

    def one(match):
        target = match[3]
        return match[0] if target is None else f"]({replace(target)})"

    return CODE_OR_LINK.sub(one, text)


def replace_headings(text, replace):
    """The text with `replace(index, line)` in place of each heading's line."""
    index = -1

    def one(match):
        nonlocal index
        if match[3] is None:
            return match[0]
        index += 1
        return replace(index, match[0])

    return CODE_OR_HEADING.sub(one, text)


def code_blocks(text):
    """The blocks of code of a page in order: those between fences with their language, and the indented ones."""
    blocks, rest = [], []
    last = 0
    for match in FENCE.finditer(text):
        rest.append((last, text[last : match.start()]))
        blocks.append((match.start(), f"{match[1]}\n{match[2]}"))
        last = match.end()
    rest.append((last, text[last:]))
    for start, part in rest:
        for match in re.finditer(r"(?:^ {4}.*\n?)+", part, re.M):
            blocks.append((start + match.start(), match[0]))
    return [block.rstrip() for _, block in sorted(blocks)]


def without_lines_like(text, pattern):
    """The text without the lines that match `pattern` wholly, and without the empty line after each."""
    return re.sub(rf"^(?:{pattern})\n\n?", "", text, flags=re.M)
