#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Writes docs/options.md from the code and the header.

    make_options_page.py [--check]

Numbers, types, units and meanings come from include/zlink.h; ranges, access and the types of sockets from the table in
src/api/option_table.cpp; defaults from src/base/socket_options.hpp. Facts stated in two of them must agree. With --check
nothing is written: the exit status is 0 if the page is up to date.
"""

import dataclasses
import re
import sys

import api_header
from api_header import ROOT

PAGE = "docs/options.md"
TABLE = ROOT / "src" / "api" / "option_table.cpp"
SECURITY = ROOT / "src" / "api" / "security_options.cpp"
FIELDS = ROOT / "src" / "base" / "socket_options.hpp"

WORDS = ROOT / "src" / "api" / "option_words.cpp"

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
# In a comment, in place of the unit: the bytes are not limited to 255.
ANY_LENGTH = "any length"
CONSTANTS = {
    "INT_MIN": INT_MIN,
    "INT_MAX": INT_MAX,
    "INT64_MAX": 2**63 - 1,
    "UINT16_MAX": 2**16 - 1,
    "own_least": INT_MIN,
    "own_most": INT_MAX,
}

INTRODUCTION = """\
# Socket options

<!-- Written by scripts/make_options_page.py; edit its sources. -->

The options of `zlink_setsockopt` and `zlink_getsockopt` (`zmq_setsockopt` and `zmq_getsockopt`). The names are those of
`zlink.h`; `zmq.h` has them as `ZMQ_…`, and C++ in lower case without the prefix, as `zlink::option::linger`.

A *flag* is an int, 0 or 1. A *text* is read back with a zero byte at its end, *bytes* without one. Options that concern
connections apply to endpoints that are bound or connected later. A value that is out of range or has the wrong size fails
with EINVAL, as does an option that the socket's type does not have.

"""

CONTEXT_INTRODUCTION = """
## Context options

The options of `zlink_ctx_set` and `zlink_ctx_get`, which are ints; `ZLINK_METRICS_ENDPOINT` is a text, of
`zlink_ctx_set_text` and `zlink_ctx_get_text`.

| option | number | meaning |
|---|---|---|
"""

DRAFT_INTRODUCTION = """
## Draft options

libzmq's draft options that zlink has only in a build with `-D ZLINK_DRAFTS=ON`
([draft interface](reference/draft_interface.md)).

"""

HEAD = "| option | number | type, unit | range | default | access | sockets | meaning |\n|" + "---|" * 8 + "\n"

ABSENT_INTRODUCTION = """
## Not supported

These are defined so that programs that use their names compile; reading and setting them fails with EINVAL.

