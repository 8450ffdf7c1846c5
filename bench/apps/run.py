#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Compares libraries that provide zmq.h with typical applications, which run on each of them alternately."""

import argparse
import fnmatch
import json
import os
import statistics
import sys

import workloads
from workloads import CPU_BOUND, WORKLOADS

import runner
from compare import format_value
from turns import (
    Progress,
    add_run_arguments,
    alternate,
    decode_subjects,
    listed,
    make_context,
    median_figures,
    pairwise_ratios,
    summarise,
)

GEOMETRIC_MEAN_GOAL = 2.0

# Figures divided by the baseline's, if both have them; except for the rate, less is better.
MEASURES = {
    "rate": "rate",
    "cpu": "cpu_us_per_message",
    "switches": "switches_per_message",
    "p50": "p50_us",
    "p99": "p99_us",
}

COLUMNS = (
    ("workload", 22),
    ("cpus", 4),
    ("subject", 9),
    ("rate", 13),
    ("ratio (min - max)", 21),
    ("CPU us/msg", 10),
    ("ratio (min - max)", 21),
    ("switches/msg", 12),
    ("ratio", 6),
    ("p50 us", 9),
    ("ratio", 6),
    ("p99 us", 9),
    ("ratio", 6),
    ("verdict", 0),
)


def select(patterns):
    """The workloads whose names match one of the patterns, in the order of the table."""
    unknown = [pattern for pattern in patterns if not fnmatch.filter(WORKLOADS, pattern)]
    if unknown:
        sys.exit(f"no workload matches {', '.join(unknown)}; --list prints the names")
    return [
        workload
        for name, workload in WORKLOADS.items()
        if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    ]


def compare(arguments, subjects, workload, cpus, progress):
    """Runs the subjects alternately; returns the result lines per subject, and the failures."""
    return alternate(
        subjects,
        arguments.pairs,
        f"{workload.name} on {cpus}",
        lambda subject: workloads.run_once(
            workload, arguments.programs, subject, cpus, arguments.seconds, arguments.warmup,
            workload.brief if arguments.brief else (),
        ),
        lambda line: format_value(line["rate"], "msg/s"),
        progress,
    )


def numbers(line):
    return {key: value for key, value in line.items() if isinstance(value, (int, float))}


def ratios_of(mine, theirs):
    """A summary of the pairwise ratios of each measure."""
    ratios = {}
    for name, key in MEASURES.items():
        pairs = [(a[key], b[key]) for a, b in zip(mine, theirs) if a.get(key) and b.get(key)]
        if pairs:
            ratios[name] = summarise(pairwise_ratios(*zip(*pairs)))
    return ratios


def judge(workload, ratios):
    """Compares a workload with its two targets; returns those missed, and by how much."""
    missed = {}
    if ratios["rate"]["median"] < workload.rate_bound:
        missed["rate"] = 1 - ratios["rate"]["median"] / workload.rate_bound
    if ratios["cpu"]["median"] > CPU_BOUND:
        missed["cpu"] = ratios["cpu"]["median"] / CPU_BOUND - 1
    goal = {"rate": workload.rate_bound, "cpu": CPU_BOUND}
    return {"goal": goal, "reached": not missed, "short_by": missed}


def make_lines(context, arguments, subjects, workload, cpus, results, failures):
    """The JSON lines of a workload: an absolute one per subject and a ratio per compared one."""
    parameters = {
        "workload": workload.name,
        "program": workload.program,
        "transport": workload.transport,
        "options": " ".join(workload.options + (workload.brief if arguments.brief else ())),
        "cpus": cpus,
        "seconds": arguments.seconds,
        "warmup": arguments.warmup,
    }
    base = subjects[0].name
    lines = []
    for subject in subjects:
        shared = dict(context, parameters=parameters, subject=subject.name)
        mine = results[subject.name]
        if subject.name in failures:
            lines.append(dict(shared, kind="failure", reason=failures[subject.name]))
        if mine:
            rates = [line["rate"] for line in mine]
            lines.append(
                dict(
                    shared, kind="absolute", unit="msg/s", pairs=len(mine), values=rates,
                    figures=median_figures([numbers(line) for line in mine]), **summarise(rates),
                )
            )
        pairs = min(len(mine), len(results[base]))
        if subject.name != base and pairs and subject.name not in failures:
            ratios = ratios_of(mine, results[base])
            lines.append(
                dict(
                    shared, kind="ratio", baseline=base, unit="x", pairs=pairs, ratios=ratios,
                    **ratios["rate"], **judge(workload, ratios),
                )
            )
    return lines


# --- the table on standard output ---


def table_row(cells):
    return " ".join(str(cell).ljust(width) for cell, (_, width) in zip(cells, COLUMNS)).rstrip()


def format_ratio(ratio, with_range=False):
    if ratio is None:
        return ""
    spread = f" ({ratio['minimum']:.2f} - {ratio['maximum']:.2f})" if with_range else ""
    return f"{ratio['median']:.2f}{spread}"


def format_verdict(line):
    if line is None:
        return ""
    texts = {"rate": "rate short by {:.0%}", "cpu": "CPU over by {:.0%}"}
    return ", ".join(texts[name].format(share) for name, share in line["short_by"].items()) or "reached"


