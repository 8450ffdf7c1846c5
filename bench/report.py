#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Makes a self-contained HTML page, with plots as inline SVG, from the JSON lines of compare.py."""

import html
import json
import math
import os
import sys

CHART_WIDTH = 460
CHART_HEIGHT = 300
MARGIN_LEFT = 62
MARGIN_RIGHT = 14
MARGIN_TOP = 14
MARGIN_BOTTOM = 46
COLOUR_COUNT = 6

STYLE = """
:root { color-scheme: light dark; --page: #fcfcfb; --ink: #1d1d1b; --quiet: #63635e;
  --grid: #e4e3df; --axis: #b5b4ae; --good: #1f7a3d; --bad: #b3261e;
  --c0: #2a6fc9; --c1: #d4582a; --c2: #12866b; --c3: #7a4fc0; --c4: #a8730a; --c5: #b03a74; }
@media (prefers-color-scheme: dark) { :root { --page: #191918; --ink: #eeede9; --quiet: #a5a49d;
  --grid: #32322f; --axis: #5c5b56; --good: #6cc98a; --bad: #f28b82;
  --c0: #6aa5f0; --c1: #f08a5d; --c2: #4cc3a3; --c3: #ad8cf0; --c4: #d9a63f; --c5: #e583b0; } }
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  margin: 0 auto; max-width: 1200px; padding: 24px; }
h1 { font-size: 24px; } h2 { font-size: 19px; margin-top: 40px; } h3 { font-size: 15px; margin: 0; }
p, dd { color: var(--quiet); } dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; }
dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: 4px 7px; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; } .text { text-align: left; }
.reached { color: var(--good); } .short { color: var(--bad); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(400px, 1fr)); gap: 28px 20px; }
figure { margin: 0; } svg { width: 100%; height: auto; } svg text { fill: var(--quiet); font-size: 11px; }
.grid { stroke: var(--grid); } .axis { stroke: var(--axis); } .one { stroke: var(--ink); stroke-width: 1.2; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; } .whisker { stroke-width: 1.4; opacity: .55; }
.goal { stroke-width: 2; stroke-dasharray: 2 2; } .hit { fill: transparent; stroke: none; }
.legend { color: var(--quiet); font-size: 12px; display: flex; flex-wrap: wrap; gap: 2px 16px; }
.legend svg { width: 26px; height: 10px; margin-right: 5px; vertical-align: middle; }
"""

PATTERN_TITLES = {
    "pair": "PAIR",
    "push_pull": "PUSH/PULL",
    "dealer_dealer": "DEALER/DEALER",
    "dealer_router": "DEALER/ROUTER",
    "pub_sub": "PUB/SUB",
    "router_router": "ROUTER/ROUTER",
    "router_router_poll": "ROUTER/ROUTER with poll",
    "req_rep": "REQ/REP round trip",
    "dealer_router_latency": "DEALER/ROUTER round trip",
}

DASHES = ["", "6 4", "2 3", "9 3 2 3"]


def format_size(size):
    for unit, scale in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= scale:
            return f"{size / scale:g} {unit}"
    return str(size)


