#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Writes include/zlink/option.hpp, the typed options of sockets, from docs/options.md.

    make_option_header.py [--check]

With --check nothing is written: the exit status is 0 if the header is up to date.
"""

import re
import subprocess
import sys
import textwrap

from api_header import ROOT

PAGE = ROOT / "docs" / "options.md"
HEADER = ROOT / "include" / "zlink" / "option.hpp"
WIDTH = 100

BEGIN = """\
// SPDX-License-Identifier: MPL-2.0
//
// The options of sockets, for socket.set() and socket.get(). Written by
// scripts/make_option_header.py; docs/options.md has ranges and defaults.
#pragma once

#include <zlink/context.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace zlink {

/// The types of sockets that have an option, as bits.
namespace detail {

constexpr unsigned bit_of(pattern type) noexcept {
    return type == pattern::stream ? 1U << 31U : 1U << static_cast<unsigned>(type);
}
constexpr unsigned every_pattern = ~0U;
constexpr unsigned all_but_stream = ~bit_of(pattern::stream);
template<class... Types>
constexpr unsigned only(Types... types) noexcept {
    return (bit_of(types) | ...);
}

/// Bytes that are not a text.
struct octets {};

/// An option of a socket.
/// @tparam Value  bool, int, std::int64_t, std::uint64_t, std::chrono::milliseconds or seconds,
///                std::string, or octets, which are read as std::string and set from any bytes.
template<int Number, class Value, bool IsRead, bool IsWritten, unsigned Patterns = every_pattern>
struct socket_option {};

} // namespace detail

namespace option {

"""

DRAFTS_BEGIN = """
#ifdef ZLINK_BUILD_DRAFT_API
"""
DRAFTS_END = """
#endif
"""

END = """
} // namespace option

} // namespace zlink
"""

# Types that have no name in `pattern` in every build.
DRAFTS = ("SERVER", "CLIENT", "RADIO", "DISH", "GATHER", "SCATTER", "DGRAM", "PEER", "CHANNEL")

VALUES = {
    "flag": "bool",
    "int": "int",
    "int64_t": "std::int64_t",
    "uint64_t": "std::uint64_t",
    "text": "std::string",
    "bytes": "detail::octets",
    "key": "detail::octets",
    "int, ms": "std::chrono::milliseconds",
    "int, s": "std::chrono::seconds",
}


def sections():
    """The tables of the options of sockets: of every build, and of one with drafts."""
    page = PAGE.read_text()
    return page[: page.index("## Context options")], page[page.index("## Draft options") :]


def rows(table):
    """The cells of each option."""
    for line in table.splitlines():
        if line.startswith("| `ZLINK_"):
            yield [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def patterns(sockets):
    if sockets == "any":
        return ""
    if sockets == "any but STREAM":
        return ", detail::all_but_stream"
    names = (("detail::drafts::" if name in DRAFTS else "pattern::") + name.lower() for name in sockets.split(", "))
    return f", detail::only({', '.join(names)})"


def declaration(cells):
    name, _, kind, _, _, access, sockets, meaning = cells
    constant = name.strip("`")
    value = VALUES.get(kind) or VALUES[kind.split(",")[0]]
    reads, writes = ("true" if word in access else "false" for word in ("read", "write"))
    comment = textwrap.wrap(
        meaning[0].upper() + meaning[1:], WIDTH, initial_indent="/// ", subsequent_indent="/// ", break_long_words=False
    )
    own = constant.removeprefix("ZLINK_").lower()
    kind = f"detail::socket_option<{constant}, {value}, {reads}, {writes}{patterns(sockets)}>"
    return "\n".join([*comment, f"inline constexpr {kind} {own}{{}};"])


def formatted(text):
    command = ["clang-format", f"--assume-filename={HEADER}"]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT).stdout


def main():
    always, drafts = ("\n".join(declaration(cells) for cells in rows(table)) for table in sections())
    made = formatted(BEGIN + always + DRAFTS_BEGIN + drafts + DRAFTS_END + END)
    if "--check" not in sys.argv[1:]:
        HEADER.write_text(made)
        print(f"{HEADER.relative_to(ROOT)} written")
    elif HEADER.read_text() != made:
        sys.exit(f"{HEADER.relative_to(ROOT)} is out of date; scripts/make_option_header.py writes it")


if __name__ == "__main__":
    main()
