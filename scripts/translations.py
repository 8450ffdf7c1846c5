#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Checks the translations of the documentation: guide.ko.md is guide.md in Korean.

    translations.py                     checks all of them
    translations.py --accept PAGE...    notes that PAGE, such as docs/guide/tls.ko.md, says what the English page says today

A translation names the state of the English page for which it was last looked at. It has the headings, links, lists, rows of
tables and blocks of code of that page, the latter unchanged. Pages of the guide without a translation are listed; the site
shows them in English.
"""

import hashlib
import re
import sys
from pathlib import Path

import markdown_text

ROOT = Path(__file__).resolve().parents[1]
LANGUAGES = ("ko",)
# Pages that a language should have.
EXPECTED = ("README.md", "docs/guide.md", "docs/guide/*.md", "docs/reference/peers_of_a_stream.md")
FIGURES = re.compile(r"^<!-- figures: \w+ -->\n.*?^<!-- end of figures -->\n", re.M | re.S)
STATE = re.compile(r"^<!-- Translation of (\S+), state (\w+) -->\n", re.M)


def english_name(name):
    """The name of the page that `name` is a translation of, or None."""
    for language in LANGUAGES:
        if name.endswith(f".{language}.md"):
            return name.removesuffix(f".{language}.md") + ".md"
    return None


def english_of(path):
    name = english_name(path.name)
    return name and path.with_name(name)


def translations():
    for folder in (ROOT.glob("*.md"), (ROOT / "docs").rglob("*.md")):
        for path in sorted(folder):
            if english_of(path):
                yield path


def state_of(page):
    """Stands for a page's text, without the line that links to a translation, and without figures, which a program writes."""
    text = markdown_text.without_lines_like(page.read_text(), r"\[[^\]]+\]\([\w.]+\.md\)")
    text = FIGURES.sub("", text)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def shape(text):
    """What the two pages have in common: the name of each part, and how often or in what order it comes."""
    prose = markdown_text.FENCE.sub("", text)
    return {
        "levels of headings": [each.level for each in markdown_text.headings(text)],
        "blocks of code": markdown_text.code_blocks(text),
        "items of lists": len(re.findall(r"^(?:[-*]|\d+\.) ", prose, re.M)),
        "rows of tables": len(re.findall(r"^\|", prose, re.M)),
    }


def linked_pages(path):
    """The files that a page links to, as English pages, without those of its own text in another language."""
    found = []
    for target in markdown_text.links(path.read_text()):
        if re.match(r"[a-z]+:", target):
            found.append(target)
            continue
        file = target.partition("#")[0]
        reached = (path.parent / file).resolve() if file else path
        reached = english_of(reached) or reached
        if not file or reached != (english_of(path) or path):
            found.append(str(reached))
    return sorted(found)


def complaints(path):
    page = english_of(path)
    here, there = path.relative_to(ROOT), page.relative_to(ROOT)
    if not page.exists():
        yield f"there is no {there}"
        return
    text = path.read_text()
    if f"[English]({page.name})" not in text.splitlines():
        yield f"lacks the line [English]({page.name})"
    mine, theirs = shape(text), shape(page.read_text())
    for name, value in mine.items():
        if value != theirs[name]:
            yield f"its {name} differ from those of {there}{first_difference(value, theirs[name])}"
    own, other = linked_pages(path), linked_pages(page)
    for target in sorted(set(own) | set(other)):
        if own.count(target) != other.count(target):
            name = target.removeprefix(f"{ROOT}/")
            yield f"links to {name} {own.count(target)} times, and {there} does {other.count(target)} times"
    language = path.suffixes[-2]
    for target in markdown_text.links(text):
        file = target.partition("#")[0]
        if file.endswith(".md") and not english_name(file) and not re.match(r"[a-z]+:", file) and file != page.name:
            if (path.parent / file).with_suffix(f"{language}.md").exists():
                yield f"{target}: link to {Path(file).with_suffix(language + '.md')}, which exists"
    stated = STATE.search(text)
    if not stated or stated[1] != page.name or stated[2] != state_of(page):
        yield (f"{there} has changed since this translation was last looked at. Bring it up to date, then: "
               f"scripts/translations.py --accept {here}")


def first_difference(mine, theirs):
    if not isinstance(mine, list):
        return f": {mine}, not {theirs}"
    for index, (one, other) in enumerate(zip(mine, theirs)):
        if one != other:
            lines = zip(str(one).splitlines(), [*str(other).splitlines(), ""])
            said = next((line.strip() for line, wanted in lines if line != wanted), "shorter")
            return f": number {index + 1}: {said}"
    return f": {len(mine)}, not {len(theirs)}"


def accept(path):
    page = english_of(path)
    if not page or not page.exists() or not path.exists():
        sys.exit(f"translations.py: {path}: name an existing translation, such as docs/guide/tls.ko.md")
    text = STATE.sub("", path.read_text())
    line = f"[English]({page.name})\n"
    if line not in text:
        sys.exit(f"translations.py: {path}: below its title it needs the line {line.strip()}")
    note = f"<!-- Translation of {page.name}, state {state_of(page)} -->\n"
    path.write_text(re.sub(rf"^{re.escape(line)}", line + note, text, count=1, flags=re.M))


def check():
    found = wrong = 0
    for path in translations():
        found += 1
        for complaint in complaints(path):
            print(f"{path.relative_to(ROOT)}: {complaint}")
            wrong += 1
    for language in LANGUAGES:
        for pattern in EXPECTED:
            for page in sorted(ROOT.glob(pattern)):
                if not english_of(page) and not page.with_suffix(f".{language}.md").exists():
                    print(f"{page.relative_to(ROOT)}: not translated ({language}); the site shows it in English")
    print(f"{found} translations, {wrong} faults")
    return 0 if found and not wrong else 1


if __name__ == "__main__":
    if sys.argv[1:] == []:
        sys.exit(check())
    if sys.argv[1] != "--accept" or len(sys.argv) < 3:
        sys.exit(__doc__)
    for name in sys.argv[2:]:
        accept(Path(name).resolve())