def format_number(value):
    for suffix, scale in (("M", 1e6), ("K", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {suffix}"
    return f"{value:.3g}"


def format_value(value, unit):
    return f"{value:.2f} x" if unit == "x" else f"{format_number(value)} {unit}"


def variant(parameters):
    """The pattern and its parameters that differ from the default."""
    name = PATTERN_TITLES[parameters["pattern"]]
    if parameters["pattern"] == "pub_sub":
        name += f", {parameters['peers']} subscriber" + ("s" if parameters["peers"] > 1 else "")
    if parameters["caller_driven"]:
        name += ", no I/O threads"
    if parameters["api"] != "msg":
        name += f", {parameters['api']} API"
    if parameters["mechanism"] != "null":
        name += f", {parameters['mechanism'].upper()}"
    if parameters.get("busy"):
        name += f", {parameters['busy']} busy processes"
    return name


# --- plots ---


def log_ticks(low, high, is_ratio):
    """The tick values of a logarithmic axis; the first and the last are its limits."""
    if is_ratio:
        first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
        if first == last:
            first, last = first - 1, last + 1
        return [2.0**power for power in range(first, last + 1)]
    steps = [1, 2, 5] if high / low < 200 else [1]
    ticks = []
    for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2):
        ticks += [step * 10.0**power for step in steps]
    below = max(tick for tick in ticks if tick <= low)
    above = min(tick for tick in ticks if tick >= high and tick > below)
    return [tick for tick in ticks if below <= tick <= above]


class Chart:
    """One plot over message size, or over another count; both axes are logarithmic."""

    def __init__(self, unit, value_name=None, size_name="message size, bytes", size_format=None):
        self._unit = unit
        self._value_name = value_name or {
            "x": "ratio to the baseline", "us": "half round trip, us"
        }.get(unit, "messages per second")
        self._size_name = size_name
        self._size_format = size_format or format_size
        self._series = []

    def add(self, name, colour, dash, points):
        """`points` are dicts with size, median, minimum, maximum and maybe goal."""
        self._series.append((name, colour % COLOUR_COUNT, dash, sorted(points, key=lambda p: p["size"])))

    def figure(self, title):
        return (
            f"<figure><h3>{html.escape(title)}</h3>{self._legend()}{self._svg(title)}</figure>"
        )

    def _legend(self):
        items = []
        for name, colour, dash, _ in self._series:
            items.append(
                '<span><svg viewBox="0 0 26 10" aria-hidden="true"><line x1="0" y1="5" x2="26" y2="5" '
                f'stroke="var(--c{colour})" stroke-width="2" stroke-dasharray="{dash}"/></svg>'
                f"{html.escape(name)}</span>"
            )
        return f'<div class="legend">{"".join(items)}</div>'

    def _svg(self, title):
        points = [point for *_, series in self._series for point in series]
        sizes = sorted({point["size"] for point in points})
        lows = [point["minimum"] for point in points] + [p["goal"] for p in points if "goal" in p]
        highs = [point["maximum"] for point in points] + [p["goal"] for p in points if "goal" in p]
        is_ratio = self._unit == "x"
        if is_ratio:
            lows.append(1.0)
            highs.append(1.0)
        ticks = log_ticks(min(lows), max(highs), is_ratio)
        right, bottom = CHART_WIDTH - MARGIN_RIGHT, CHART_HEIGHT - MARGIN_BOTTOM
        size_low, size_high = math.log2(sizes[0]) - 0.6, math.log2(sizes[-1]) + 0.6

        def x_of(size):
            share = (math.log2(size) - size_low) / (size_high - size_low)
            return round(MARGIN_LEFT + share * (right - MARGIN_LEFT), 1)

        def y_of(value):
            share = math.log(value / ticks[0]) / math.log(ticks[-1] / ticks[0])
            return round(bottom - share * (bottom - MARGIN_TOP), 1)

        parts = [
            f'<svg viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT}" role="img" '
            f'aria-label="{html.escape(title, quote=True)}">'
        ]
        for tick in ticks:
            y = y_of(tick)
            css = "one" if is_ratio and tick == 1 else "grid"
            parts.append(f'<line class="{css}" x1="{MARGIN_LEFT}" y1="{y}" x2="{right}" y2="{y}"/>')
            text = f"{tick:g}" if is_ratio else format_number(tick)
            parts.append(f'<text x="{MARGIN_LEFT - 7}" y="{y + 4}" text-anchor="end">{text}</text>')
        for size in sizes:
            x = x_of(size)
            parts.append(f'<line class="axis" x1="{x}" y1="{bottom}" x2="{x}" y2="{bottom + 4}"/>')
            parts.append(
                f'<text x="{x}" y="{bottom + 17}" text-anchor="middle">{self._size_format(size)}</text>'
            )
        parts.append(
            f'<line class="axis" x1="{MARGIN_LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'
        )
        middle = (MARGIN_TOP + bottom) / 2
        parts.append(
            f'<text x="{(MARGIN_LEFT + right) / 2}" y="{CHART_HEIGHT - 8}" text-anchor="middle">'
            f"{html.escape(self._size_name)} (log)</text>"
            f'<text x="13" y="{middle}" text-anchor="middle" '
            f'transform="rotate(-90 13 {middle})">{html.escape(self._value_name)} (log)</text>'
        )
        for name, colour, dash, series in self._series:
            parts.append(self._marks(name, colour, dash, series, x_of, y_of))
        parts.append("</svg>")
        return "".join(parts)

    def _marks(self, name, colour, dash, series, x_of, y_of):
        stroke = f'stroke="var(--c{colour})"'
        parts = []
        path = " ".join(f"{x_of(point['size'])},{y_of(point['median'])}" for point in series)
        if len(series) > 1:
            parts.append(
                f'<polyline class="line" points="{path}" {stroke} stroke-dasharray="{dash}"/>'
            )
        for point in series:
            x, y = x_of(point["size"]), y_of(point["median"])
            low, high = y_of(point["minimum"]), y_of(point["maximum"])
            parts.append(
                f'<line class="whisker" x1="{x}" y1="{low}" x2="{x}" y2="{high}" {stroke}/>'
            )
            if "goal" in point:
                goal = y_of(point["goal"])
                parts.append(
                    f'<line class="goal" x1="{x - 9}" y1="{goal}" x2="{x + 9}" y2="{goal}" {stroke}/>'
                )
            text = (
                f"{name}, {self._size_format(point['size'])}: {format_value(point['median'], self._unit)} "
                f"({format_value(point['minimum'], self._unit)} to "
                f"{format_value(point['maximum'], self._unit)})"
            )
            parts.append(
                f'<g><circle cx="{x}" cy="{y}" r="3.5" fill="var(--c{colour})"/>'
                f'<circle class="hit" cx="{x}" cy="{y}" r="10"/>'
                f"<title>{html.escape(text)}</title></g>"
            )
        return "".join(parts)


def point_of(line):
    point = {key: line[key] for key in ("median", "minimum", "maximum")}
    point["size"] = line["parameters"]["size"]
    if "goal" in line:
        point["goal"] = line["goal"]
    return point


def grouped(lines, key):
    groups = {}
    for line in lines:
        groups.setdefault(key(line), []).append(line)
    return groups


def ratio_charts(lines):
    """One plot per pattern: a colour per transport, a dash per subject."""
    transports = ordered(line["parameters"]["transport"] for line in lines)
    subjects = ordered(line["subject"] for line in lines)
    figures = []
    for name, group in grouped(lines, lambda line: variant(line["parameters"])).items():
        chart = Chart("x")
        key = lambda line: (line["parameters"]["transport"], line["subject"])
        for (transport, subject), series in grouped(group, key).items():
            chart.add(
                f"{subject} / {series[0]['baseline']}, {transport}",
                transports.index(transport),
                DASHES[subjects.index(subject) % len(DASHES)],
                [point_of(line) for line in series],
            )
        figures.append(chart.figure(name))
    return figures


def absolute_charts(lines):
    """One plot per pattern and transport: a colour per subject, the raw sockets dashed."""
    subjects = ordered(line["subject"] for line in lines)
    figures = []
    key = lambda line: (variant(line["parameters"]), line["parameters"]["transport"])
    for (name, transport), group in grouped(lines, key).items():
        chart = Chart(group[0]["unit"])
        for subject, series in grouped(group, lambda line: line["subject"]).items():
            chart.add(subject, subjects.index(subject), "", [point_of(line) for line in series])
        raw = {
            line["parameters"]["size"]: line["raw_limit"]
            for line in group
            if line["raw_limit"] is not None
        }
        if raw:
            points = [
                {"size": size, "median": value, "minimum": value, "maximum": value}
                for size, value in raw.items()
            ]
            chart.add("raw socket", COLOUR_COUNT - 1, DASHES[1], points)
        figures.append(chart.figure(f"{name}, {transport}"))
    return figures


def ordered(items):
    return list(dict.fromkeys(items))


# --- tables ---


def table(headers, rows):
    """`headers` are (title, css class); cells are text or (text, css class)."""
    parts = ['<div class="scroll"><table><thead><tr>']
    parts += [f'<th class="{css}">{html.escape(title)}</th>' for title, css in headers]
    parts.append("</tr></thead><tbody>")
    for row in rows:
        parts.append("<tr>")
        for cell, (_, css) in zip(row, headers):
            text, extra = cell if isinstance(cell, tuple) else (cell, "")
            parts.append(f'<td class="{css} {extra}">{html.escape(text)}</td>')
        parts.append("</tr>")
    parts.append("</tbody></table></div>")
    return "".join(parts)


def describe_case(line):
    parameters = line["parameters"]
    return [variant(parameters), parameters["transport"], format_size(parameters["size"])]


CASE_HEADERS = [("pattern", "text"), ("transport", "text"), ("size", "")]


def ratio_table(lines):
    rows = []
    for line in lines:
        verdict = ("", "")
        goal = ""
        if "goal" in line:
            goal = ("at most " if line["medians_unit"] == "us" else "at least ") + f"{line['goal']:g}"
            verdict = (
                ("reached", "reached")
                if line["reached"]
                else (f"short by {line['short_by']:.0%}", "short")
            )
        medians = line["medians"]
        rows.append(
            describe_case(line)
            + [
                f"{line['subject']} / {line['baseline']}",
                format_value(medians[line["baseline"]], line["medians_unit"]),
                format_value(medians[line["subject"]], line["medians_unit"]),
                f"{line['median']:.2f}",
                f"{line['minimum']:.2f} - {line['maximum']:.2f}",
                str(line["pairs"]),
                goal,
                verdict,
            ]
        )
    headers = CASE_HEADERS + [("ratio of", "text"), ("baseline", ""), ("subject", "")]
    headers += [("median ratio", ""), ("min - max", ""), ("pairs", ""), ("goal", ""), ("", "text")]
    return table(headers, rows)


def absolute_table(lines):
    def count(profile, key, digits):
        value = (profile or {}).get(key)
        return "" if value is None else f"{value:.{digits}f}"

    rows = []
    for line in lines:
        figures = line["figures"]
        is_shared = line["parameters"]["transport"] == "inproc"
        p99 = figures.get("p99_us")
        rows.append(
            describe_case(line)
            + [
                line["subject"],
                format_value(line["median"], line["unit"]),
                f"{format_number(line['minimum'])} - {format_number(line['maximum'])}",
                "" if p99 is None else f"{p99:.1f}",
                "" if line["raw_limit"] is None else format_number(line["raw_limit"]),
                f"{figures['sender_cpu_us_per_message']:.2f}",
                "" if is_shared else f"{figures['receiver_cpu_us_per_message']:.2f}",
                f"{figures['sender_voluntary_switches']:.0f}",
                "" if is_shared else f"{figures['receiver_voluntary_switches']:.0f}",
                count(line["profile"], "syscalls_per_message", 3),
                count(line["profile"], "instructions_per_message", 0),
            ]
        )
    headers = CASE_HEADERS + [("subject", "text"), ("median", ""), ("min - max", "")]
    headers += [("p99, us", ""), ("raw socket", ""), ("sender CPU, us/msg", "")]
    headers += [("receiver CPU, us/msg", ""), ("sender waits", ""), ("receiver waits", "")]
    headers += [("system calls/msg", ""), ("instructions/msg", "")]
    return table(headers, rows)


def facts(lines):
    first = lines[0]
    machine = first["machine"]
    parameters = first["parameters"]
    rows = [
        ("commit", first["commit"]),
        ("time", first["time"]),
        ("machine", f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}"),
        (
            "libraries (SHA-256)",
            ", ".join(f"{name} {digest}" for name, digest in first["libraries"].items()),
        ),
        ("each run", f"{parameters['warmup']} s of warming up, {parameters['seconds']} s measured"),
    ]
    cells = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in rows)
    return f"<dl>{cells}</dl>"


