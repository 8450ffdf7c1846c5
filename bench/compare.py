#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Compares libraries that offer zmq.h by alternating runs of one binary, and reports the ratios."""

import argparse
import dataclasses
import datetime
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

import report
import runner

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
    api: str = "buffer"
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
        if self.api != "buffer":
            name += f" {self.api}"
        if self.mechanism != "null":
            name += f" {self.mechanism}"
        return f"{name} {self.transport} {format_size(self.size)}"


def goals():
    """The goals as (case, bound); a bound of a latency is an upper one."""
    table = []

    def add(patterns, transport, bounds, peers=1):
        for pattern in patterns:
            for size, bound in zip((64, 1024, 65536), bounds):
                table.append((Case(pattern, transport, size, peers), bound))

    plain = ("push_pull", "pair", "dealer_dealer")
    add(plain, "tcp", (6.0, 2.2, 1.2))
    add(plain, "ipc", (6.0, 2.5, 1.3))
    add(plain, "inproc", (7.0, 4.0, 1.5))
    add(("dealer_router", "router_router", "router_router_poll"), "tcp", (4.0, 1.8, 1.1))
    add(("pub_sub",), "tcp", (4.0, 2.0, 1.1), peers=1)
    add(("pub_sub",), "tcp", (4.0, 2.0, 1.1), peers=8)
    # Handed over by reference, as the goal for large messages in a process is meant, besides copied.
    for pattern in plain:
        table.append((Case(pattern, "inproc", 65536, api="ref"), 1.5))
    table.append((Case("push_pull", "tcp", 64, mechanism="curve"), 2.0))
    table.append((Case("push_pull", "tcp", 65536, mechanism="curve"), 1.1))
    table.append((Case("req_rep", "tcp", 64), 0.9))
    table.append((Case("req_rep", "tcp", 64, caller_driven=True), 0.5))
    return table


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


def describe_machine():
    model = "unknown"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    model = line.split(":", 1)[1].strip()
                    break
    except OSError:
        pass
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release()}


def read_commit():
    def git(*words):
        result = subprocess.run(
            ["git", "-C", runner.PROJECT_DIR, *words], capture_output=True, text=True, check=False
        )
        return result.stdout.strip() if result.returncode == 0 else ""

    commit = git("rev-parse", "--short=12", "HEAD") or "none"
    return commit + ("-dirty" if git("status", "--porcelain") else "")


def library_digest(subject):
    with open(subject.library(), "rb") as library:
        return hashlib.sha256(library.read()).hexdigest()[:16]


class Progress:
    """A bar on a terminal; one plain line per run elsewhere. Always on standard error."""

    WIDTH = 28

    def __init__(self, total):
        self._total = max(1, total)
        self._done = 0
        self._start = time.monotonic()
        self._is_terminal = sys.stderr.isatty()

    def show(self, text):
        if self._is_terminal:
            filled = self.WIDTH * self._done // self._total
            bar = "#" * filled + "-" * (self.WIDTH - filled)
            columns = shutil.get_terminal_size().columns
            line = f"[{bar}] {self._done}/{self._total} {self._remaining()} {text}"
            print("\r\033[K" + line[: columns - 1], end="", file=sys.stderr, flush=True)

    def step(self, text):
        self._done = min(self._total, self._done + 1)
        if self._is_terminal:
            self.show(text)
        else:
            head = f"{self._done}/{self._total} {self._remaining()}"
            print(f"{head} {text}", file=sys.stderr, flush=True)

    def skip(self, count):
        self._done = min(self._total, self._done + count)

    def clear(self):
        if self._is_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _remaining(self):
        if self._done == 0:
            return "--:--"
        elapsed = time.monotonic() - self._start
        seconds = int(elapsed / self._done * (self._total - self._done))
        return f"{seconds // 60}:{seconds % 60:02d} left"


