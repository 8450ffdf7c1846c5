# SPDX-License-Identifier: MPL-2.0
"""Alternating runs of subjects: code shared by the drivers that compare libraries."""

import argparse
import datetime
import hashlib
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import time

import runner


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
    """Progress on standard error: a bar on a terminal, else one plain line per run."""

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


def read_command():
    """The command that runs, as one types it in the project's folder; without the folder of its results."""
    program = os.path.relpath(os.path.realpath(sys.argv[0]), runner.PROJECT_DIR)
    words, rest = [program], sys.argv[1:]
    while rest:
        word = rest.pop(0)
        if word == "--output":
            rest = rest[1:]
        elif not word.startswith("--output="):
            words.append(word)
    return shlex.join(words)


def make_origin():
    """The origin of the results, which every result line states."""
    return {
        "command": read_command(),
        "commit": read_commit(),
        "machine": describe_machine(),
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def make_context(subjects):
    return dict(make_origin(), libraries={subject.name: library_digest(subject) for subject in subjects})


def alternate(subjects, pairs, label, run_once, show, progress):
    """Runs the subjects alternately: A B A B ...

    `run_once` takes a subject and returns a result; `show` turns a result into a text for the progress line.
    Returns the results per subject, and the reason per failed subject, which is not run again.
    """
    results = {subject.name: [] for subject in subjects}
    failures = {}
    for pair in range(pairs):
        for subject in subjects:
            where = f"{label} {subject.name} {pair + 1}/{pairs}"
            if subject.name in failures:
                progress.skip(1)
                continue
            progress.show(where)
            try:
                result = run_once(subject)
            except runner.RunFailed as failure:
                failures[subject.name] = str(failure)
                progress.step(f"{where} FAILED: {failure}")
                continue
            results[subject.name].append(result)
            progress.step(f"{where} {show(result)}")
    return results, failures


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


# --- the part of the command line that they share ---


def listed(decode, choices=None):
    def decode_list(text):
        items = [decode(item) for item in text.split(",") if item]
        for item in items:
            if choices is not None and item not in choices:
                raise argparse.ArgumentTypeError(f"{item} is not one of {', '.join(choices)}")
        return items

    return decode_list


def add_run_arguments(parser, output, what_is_written):
    parser.add_argument(
        "--subject", action="append", metavar="NAME=DIR", dest="subjects",
        help="a library: a name and the folder of its libzmq.so.5; the first one is the baseline; "
        "libzmq, wheel (pyzmq's), zlink and omq need no folder (default: libzmq, zlink)",
    )
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="measured time of a run")
    parser.add_argument("--warmup", type=float, default=0.5)
    parser.add_argument("--output", default=os.path.join(runner.BUILD_DIR, output),
                        help=f"folder for {what_is_written}")


def decode_subjects(parser, arguments):
    """The subjects of the command line; checks the options of add_run_arguments."""
    if arguments.pairs < 1 or arguments.seconds <= 0:
        parser.error("--pairs must be at least 1 and --seconds above 0")
    try:
        subjects = [
            runner.decode_subject(text) for text in arguments.subjects or ["libzmq", "zlink"]
        ]
    except ValueError as problem:
        parser.error(str(problem))
    if len({subject.name for subject in subjects}) != len(subjects):
        parser.error("two subjects have the same name; give each a different one, as NAME=DIR")
    return subjects
