#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Compares libraries that provide zmq.h by alternating runs of one binary, and reports the ratios."""

import argparse
import dataclasses
import json
import os
import shutil
import statistics
import sys

import report
import runner
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

SIZES = [16, 64, 256, 1024, 4096, 8192, 65536, 262144, 1048576]
THROUGHPUT_PATTERNS = [
    "push_pull",
    "pair",
    "dealer_dealer",
    "dealer_router",
    "router_router",
    "router_router_poll",
    "pub_sub",
]
PATTERNS = THROUGHPUT_PATTERNS + list(runner.LATENCY_PATTERNS)
TRANSPORTS = ["tcp", "ipc", "inproc"]
APIS = ["msg", "buffer", "ref", "frames"]

# Queues of large messages hold gigabytes at the default high-water marks; emptying them takes time.
DRAIN_SECONDS_MAX = 30

PROFILE_COUNT_MAX = 100_000
PROFILE_BASE_COUNT = 1_000
PROFILE_BYTES_MAX = 256 * 1024 * 1024
PROFILE_ROUND_TRIPS = 3_000
PROFILE_SECONDS_MAX = 300


@dataclasses.dataclass(frozen=True)
class Case:
    pattern: str
    transport: str
    size: int
    peers: int = 1
    api: str = "msg"
    mechanism: str = "null"
    caller_driven: bool = False  # Subjects other than the baseline run without I/O threads.

    @property
    def is_latency(self):
        return self.pattern in runner.LATENCY_PATTERNS

    @property
    def unit(self):
        return "us" if self.is_latency else "msg/s"

    def label(self):
        name = self.pattern
        if self.pattern == "pub_sub":
            name += f" x{self.peers}"
        if self.caller_driven:
            name += " io=0"
        if self.api != "msg":
            name += f" {self.api}"
        if self.mechanism != "null":
            name += f" {self.mechanism}"
        return f"{name} {self.transport} {format_size(self.size)}"


# The goal of zmq_msg_* at 64 B, as a share of that of zmq_send and zmq_recv.
MSG_SHARE = 0.8


def goals():
    """The goals as (case, bound); the bound of a latency is an upper one."""
    table = []

    def add(patterns, transport, bounds, peers=1):
        for pattern in patterns:
            for size, bound in zip((64, 1024, 65536), bounds):
                share = MSG_SHARE if size == 64 else 1
                table.append((Case(pattern, transport, size, peers), round(share * bound, 2)))
                table.append((Case(pattern, transport, size, peers, api="buffer"), bound))

    plain = ("push_pull", "pair", "dealer_dealer")
    add(plain, "tcp", (6.0, 2.2, 1.2))
    add(plain, "ipc", (6.0, 2.5, 1.3))
    add(plain, "inproc", (7.0, 4.0, 1.5))
    add(("dealer_router", "router_router", "router_router_poll"), "tcp", (4.0, 1.8, 1.1))
    add(("pub_sub",), "tcp", (4.0, 2.0, 1.1), peers=1)
    add(("pub_sub",), "tcp", (4.0, 2.0, 1.1), peers=8)
    # By reference, which is what the goal for large inproc messages is about, in addition to copied.
    for pattern in plain:
        table.append((Case(pattern, "inproc", 65536, api="ref"), 1.5))
    for api in ("msg", "buffer"):
        table.append((Case("push_pull", "tcp", 64, api=api, mechanism="curve"), 2.0))
        table.append((Case("push_pull", "tcp", 65536, api=api, mechanism="curve"), 1.1))
        table.append((Case("req_rep", "tcp", 64, api=api), 0.9))
        table.append((Case("req_rep", "tcp", 64, api=api, caller_driven=True), 0.5))
    return table


# Instructions per message in both processes together, for subjects other than the baseline.
INSTRUCTIONS_BY_BUFFER = 351
INSTRUCTIONS_BY_MSG = 480


def instruction_goals():
    return [
        (Case("push_pull", "tcp", 64), INSTRUCTIONS_BY_MSG),
        (Case("push_pull", "tcp", 64, api="buffer"), INSTRUCTIONS_BY_BUFFER),
        (Case("push_pull", "tcp", 64, api="ref"), 1.5 * INSTRUCTIONS_BY_MSG),
        (Case("push_pull", "tcp", 64, api="frames"), 1.5 * INSTRUCTIONS_BY_MSG),
    ]


def format_size(size):
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale and size % scale == 0:
            return f"{size // scale} {unit}"
    return f"{size} B"