class Comparison:
    def __init__(self, arguments, subjects):
        self.arguments = arguments
        self.subjects = subjects
        self.baseline = subjects[0]
        self.binary = arguments.binary or runner.build_binary("pattern_bench")
        self.raw_binary = None if arguments.no_raw else runner.build_binary("raw_limit", libraries=())
        self._raw = {}
        self.failures = []

    def io_threads(self, subject, case):
        if case.caller_driven and subject != self.baseline:
            return 0
        return self.arguments.io_threads.get(subject.name, 1)

    def _options(self, subject, case):
        return [
            *("--size", str(case.size), "--peers", str(case.peers), "--api", case.api),
            *("--mechanism", case.mechanism),
            *("--io-threads", str(self.io_threads(subject, case))),
        ]

    def run_once(self, subject, case):
        """One measured run; returns the value and the figures beside it."""
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
            value = lines["sender"]["half_median_us"]
        else:
            value = lines["receiver"]["rate"]
        figures = {"p99_us": lines["sender"].get("half_p99_us")}
        for role, line in lines.items():
            for key in ("cpu_us_per_message", "user_seconds", "system_seconds"):
                figures[f"{role}_{key}"] = line[key]
            for key in ("voluntary_switches", "involuntary_switches"):
                figures[f"{role}_{key}"] = line[key]
        if value <= 0:
            raise runner.RunFailed("nothing was measured")
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
        values = {subject.name: [] for subject in self.subjects}
        figures = {subject.name: [] for subject in self.subjects}
        failures = {}
        for pair in range(self.arguments.pairs):
            for subject in self.subjects:
                where = f"{case.label()} {subject.name} {pair + 1}/{self.arguments.pairs}"
                if subject.name in failures:
                    progress.skip(1)
                    continue
                progress.show(where)
                try:
                    value, beside = self.run_once(subject, case)
                except runner.RunFailed as failure:
                    failures[subject.name] = str(failure)
                    self.failures.append(f"{case.label()}: {subject.name}: {failure}")
                    progress.step(f"{where} FAILED: {failure}")
                    continue
                values[subject.name].append(value)
                figures[subject.name].append(beside)
                progress.step(f"{where} {format_value(value, case.unit)}")
        return values, figures, failures

    # --- profiles: counts that are repeatable where times are not ---

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

    def _per_message(self, case, subject, measure):
        """The difference of two runs, which takes away what starting and closing cost."""
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


def pairwise_ratios(subject_values, baseline_values):
    return [mine / theirs for mine, theirs in zip(subject_values, baseline_values)]


def summarise(values):
    return {
        "median": statistics.median(values),
        "minimum": min(values),
        "maximum": max(values),
    }


def median_figures(rows):
    keys = rows[0].keys() if rows else ()
    return {
        key: statistics.median(row[key] for row in rows)
        for key in keys
        if rows[0][key] is not None
    }


def make_lines(context, case, comparison, values, figures, failures, profiles, bound):
    """The JSON lines of one case: an absolute one per subject and a ratio per compared one."""
    parameters = dataclasses.asdict(case)
    parameters.update(
        seconds=comparison.arguments.seconds,
        warmup=comparison.arguments.warmup,
        busy=comparison.arguments.busy,
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


def listed(decode, choices=None):
    def decode_list(text):
        items = [decode(item) for item in text.split(",") if item]
        for item in items:
            if choices is not None and item not in choices:
                raise argparse.ArgumentTypeError(f"{item} is none of {', '.join(choices)}")
        return items

    return decode_list


def decode_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--subject", action="append", metavar="NAME=DIR", dest="subjects",
        help="a library: a name and the folder of its libzmq.so.5; the first one is the baseline; "
        "libzmq, zlink and omq need no folder (default: libzmq, zlink)",
    )
    parser.add_argument("--targets", action="store_true", help="run the goals and judge them")
    parser.add_argument("--patterns", type=listed(str, PATTERNS))
    parser.add_argument("--transports", type=listed(str, TRANSPORTS))
    parser.add_argument("--sizes", type=listed(decode_size), help="e.g. 64,1K,64K,1M")
    parser.add_argument("--peers", type=listed(int), help="subscribers of pub_sub (1,8)")
    parser.add_argument("--api", type=listed(str, ["buffer", "msg", "ref"]),
                        help="buffer, msg, ref (buffer; with --targets as each goal says)")
    parser.add_argument("--mechanism", type=listed(str, ["null", "plain", "curve"]),
                        help="null, plain, curve (null; with --targets as each goal says)")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="measured time of a run")
    parser.add_argument("--warmup", type=float, default=0.5)
    parser.add_argument(
        "--io-threads", action="append", default=[], metavar="NAME=N",
        help="I/O threads of a subject (1); 0 lets the caller drive I/O",
    )
    parser.add_argument("--busy", type=int, default=0, metavar="N",
                        help="N processes compute beside it, as where a machine has other work (0)")
    parser.add_argument("--profile", action="store_true",
                        help="also count system calls (strace) and instructions (callgrind)")
    parser.add_argument("--no-raw", action="store_true", help="leave out the raw-socket limit")
    parser.add_argument("--binary", help="pattern_bench to run (default: built when needed)")
    parser.add_argument("--output", default=os.path.join(runner.BUILD_DIR, "results"),
                        help="folder for results.jsonl and report.html")
    arguments = parser.parse_args()
    threads = {}
    for text in arguments.io_threads:
        name, _, number = text.partition("=")
        if not number.isdigit():
            parser.error(f"--io-threads {text}: NAME=N is needed")
        threads[name] = int(number)
    arguments.io_threads = threads
    if arguments.pairs < 1 or arguments.seconds <= 0:
        parser.error("--pairs and --seconds must be positive")
    if arguments.busy < 0:
        parser.error("--busy must not be negative")
    try:
        subjects = [
            runner.decode_subject(text) for text in arguments.subjects or ["libzmq", "zlink"]
        ]
    except ValueError as problem:
        parser.error(str(problem))
    if len({subject.name for subject in subjects}) != len(subjects):
        parser.error("each subject needs a name of its own")
    return arguments, subjects


