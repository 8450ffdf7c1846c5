#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Checks the references of the Markdown files to other files.

    links_test.py ROOT

Every link to a file must lead to one, and to a heading of it if the link names one; links to other sites are ignored.
Every block of a language in QUOTED must occur in a file of that language, under examples/ or tests/, that its page links to,
line by line, except for the indentation. The index of the ADRs must link to each of them.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))

import markdown_text

# Made by builds and tools.
ELSEWHERE = {"build", ".venv", ".git"}

# Languages of blocks, and the endings of the names of their files.
QUOTED = {"c": (".c",), "cpp": (".cpp",), "html": (".html",), "js": (".html", ".js"), "cmake": ("CMakeLists.txt",),
          "python": (".py",)}
QUOTED_FROM = ("examples", "tests")


def pages(root):
    for page in sorted(root.rglob("*.md")):
        if not ELSEWHERE & set(page.relative_to(root).parts):
            yield page


def anchors(page):
    return {each.anchor for each in markdown_text.headings(page.read_text())}


def link_complaint(page, target):
    """The error of the link to `target`; None if there is none."""
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
    """The errors of `page`; and None for each correct statement."""
    text = page.read_text()
    links = markdown_text.links(text)
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
        return  # Its C is quoted from the header, and checked by make_reference.py, which writes these pages.
    for language, block in markdown_text.FENCE.findall(text):
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
