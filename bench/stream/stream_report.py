#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Makes a self-contained HTML page from the JSON lines of scenarios.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from report import (  # noqa: E402
    STYLE,
    Chart,
    facts,
    format_number,
    format_size,
    format_value,
    grouped,
    ordered,
    point_of,
    table,
    write_page,
)

SCENARIOS = {"s0": "s0: one echo", "s1": "s1: connecting", "s2": "s2: echo under load"}


def load_name(parameters):
    name = f"{SCENARIOS[parameters['scenario']]}, {parameters['transport']}"
    if parameters["scenario"] != "s0":
        name += f", {parameters['ccu']} connection" + ("s" if parameters["ccu"] > 1 else "")
    if parameters["scenario"] == "s2":
        name += f", {parameters['inflight']} in flight"
    return name


def may_be_plotted(line):
    """Runs that differ from the profile are in the tables only: a plot has one point per size and server."""
    parameters = line["parameters"]
    return parameters["scenario"] == "s2" and not parameters["changes"] and line["minimum"] > 0


def describe_changes(parameters):
    told = [f"{name} {value}" for name, value in parameters["changes"].items()]
    if told and parameters.get("tcp_mem"):
        told.append("tcp_mem " + " ".join(map(str, parameters["tcp_mem"])))
    return ", ".join(told)


# --- plots ---


def throughput_charts(lines):
    """One plot per kind of load: a colour per server."""
    plain = [line for line in lines if may_be_plotted(line)]
    sizes = ordered(line["parameters"]["size"] for line in plain)
    if len(sizes) < 2:
        return []
    servers = ordered(line["server"] for line in plain)
    figures = []
    for name, group in grouped(plain, lambda line: load_name(line["parameters"])).items():
        chart = Chart("msg/s")
        for server, series in grouped(group, lambda line: line["server"]).items():
            chart.add(server, servers.index(server), "", [point_of(line) for line in series])
        figures.append(chart.figure(name))
    return figures


def ratio_charts(lines):
    """One plot per kind of ratio: a colour per load."""
    figures = []
    for name, group in grouped(lines, lambda line: line["name"]).items():
        chart = Chart("x")
        key = lambda line: (line["parameters"]["transport"], line["parameters"]["ccu"])
        for colour, ((transport, ccu), series) in enumerate(grouped(group, key).items()):
            points = [point_of(line) for line in series]
            chart.add(f"{transport}, {ccu} connections", colour, "", points)
        figures.append(chart.figure(name))
    return figures


# --- tables ---


def verdict(line):
    if line["pairs"] == 0 or line["why"]:
        return (f"failed: {line['why']}", "short")
    if line["kind"] == "claim":
        return ("reproduced or beaten", "reached") if line["reached"] else ("not reproduced", "short")
    return ("reached", "reached") if line["reached"] else (f"short by {line['short_by']:.0%}", "short")


def bound_table(lines):
    rows = []
    for line in lines:
        parameters = line["parameters"]
        has_ratio = line["pairs"] > 0
        medians = line.get("medians", {})
        told = [
            ", ".join(f"{label} {format_number(medians[label])}" for label in labels if label in medians)
            for labels in (line["over"], line["under"])
        ]
        rows.append(
            [
                line["name"],
                parameters["transport"],
                str(parameters["ccu"]),
                format_size(parameters["size"]),
                *told,
                f"{line['median']:.2f}" if has_ratio else "",
                f"{line['minimum']:.2f} - {line['maximum']:.2f}" if has_ratio else "",
                str(line["pairs"]),
                f"{line['goal']:g}",
                verdict(line),
            ]
        )
    headers = [("line", "text"), ("transport", "text"), ("connections", ""), ("size", "")]
    headers += [("over, msg/s", "text"), ("under, msg/s", "text"), ("median ratio", "")]
    headers += [("min - max", ""), ("pairs", ""), ("needs", ""), ("", "text")]
    return table(headers, rows)