"""


class Disagreement(Exception):
    pass


@dataclasses.dataclass
class Entry:
    """One row of the table in the code."""

    field: str
    access: str
    sockets: str
    least: int
    most: int
    is_text: bool
    step: int
    has_range: bool


@dataclasses.dataclass
class Option:
    """The description of an option in the header."""

    name: str
    number: str
    access: str
    sockets: str
    type: str
    unit: str
    meaning: str
    default: str


def evaluate(expression, names):
    return int(eval(expression, {"__builtins__": {}}, names))  # The expression is from our own sources.


def socket_sets(text):
    """The named sets of socket types, each with its types as a text."""
    found = {"any_type": "any"}
    pattern = r"constexpr unsigned (\w+)\s*=\s*only\(\{([^}]*)\}\)"
    for name, types in re.findall(pattern, text):
        found[name] = type_list(types)
    return found


def type_list(types):
    return ", ".join(each.upper() for each in re.findall(r"socket_type::(\w+)", types))


def split_arguments(text):
    """Splits at commas that are not inside brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "({") - (char in ")}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [" ".join(part.split()) for part in parts]


def read_table():
    text = re.sub(r"//[^\n]*", "", TABLE.read_text())
    sets = socket_sets(text)
    names = dict(CONSTANTS)
    for scope, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", FIELDS.read_text(), re.M | re.S):
        for name, value in re.findall(r"constexpr int (\w+) = (\d+);", body):
            names[f"{scope}_{name}"] = int(value)
    for name, value in re.findall(r"constexpr int (\w+) = (\d+);", text):
        names[name] = int(value)
    entries = {}
    rows = text[text.index("constexpr std::array table{") :]
    rows = rows[: rows.index("\n};")]
    for row in re.findall(r"entry\{(.*?)\}(?=,\s*(?:entry|$|\n))", rows + "\n", re.S):
        arguments = split_arguments(row)
        defaults = ["", "", "access::read_write", "any_type", "own_least", "own_most", "false", "1", "false"]
        arguments += defaults[len(arguments) :]
        option, field, access, sockets, least, most, is_text, step, _ = arguments
        sockets = type_list(sockets) if sockets.startswith("only") else sets[sockets]
        entries[option] = Entry(
            field.split("::")[-1],
            access.split("::")[-1],
            sockets,
            evaluate(least, names),
            evaluate(most.replace("::", "_"), names),
            is_text == "true",
            int(step),
            least != "own_least",
        )
    return entries


def unused_by_streams():
    """Options for every socket type except STREAM."""
    text = TABLE.read_text()
    listed = re.search(r"std::array unused_by_streams\{(.*?)\};", text, re.S)[1]
    return set(re.findall(r"ZLINK_\w+", listed))


def read_defaults():
    """Types and initial values of the fields of socket_options."""
    found = {}
    pattern = r"^    (int|bool|secret_text|std::\w+) (\w+)(?: = ([^;]+))?;"
    for kind, field, value in re.findall(pattern, FIELDS.read_text(), re.M):
        found[field] = (kind, {"true": "1", "false": "0"}.get(value, value))
    return found


def served_elsewhere():
    """Options that are handled by functions instead of the table."""
    text = TABLE.read_text() + SECURITY.read_text()
    return set(re.findall(r"case (ZLINK_\w+):", text))


def read_option(macro):
    """Parses a comment such as 'Write, SUB, bytes: meaning. -1: no limit. 5.'"""
    text = " ".join(macro.comment.text)
    head, colon, meaning = text.partition(": ")
    if not colon:
        raise Disagreement(f"{macro.name}: its comment has no type")
    words = head.split(", ")
    access = {"Write": "write", "Read": "read"}.get(words[0])
    words = words[1:] if access else words
    types = "flag|text|bytes|key|int|int64_t|uint64_t"
    at = next((index for index, word in enumerate(words) if re.fullmatch(types, word, re.I)), None)
    if at is None:
        raise Disagreement(f"{macro.name}: its comment has no type")
    sockets = ", ".join(words[:at]).replace(" and ", ", ")
    unit = words[at + 1] if len(words) > at + 1 else ""
    default = re.search(r"(?:^|[.] )(-?\d+)(?:: [^.]*)?[.]$", meaning)
    plain = re.search(r"[.] -?\d+[.]$", meaning)
    return Option(
        macro.name,
        macro.value,
        access or "read and write",
        sockets or "any",
        words[at].lower(),
        unit,
        meaning[: plain.start() + 1] if plain else meaning,
        default[1] if default else "",
    )


def range_of(option, entry):
    if option.type == "flag" and entry and entry.has_range:
        return "0, 1; " + ("other numbers mean 1" if entry.least < 0 else "larger numbers mean 1")
    if option.type == "flag":
        return "0, 1"
    if option.type == "key":
        return "32 bytes, or 40 characters of Z85"
    if option.access == "read":
        return ""
    if option.unit == ANY_LENGTH:
        return "0 bytes or more"
    if option.type in ("text", "bytes"):
        least, most = (entry.least, entry.most) if entry else (1, 255)
        return f"{least} to {most} bytes" if most < INT_MAX else f"{least} bytes or more"
    if entry is None or (entry.least == INT_MIN and entry.most == INT_MAX):
        return ""
    step = f", in steps of {entry.step}" if entry.step != 1 else ""
    if entry.least == INT_MIN and entry.most < INT_MAX:
        return f"up to {entry.most}" + step
    return (f"{entry.least} to {entry.most}" if entry.most < INT_MAX else f"{entry.least} or more") + step


def row_of(option, entry, defaults, unused):
    access, sockets, default = option.access, option.sockets, option.default
    if entry:
        access = {"read_write": "read and write", "write_only": "write"}[entry.access]
        if access != option.access:
            raise Disagreement(f"{option.name}: {access} in the table, {option.access} in the header")
        stated = set(option.sockets.split(", "))
        if entry.sockets != "any" and option.sockets != "any" and not stated <= set(entry.sockets.split(", ")) | {"STREAM"}:
            raise Disagreement(f"{option.name}: {entry.sockets} in the table, {option.sockets} in the header")
        sockets = entry.sockets if entry.sockets != "any" else option.sockets
        kind, default = defaults[entry.field]
        is_bytes = kind in ("std::string", "secret_text")
        kinds = {"int": "int", "bool": "flag", "std::int64_t": "int64_t", "std::uint64_t": "uint64_t"}
        if not is_bytes and kinds[kind] not in (option.type, option.type.replace("flag", "bool")):
            raise Disagreement(f"{option.name}: {kind} in the code, {option.type} in the header")
        if is_bytes and entry.is_text != (option.type == "text"):
            raise Disagreement(f"{option.name}: text in one of the table and the header, bytes in the other")
        if default != option.default:
            raise Disagreement(f"{option.name}: default {default} in the code, {option.default} in the header")
    if option.name in unused and sockets == "any":
        sockets = "any but STREAM"
    unit = f", {option.unit}" if option.unit not in ("", ANY_LENGTH) else ""
    cells = [
        f"`{option.name}`",
        option.number,
        option.type + unit,
        range_of(option, entry),
        default or ("unset" if option.type in ("text", "bytes", "key") and access != "read" else ""),
        access,
        sockets,
        option.meaning.replace("|", "\\|"),
    ]
    return "| " + " | ".join(cells) + " |\n"


def context_rows(members):
    rows = ""
    for macro in members:
        is_option = isinstance(macro, api_header.Macro) and macro.comment.text and macro.value.isdigit()
        if is_option:
            rows += f"| `{macro.name}` | {macro.value} | {' '.join(macro.comment.text)} |\n"
    return rows


def make_page():
    groups = {each.name: each for each in api_header.read()[1]}
    table, elsewhere, defaults = read_table(), served_elsewhere(), read_defaults()
    unused = unused_by_streams()
    macros = [each for each in groups["Socket options"].members if each.comment.text and each.value.isdigit()]
    values = r"ZLINK_(RECONNECT_STOP_\w+|DONTWAIT|SNDMORE|SNDTEXT|NULL|PLAIN|CURVE|GSSAPI|GSSAPI_NT_\w+|GROUP_MAX_LENGTH|BLOCKY)"
    options = [read_option(each) for each in macros if not re.fullmatch(values, each.name)]
    in_drafts = groups["Draft interface"].members
    known = table.keys() | elsewhere
    drafts = [read_option(each) for each in in_drafts if isinstance(each, api_header.Macro) and each.name in known]
    # The table has constants of its own for options that only libzmq's draft API names.
    missing = {name for name in table if name.isupper()} | elsewhere
    missing -= {each.name for each in options + drafts}
    if missing:
        raise Disagreement(f"the header does not describe {', '.join(sorted(missing))}")
    named = set(re.findall(r"NAMED\((ZLINK_\w+)\)", WORDS.read_text()))
    deprecated = {each.name for each in options if not each.number.isdigit()}
    unnamed = {each.name for each in options + drafts} - named - deprecated
    if unnamed:
        raise Disagreement(f"{WORDS.name} does not name {', '.join(sorted(unnamed))}")
    page = INTRODUCTION
    page += HEAD
    absent = ABSENT_INTRODUCTION
    for option in sorted(options, key=lambda each: each.name):
        if option.name in table or option.name in elsewhere:
            page += row_of(option, table.get(option.name), defaults, unused)
        else:
            absent += f"- `{option.name}` ({option.number}): {option.meaning}\n"
    context = [each for each in groups["Context"].members if not each.name.endswith("_DFLT")]
    context += [each for each in macros if each.name in ("ZLINK_IPV6", "ZLINK_BLOCKY")]
    in_builds = DRAFT_INTRODUCTION + HEAD
    for option in sorted(drafts, key=lambda each: each.name):
        in_builds += row_of(option, table.get(option.name), defaults, unused)
    return page + CONTEXT_INTRODUCTION + context_rows(context) + in_builds + absent


def main():
    try:
        page = make_page()
    except Disagreement as found:
        sys.exit(str(found))
    check = sys.argv[1:] == ["--check"]
    stale = api_header.write_pages({PAGE: page}, check)
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
