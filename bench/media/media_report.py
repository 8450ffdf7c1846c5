#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Makes a self-contained HTML page from the JSON lines of experiment.py."""

import html
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from report import (  # noqa: E402
    DASHES,
    STYLE,
    Chart,
    facts,
    format_number,
    format_size,
    grouped,
    table,
    write_page,
)

# The colour of each server and its kind of line; long dashes are for published figures.
LINES = {
    "nginx": (0, ""), "nginx-nopush": (0, DASHES[2]), "zlink": (1, ""), "spring": (2, ""),
    "spring-transfer": (3, ""), "java-copy": (4, ""), "java-transfer": (5, ""),
}
# Figure, title of its plots, unit.
CHARTED = (
    ("p95_ms", "p95", "ms"),
    ("avg_ms", "average latency", "ms"),
    ("requests_per_second", "requests per second", "/s"),
    ("server_cpu_us_per_request", "server CPU per request", "us"),
)


def load_name(parameters, without=""):
    """The load in words, less the parameter that a plot has as its axis."""
    told = []
    if without != "size":
        told.append(format_size(parameters["size"]) + "iB")
    if without != "users":
        told.append(f"{parameters['users']} users")
    told.append(parameters["mode"])
    if parameters["is_whole"]:
        told.append("whole files")
    if parameters["is_secure"]:
        told.append("TLS")
    return ", ".join(told)


# --- plots ---


def point(line, axis, figure):
    return dict(line["figures"][figure], size=line["parameters"][axis])


def original_points(series, axis, figure):
    """The published figures for the loads of these lines; they have no spread."""
    return [
        {"size": line["parameters"][axis], "median": value, "minimum": value, "maximum": value}
        for line in series
        if (value := line["published"].get(figure)) is not None
    ]


def charts(lines, axis, axis_name, figure, title, unit):
    """One plot per load over sizes or users: a colour per server, the original's figures dashed."""
    made = []
    plotted = [line for line in lines if line["figures"].get(figure, {"minimum": 0})["minimum"] > 0]
    for name, group in grouped(plotted, lambda line: load_name(line["parameters"], axis)).items():
        if len({line["parameters"][axis] for line in group}) < 2:
            continue
        chart = Chart(unit, f"{title}, {unit}", axis_name, format_size if axis == "size" else str)
        for server, series in grouped(group, lambda line: line["server"]).items():
            colour, dash = LINES[server]
            chart.add(server, colour, dash, [point(line, axis, figure) for line in series])
            published = original_points(series, axis, figure)
            if published:
                chart.add(f"{server}, the original's", colour, DASHES[1], published)
        made.append(chart.figure(f"{title}: {name}"))
    return made


def all_charts(lines):
    found = []
    for figure, title, unit in CHARTED:
        found += charts(lines, "size", "size of a range, bytes", figure, title, unit)
        found += charts(lines, "users", "users", figure, title, unit)
    return found


# --- tables ---


def spread(figure, digits=2):
    return f"{figure['median']:.{digits}f} ({figure['minimum']:.{digits}f} - {figure['maximum']:.{digits}f})"


def judged_table(lines, bound_name):
    rows = []
    for line in lines:
        unit = line["unit"]
        has_value = line["pairs"] > 0
        if line["kind"] == "claim":
            bound = f"{line['published']:.3g}"
        else:
            sign = "<=" if line["is_upper"] else ">" if unit == "ms" else ">="
            bound = f"{sign} {line['goal']:g} {unit}"
        rows.append(
            [
                line["name"],
                load_name(line["parameters"]),
                f"{line['median']:.3g} {unit}" if has_value else "",
                f"{line['minimum']:.3g} - {line['maximum']:.3g}" if has_value else "",
                str(line["pairs"]),
                bound,
                (line["verdict"], "reached" if line["reached"] else "short"),
                ", ".join(f"{name}: {format_number(v)}" for name, v in line.get("medians", {}).items()),
            ]
        )
    headers = [("line", "text"), ("load", "text"), ("measured", ""), ("min - max", ""), ("pairs", "")]
    headers += [(bound_name, ""), ("", "text"), ("medians", "text")]
    return table(headers, rows)