def absolute_table(lines):
    rows = []
    for line in lines:
        parameters = line["parameters"]
        figures = line["figures"]
        is_loaded = parameters["scenario"] == "s2"
        passed = f"{line['passed']} of {line['pairs']}"
        rows.append(
            [
                load_name(parameters),
                format_size(parameters["size"]),
                describe_changes(parameters),
                line["server"],
                str(parameters["io_threads"]),
                format_value(line["median"], line["unit"]),
                f"{format_number(line['minimum'])} - {format_number(line['maximum'])}",
                *(f"{figures[key]:.1f}" for key in ("p50_us", "p95_us", "p99_us")),
                f"{figures['incomplete_ratio']:.4f}",
                f"{figures['server_cpu_us_per_echo']:.2f}" if is_loaded else "",
                f"{figures['client_cpu_us_per_echo']:.2f}" if is_loaded else "",
                (passed, "reached" if line["passed"] == line["pairs"] else "short"),
            ]
        )
    headers = [("load", "text"), ("size", ""), ("differs in", "text"), ("server", "text")]
    headers += [("I/O threads", ""), ("median", ""), ("min - max", ""), ("p50, us", "")]
    headers += [("p95, us", ""), ("p99, us", ""), ("incomplete", ""), ("server CPU, us/echo", "")]
    headers += [("client CPU, us/echo", ""), ("passed", "text")]
    return table(headers, rows)


def parameter_table(parameters):
    hidden = ("scenario", "transport", "ccu", "inflight", "size", "changes", "seconds", "io_threads")
    rows = [
        [name, "not pinned" if value is None else str(value)]
        for name, value in parameters.items()
        if name not in hidden
    ]
    return table([("parameter", "text"), ("value", "text")], rows)


def make_page(lines):
    """The whole page as text, without external references."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>zlink STREAM bench</title><style>{STYLE}</style></head><body>"
        "<h1>zlink STREAM bench</h1>"
    ]
    if not lines:
        return "".join(parts) + "<p>There are no results.</p></body></html>"
    by_kind = grouped(lines, lambda line: line["kind"])
    parts.append(facts(lines))
    parts.append(
        "<p>Servers run in turns, each in a process of its own, under the load of one client. A ratio "
        "is the median over the runs; whiskers reach from the minimum to the maximum. Absolute "
        "figures depend on the machine and its other load.</p>"
    )
    for kind, title, word in (
        ("goal", "Goals", "reached"),
        ("claim", "Published figures", "reproduced or beaten"),
    ):
        judged = by_kind.get(kind, [])
        if judged:
            reached = sum(line["reached"] for line in judged)
            parts.append(f"<h2>{title}: {reached} of {len(judged)} {word}</h2>{bound_table(judged)}")
            measured = [line for line in judged if line["pairs"] > 0]
            parts.append(f'<div class="charts">{"".join(ratio_charts(measured))}</div>')
    failures = by_kind.get("failure", [])
    if failures:
        rows = [
            [load_name(line["parameters"]), format_size(line["parameters"]["size"]), line["server"],
             line["reason"]]
            for line in failures
        ]
        headers = [("load", "text"), ("size", ""), ("server", "text"), ("reason", "text")]
        parts.append(f"<h2>Failed runs</h2>{table(headers, rows)}")
    absolutes = by_kind.get("absolute", [])
    if absolutes:
        charts = throughput_charts(absolutes)
        if charts:
            parts.append(f'<h2>Throughput by size</h2><div class="charts">{"".join(charts)}</div>')
        parts.append(f"<h2>All figures</h2>{absolute_table(absolutes)}")
        parts.append(f"<h2>Parameters</h2>{parameter_table(absolutes[0]['parameters'])}")
    parts.append("</body></html>\n")
    return "".join(parts)


if __name__ == "__main__":
    write_page(make_page, "stream_report.py")