def format_figure(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


def rows(lines):
    by_subject = {line["subject"]: line for line in lines if line["kind"] == "ratio"}
    for line in lines:
        parameters = line["parameters"]
        head = (parameters["workload"], parameters["cpus"], line["subject"])
        if line["kind"] == "failure":
            yield table_row((*head, f"FAILED: {line['reason'][:200]}"))
        if line["kind"] != "absolute":
            continue
        compared = by_subject.get(line["subject"])
        ratio = compared["ratios"] if compared else {}
        figures = line["figures"]
        yield table_row(
            (
                *head,
                format_value(line["median"], "msg/s"),
                format_ratio(ratio.get("rate"), with_range=True),
                format_figure(figures["cpu_us_per_message"], 2),
                format_ratio(ratio.get("cpu"), with_range=True),
                format_figure(figures["switches_per_message"], 3),
                format_ratio(ratio.get("switches")),
                format_figure(figures.get("p50_us"), 1),
                format_ratio(ratio.get("p50")),
                format_figure(figures.get("p99_us"), 1),
                format_ratio(ratio.get("p99")),
                format_verdict(compared),
            )
        )


def summaries(context, lines):
    """A line per compared subject and number of processors, which sums up all workloads."""
    ratios = [line for line in lines if line["kind"] == "ratio"]
    groups = sorted({(line["subject"], line["parameters"]["cpus"]) for line in ratios})
    for subject, cpus in groups:
        mine = [
            line for line in ratios if (line["subject"], line["parameters"]["cpus"]) == (subject, cpus)
        ]
        summary = dict(context, kind="summary", subject=subject, cpus=cpus, baseline=mine[0]["baseline"])
        for name in ("rate", "cpu", "switches"):
            medians = [line["ratios"][name]["median"] for line in mine if name in line["ratios"]]
            if medians:
                summary[name] = {
                    "geometric_mean": statistics.geometric_mean(medians),
                    "median": statistics.median(medians),
                }
        missed = [line["parameters"]["workload"] for line in mine if not line["reached"]]
        yield dict(summary, workloads=len(mine), goal=GEOMETRIC_MEAN_GOAL, missed=missed)


def summary_text(summary):
    unit = "processor" if summary["cpus"] == 1 else "processors"
    means = "; ".join(
        f"{title} {summary[name]['geometric_mean']:.2f} x, median {summary[name]['median']:.2f}"
        for name, title in (("rate", "rate"), ("cpu", "CPU"), ("switches", "switches"))
        if name in summary
    )
    count = summary["workloads"] - len(summary["missed"])
    text = (
        f"{summary['subject']} over {summary['baseline']} on {summary['cpus']} {unit}, geometric means: "
        f"{means}\n  {count} of {summary['workloads']} workloads reach both targets"
    )
    return text + (f"; missed: {', '.join(summary['missed'])}" if summary["missed"] else "")


def decode_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="NAME",
                        help="workloads by name or pattern, such as 'proxy-*' (all)")
    parser.add_argument("--list", action="store_true", help="print the workloads and exit")
    parser.add_argument("--cpus", type=listed(int), default=[2, 1], metavar="N,N",
                        help="numbers of processors to pin the run to, one after the other (2,1)")
    parser.add_argument("--brief", action="store_true",
                        help="fewer clients, topics and workers, for a quick check")
    parser.add_argument("--programs", help="folder of the programs (default: built if needed)")
    add_run_arguments(parser, os.path.join("apps", "results"), "results.jsonl")
    arguments = parser.parse_args()
    if arguments.list:
        for workload in WORKLOADS.values():
            print(f"{workload.name:22} {workload.program} {' '.join(workload.options)}".rstrip())
        sys.exit(0)
    return arguments, decode_subjects(parser, arguments)


def main():
    arguments, subjects = decode_arguments()
    runner.exit_on_signals()
    chosen = select(arguments.workloads)
    arguments.programs = arguments.programs or workloads.build_programs()
    context = make_context(subjects)
    os.makedirs(arguments.output, exist_ok=True)
    lines_path = os.path.join(arguments.output, "results.jsonl")
    progress = Progress(len(chosen) * len(arguments.cpus) * len(subjects) * arguments.pairs)
    all_lines = []
    interrupted = False
    print(table_row([title for title, _ in COLUMNS]), flush=True)
    with open(lines_path, "w", encoding="utf-8") as output:
        try:
            for workload in chosen:
                for cpus in arguments.cpus:
                    results, failures = compare(arguments, subjects, workload, cpus, progress)
                    lines = make_lines(context, arguments, subjects, workload, cpus, results, failures)
                    for line in lines:
                        output.write(json.dumps(line) + "\n")
                    output.flush()
                    all_lines += lines
                    progress.clear()
                    for row in rows(lines):
                        print(row, flush=True)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            runner.end_all()
        closing = list(summaries(context, all_lines))
        for line in closing:
            output.write(json.dumps(line) + "\n")
    progress.clear()
    for line in closing:
        print(summary_text(line))
    failed = [line for line in all_lines if line["kind"] == "failure"]
    for line in failed:
        where = f"{line['parameters']['workload']} on {line['parameters']['cpus']}"
        print(f"failed run: {where}: {line['subject']}: {line['reason']}")
    print(f"wrote {lines_path}")
    if interrupted:
        sys.exit(130)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