def select_cases(arguments):
    """The cases to run, each with its goal or None."""
    known = dict(goals())
    if arguments.targets:
        cases = list(known)
    else:
        cases = [
            Case(pattern, transport, size, peers, api, mechanism)
            for pattern in arguments.patterns or PATTERNS
            for transport in arguments.transports or TRANSPORTS
            for size in arguments.sizes or (SIZES if pattern in THROUGHPUT_PATTERNS else [64, 1024])
            for peers in ((arguments.peers or [1, 8]) if pattern == "pub_sub" else [1])
            for api in arguments.api or ["buffer"]
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


def main():
    arguments, subjects = decode_arguments()
    runner.exit_on_signals()
    cases = select_cases(arguments)
    if not cases:
        sys.exit("no case is selected")
    comparison = Comparison(arguments, subjects)
    context = {
        "commit": read_commit(),
        "machine": describe_machine(),
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "libraries": {subject.name: library_digest(subject) for subject in subjects},
    }
    os.makedirs(arguments.output, exist_ok=True)
    lines_path = os.path.join(arguments.output, "results.jsonl")
    report_path = os.path.join(arguments.output, "report.html")
    progress = Progress(len(cases) * len(subjects) * arguments.pairs)
    all_lines = []
    interrupted = False
    runner.start_busy(arguments.busy)
    print(table_row([title for title, _ in COLUMNS]), flush=True)
    with open(lines_path, "w", encoding="utf-8") as output:
        try:
            for case, bound in cases:
                values, figures, failures = comparison.compare(case, progress)
                profiles = {}
                if arguments.profile:
                    for subject in subjects:
                        if subject.name not in failures:
                            progress.show(f"{case.label()} {subject.name} profile")
                            profiles[subject.name] = comparison.profile(case, subject)
                progress.show(f"{case.label()} raw limit")
                lines = make_lines(
                    context, case, comparison, values, figures, failures, profiles, bound
                )
                for line in lines:
                    output.write(json.dumps(line) + "\n")
                output.flush()
                all_lines += lines
                progress.clear()
                for row in case_rows(case, lines, bound):
                    print(row, flush=True)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            runner.end_all()
    progress.clear()
    with open(report_path, "w", encoding="utf-8") as page:
        page.write(report.make_page(all_lines))
    judged = [line for line in all_lines if line["kind"] == "ratio" and "goal" in line]
    if judged:
        reached = sum(line["reached"] for line in judged)
        print(f"{reached} of {len(judged)} goals reached")
    for failure in comparison.failures:
        print(f"failed run: {failure}")
    print(f"wrote {lines_path} and {report_path}")
    if interrupted:
        sys.exit(130)
    sys.exit(1 if comparison.failures else 0)


if __name__ == "__main__":
    main()
