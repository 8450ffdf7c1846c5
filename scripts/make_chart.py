#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Writes docs/throughput.svg, the chart of README.md, from the table of patterns in docs/performance.md.

    make_chart.py [--check]

With --check nothing is written: the exit status is 0 if the chart is up to date.
"""

import re
import sys

import api_header
from api_header import ROOT

PAGE = "docs/performance.md"
CHART = "docs/throughput.svg"
# Rows of the table that the chart shows: one message size, so that the bars are comparable.
SHOWN = [
    "PUSH/PULL inproc 64 B",
    "PUSH/PULL ipc 64 B",
    "PUSH/PULL tcp 64 B",
    "PUB/SUB tcp 64 B, one subscriber",
    "ROUTER/ROUTER tcp 64 B",
    "DEALER/ROUTER tcp 64 B",
    "PUSH/PULL tcp 64 B with CURVE",
]
SCALE = {"K": 1e3, "M": 1e6}
WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 760, 210, 90, 50, 44, 16
LIBRARIES = [("libzmq", "#9aa5b1"), ("zlink", "#2f6fdf")]


def number(cell):
    value, unit = re.fullmatch(r"([\d.]+) ([KM])", cell).groups()
    return float(value) * SCALE[unit]


def read_rows():
    rows = {}
    for line in (ROOT / PAGE).read_text().splitlines():
        cells = [each.strip() for each in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0] in SHOWN:
            rows[cells[0]] = (cells[1], cells[2], cells[3].split()[0])
    missing = [name for name in SHOWN if name not in rows]
    if missing:
        sys.exit(f"{PAGE} has no row {', '.join(missing)}")
    return [(name, *rows[name]) for name in SHOWN]


def text(x, y, words, **attributes):
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{given}>{words}</text>'


def make_chart():
    rows = read_rows()
    most = max(number(row[2]) for row in rows)
    height = TOP + ROW * len(rows) + 16
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        "<!-- Written by scripts/make_chart.py out of docs/performance.md. -->",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(16, 26, "Messages of 64 bytes per second", font_size=16, font_weight="bold", fill="#1f2933"),
    ]
    for place, (name, color) in enumerate(LIBRARIES):
        x = WIDTH - RIGHT - 120 + 90 * place
        lines.append(f'<rect x="{x}" y="15" width="12" height="12" fill="{color}"/>')
        lines.append(text(x + 18, 26, name, fill="#1f2933"))
    for index, (name, *values, ratio) in enumerate(rows):
        y = TOP + ROW * index
        label = name.replace(" 64 B", "").replace(", one subscriber", "")
        lines.append(text(LEFT - 12, y + BAR + 5, label, text_anchor="end", fill="#1f2933"))
        for place, (value, (_, color)) in enumerate(zip(values, LIBRARIES)):
            length = (WIDTH - LEFT - RIGHT) * number(value) / most
            said = value if place == 0 else f"{value} ({ratio} x)"
            top = y + BAR * place
            lines.append(f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{BAR - 2}" fill="{color}"/>')
            lines.append(text(round(LEFT + length + 6, 1), top + 12, said, font_size=12, fill="#52606d"))
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    is_check = sys.argv[1:] == ["--check"]
    stale = api_header.write_pages({CHART: make_chart()}, is_check)
    sys.exit(1 if is_check and stale else 0)
