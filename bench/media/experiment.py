#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Measures servers of files over HTTP in turns, as users request random ranges of a large file; prints
tables, and writes CSV, JSON and HTML.

  1      ranges of 64 KiB and 1 MiB, 100 users, as in the original's first experiment
  2      256 KiB; 100, 300 and 500 users
  3      256 KiB, 500 users: Java by ResourceRegion and by transferTo
  goals  the goals against nginx and the Java servers, with a verdict per line
  cells  every combination of --sizes, --users, --modes and --tls
"""

import argparse
import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys

import judging
import loads
import programs
import servers
from loads import FIGURES, MODES, Cell
from servers import BASELINE, SERVERS

import media_report
import runner
from compare import decode_size
from turns import Progress, alternate, listed, make_origin

COMMANDS = ("1", "2", "3", "goals", "cells")
EXPERIMENTS = COMMANDS[:3]
RATIO_FIGURES = (
    "requests_per_second", "avg_ms", "p50_ms", "p95_ms", "p99_ms", "server_cpu_us_per_request"
)
CSV_CELL = ("size", "users", "mode", "is_secure", "is_whole")
CSV_RESULT = ("pass", "requests", "failures", "unfinished", "bytes", "seconds", "connections")
RELEASE_DIR = os.path.join(runner.PROJECT_DIR, "build", "release")
# Java compiles while it runs. It counts as warm once a run takes hardly less CPU time per request than
# the one before.
JAVA_WARMUP_SECONDS_MAX = 20.0
JAVA_WARMUP_RUN_SECONDS = 2.0
JAVA_WARMUP_USERS = 100
JAVA_WARM_SHARE = 0.9


# --- selection of cells ---


class Plan:
    """The cells to measure, each with its servers, and the claims and goals to judge."""

    def __init__(self, arguments):
        self._arguments = arguments
        self._servers = {}
        self.judged = []
        for command in arguments.commands:
            if command in EXPERIMENTS:
                self._add_experiment(command)
        if "cells" in arguments.commands:
            self._add_cells()
        if "goals" in arguments.commands:
            self._add_goals()

    def cells(self):
        return list(self._servers)

    def servers(self, cell):
        """In the order in which they take turns."""
        return [server for server in SERVERS.values() if server.name in self._servers[cell]]

    def drop(self, missing):
        """Leaves out servers that cannot run here; what needs them is reported as not judged."""
        for cell, names in list(self._servers.items()):
            names -= missing
            if not names:
                del self._servers[cell]

    def _add(self, cell, names):
        asked = self._arguments
        if (
            cell.size not in (asked.sizes or [cell.size])
            or cell.users not in (asked.users or [cell.users])
            or cell.is_secure not in asked.tls
        ):
            return
        names = {
            name
            for name in names
            if name in (asked.servers or [name]) and (SERVERS[name].has_tls or not cell.is_secure)
        }
        if names:
            self._servers.setdefault(cell, set()).update(names)

    def _add_experiment(self, experiment):
        modes = self._arguments.modes or ["paced"]
        for cell in judging.experiment_cells(experiment, modes):
            for is_secure in self._arguments.tls:
                self._add(Cell(cell.size, cell.users, cell.mode, is_secure), SERVERS)
        self.judged += [
            claim for claim in judging.claims(self._arguments.pause)
            if claim.experiment == experiment and claim.without(self._is_left_out) is not None
        ]

    def _add_cells(self):
        for is_secure in self._arguments.tls:
            for mode in self._arguments.modes or ("paced", "saturated"):
                for size in self._arguments.sizes or judging.SIZES:
                    for users in self._arguments.users or judging.USERS:
                        is_whole = size <= loads.SMALL_BYTES
                        self._add(Cell(size, users, mode, is_secure, is_whole), SERVERS)

    def _add_goals(self):
        modes = self._arguments.modes or MODES
        for goal in judging.goals():
            terms = goal.terms()
            if any(term.cell.mode not in modes for term in terms):
                continue
            for term in terms:
                self._add(term.cell, {term.server})
            goal = goal.without(self._is_left_out)
            if goal is not None:
                self.judged.append(goal)

    def _is_left_out(self, term):
        """Whether the options leave out what a claim or goal needs."""
        return term.server not in self._servers.get(term.cell, ())


# --- measuring ---


class Experiment:
    def __init__(self, arguments, context, client, park):
        self._arguments = arguments
        self._context = context
        self._client = client
        self._park = park
        self._counts = loads.SystemCalls(client)
        self._warmed = set()
        self.results = {}  # Per (cell, server): the results of the runs, by turn.
        self.failed = {}  # Per (cell, server): why it could not be measured.

    def measure(self, cell, entrants, progress):
        """Measures a cell, and returns its lines."""
        # Native servers are restarted, so that their placement in memory varies.
        self._park.end_native()
        label = judging.describe_cell(cell)
        results, failures = alternate(
            entrants, self._arguments.pairs, label, lambda server: self._run_once(server, cell), headline,
            progress,
        )
        calls = {}
        if self._arguments.syscalls:
            for server in entrants:
                if server.name not in failures:
                    progress.show(f"{label} {server.name} system calls")
                    calls[server.name] = self._count_calls(server, cell)
        lines = []
        for server in entrants:
            key = (cell, server.name)
            if server.name in failures:
                self.failed[key] = failures[server.name]
                # The next cell has a chance with a new process.
                self._park.end(server.name, cell.is_secure)
            self.results[key] = results[server.name]
            lines += self._lines(cell, server, results[server.name], failures.get(server.name),
                                 calls.get(server.name))
        return lines + self._ratio_lines(cell, entrants, results)

    def judge(self, items):
        return [
            dict(
                self._context,
                kind="claim" if isinstance(item, judging.Claim) else "goal",
                parameters=self.parameters(item.terms()[0].cell),
                **judging.judge(item, self.results, self.failed),
            )
            for item in items
        ]

    def parameters(self, cell):
        arguments = self._arguments
        return dict(
            size=cell.size, users=cell.users, mode=cell.mode, is_secure=cell.is_secure,
            is_whole=cell.is_whole, warmup=arguments.warmup, seconds=arguments.seconds,
            pause=arguments.pause, file_size=arguments.file_size, copy=arguments.copy,
            verify=arguments.verify,
        )

    def _start(self, server, cell):
        running, is_new = self._park.get(server.name, cell.is_secure)
        # Java's warming up is for each size once, as different sizes take different ways.
        key = (server.name, cell.is_secure, cell.size, cell.is_whole)
        if is_new:
            self._warmed = {other for other in self._warmed if other[:2] != key[:2]}
        if server.is_java and key not in self._warmed:
            self._warmed.add(key)
            self._warm_up(running, cell)
        return running

    def _warm_up(self, running, cell):
        load = Cell(cell.size, JAVA_WARMUP_USERS, "saturated", cell.is_secure, cell.is_whole)
        seconds = min(JAVA_WARMUP_RUN_SECONDS, self._arguments.java_warmup)
        before = float("inf")
        for _ in range(int(self._arguments.java_warmup / seconds) if seconds > 0 else 0):
            result = loads.run_once(self._client, running, load, self._arguments, 0, seconds)
            if not result["pass"]:
                return  # The measured run will tell.
            cost = result["server_cpu_us_per_request"]
            if cost > before * JAVA_WARM_SHARE:
                return
            before = cost

    def _run_once(self, server, cell):
        running = self._start(server, cell)
        return loads.run_once(
            self._client, running, cell, self._arguments, self._arguments.warmup, self._arguments.seconds
        )

    def _count_calls(self, server, cell):
        try:
            return self._counts.per_request(self._start(server, cell), cell, self._arguments)
        except runner.RunFailed as failure:
            print(f"system calls of {server.name}: {failure}", file=sys.stderr)
            return None

    # --- the lines of a cell ---

    def _lines(self, cell, server, results, failure, calls):
        shared = dict(self._context, server=server.name, parameters=self.parameters(cell))
        made = [
            dict(shared, kind="run", pair=pair + 1, result=result) for pair, result in enumerate(results)
        ]
        if failure is not None:
            made.append(dict(shared, kind="failure", reason=failure))
        if results:
            made.append(
                dict(
                    shared,
                    kind="absolute",
                    pairs=len(results),
                    figures={
                        name: judging.summarise_values([result[name] for result in results])
                        for name in FIGURES
                        if results[0][name] is not None
                    },
                    syscalls_per_request=calls,
                    syscalls_tool=self._counts.tool,
                    failures=sum(result["failures"] for result in results),
                    first_failure=next((r["first_failure"] for r in results if r["first_failure"]), ""),
                    cipher=results[0]["cipher"],
                    passed=sum(result["pass"] for result in results),
                    published=judging.PUBLISHED.get((server.name, cell.size, cell.users), {})
                    if is_as_published(cell) else {},
                )
            )
        return made

    def _ratio_lines(self, cell, entrants, results):
        made = []
        base = results.get(BASELINE, [])
        for server in entrants:
            if server.name == BASELINE:
                continue
            for name in RATIO_FIGURES:
                values = [
                    mine[name] / theirs[name]
                    for mine, theirs in zip(results[server.name], base)
                    if mine["pass"] and theirs["pass"] and theirs[name] > 0
                ]
                if values:
                    made.append(
                        dict(
                            self._context, kind="ratio", server=server.name, baseline=BASELINE,
                            figure=name, parameters=self.parameters(cell), unit="x", pairs=len(values),
                            values=values, **judging.summarise_values(values),
                        )
                    )
        return made


def is_as_published(cell):
    return cell.mode == "paced" and not cell.is_secure


def headline(result):
    told = f"{result['requests_per_second']:.0f} requests/s, p95 {result['p95_ms']:.2f} ms"
    if not result["pass"]:
        told += f" {result['failures']} FAILURES: {result['first_failure']}"
    return told


# --- the tables on standard output ---

COLUMNS = (
    ("load", 44), ("server", 16), ("requests/s", 11), ("MB/s", 7), ("avg ms", 8), ("p50", 8),
    ("p95", 8), ("p99", 8), ("original avg, p95", 18), ("CPU us/req", 11), ("CPU s/GB", 9),
    ("calls/req", 10), ("failures", 8),
)
RATIO_COLUMNS = (
    ("ratio to nginx", 44), ("server", 16), ("requests/s", 20), ("p95", 20), ("CPU per request", 20),
)
JUDGED_COLUMNS = (
    ("", 6), ("line", 52), ("load", 44), ("measured", 11), ("min - max", 20), ("needs", 11), ("verdict", 30),
)


def row_text(cells, columns):
    return " ".join(str(cell).ljust(width) for cell, (_, width) in zip(cells, columns)).rstrip()


def cell_of(parameters):
    return Cell(*(parameters[name] for name in CSV_CELL))


def absolute_row(line):
    medians = {name: figure["median"] for name, figure in line["figures"].items()}
    published = line["published"]
    original = ", ".join(str(published.get(name, "-")) for name in ("avg_ms", "p95_ms"))
    calls = line["syscalls_per_request"]
    return row_text(
        (
            judging.describe_cell(cell_of(line["parameters"])),
            line["server"],
            f"{medians['requests_per_second']:.0f}",
            f"{medians['megabytes_per_second']:.0f}",
            *(f"{medians[name]:.2f}" for name in ("avg_ms", "p50_ms", "p95_ms", "p99_ms")),
            original if published else "",
            f"{medians['server_cpu_us_per_request']:.1f}",
            f"{medians['server_cpu_seconds_per_gb']:.3f}",
            "" if calls is None else f"{calls:.2f}",
            line["failures"],
        ),
        COLUMNS,
    )


def ratio_rows(lines):
    by_server = {}
    for line in lines:
        by_server.setdefault(line["server"], {})[line["figure"]] = line
    for server, figures in by_server.items():
        cells = [judging.describe_cell(cell_of(next(iter(figures.values()))["parameters"])), server]
        for name in ("requests_per_second", "p95_ms", "server_cpu_us_per_request"):
            line = figures.get(name)
            cells.append(
                f"{line['median']:.2f} ({line['minimum']:.2f}-{line['maximum']:.2f})" if line else ""
            )
        yield row_text(cells, RATIO_COLUMNS)


def judged_row(line):
    unit = line["unit"]
    has_value = line["pairs"] > 0
    if line["kind"] == "claim":
        needs = f"{line['published']:.3g} x"
    else:
        needs = f"{'<=' if line['is_upper'] else '>' if unit == 'ms' else '>='} {line['goal']:g} {unit}"
    return row_text(
        (
            line["kind"],
            line["name"],
            judging.describe_cell(cell_of(line["parameters"])),
            f"{line['median']:.3g} {unit}" if has_value else "",
            f"{line['minimum']:.3g} - {line['maximum']:.3g}" if has_value else "",
            needs,
            line["verdict"],
        ),
        JUDGED_COLUMNS,
    )


def print_cell(lines):
    for line in lines:
        if line["kind"] == "failure":
            print(f"{line['server']} FAILED: {line['reason'][:200]}", flush=True)
        elif line["kind"] == "absolute":
            print(absolute_row(line), flush=True)
            if line["first_failure"]:
                print(f"  {line['server']}: {line['first_failure']}", flush=True)
    ratios = [line for line in lines if line["kind"] == "ratio"]
    if ratios:
        print(row_text([title for title, _ in RATIO_COLUMNS], RATIO_COLUMNS))
        for row in ratio_rows(ratios):
            print(row, flush=True)


def csv_row(line):
    result = line["result"]
    return (
        [line["parameters"][name] for name in CSV_CELL]
        + [line["server"], line["pair"]]
        + [result[name] for name in CSV_RESULT]
        + [result[name] for name in FIGURES]
    )


# --- the command line ---


def decode_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"{', '.join(COMMANDS)} (1 2 3)")
    parser.add_argument("--servers", type=listed(str, list(SERVERS)), help=", ".join(SERVERS))
    parser.add_argument("--sizes", type=listed(decode_size),
                        help="bytes of a range (64K,256K,1M); up to 1K: whole small files of 1 KiB")
    parser.add_argument("--users", type=listed(int), help="(100,300,500,2000)")
    parser.add_argument("--modes", type=listed(str, list(MODES)), help=", ".join(MODES))
    parser.add_argument("--tls", choices=("no", "yes", "both"), help="(no; goals: both)")
    parser.add_argument("--pairs", type=int, default=1, help="runs of each server, in turns (1; for figures 5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="measured time of a run (3)")
    parser.add_argument("--warmup", type=float, default=1.0, help="before each run (1)")
    parser.add_argument("--java-warmup", type=float, default=JAVA_WARMUP_SECONDS_MAX,
                        help="at most so many seconds more before a Java server's first run with a size (20)")
    parser.add_argument("--pause", type=float, default=0.1,
                        help="seconds between a response and the next request in paced modes (0.1)")
    parser.add_argument("--file-size", type=decode_size, default=1 << 30, help="of the large file (1024M)")
    parser.add_argument("--copy", action="store_true",
                        help="the client reads responses into memory; else the kernel discards them")
    parser.add_argument("--verify", action="store_true", help="the client compares every byte")
    parser.add_argument("--no-syscalls", dest="syscalls", action="store_false",
                        help="do not count system calls")
    parser.add_argument("--zlink", default=os.path.join(RELEASE_DIR, "tools", "zlink"),
                        help="the program (the release build's)")
    parser.add_argument("--library", help="folder of libzlink.so, if the program does not find it")
    parser.add_argument("--programs", help="folder of load_client (built if needed)")
    parser.add_argument("--files", default=os.path.join(servers.OUTPUT_DIR, "files"),
                        help="folder for the files that are served")
    parser.add_argument("--output", default=os.path.join(servers.OUTPUT_DIR, "results"),
                        help="folder for results.csv, results.jsonl and report.html")
    arguments = parser.parse_args()
    arguments.commands = arguments.commands or list(EXPERIMENTS)
    for command in arguments.commands:
        if command not in COMMANDS:
            parser.error(f"{command} is not one of {', '.join(COMMANDS)}")
    check_arguments(parser, arguments)
    return arguments


def check_arguments(parser, arguments):
    tls = arguments.tls or ("both" if arguments.commands == ["goals"] else "no")
    arguments.tls = {"no": (False,), "yes": (True,), "both": (False, True)}[tls]
    if arguments.pairs < 1 or arguments.seconds <= 0 or arguments.warmup < 0:
        parser.error("--pairs must be at least 1, --seconds above 0 and --warmup 0 or more")
    if arguments.pause <= 0:
        parser.error("--pause must be above 0; saturated modes have none")
    if arguments.file_size < max(arguments.sizes or judging.SIZES):
        parser.error("--file-size must be at least the largest of --sizes")
    for size in arguments.sizes or ():
        if size < loads.SMALL_BYTES:
            parser.error("--sizes are at least 1K, which stands for whole files of 1 KiB")
    for name in ("files", "zlink", "library", "programs", "output"):
        value = getattr(arguments, name)
        setattr(arguments, name, os.path.abspath(value) if value else value)


def digests(arguments, client):
    """The start of the SHA-256 of the measured programs of this project."""
    paths = {"zlink": arguments.zlink, "load_client": client}
    for folder in filter(None, (arguments.library, RELEASE_DIR)):
        library = os.path.join(folder, "libzlink.so")
        if os.path.exists(library):
            paths["libzlink.so"] = library
            break
    found = {}
    for name, path in paths.items():
        if os.path.exists(path):
            with open(path, "rb") as program:
                found[name] = hashlib.sha256(program.read()).hexdigest()[:16]
    return found


def versions():
    """What the other programs say of themselves."""
    found = {}
    for name, command in (("nginx", ["nginx", "-v"]), ("java", ["java", "-version"]), ("wrk", ["wrk", "-v"])):
        if shutil.which(command[0]):
            told = subprocess.run(command, capture_output=True, text=True, check=False)
            lines = (told.stdout + told.stderr).strip().splitlines()
            found[name] = lines[0] if lines else "unknown"
    return found


def prepare(plan, arguments, client):
    """Builds the servers and makes the files; leaves out servers that cannot run here."""
    needed = {server.name for cell in plan.cells() for server in plan.servers(cell)}
    missing = {}
    for name in SERVERS:
        if name in needed:
            why = servers.why_missing(SERVERS[name], arguments)
            if why is not None:
                missing[name] = why
                print(f"left out: {name}: {why}", file=sys.stderr)
    plan.drop(set(missing))
    files = {loads.SMALL.format(number): loads.SMALL_BYTES for number in range(loads.SMALL_COUNT)}
    files[loads.VIDEO] = arguments.file_size
    servers.make_files(client, arguments.files, files)
    return missing


def measure_all(plan, experiment, progress, keep):
    """Measures all cells; `keep` takes the lines of each."""
    print(row_text([title for title, _ in COLUMNS], COLUMNS), flush=True)
    for cell in plan.cells():
        made = experiment.measure(cell, plan.servers(cell), progress)
        keep(made)
        progress.clear()
        print_cell(made)


def print_judged(lines):
    if lines:
        print(row_text([title for title, _ in JUDGED_COLUMNS], JUDGED_COLUMNS))
    for line in lines:
        print(judged_row(line))
    for kind, word in (("claim", "claims reproduced or beaten"), ("goal", "goals reached")):
        judged = [line for line in lines if line["kind"] == kind]
        if judged:
            print(f"{sum(line['reached'] for line in judged)} of {len(judged)} {word}")


def main():
    arguments = decode_arguments()
    runner.exit_on_signals()
    plan = Plan(arguments)
    if not plan.cells():
        sys.exit("nothing matches the options")
    try:
        client = servers.client_program(arguments)
        missing = prepare(plan, arguments, client)
    except KeyboardInterrupt:
        sys.exit(130)
    if not plan.cells():
        sys.exit("none of the servers can be measured here")
    context = {
        **make_origin(),
        "libraries": digests(arguments, client),
        "versions": versions(),
        "left_out": missing,
    }
    os.makedirs(arguments.output, exist_ok=True)
    paths = {
        name: os.path.join(arguments.output, name)
        for name in ("results.csv", "results.jsonl", "report.html")
    }
    progress = Progress(sum(len(plan.servers(cell)) for cell in plan.cells()) * arguments.pairs)
    lines = []
    interrupted = False
    with programs.certificate() as (_, certificate, _, key), open(
        paths["results.csv"], "w", encoding="utf-8", newline=""
    ) as table, open(paths["results.jsonl"], "w", encoding="utf-8") as output:
        rows = csv.writer(table)
        rows.writerow(CSV_CELL + ("server", "pair") + CSV_RESULT + FIGURES)

        def keep(made):
            for line in made:
                output.write(json.dumps(line) + "\n")
                if line["kind"] == "run":
                    rows.writerow(csv_row(line))
            output.flush()
            table.flush()
            lines.extend(made)

        park = servers.Park(arguments, (certificate, key))
        experiment = Experiment(arguments, context, client, park)
        try:
            measure_all(plan, experiment, progress, keep)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            park.close()
            runner.end_all()
        progress.clear()
        judged = experiment.judge(plan.judged)
        keep(judged)
    print_judged(judged)
    with open(paths["report.html"], "w", encoding="utf-8") as page:
        page.write(media_report.make_page(lines))
    finish(experiment, lines, paths, interrupted)


def finish(experiment, lines, paths, interrupted):
    for (cell, name), why in experiment.failed.items():
        print(f"failed run: {judging.describe_cell(cell)} {name}: {why}")
    runs = [line for line in lines if line["kind"] == "run"]
    passed = sum(line["result"]["pass"] for line in runs)
    print(f"{passed} of {len(runs)} runs without failures")
    print(f"wrote {', '.join(paths.values())}")
    if interrupted:
        sys.exit(130)
    sys.exit(0 if passed == len(runs) and not experiment.failed else 1)


if __name__ == "__main__":
    main()