def format_value(value, unit):
    if value is None:
        return "-"
    if unit == "us":
        return f"{value:.2f} us"
    for suffix, scale in (("M", 1e6), ("K", 1e3)):
        if value >= scale:
            return f"{value / scale:.2f} {suffix}/s"
    return f"{value:.0f} /s"


class Comparison:
    def __init__(self, arguments, subjects):
        self.arguments = arguments
        self.subjects = subjects
        self.baseline = subjects[0]
        self.binary = arguments.binary or runner.build_binary("pattern_bench")
        no_raw = arguments.no_raw or arguments.instructions
        self.raw_binary = None if no_raw else runner.build_binary("raw_limit", libraries=())
        self._raw = {}
        self.failures = []

    def io_threads(self, subject, case):
        if case.caller_driven and subject != self.baseline:
            return 0
        return self.arguments.io_threads.get(subject.name, 1)

    def _options(self, subject, case):
        pause = self.arguments.pause if case.is_latency else 0
        return [
            *("--size", str(case.size), "--peers", str(case.peers), "--api", case.api),
            *("--mechanism", case.mechanism),
            *("--io-threads", str(self.io_threads(subject, case))),
            *("--pause", str(pause)),
        ]

    def run_once(self, subject, case):
        """One measured run; returns the value and further figures."""
        arguments = self.arguments
        options = self._options(subject, case)
        options += ["--seconds", str(arguments.seconds), "--warmup", str(arguments.warmup)]
        seconds_max = arguments.seconds + arguments.warmup + DRAIN_SECONDS_MAX
        if case.is_latency:
            seconds_max = arguments.seconds + arguments.warmup + 10
        outcome = runner.run_pattern(
            self.binary, subject, case.pattern, case.transport, options, seconds_max
        )
        lines = outcome.results[0]
        if case.is_latency:
            value = lines["sender"]["half_mean_us" if self.arguments.pause else "half_median_us"]
        else:
            value = lines["receiver"]["rate"]
        figures = {"p99_us": lines["sender"].get("half_p99_us")}
        for role, line in lines.items():
            for key in ("cpu_us_per_message", "user_seconds", "system_seconds"):
                figures[f"{role}_{key}"] = line[key]
            for key in ("voluntary_switches", "involuntary_switches"):
                figures[f"{role}_{key}"] = line[key]
        if value <= 0:
            raise runner.RunFailed("the measured value is 0")
        return value, figures

    def raw_limit(self, case):
        """The raw-socket figure for this case, measured once per transport and size."""
        transport = {"tcp": "tcp", "ipc": "unix"}.get(case.transport)
        if transport is None or self.raw_binary is None:
            return None
        key = (transport, case.size, case.is_latency)
        if key not in self._raw:
            seconds = min(self.arguments.seconds, 1.0)
            values = []
            for _ in range(3):
                line = runner.run_raw(self.raw_binary, transport, case.size, seconds, 0.2, key[2])
                values.append(line["half_median_us"] if case.is_latency else line["rate"])
            self._raw[key] = statistics.median(values)
        return self._raw[key]

    def compare(self, case, progress):
        """Alternates the subjects; returns the values and figures per subject, and the failures."""
        results, failures = alternate(
            self.subjects,
            self.arguments.pairs,
            case.label(),
            lambda subject: self.run_once(subject, case),
            lambda result: format_value(result[0], case.unit),
            progress,
        )
        self.failures += [f"{case.label()}: {name}: {reason}" for name, reason in failures.items()]
        values = {name: [value for value, _ in rows] for name, rows in results.items()}
        figures = {name: [beside for _, beside in rows] for name, rows in results.items()}
        return values, figures, failures

    # --- profiles: counts, which are repeatable, unlike times ---

    def profile(self, case, subject):
        """System calls and instructions per message of both processes together."""
        result = {}
        for name, measure in (("syscalls", self._syscalls), ("instructions", self._instructions)):
            try:
                result[f"{name}_per_message"] = self._per_message(case, subject, measure)
            except (runner.RunFailed, ValueError) as failure:
                result[f"{name}_per_message"] = None
                result[f"{name}_failure"] = str(failure)
        return result

    def instructions_per_message(self, case, subject):
        return self._per_message(case, subject, self._instructions)

    def _per_message(self, case, subject, measure):
        """The difference of two runs, which excludes the cost of starting and closing."""
        if case.is_latency:
            more = PROFILE_ROUND_TRIPS
        else:
            more = max(100, min(PROFILE_COUNT_MAX, PROFILE_BYTES_MAX // case.size // case.peers))
        base = min(PROFILE_BASE_COUNT, more // 2)
        counts = [measure(case, subject, messages) for messages in (base, base + more)]
        return round((counts[1] - counts[0]) / more, 4)

    def _profiled_run(self, case, subject, messages, wrap):
        options = self._options(subject, case) + ["--count", str(messages)]
        return runner.run_pattern(
            self.binary, subject, case.pattern, case.transport, options, PROFILE_SECONDS_MAX,
            wrap=wrap,
        )

    def _syscalls(self, case, subject, messages):
        if shutil.which("strace") is None:
            raise ValueError("strace is not installed")

        def wrap(_role):
            return ["strace", "-f", "-c", "-qq", "--"]

        outcome = self._profiled_run(case, subject, messages, wrap)
        return sum(decode_strace(text) for text in outcome.stderr.values())

    def _instructions(self, case, subject, messages):
        if shutil.which("valgrind") is None:
            raise ValueError("valgrind is not installed")

        def wrap(_role):
            return ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]

        outcome = self._profiled_run(case, subject, messages, wrap)
        return sum(decode_callgrind(text) for text in outcome.stderr.values())


def decode_strace(text):
    for line in text.splitlines():
        words = line.split()
        if words and words[-1] == "total":
            return int(words[3])
    raise ValueError("strace printed no total")


def decode_callgrind(text):
    for line in text.splitlines():
        words = line.split()
        if "Collected" in words:
            return int(words[-1])
    raise ValueError("callgrind printed no count")


def make_lines(context, case, comparison, values, figures, failures, profiles, bound):
    """The JSON lines of one case: an absolute one per subject and a ratio per compared one."""
    parameters = dataclasses.asdict(case)
    parameters.update(
        seconds=comparison.arguments.seconds,
        warmup=comparison.arguments.warmup,
        busy=comparison.arguments.busy,
        pause=comparison.arguments.pause,
    )
    raw = comparison.raw_limit(case)
    lines = []
    for subject in comparison.subjects:
        shared = dict(
            context,
            parameters=dict(parameters, io_threads=comparison.io_threads(subject, case)),
            subject=subject.name,
        )
        mine = values[subject.name]
        if subject.name in failures:
            lines.append(dict(shared, kind="failure", reason=failures[subject.name]))
        if mine:
            lines.append(
                dict(
                    shared,
                    kind="absolute",
                    unit=case.unit,
                    pairs=len(mine),
                    values=mine,
                    figures=median_figures(figures[subject.name]),
                    profile=profiles.get(subject.name),
                    raw_limit=raw,
                    **summarise(mine),
                )
            )
    base_values = values[comparison.baseline.name]
    for subject in comparison.subjects[1:]:
        ratios = pairwise_ratios(values[subject.name], base_values)
        if not ratios or subject.name in failures:
            continue
        medians = {
            other.name: statistics.median(values[other.name])
            for other in (comparison.baseline, subject)
        }
        ratio = dict(
            context,
            kind="ratio",
            parameters=dict(parameters, io_threads=comparison.io_threads(subject, case)),
            subject=subject.name,
            baseline=comparison.baseline.name,
            unit="x",
            pairs=len(ratios),
            values=ratios,
            medians=medians,
            medians_unit=case.unit,
            **summarise(ratios),
        )
        if bound is not None:
            ratio.update(judge(case, ratio["median"], bound))
        lines.append(ratio)
    return lines


def judge(case, median, bound):
    reached = median <= bound if case.is_latency else median >= bound
    short_by = 0.0 if reached else abs(bound - median) / bound
    return {"goal": bound, "reached": reached, "short_by": short_by}


def count_instructions(comparison, cases, progress):
    """Yields each case with the line of each subject; the baseline is not judged."""
    for case, bound in cases:
        lines = []
        for subject in comparison.subjects:
            line = {
                "kind": "instructions",
                "parameters": dict(
                    dataclasses.asdict(case), io_threads=comparison.io_threads(subject, case)
                ),
                "subject": subject.name,
            }
            try:
                value = comparison.instructions_per_message(case, subject)
                line.update(unit="instructions/message", median=value)
                if bound is not None and subject != comparison.baseline:
                    line.update(goal=bound, reached=value <= bound, short_by=max(0, value / bound - 1))
            except (runner.RunFailed, ValueError) as failure:
                line.update(kind="failure", reason=str(failure))
                comparison.failures.append(f"{case.label()}: {subject.name}: {failure}")
            lines.append(line)
            progress.step(f"{case.label()} {subject.name}")
        yield case, lines


def instruction_row(case, line):
    if line["kind"] == "failure":
        return f"{case.label():34} {line['subject']:9} FAILED: {line['reason'][:100]}"
    goal = f"<= {line['goal']:g}" if "goal" in line else ""
    verdict = ""
    if goal:
        verdict = "reached" if line["reached"] else f"over by {line['short_by']:.0%}"
    return f"{case.label():34} {line['subject']:9} {line['median']:10.0f} {goal:9} {verdict}".rstrip()


# --- the table on standard output ---

COLUMNS = (
    ("case", 34),
    ("subject", 9),
    ("rate or half trip", 18),
    ("ratio (min - max)", 22),
    ("goal", 8),
    ("verdict", 16),
    ("raw socket", 12),
    ("CPU us/msg s+r", 15),
    ("syscalls/msg", 13),
    ("instr/msg", 10),
)


def table_row(cells):
    texts = [str(cell).ljust(width) for cell, (_, width) in zip(cells, COLUMNS)]
    return " ".join(texts).rstrip()


def format_count(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


def case_rows(case, lines, bound):
    rows = []
    ratios = {line["subject"]: line for line in lines if line["kind"] == "ratio"}
    for line in lines:
        if line["kind"] == "failure":
            reason = line["reason"][:100]
            rows.append(f"{case.label():34} {line['subject']:9} FAILED: {reason}")
        if line["kind"] != "absolute":
            continue
        ratio = ratios.get(line["subject"])
        ratio_text = goal = verdict = ""
        if ratio is not None:
            spread = f"({ratio['minimum']:.2f} - {ratio['maximum']:.2f})"
            ratio_text = f"{ratio['median']:.2f} x {spread}"
            if bound is not None:
                goal = ("<= " if case.is_latency else ">= ") + f"{bound:g} x"
                reached = ratio["reached"]
                verdict = "reached" if reached else f"short by {ratio['short_by']:.0%}"
        raw = line["raw_limit"]
        figures = line["figures"]
        profile = line["profile"] or {}
        cpu = f"{figures['sender_cpu_us_per_message']:.2f}"
        cpu = cpu if case.transport == "inproc" else (
            f"{cpu}+{figures['receiver_cpu_us_per_message']:.2f}"
        )
        rows.append(
            table_row(
                (
                    case.label(),
                    line["subject"],
                    format_value(line["median"], case.unit),
                    ratio_text,
                    goal,
                    verdict,
                    "" if raw is None else format_value(raw, case.unit),
                    cpu,
                    format_count(profile.get("syscalls_per_message"), 3),
                    format_count(profile.get("instructions_per_message"), 0),
                )
            )
        )
    return rows


# --- the command line ---


def decode_size(text):
    scale = {"K": 1 << 10, "M": 1 << 20}.get(text[-1].upper(), 1)
    return int(text[:-1]) * scale if scale != 1 else int(text)


def decode_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add_run_arguments(parser, "results", "results.jsonl and report.html")
    parser.add_argument("--targets", action="store_true", help="run the goals and judge them")
    parser.add_argument("--patterns", type=listed(str, PATTERNS))
    parser.add_argument("--transports", type=listed(str, TRANSPORTS))
    parser.add_argument("--sizes", type=listed(decode_size), help="e.g. 64,1K,64K,1M")
    parser.add_argument("--peers", type=listed(int), help="subscribers of pub_sub (1,8)")
    parser.add_argument("--api", type=listed(str, APIS),
                        help="msg, buffer, ref, frames (msg; with --targets all but buffer)")
    parser.add_argument("--mechanism", type=listed(str, ["null", "plain", "curve"]),
                        help="null, plain, curve (null; with --targets that of each goal)")
    parser.add_argument(
        "--io-threads", action="append", default=[], metavar="NAME=N",
        help="I/O threads of a subject (1); 0 lets the caller drive I/O",
    )
    parser.add_argument("--busy", type=int, default=0, metavar="N",
                        help="run N compute-bound processes at the same time, as on a machine with other work (0)")
    parser.add_argument("--pause", type=int, default=0, metavar="US",
                        help="round trips: the requester sleeps between them, and their mean is compared (0)")
    parser.add_argument("--profile", action="store_true",
                        help="also count system calls (strace) and instructions (callgrind)")
    parser.add_argument("--instructions", action="store_true",
                        help="instead of rates, count instructions per message (callgrind)")
    parser.add_argument("--no-raw", action="store_true", help="do not measure the raw-socket limit")
    parser.add_argument("--binary", help="pattern_bench to run (default: built if needed)")
    arguments = parser.parse_args()
    threads = {}
    for text in arguments.io_threads:
        name, _, number = text.partition("=")
        if not number.isdigit():
            parser.error(f"--io-threads {text}: must be NAME=N, such as zlink=2")
        threads[name] = int(number)
    arguments.io_threads = threads
    if arguments.busy < 0:
        parser.error("--busy must be 0 or more")
    if arguments.pause < 0:
        parser.error("--pause must be 0 or more")
    return arguments, decode_subjects(parser, arguments)


def select_cases(arguments):
    """The cases to run, each with its goal or None."""
    known = dict(instruction_goals() if arguments.instructions else goals())
    if arguments.targets:
        # There are few goals in instructions, one per API; for the others msg is the default.
        cases = [case for case in known if arguments.api or arguments.instructions or case.api != "buffer"]
    else:
        cases = [
            Case(pattern, transport, size, peers, api, mechanism)
            for pattern in arguments.patterns or PATTERNS
            for transport in arguments.transports or TRANSPORTS
            for size in arguments.sizes or (SIZES if pattern in THROUGHPUT_PATTERNS else [64, 1024])
            for peers in ((arguments.peers or [1, 8]) if pattern == "pub_sub" else [1])
            for api in arguments.api or ["msg"]
            for mechanism in arguments.mechanism or ["null"]
            if transport != "inproc" or mechanism == "null"
        ]
    wanted = {
        "pattern": arguments.patterns,
        "transport": arguments.transports,
        "size": arguments.sizes,
        "api": arguments.api,
        "mechanism": arguments.mechanism,
    }
    cases = [
        case
        for case in cases
        if all(not values or getattr(case, name) in values for name, values in wanted.items())
        and (not arguments.peers or case.pattern != "pub_sub" or case.peers in arguments.peers)
    ]
    return [(case, known.get(case)) for case in cases]


def compare_all(comparison, context, cases, progress):
    """Yields, for each case, its result lines and the rows of its table."""
    for case, bound in cases:
        values, figures, failures = comparison.compare(case, progress)
        profiles = {}
        if comparison.arguments.profile:
            for subject in comparison.subjects:
                if subject.name not in failures:
                    progress.show(f"{case.label()} {subject.name} profile")
                    profiles[subject.name] = comparison.profile(case, subject)
        progress.show(f"{case.label()} raw limit")
        lines = make_lines(context, case, comparison, values, figures, failures, profiles, bound)
        yield lines, case_rows(case, lines, bound)


def count_all(comparison, context, cases, progress):
    """The same for counted instructions."""
    for case, lines in count_instructions(comparison, cases, progress):
        yield [dict(context, **line) for line in lines], [instruction_row(case, line) for line in lines]


def main():
    arguments, subjects = decode_arguments()
    runner.exit_on_signals()
    cases = select_cases(arguments)
    if not cases:
        sys.exit("no case matches the options")
    comparison = Comparison(arguments, subjects)
    context = make_context(subjects)
    os.makedirs(arguments.output, exist_ok=True)
    lines_path = os.path.join(arguments.output, "results.jsonl")
    report_path = os.path.join(arguments.output, "report.html")
    run_all = count_all if arguments.instructions else compare_all
    progress = Progress(len(cases) * len(subjects) * (1 if arguments.instructions else arguments.pairs))
    all_lines = []
    interrupted = False
    runner.start_busy(arguments.busy)
    if not arguments.instructions:
        print(table_row([title for title, _ in COLUMNS]), flush=True)
    with open(lines_path, "w", encoding="utf-8") as output:
        try:
            for lines, rows in run_all(comparison, context, cases, progress):
                for line in lines:
                    output.write(json.dumps(line) + "\n")
                output.flush()
                all_lines += lines
                progress.clear()
                for row in rows:
                    print(row, flush=True)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            runner.end_all()
    progress.clear()
    if not arguments.instructions:
        with open(report_path, "w", encoding="utf-8") as page:
            page.write(report.make_page(all_lines))
    judged = [line for line in all_lines if "reached" in line]
    if judged:
        reached = sum(line["reached"] for line in judged)
        print(f"{reached} of {len(judged)} goals reached")
    for failure in comparison.failures:
        print(f"failed run: {failure}")
    print(f"wrote {lines_path}" + ("" if arguments.instructions else f" and {report_path}"))
    if interrupted:
        sys.exit(130)
    sys.exit(1 if comparison.failures else 0)


if __name__ == "__main__":
    main()