def absolute_table(lines):
    rows = []
    for line in lines:
        figures = line["figures"]
        published = line["published"]
        calls = line["syscalls_per_request"]
        client = figures.get("client_cpu_share")
        passed = f"{line['passed']} of {line['pairs']}"
        rows.append(
            [
                load_name(line["parameters"]),
                line["server"],
                spread(figures["requests_per_second"], 0),
                spread(figures["megabytes_per_second"], 0),
                spread(figures["avg_ms"]),
                f"{published['avg_ms']:g}" if "avg_ms" in published else "",
                f"{figures['p50_ms']['median']:.2f}",
                spread(figures["p95_ms"]),
                f"{published['p95_ms']:g}" if "p95_ms" in published else "",
                f"{figures['p99_ms']['median']:.2f}",
                f"{figures['max_ms']['median']:.2f}",
                spread(figures["server_cpu_us_per_request"], 1),
                f"{figures['server_cpu_seconds_per_gb']['median']:.3f}",
                f"{figures['server_cpu_share']['median']:.2f}",
                f"{client['median']:.2f}" if client else "",
                "" if calls is None else f"{calls:.2f}",
                (str(line["failures"]) + (f": {line['first_failure']}" if line["failures"] else ""), ""),
                (passed, "reached" if line["passed"] == line["pairs"] else "short"),
            ]
        )
    headers = [("load", "text"), ("server", "text"), ("requests/s", ""), ("MB/s", ""), ("average, ms", "")]
    headers += [("original's", ""), ("p50", ""), ("p95", ""), ("original's", ""), ("p99", ""), ("max", "")]
    headers += [("server CPU, us/request", ""), ("s/GB", ""), ("of a core", ""), ("client, of a core", "")]
    headers += [("system calls/request", ""), ("failures", "text"), ("passed", "text")]
    return table(headers, rows)


def ratio_table(lines):
    rows = [
        [
            load_name(line["parameters"]),
            f"{line['server']} / {line['baseline']}",
            line["figure"],
            f"{line['median']:.3f}",
            f"{line['minimum']:.3f} - {line['maximum']:.3f}",
            str(line["pairs"]),
        ]
        for line in lines
    ]
    headers = [("load", "text"), ("servers", "text"), ("figure", "text"), ("median ratio", "")]
    headers += [("min - max", ""), ("pairs", "")]
    return table(headers, rows)


def parameter_table(line):
    hidden = ("size", "users", "mode", "is_secure", "is_whole", "seconds", "warmup")
    rows = [[name, str(value)] for name, value in line["parameters"].items() if name not in hidden]
    rows += [[name, told] for name, told in line["versions"].items()]
    rows += [[f"left out: {name}", why] for name, why in line["left_out"].items()]
    return table([("parameter", "text"), ("value", "text")], rows)


def make_page(lines):
    """The whole page as text, without external references."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>zlink media bench</title><style>{STYLE}</style></head><body>"
        "<h1>zlink media bench</h1>"
    ]
    if not lines:
        return "".join(parts) + "<p>There are no results.</p></body></html>"
    by_kind = grouped(lines, lambda line: line["kind"])
    parts.append(facts(lines))
    parts.append(
        "<p>Servers run in turns, each in a process of its own, under the load of one client. A ratio "
        "is the median over the pairs; whiskers reach from the minimum to the maximum. Dashed lines are "
        "the original's figures, measured on another machine with another client. Absolute figures "
        "depend on the machine and its other load.</p>"
    )
    for experiment, claims in grouped(by_kind.get("claim", []), lambda line: line["experiment"]).items():
        held = sum(line["reached"] for line in claims)
        parts.append(
            f"<h2>Experiment {html.escape(experiment)}: {held} of {len(claims)} claims reproduced or "
            f"beaten</h2>{judged_table(claims, 'published')}"
        )
    goals = by_kind.get("goal", [])
    if goals:
        reached = sum(line["reached"] for line in goals)
        parts.append(f"<h2>Goals: {reached} of {len(goals)} reached</h2>{judged_table(goals, 'needs')}")
    failures = by_kind.get("failure", [])
    if failures:
        rows = [[load_name(line["parameters"]), line["server"], line["reason"]] for line in failures]
        headers = [("load", "text"), ("server", "text"), ("reason", "text")]
        parts.append(f"<h2>Failed runs</h2>{table(headers, rows)}")
    absolutes = by_kind.get("absolute", [])
    if absolutes:
        figures = all_charts(absolutes)
        if figures:
            parts.append(f'<h2>Plots</h2><div class="charts">{"".join(figures)}</div>')
        parts.append(f"<h2>All figures</h2>{absolute_table(absolutes)}")
    if by_kind.get("ratio"):
        parts.append(f"<h2>Ratios to nginx</h2>{ratio_table(by_kind['ratio'])}")
    parts.append(f"<h2>Parameters</h2>{parameter_table(lines[0])}")
    parts.append("</body></html>\n")
    return "".join(parts)


if __name__ == "__main__":
    write_page(make_page, "media_report.py")
