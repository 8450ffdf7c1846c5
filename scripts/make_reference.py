#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Writes docs/reference/, a page for each group of functions and their types, from the comments in include/zlink.h.

    make_reference.py [--check]

A function whose comment lacks a description, its return value or the cause of an error is refused. With --check nothing is
written: the exit status is 0 if the pages are up to date.
"""

import re
import sys

import api_header
import translations
from api_header import ROOT, Function, Macro, Type

FOLDER = "docs/reference"
NOTE = "<!-- Written by scripts/make_reference.py from include/zlink.h. -->\n\n"


def slug(name):
    return re.sub(r"\W+", "_", name.lower()).strip("_")


def check(function):
    """The first fault of a function's comment, or None."""
    gives = function.declaration.split("zlink_")[0].strip()
    said = function.comment
    if not said.text:
        return "has no description"
    if gives not in ("void", "int") and not said.tagged("return") and not said.tagged("owns"):
        return "has neither @return nor @owns"
    for error in said.tagged("error"):
        if not re.match(r"(E[A-Z]+|others) +\S", error):
            return f"has an @error without a name or a cause: {error}"
    known = set(re.findall(r"\w+", function.declaration))
    for parameter in said.tagged("param"):
        for name in re.split(r",\s*", parameter.split("  ")[0]):
            if name not in known:
                return f"documents a parameter that it does not have: {name}"
    return None


def linked(text, pages, here):
    """Marks names as code, and links names of functions to their sections."""

    def link(match):
        name = match[0]
        if name not in pages:
            return f"`{name}`" if name.startswith("ZLINK_") else name
        file = "" if pages[name] == here else pages[name]
        return f"[`{name}`]({file}#{name})"

    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"\bzlink_\w+|\bZLINK_\w+\*?", link, part) for part in parts)


def wrapped(declaration):
    """The declaration, with one parameter per line if it is long."""
    if len(declaration) <= 90:
        return declaration
    head, _, rest = declaration.partition("(")
    parameters = rest.rstrip(";").rstrip(")").split(", ")
    return head + "(\n    " + ",\n    ".join(parameters) + ");"


def function_text(function, group, link):
    said = function.comment
    text = f"## {function.name}\n\n```c\n{wrapped(function.declaration)}\n```\n\n"
    text += "\n\n".join(link(each) for each in said.text) + "\n\n"
    parameters = [each.split("  ", 1) for each in said.tagged("param")]
    if parameters:
        text += "".join(f"- `{name.strip()}`: {link(meaning.strip())}\n" for name, meaning in parameters) + "\n"
    for tag, title in (("return", "Returns"), ("owns", "Owner"), ("blocks", "Blocks")):
        for each in said.tagged(tag):
            text += f"**{title}:** {link(each)}\n\n"
    threads = said.tagged("threads") or group.comment.tagged("threads")
    text += f"**Threads:** {link(threads[0])}\n\n"
    errors = [each.split(maxsplit=1) for each in said.tagged("error")]
    if errors:
        text += "| error | cause |\n|---|---|\n"
        text += "".join(f"| {name} | {link(cause)} |\n" for name, cause in errors) + "\n"
    return text


def type_text(described, link):
    text = f"## {described.name}\n\n```c\n{described.declaration}\n```\n\n"
    return text + "".join(link(each) + "\n\n" for each in described.comment.text)


def constants_text(macros, link):
    text = "## Constants\n\n| name | value | meaning |\n|---|---|---|\n"
    for macro in macros:
        meaning = link(" ".join(macro.comment.text)).replace("|", "\\|")
        text += f"| `{macro.name}` | {macro.value} | {meaning} |\n"
    return text + "\n"


def page_of(group, pages):
    here = f"{slug(group.name)}.md"

    def link(text):
        return linked(text, pages, here)

    functions = [each for each in group.members if isinstance(each, Function)]
    macros = [each for each in group.members if isinstance(each, Macro)]
    text = f"# {group.name}\n\n{NOTE}"
    if group.comment.text:
        text += "\n\n".join(link(each) for each in group.comment.text) + "\n\n"
    for each in functions:
        text += function_text(each, group, link)
    for each in group.members:
        if isinstance(each, Type):
            text += type_text(each, link)
    if macros:
        text += constants_text(macros, link)
    return text.rstrip() + "\n"


def index_of(preamble, groups, pages):
    def link(text):
        return linked(text, pages, "README.md")

    text = f"# The C API\n\n{NOTE}"
    text += "\n\n".join(link(each) for each in preamble.text[1:]) + "\n\n"
    text += f"**Threads:** {link(preamble.tagged('threads')[0])}\n\n"
    text += "Socket and context options have [a page of their own](../options.md).\n\n"
    for group in groups:
        file = f"{slug(group.name)}.md"
        names = [f"[`{each.name}`]({file}#{each.name})" for each in group.members if isinstance(each, Function)]
        text += f"- [{group.name}]({file})" + (": " + ", ".join(names) if names else "") + "\n"
    return text


def main():
    preamble, groups = api_header.read()
    groups = [each for each in groups if each.name != "Socket options"]
    functions = [(each, group) for group in groups for each in group.members if isinstance(each, Function)]
    complaints = [f"{each.name} {fault}" for each, _ in functions if (fault := check(each))]
    if complaints:
        sys.exit("\n".join(complaints))
    described = [(each, group) for group in groups for each in group.members if isinstance(each, (Function, Type))]
    pages = {each.name: f"{slug(group.name)}.md" for each, group in described}
    texts = {f"{FOLDER}/{slug(group.name)}.md": page_of(group, pages) for group in groups}
    texts[f"{FOLDER}/README.md"] = index_of(preamble, groups, pages)
    is_check = sys.argv[1:] == ["--check"]
    stale = api_header.write_pages(texts, is_check)
    for file in sorted((ROOT / FOLDER).glob("*.md")):
        if f"{FOLDER}/{translations.english_name(file.name) or file.name}" not in texts:
            stale += 1
            print(f"{FOLDER}/{file.name} does not belong to any group; remove it")
    sys.exit(1 if is_check and stale else 0)


if __name__ == "__main__":
    main()
