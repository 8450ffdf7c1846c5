#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Runs the STREAM scenarios on echo servers in turns; prints a table, and writes CSV, JSON and HTML.

  s0      one connection, one echo
  s1      connecting only
  s2      echo under load
  s3      s2 with several backlogs, high-water marks, buffers, I/O threads and connect concurrencies
  s4      s0, s1 and s2 on tcp, tls, ws and wss
  goals   the goals of STREAM, with a verdict per line
  claims  the published figures A5 to A7, with a verdict per line
"""

import argparse
import csv
import hashlib
import json
import os
import statistics
import sys

import programs
from goals import Entrant, Group, groups
from programs import PROFILE, SERVERS, TRANSPORTS, Load

import runner
import stream_report
from compare import decode_size, format_size, format_value
from turns import Progress, listed, make_origin, summarise

COMMANDS = ("s0", "s1", "s2", "s3", "s4", "goals", "claims")
SWEEPS = (
    [(("backlog", value),) for value in (8192, 32768, 65535)]
    + [(("hwm", value),) for value in (300_000, 1_000_000, 2_000_000)]
    + [(("sndbuf", value), ("rcvbuf", value)) for value in (65536, 262144, 1048576)]
    + [(("io_threads", value),) for value in (1, 2, 4)]
    + [(("connect_concurrency", value),) for value in (128, 256, 512)]
)

CSV_COLUMNS = (
    "scenario", "transport", "server", "ccu", "inflight", "size", "connect_success", "connect_fail",
    "connect_timeout", "sent", "recv", "incomplete_ratio", "throughput", "p50_us", "p95_us",
    "p99_us", "drain_timeout", "gating_violation", "pass",
)
# In addition to the columns that the scenarios define.
CSV_PARAMETERS = (
    "io_threads", "backlog", "hwm", "sndbuf", "rcvbuf", "connect_concurrency", "workers", "batch",
    "warmup", "measure",
)
CSV_FIGURES = ("connect_seconds", "server_cpu_us_per_echo", "client_cpu_us_per_echo")
FIGURES = (
    "p50_us", "p95_us", "p99_us", "incomplete_ratio", "connect_seconds", "server_cpu_us_per_echo",
    "client_cpu_us_per_echo", "server_cpu_share", "client_cpu_share",
)


# --- selection of runs ---


def scenario_groups(command, arguments):
    """A group per load, with every server that supports its transport."""
    if command == "s4":
        return [
            group
            for transport in arguments.transports or TRANSPORTS
            for scenario in ("s0", "s1", "s2")
            for group in load_groups(scenario, transport, arguments, [()])
        ]
    scenario = "s2" if command == "s3" else command
    changes = SWEEPS if command == "s3" else [()]
    return [
        group
        for transport in arguments.transports or ["tcp"]
        for group in load_groups(scenario, transport, arguments, changes)
    ]


def load_groups(scenario, transport, arguments, changes):
    one = scenario == "s0"
    found = []
    for ccu in [1] if one else arguments.ccu or [10000]:
        for inflight in [1] if one else arguments.inflight or [30]:
            for size in arguments.sizes or [1024]:
                for change in changes:
                    load = Load(scenario, transport, ccu, inflight, size, change)
                    entrants = [
                        Entrant(name, load)
                        for name in arguments.servers or standard_servers()
                        if transport in SERVERS[name].transports
                        and not ("io_threads" in dict(change) and SERVERS[name].caller_driven)
                    ]
                    found.append(Group(entrants))
    return found


def standard_servers():
    return [server.name for server in SERVERS.values() if not server.is_variant]


def select_groups(arguments):
    found = []
    for command in arguments.commands:
        if command not in ("goals", "claims"):
            found += scenario_groups(command, arguments)
    tables = {command[:-1] for command in arguments.commands if command in ("goals", "claims")}

    def keeps(entrant):
        load = entrant.load
        return (
            load.size in (arguments.sizes or [load.size])
            and load.ccu in (arguments.ccu or [load.ccu])
            and load.transport in (arguments.transports or [load.transport])
            and entrant.server in (arguments.servers or [entrant.server])
        )

    found += [group.narrowed(keeps) for group in groups(tables)] if tables else []
    return [group for group in found if group.entrants]


class Comparison:
    def __init__(self, arguments, profile, context):
        self._arguments = arguments
        self._profile = profile
        self._context = context
        self._programs = programs.Programs(arguments.programs, arguments.library)
        self._certificate = []
        self._tcp_mem = []
        self.failures = []

    def prepare(self, selected):
        """Builds the programs needed; returns the unavailable servers, each with the reason."""
        self._programs.path("load_client")
        missing = {}
        for name in {entrant.server for group in selected for entrant in group.entrants}:
            why = self._programs.why_missing(SERVERS[name].program)
            if why is None:
                self._programs.path(SERVERS[name].program)
            else:
                missing[name] = why
        return missing

    def digests(self):
        """The start of the SHA-256 of each program that was looked up."""
        found = {}
        for name, path in sorted(self._programs.paths().items()):
            with open(path, "rb") as program:
                found[name] = hashlib.sha256(program.read()).hexdigest()[:16]
        return found

    def use_certificate(self, options):
        self._certificate = options

    def measure(self, group, progress):
        """Runs a group and returns its lines."""
        asked_bytes = 0 if self._arguments.keep_tcp_mem else group.tcp_bytes
        with programs.tcp_memory(asked_bytes) as self._tcp_mem:
            if asked_bytes:
                progress.clear()
                told = " ".join(map(str, self._tcp_mem)) or "not known"
                print(f"net.ipv4.tcp_mem for this load: {told}", file=sys.stderr)
            results, failed = self._run(group, progress)
        return self._lines(group, results, failed)

    def _run(self, group, progress):
        """Runs the entrants of a group in turns; returns the runs per entrant, each a list of windows."""
        results = {entrant: [] for entrant in group.entrants}
        failed = {}
        sittings = {}

        def end_sitting(entrant):
            if entrant in sittings:
                sittings.pop(entrant).close()

        windows = group.windows(self._arguments.pairs)
        try:
            for index, entrant in group.turns(self._arguments.pairs):
                where = f"{describe(entrant.load)} {entrant.server} {index + 1}/{windows}"
                if entrant in failed:
                    progress.skip(1)
                    continue
                progress.show(where)
                try:
                    if entrant not in sittings:
                        sittings[entrant] = self._sit_down(group, entrant)
                    result = sittings[entrant].run()
                except runner.RunFailed as failure:
                    end_sitting(entrant)
                    failed[entrant] = str(failure)
                    self.failures.append(f"{where}: {failure}")
                    progress.step(f"{where} FAILED: {failure}")
                    continue
                results[entrant].append(result)
                told = headline(result)
                progress.step(f"{where} {told}{'' if result['pass'] else ' DID NOT PASS'}")
                if not result["pass"] or (index + 1) % group.windows_per_sitting == 0:
                    end_sitting(entrant)
        finally:
            for entrant in list(sittings):
                end_sitting(entrant)
        return {entrant: whole_runs(group, results[entrant]) for entrant in results}, failed

    def _sit_down(self, group, entrant):
        profile = dict(self._profile, measure=self._profile["measure"] / group.windows_per_run)
        return programs.Sitting(
            self._programs, SERVERS[entrant.server], entrant.load, profile, self._certificate,
            self._arguments.pin, group.windows_per_sitting, len(group.entrants) - 1,
        )

    # --- the lines of a group ---

    def _parameters(self, group, entrant):
        load = entrant.load
        server = SERVERS[entrant.server]
        profile = load.profile(self._profile)
        profile["io_threads"] = server.io_threads(profile)
        return dict(
            profile,
            scenario=load.scenario,
            transport=load.transport,
            ccu=load.ccu,
            inflight=load.inflight,
            size=load.size,
            changes=dict(load.changes),
            seconds=profile["measure"],
            windows=group.windows_per_run,
            tcp_mem=self._tcp_mem,
            pinned_server=self._arguments.pin[0],
            pinned_client=self._arguments.pin[1],
        )

    def _lines(self, group, results, failed):
        made = []
        for entrant in group.entrants:
            shared = dict(
                self._context, server=entrant.server, parameters=self._parameters(group, entrant)
            )
            runs = results[entrant]
            made += [
                dict(shared, kind="run", pair=pair + 1, window=window + 1, result=result)
                for pair, run in enumerate(runs)
                for window, result in enumerate(run)
            ]
            if entrant in failed:
                made.append(dict(shared, kind="failure", reason=failed[entrant]))
            if runs:
                made.append(absolute_line(shared, runs))
        made += [self._bound_line(group, bound, results, failed) for bound in group.bounds]
        return made

    def _bound_line(self, group, bound, results, failed):
        entrants = bound.over + bound.under
        line = dict(
            self._context,
            kind=bound.table,
            name=bound.name,
            parameters=self._parameters(group, bound.over[0]),
            over=[entrant.label() for entrant in bound.over],
            under=[entrant.label() for entrant in bound.under],
            goal=bound.least,
        )
        broken = [entrant.label() for entrant in entrants if entrant in failed]
        runs = min(len(results[entrant]) for entrant in entrants)
        if broken or runs == 0 or runs != group.runs(self._arguments.pairs):
            why = "; ".join(f"{label} failed" for label in broken) or "was not measured"
            return dict(line, pairs=0, reached=False, why=why)

        def rate(entrant, index):
            return max(figure(results[entrant][index]), 1e-9)

        ratios = []
        for index in range(runs):
            ratio = 1.0
            for entrant in bound.over:
                ratio *= rate(entrant, index)
            for entrant in bound.under:
                ratio /= rate(entrant, index)
            ratios.append(ratio)
        unpassed = sorted(
            {
                entrant.label()
                for entrant in entrants
                for run in results[entrant]
                if not passed(run)
            }
        )
        summary = summarise(ratios)
        reached = bound.reached_by(summary["median"]) and not unpassed
        return dict(
            line,
            **summary,
            unit="x",
            values=ratios,
            pairs=runs,
            medians={
                entrant.label(): statistics.median(map(figure, results[entrant]))
                for entrant in entrants
            },
            reached=reached,
            short_by=max(0.0, (bound.least - summary["median"]) / bound.least),
            why="" if not unpassed else "pass rule missed: " + ", ".join(unpassed),
        )


def whole_runs(group, windows):
    size = group.windows_per_run
    return [windows[end - size : end] for end in range(size, len(windows) + 1, size)]


def figure(run):
    """The measured figure of a run: the mean of its windows, which have the same length."""
    return statistics.fmean(map(measured, run))


def passed(run):
    return all(window["pass"] for window in run)


def absolute_line(shared, runs):
    scenario = shared["parameters"]["scenario"]
    values = [figure(run) for run in runs]
    windows = [window for run in runs for window in run]
    return dict(
        shared,
        kind="absolute",
        unit={"s0": "us", "s1": "connections/s"}.get(scenario, "msg/s"),
        pairs=len(values),
        values=values,
        figures={key: statistics.median(window[key] for window in windows) for key in FIGURES},
        passed=sum(map(passed, runs)),
        **summarise(values),
    )


def measured(result):
    """The figure of a window: the round trip of s0, connections per second of s1, echoes of s2."""
    if result["scenario"] == "s0":
        return result["p50_us"]
    if result["scenario"] == "s1":
        return result["connect_success"] / max(result["connect_seconds"], 1e-9)
    return result["throughput"]


def headline(result):
    unit = "us" if result["scenario"] == "s0" else "1/s"
    return format_value(measured(result), unit)


def describe(load):
    changed = "".join(f" {name}={value}" for name, value in load.changes)
    return (
        f"{load.scenario} {load.transport} x{load.ccu} {load.inflight} in flight "
        f"{format_size(load.size)}{changed}"
    )


# --- the tables on standard output ---

RUN_COLUMNS = (
    ("load", 46), ("server", 12), ("median", 12), ("min - max", 25), ("p50, p95, p99 us", 26),
    ("incomplete", 11), ("CPU us/echo s+c", 16), ("passed", 7),
)
BOUND_COLUMNS = (
    ("", 6), ("line", 48), ("size", 8), ("connections", 12), ("transport", 10), ("ratio", 8),
    ("min - max", 14), ("needs", 8), ("verdict", 20),
)


def row_text(cells, columns):
    return " ".join(str(cell).ljust(width) for cell, (_, width) in zip(cells, columns)).rstrip()


def absolute_row(line):
    parameters = line["parameters"]
    load = Load(
        parameters["scenario"], parameters["transport"], parameters["ccu"], parameters["inflight"],
        parameters["size"], tuple(parameters["changes"].items()),
    )
    figures = line["figures"]
    spread = " - ".join(format_value(line[end], line["unit"]) for end in ("minimum", "maximum"))
    latency = ", ".join(f"{figures[key]:.0f}" for key in ("p50_us", "p95_us", "p99_us"))
    cpu = f"{figures['server_cpu_us_per_echo']:.2f}+{figures['client_cpu_us_per_echo']:.2f}"
    return row_text(
        (
            describe(load),
            line["server"],
            format_value(line["median"], line["unit"]),
            spread,
            latency,
            f"{figures['incomplete_ratio']:.4f}",
            cpu if parameters["scenario"] == "s2" else "",
            f"{line['passed']}/{line['pairs']}",
        ),
        RUN_COLUMNS,
    )


def verdict(line):
    if line["pairs"] == 0 or line["why"]:
        return "FAILED: " + line["why"]
    if line["kind"] == "claim":
        return "reproduced or beaten" if line["reached"] else "not reproduced here"
    return "reached" if line["reached"] else f"short by {line['short_by']:.0%}"


def bound_row(line):
    parameters = line["parameters"]
    has_ratio = line["pairs"] > 0
    return row_text(
        (
            line["kind"],
            line["name"],
            format_size(parameters["size"]),
            parameters["ccu"],
            parameters["transport"],
            f"{line['median']:.2f} x" if has_ratio else "",
            f"{line['minimum']:.2f} - {line['maximum']:.2f}" if has_ratio else "",
            f"{line['goal']:g} x",
            verdict(line),
        ),
        BOUND_COLUMNS,
    )


def print_tables(lines, group):
    for line in lines:
        if line["kind"] == "failure":
            print(f"{line['server']} FAILED: {line['reason'][:200]}", flush=True)
        elif line["kind"] == "absolute":
            print(absolute_row(line), flush=True)
    if group.bounds:
        print("  " + row_text([title for title, _ in BOUND_COLUMNS], BOUND_COLUMNS))
    for line in lines:
        if line["kind"] in ("goal", "claim"):
            print("  " + bound_row(line), flush=True)


def csv_row(line):
    parameters = line["parameters"]
    result = line["result"]
    return (
        [result[key] for key in CSV_COLUMNS]
        + [line["pair"], line["window"]]
        + [parameters[key] for key in CSV_PARAMETERS]
        + [result[key] for key in CSV_FIGURES]
    )


# --- the command line ---


def decode_pin(text):
    processors = text.split(",")
    if len(processors) != 2 or not all(item.isdigit() for item in processors):
        raise argparse.ArgumentTypeError("must be SERVER,CLIENT, such as 0,1")
    return tuple(int(item) for item in processors)


def decode_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commands", nargs="+", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("--servers", type=listed(str, list(SERVERS)), help=", ".join(SERVERS))
    parser.add_argument("--transports", type=listed(str, TRANSPORTS), help="(tcp; s4: all)")
    parser.add_argument("--ccu", type=listed(int), help="connections (10000; goals: their own)")
    parser.add_argument("--inflight", type=listed(int), help="messages per connection (30)")
    parser.add_argument("--sizes", type=listed(decode_size), help="(1K; goals: their own)")
    parser.add_argument("--pairs", type=int,
                        help="runs of each server, in turns (5; goals: 6, each in six windows)")
    for name, value in PROFILE.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), help=f"({value:g})")
    parser.add_argument("--pin", type=decode_pin, default=(None, None), metavar="SERVER,CLIENT",
                        help="pin the two processes to these processors (not pinned)")
    parser.add_argument("--keep-tcp-mem", action="store_true",
                        help="do not temporarily raise net.ipv4.tcp_mem for goals that need more")
    parser.add_argument("--programs", help="folder of the programs (built if needed)")
    parser.add_argument("--library", help="folder of libzlink.so (the release build's)")
    parser.add_argument("--output", default=os.path.join(runner.BUILD_DIR, "stream"),
                        help="folder for results.csv, results.jsonl and report.html")
    arguments = parser.parse_args()
    if arguments.pairs is None:
        arguments.pairs = 6 if only_judges(arguments) else 5
    if arguments.pairs < 1:
        parser.error("--pairs must be at least 1")
    return arguments


def only_judges(arguments):
    """Whether only goals and claims are requested."""
    return {"goals", "claims"}.issuperset(arguments.commands)


def make_profile(arguments):
    """The locked profile with the options of the command line; goals have more and shorter runs."""
    profile = dict(PROFILE)
    if only_judges(arguments):
        profile.update(warmup=0.5, measure=3.0)
    for name in PROFILE:
        value = getattr(arguments, name)
        if value is not None:
            profile[name] = value
    return profile


def drop_missing(selected, missing):
    """The groups without unavailable servers, and the bounds that need these, which become failures."""
    unmeasured = []
    kept = []
    for group in selected:
        gone = {entrant for entrant in group.entrants if entrant.server in missing}
        unmeasured += [bound for bound in group.bounds if gone & set(bound.over + bound.under)]
        left = Group([entrant for entrant in group.entrants if entrant not in gone])
        left.bounds = [b for b in group.bounds if not gone & set(b.over + b.under)]
        if left.entrants:
            kept.append(left)
    return kept, unmeasured


def main():
    arguments = decode_arguments()
    runner.exit_on_signals()
    selected = select_groups(arguments)
    if not selected:
        sys.exit("nothing matches the options: no server has the transport, or no goal the load")
    context = make_origin()
    comparison = Comparison(arguments, make_profile(arguments), context)
    missing = comparison.prepare(selected)
    for name, why in sorted(missing.items()):
        print(f"left out: {name}: {why}", file=sys.stderr)
    selected, unmeasured = drop_missing(selected, missing)
    if only_judges(arguments) and unmeasured and not any(group.bounds for group in selected):
        sys.exit("no goal or claim can be judged without the servers left out")
    context["libraries"] = comparison.digests()
    os.makedirs(arguments.output, exist_ok=True)
    paths = {
        name: os.path.join(arguments.output, name)
        for name in ("results.csv", "results.jsonl", "report.html")
    }
    lines = []
    interrupted = False
    progress = Progress(
        sum(len(group.entrants) * group.windows(arguments.pairs) for group in selected)
    )
    with open(paths["results.csv"], "w", encoding="utf-8", newline="") as table, open(
        paths["results.jsonl"], "w", encoding="utf-8"
    ) as output, programs.certificate() as certificate:
        comparison.use_certificate(certificate)
        rows = csv.writer(table)
        rows.writerow(CSV_COLUMNS + ("pair", "window") + CSV_PARAMETERS + CSV_FIGURES)
        print(row_text([title for title, _ in RUN_COLUMNS], RUN_COLUMNS), flush=True)
        try:
            for group in selected:
                made = comparison.measure(group, progress)
                for line in made:
                    output.write(json.dumps(line) + "\n")
                    if line["kind"] == "run":
                        rows.writerow(csv_row(line))
                output.flush()
                table.flush()
                lines += made
                progress.clear()
                print_tables(made, group)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            runner.end_all()
    progress.clear()
    with open(paths["report.html"], "w", encoding="utf-8") as page:
        page.write(stream_report.make_page(lines))
    close(comparison, lines, unmeasured, paths)
    if interrupted:
        sys.exit(130)
    all_passed = all(line["result"]["pass"] for line in lines if line["kind"] == "run")
    sys.exit(0 if all_passed and not comparison.failures else 1)


def close(comparison, lines, unmeasured, paths):
    for table, word in (("goal", "goals reached"), ("claim", "claims reproduced or beaten")):
        judged = [line for line in lines if line["kind"] == table]
        absent = [bound for bound in unmeasured if bound.table == table]
        if judged or absent:
            reached = sum(line["reached"] for line in judged)
            left_out = f", {len(absent)} not measured" if absent else ""
            print(f"{reached} of {len(judged) + len(absent)} {word}{left_out}")
    measured_loads = [line for line in lines if line["kind"] == "absolute"]
    counts = [sum(line[key] for line in measured_loads) for key in ("passed", "pairs")]
    print(f"{counts[0]} of {counts[1]} runs passed")
    for failure in comparison.failures:
        print(f"failed run: {failure}")
    print(f"wrote {', '.join(paths.values())}")


if __name__ == "__main__":
    main()