def make_page(lines):
    """The whole page as text, without external references."""
    ratios = [line for line in lines if line["kind"] == "ratio"]
    absolutes = [line for line in lines if line["kind"] == "absolute"]
    failures = [line for line in lines if line["kind"] == "failure"]
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>zlink bench</title><style>{STYLE}</style></head><body><h1>zlink bench</h1>"
    ]
    if not lines:
        return "".join(parts) + "<p>There are no results.</p></body></html>"
    parts.append(facts(lines))
    parts.append(
        "<p>Runs of the subjects alternate. A ratio is the median over the pairs; whiskers reach from "
        "the minimum to the maximum. A rate counts messages that arrived. For round trips a smaller "
        "value is better. Absolute figures depend on the machine and its other load.</p>"
    )
    judged = [line for line in ratios if "goal" in line]
    if judged:
        reached = sum(line["reached"] for line in judged)
        parts.append(f"<h2>Goals: {reached} of {len(judged)} reached</h2>{ratio_table(judged)}")
    if failures:
        rows = [describe_case(line) + [line["subject"], line["reason"]] for line in failures]
        headers = CASE_HEADERS + [("subject", "text"), ("reason", "text")]
        parts.append(f"<h2>Failed runs</h2>{table(headers, rows)}")
    if ratios:
        parts.append("<h2>Ratios by size</h2>")
        parts.append(
            "<p>The dark line is the baseline; short dashed bars are goals.</p>"
            f'<div class="charts">{"".join(ratio_charts(ratios))}</div>'
        )
    if absolutes:
        charts = "".join(absolute_charts(absolutes))
        parts.append(f'<h2>Absolute figures by size</h2><div class="charts">{charts}</div>')
    if ratios:
        parts.append(f"<h2>All ratios</h2>{ratio_table(ratios)}")
    if absolutes:
        parts.append(f"<h2>All absolute figures</h2>{absolute_table(absolutes)}")
    parts.append("</body></html>\n")
    return "".join(parts)


def write_page(make, usage):
    """Makes the page, the first argument, from the result files, the other arguments."""
    if len(sys.argv) < 3:
        sys.exit(f"usage: {usage} PAGE.html RESULTS.jsonl...")
    lines = []
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as source:
            lines += [json.loads(line) for line in source if line.strip()]
    if os.path.exists(sys.argv[1]):
        with open(sys.argv[1], encoding="utf-8", errors="replace") as there:
            if not there.read(64).lstrip().lower().startswith("<!doctype html"):
                sys.exit(f"{sys.argv[1]} exists and is not an HTML page; it was not changed")
    with open(sys.argv[1], "w", encoding="utf-8") as page:
        page.write(make(lines))


if __name__ == "__main__":
    write_page(make_page, "report.py")
