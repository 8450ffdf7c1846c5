#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Checks what the Markdown files say of other files.

    links_test.py ROOT

Every link to a file must lead to one, and to a heading of it where the link names one; links to other sites are left alone.
Every block of a language in QUOTED must occur in a file of that language, under examples/ or tests/, that its page links to,
line by line and but for the indentation. The index of the ADRs must link to each of them.
"""
import pathlib
import re
import sys

# Made by builds and tools, not by us.
ELSEWHERE = {"build", ".venv", ".git"}

# Languages of blocks, and how the names of files end that have them.
QUOTED = {"c": (".c",), "cpp": (".cpp",), "html": (".html",), "js": (".html", ".js"), "cmake": ("CMakeLists.txt",)}
QUOTED_FROM = ("examples", "tests")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)


def pages(root):
    for page in sorted(root.rglob("*.md")):
        if not ELSEWHERE & set(page.relative_to(root).parts):
            yield page


def anchors(page):
    """The names under which a page's headings are reached, as GitHub makes them."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text())):
        plain = re.sub(r"\]\([^)]*\)", "", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = 0
        while f"{name}-{count}" in found or (count == 0 and name in found):
            count += 1
        found.add(f"{name}-{count}" if count else name)
    return found


def link_complaint(page, target):
    """What is wrong with the link to `target`; None if nothing is."""
    if re.match(r"[a-z]+:", target):
        return None
    file, _, anchor = target.partition("#")
    reached = page.parent / file if file else page
    if not reached.exists():
        return "no such file"
    if anchor and (reached.suffix != ".md" or anchor not in anchors(reached)):
        return "no such heading"
    return None


def lines_of(code):
    return [line.strip() for line in code.splitlines() if line.strip()]


def is_quoted(block, files):
    wanted = lines_of(block)
    for file in files:
        there = lines_of(file.read_text())
        if any(there[at : at + len(wanted)] == wanted for at in range(len(there))):
            return True
    return False


def complaints(root, page):
    """What is wrong with `page`; and None for each statement that is right."""
    text = page.read_text()
    links = LINK.findall(CODE.sub("", FENCE.sub("", text)))
    for target in links:
        wrong = link_complaint(page, target)
        yield wrong and f"{target}: {wrong}"
    reached = [(page.parent / target).resolve() for target in links]
    folders = [root / each for each in QUOTED_FROM]
    files = [each for each in reached if each.is_file() and any(folder in each.parents for folder in folders)]
    if page == root / "docs/adr/README.md":
        for record in sorted(page.parent.glob("[0-9]*.md")):
            yield None if record in reached else f"{record.name} is not listed"
    if page.parent.name == "reference":
        return  # Its C is of the header, and checked by who writes it.
    for language, block in FENCE.findall(text):
        if language in QUOTED:
            matching = [each for each in files if each.name.endswith(QUOTED[language])]
            first = lines_of(block)[0]
            yield None if is_quoted(block, matching) else f"{first}: in no such file that the page links to"


def main(root):
    root = pathlib.Path(root).resolve()
    found = checked = 0
    for page in pages(root):
        for wrong in complaints(root, page):
            checked += 1
            if wrong:
                print(f"{page.relative_to(root)}: {wrong}")
                found += 1
    print(f"{checked} links and quotations, {found} wrong")
    return 0 if checked and not found else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
