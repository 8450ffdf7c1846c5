#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Writes every figure of the documentation from the result files in bench/results: docs/figures.md with its charts, the chart
docs/throughput.svg, and the blocks of other pages that begin with `<!-- figures: NAME -->` and end with `<!-- end of figures -->`.

    make_figures.py [--check]           with --check nothing is written: the exit status is 0 if the page is up to date
    make_figures.py --add FILE NAME     copies FILE, a results.jsonl of a benchmark, to bench/results/NAME.jsonl before

Every figure of the page, its range, machine, date and command are those of a line of such a file. Lines of single runs, which
the others sum up, are not copied.
"""

import html
import json
import re
import sys

import api_header
from api_header import ROOT

PAGE = "docs/figures.md"
RESULTS = ROOT / "bench" / "results"
CHARTS = "docs/figures"
THROUGHPUT = "docs/throughput.svg"
# Pages with blocks of figures.
QUOTING = ("README.md", "README.ko.md", "docs/performance.md")
BLOCK = re.compile(r"<!-- figures: (\w+) -->\n.*?<!-- end of figures -->\n", re.S)
# The rows of the block `patterns`, and those of the chart, in which all messages have 64 bytes.
QUOTED = ("PUSH/PULL tcp 64 B", "PUSH/PULL tcp 64 KiB", "PUSH/PULL ipc 64 B", "PUSH/PULL inproc 64 B", "DEALER/ROUTER tcp 64 B",
          "PUB/SUB tcp 64 B, 1 subscriber", "PUSH/PULL tcp 64 B, CURVE", "half a REQ/REP round trip tcp 64 B")
DRAWN = ("PUSH/PULL inproc 64 B", "PUSH/PULL ipc 64 B", "PUSH/PULL tcp 64 B", "PUB/SUB tcp 64 B, 1 subscriber",
         "ROUTER/ROUTER tcp 64 B", "DEALER/ROUTER tcp 64 B", "PUSH/PULL tcp 64 B, CURVE")
# Each program's section: title, what a ratio is, and how its lines are read (below).
PROGRAMS = ("bench/compare.py", "bench/apps/run.py", "bench/stream/scenarios.py", "bench/media/experiment.py")
SUMMED_UP = ("run",)
WIDTH, LEFT, RIGHT, TOP, ROW = 760, 330, 60, 46, 24
LABEL_CHARACTERS_MAX = 56


class BadResults(Exception):
    """A result file that no figure can be made of."""


def read_lines(path):
    lines = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except ValueError as wrong:
            raise BadResults(f"{path}: line {number} is not JSON: {wrong}") from None
        if not isinstance(line, dict) or not {"kind", "command", "commit", "machine", "time"} <= line.keys():
            raise BadResults(f"{path}: line {number} lacks its kind, command, commit, machine or time; measure again")
        lines.append(line)
    if not lines:
        raise BadResults(f"{path} has no results")
    programs = {program_of(line) for line in lines}
    if len(programs) != 1 or programs.pop() not in PROGRAMS:
        raise BadResults(f"{path}: the results have to be those of one of {', '.join(PROGRAMS)}")
    return lines


def program_of(line):
    return line["command"].split()[0]


# --- words and numbers ---


def number(value):
    """Three digits, with K or M."""
    for suffix, scale in ((" M", 1e6), (" K", 1e3)):
        if value >= 0.9995 * scale:
            return f"{digits(value / scale)}{suffix}"
    return digits(value)


def digits(value):
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def spread(line, show=number, unit=""):
    return f"{show(line['median'])}{unit} ({show(line['minimum'])} to {show(line['maximum'])})"


def ratio_text(line):
    return spread(line, digits)


def size_name(size):
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale and size % scale == 0:
            return f"{size // scale} {unit}"
    return f"{size} B"


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


# --- each program's results: a table, and the ratios of the chart ---


class Ratio:
    """A ratio of the chart; `is_less_better` for times."""

    def __init__(self, label, line, is_less_better=False):
        self.label = label
        self.line = line
        self.is_less_better = is_less_better

    @property
    def is_behind(self):
        # As it is shown: 1.00 is neither ahead nor behind.
        median = round(self.line["median"], 2)
        return median > 1 if self.is_less_better else median < 1


PATTERNS = {
    "push_pull": "PUSH/PULL", "pair": "PAIR", "dealer_dealer": "DEALER/DEALER", "dealer_router": "DEALER/ROUTER",
    "router_router": "ROUTER/ROUTER", "router_router_poll": "ROUTER/ROUTER with poll", "pub_sub": "PUB/SUB",
    "req_rep": "half a REQ/REP round trip", "dealer_router_latency": "half a DEALER/ROUTER round trip",
}


def case_name(parameters):
    name = f"{PATTERNS[parameters['pattern']]} {parameters['transport']} {size_name(parameters['size'])}"
    if parameters["pattern"] == "pub_sub":
        name += f", {parameters['peers']} subscriber" + ("s" if parameters["peers"] > 1 else "")
    if parameters["mechanism"] != "null":
        name += f", {parameters['mechanism'].upper()}"
    if parameters["api"] != "msg":
        name += f", api {parameters['api']}"
    if parameters["caller_driven"]:
        name += ", without I/O threads"
    return name


def compared(lines):
    """The headings of the two columns of values, and what is before a value: its library, if they vary."""
    pairs = {(line["baseline"], line["subject"]) for line in lines if line["kind"] == "ratio"}
    return (*pairs.pop(), False) if len(pairs) == 1 else ("baseline", "subject", True)


def read_patterns(lines):
    first, second, is_named = compared(lines)
    absolute = {(case_name(line["parameters"]), line["subject"]): line for line in lines if line["kind"] == "absolute"}
    rows, ratios = [], []
    for line in lines:
        if line["kind"] != "ratio":
            continue
        name, baseline = case_name(line["parameters"]), line["baseline"]
        unit = " µs" if line["medians_unit"] == "us" else "/s"
        values = [f"{f'{each}: ' if is_named else ''}{number(absolute[name, each]['median'])}{unit}"
                  for each in (baseline, line["subject"])]
        # The limit of the sockets is measured once per transport and size.
        limit = absolute[name, baseline].get("raw_limit")
        rows.append([name, *values, ratio_text(line), line["pairs"],
                     "" if limit is None else f"{number(limit)}{unit}"])
        ratios.append(Ratio(name, line, line["medians_unit"] == "us"))
    return table(["messages, or time", first, second, "ratio", "pairs", "sockets of the system"], rows), ratios


def read_applications(lines):
    first, second, is_named = compared(lines)
    absolute = {}
    for line in lines:
        if line["kind"] == "absolute":
            parameters = line["parameters"]
            absolute[parameters["workload"], parameters["cpus"], line["subject"]] = line
    rows, ratios = [], []
    for line in lines:
        if line["kind"] != "ratio":
            continue
        workload, cpus = line["parameters"]["workload"], line["parameters"]["cpus"]
        name = f"{workload}, {cpus} processor" + ("s" if cpus > 1 else "")
        values = [f"{f'{each}: ' if is_named else ''}{number(absolute[workload, cpus, each]['median'])}/s"
                  for each in (line["baseline"], line["subject"])]
        rows.append([name, *values, ratio_text(line), ratio_text(line["ratios"]["cpu"]), line["pairs"]])
        ratios.append(Ratio(f"{name}: rate", line))
        ratios.append(Ratio(f"{name}: processor time", line["ratios"]["cpu"], True))
    return table(["workload", first, second, "ratio of the rates", "ratio of the processor time", "pairs"], rows), ratios


def stream_load(parameters):
    scenario = "" if parameters["scenario"] == "s2" else f"{parameters['scenario']}, "
    return f"{scenario}{parameters['ccu']:,} {parameters['transport']} clients, {size_name(parameters['size'])}"


def judged_name(line):
    return f"{line['name']}, {stream_load(line['parameters'])}"


def read_stream(lines):
    rows, judged, ratios = [], [], []
    for line in lines:
        if line["kind"] == "absolute":
            unit = {"msg/s": "/s", "us": " µs"}.get(line["unit"], f" {line['unit']}")
            rows.append([stream_load(line["parameters"]), line["server"], spread(line, unit=unit), line["pairs"]])
        elif line["kind"] in ("goal", "claim"):
            is_judged = "median" in line
            told = ratio_text(line) if is_judged else f"not judged: {line['why']}"
            judged.append([judged_name(line), told, line["pairs"], digits(line["goal"]), "reached" if line["reached"] else "missed"])
            if is_judged:
                ratios.append(Ratio(judged_name(line), line))
    text = table(["load", "server", "messages, connections or time", "runs"], rows)
    if judged:
        text += "\n" + table(["ratio", "median (range)", "runs", "at least", ""], judged)
    return text, ratios


FILE_FIGURES = {"requests_per_second": ("requests per second", False), "p95_ms": ("95th percentile", True),
                "server_cpu_us_per_request": ("server's time per request", True)}


def load_name(parameters):
    what = f"files of {size_name(parameters['size'])}" if parameters["is_whole"] else f"ranges of {size_name(parameters['size'])}"
    tls = ", TLS" if parameters["is_secure"] else ""
    return f"{what}, {parameters['users']} users, {parameters['mode']}{tls}"


def read_files(lines):
    rows, ratios = [], []
    for line in lines:
        if line["kind"] == "absolute":
            figures = line["figures"]
            rows.append([load_name(line["parameters"]), line["server"], spread(figures["requests_per_second"]),
                         f"{digits(figures['p95_ms']['median'])} ms",
                         f"{digits(figures['server_cpu_us_per_request']['median'])} µs", line["pairs"]])
        elif line["kind"] == "ratio" and line["figure"] in FILE_FIGURES:
            name, is_less_better = FILE_FIGURES[line["figure"]]
            ratios.append(Ratio(f"{load_name(line['parameters'])}: {name}, {line['server']} over {line['baseline']}", line,
                                is_less_better))
    text = table(["load", "server", "requests per second", "95th percentile", "server's time per request", "runs"], rows)
    text += "\n" + table(["ratio", "median (range)", "pairs"],
                         [[each.label, ratio_text(each.line), each.line["pairs"]] for each in ratios])
    return text, ratios


SECTIONS = {
    "bench/compare.py": ("Patterns", read_patterns,
                         "Sender and receiver are two processes (inproc: two threads), which run on each library in turn. A ratio "
                         "is the subject's value divided by the baseline's of the same pair."),
    "bench/apps/run.py": ("Applications", read_applications,
                          "Whole programs, which run on each library in turn. Of processor time per message less is better."),
    "bench/stream/scenarios.py": ("STREAM: one server, many clients", read_stream,
                                  "Echo servers under the load of one client program, in turns."),
    "bench/media/experiment.py": ("Files over HTTP", read_files,
                                  "Servers of files under the load of one client program, in turns. Of times less is better."),
}


# --- the chart ---


def svg_text(x, y, words, **attributes):
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{given}>{html.escape(words)}</text>'


def shorten(label):
    return label if len(label) <= LABEL_CHARACTERS_MAX else label[: LABEL_CHARACTERS_MAX - 1] + "…"


def make_chart(title, ratios):
    """Bars of the medians, from the ratio 1 on, with the range of each."""
    highest = max(1.0, *(each.line["maximum"] for each in ratios))
    height = TOP + ROW * len(ratios) + 14

    def x_of(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * value / highest

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        "<!-- Written by scripts/make_figures.py from bench/results. -->",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        svg_text(16, 24, title, font_size=15, font_weight="bold", fill="#1f2933"),
        f'<line x1="{x_of(1):.1f}" y1="{TOP - 8}" x2="{x_of(1):.1f}" y2="{height - 8}" stroke="#52606d" stroke-dasharray="3 3"/>',
        svg_text(round(x_of(1), 1), TOP - 12, "1", text_anchor="middle", fill="#52606d"),
    ]
    for index, each in enumerate(ratios):
        line, y = each.line, TOP + ROW * index
        color = "#c2410c" if each.is_behind else "#2f6fdf"
        label = shorten(each.label + (" ↓" if each.is_less_better else ""))
        parts += [
            svg_text(LEFT - 10, y + 14, label, text_anchor="end", fill="#1f2933", font_size=11),
            f'<rect x="{LEFT}" y="{y + 3}" width="{x_of(line["median"]) - LEFT:.1f}" height="14" fill="{color}"/>',
            f'<line x1="{x_of(line["minimum"]):.1f}" y1="{y + 10}" x2="{x_of(line["maximum"]):.1f}" y2="{y + 10}" '
            'stroke="#1f2933" stroke-width="1.5"/>',
            svg_text(round(x_of(line["maximum"]) + 6, 1), y + 14, digits(line["median"]), fill="#52606d"),
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


# --- the chart of rates ---


def make_throughput(cases):
    """Bars of the rates of both libraries, for each case of DRAWN."""
    left, right, top, row, bar = 210, 90, 50, 44, 16
    colors = (("libzmq", "#9aa5b1"), ("zlink", "#2f6fdf"))
    most = max(cases[name]["zlink"]["median"] for name in DRAWN)
    height = top + row * len(DRAWN) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        "<!-- Written by scripts/make_figures.py from bench/results. -->",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        svg_text(16, 26, "Messages of 64 bytes per second", font_size=16, font_weight="bold", fill="#1f2933"),
    ]
    for place, (library, color) in enumerate(colors):
        x = WIDTH - right - 120 + 90 * place
        parts += [f'<rect x="{x}" y="15" width="12" height="12" fill="{color}"/>', svg_text(x + 18, 26, library, fill="#1f2933")]
    for index, name in enumerate(DRAWN):
        label = name.replace(" 64 B", "").replace(", 1 subscriber", "")
        parts.append(svg_text(left - 12, top + row * index + bar + 5, label, text_anchor="end", fill="#1f2933"))
        for place, (library, color) in enumerate(colors):
            value, y = cases[name][library]["median"], top + row * index + bar * place
            length = (WIDTH - left - right) * value / most
            shown = number(value) if place == 0 else f"{number(value)} ({digits(cases[name]['ratio']['median'])} x)"
            parts += [f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar - 2}" fill="{color}"/>',
                      svg_text(round(left + length + 6, 1), y + 12, shown, font_size=12, fill="#52606d")]
    return "\n".join([*parts, "</svg>"]) + "\n"


# --- blocks of other pages ---


def pattern_cases(files):
    """The lines of each case that was measured on libzmq and zlink: `libzmq`, `zlink` and `ratio`."""
    cases = {}
    for lines in files.values():
        if program_of(lines[0]) != "bench/compare.py":
            continue
        for line in lines:
            if line["kind"] in ("absolute", "ratio"):
                place = line["subject"] if line["kind"] == "absolute" else "ratio"
                case = cases.setdefault(case_name(line["parameters"]), {})
                if place in case:
                    raise BadResults(f"bench/results has two values of {case_name(line['parameters'])}; each figure has one place")
                case[place] = line
    return cases


def origin(lines):
    first = lines[0]
    return (f"{first['time'][:10]}, commit `{first['commit']}`, {first['machine']['cpu']}, {first['machine']['cores']} processors, "
            f"Linux {first['machine']['kernel']}")


def patterns_block(files, cases):
    del files
    rows = []
    for name in QUOTED:
        case = cases[name]
        unit = " µs" if case["ratio"]["medians_unit"] == "us" else "/s"
        rows.append([name, *(f"{number(case[library]['median'])}{unit}" for library in ("libzmq", "zlink")), ratio_text(case["ratio"])])
    origins = dict.fromkeys(origin([cases[name]["ratio"]]) for name in QUOTED)
    return table(["", "libzmq", "zlink", "ratio"], rows) + "\n" + "; ".join(origins) + "\n"


def program_block(program):
    def make(files, cases):
        del cases
        made = [f"{origin(lines)}:\n\n{SECTIONS[program][1](lines)[0]}" for lines in files.values() if program_of(lines[0]) == program]
        return "\n".join(made)

    return make


BLOCKS = {"patterns": patterns_block, "applications": program_block("bench/apps/run.py"),
          "stream": program_block("bench/stream/scenarios.py"), "files": program_block("bench/media/experiment.py")}


def with_blocks(page, files, cases):
    """The text of `page` with the present figures in its blocks."""

    def one(match):
        if match[1] not in BLOCKS:
            raise BadResults(f"{page}: there are no figures '{match[1]}'; there are {', '.join(BLOCKS)}")
        return f"<!-- figures: {match[1]} -->\n\n{BLOCKS[match[1]](files, cases)}\n<!-- end of figures -->\n"

    return BLOCK.sub(one, (ROOT / page).read_text())


# --- the page ---


def facts(lines):
    first = lines[0]
    machine, parameters = first["machine"], first.get("parameters", {})
    each = f"; {parameters['seconds']:g} s a run" if "seconds" in parameters else ""
    return (f"{first['time'][:10]}, commit `{first['commit']}`; {machine['cpu']}, {machine['cores']} processors, "
            f"Linux {machine['kernel']}{each}\n\n    {first['command']}\n")


def shortfalls(ratios, lines):
    behind = [f"{each.label}: {ratio_text(each.line)}" for each in ratios if each.is_behind]
    for line in lines:
        if line["kind"] == "failure":
            behind.append(f"{line.get('subject') or line.get('server')} failed: {line['reason']}")
        elif line.get("reached") is False and "median" in line and not isinstance(line["goal"], dict):
            # The goals of applications are no more than not to be behind.
            parameters = line["parameters"]
            name = (case_name(parameters) if "pattern" in parameters else
                    judged_name(line) if "scenario" in parameters else line["name"])
            behind.append(f"{name}: the goal of {digits(line['goal'])} is missed, with {ratio_text(line)}")
    return behind


def make_pages():
    files = {path.stem: read_lines(path) for path in sorted(RESULTS.glob("*.jsonl"))}
    if not files:
        raise BadResults(f"{RESULTS.relative_to(ROOT)} has no result files")
    pages, behind = {}, []
    text = [
        "# Figures\n",
        "<!-- Written by scripts/make_figures.py from bench/results. -->\n",
        "The results of benchmarks as their programs wrote them, in [bench/results](../bench/results). Each value is a median, "
        "and the range in parentheses is from the least to the greatest. Machines differ, and the same machine differs from day "
        "to day, so ratios of runs in turns are more reliable than rates. [bench/README.md](../bench/README.md) explains how they "
        "are measured, and [performance](performance.md) what they mean.\n",
        "In the charts a bar is the median of a ratio, and the line on it the range. Orange: zlink is behind. ↓: less is better.\n",
    ]
    for program in PROGRAMS:
        mine = {name: lines for name, lines in files.items() if program_of(lines[0]) == program}
        if not mine:
            continue
        title, read, told = SECTIONS[program]
        text += [f"## {title}\n", f"{told}\n"]
        for name, lines in mine.items():
            made, ratios = read(lines)
            text.append(facts(lines))
            if ratios:
                pages[f"{CHARTS}/{name}.svg"] = make_chart(f"{title}: ratios", ratios)
                text.append(f"![The ratios of the table below](figures/{name}.svg)\n")
            text.append(made)
            behind += [f"- {title}: {each}\n" for each in shortfalls(ratios, lines)]
    text.append("## Where zlink is behind, or misses a goal\n")
    text.append("".join(behind) if behind else "In none of these results.\n")
    text.append("## New results\n")
    text.append("Every benchmark writes `results.jsonl`; its last line says where. This takes one into the page:\n\n"
                "    scripts/make_figures.py --add build/bench/results/results.jsonl NAME\n")
    pages[PAGE] = "\n".join(text)
    quoting = [page for page in QUOTING if (ROOT / page).exists()]
    if quoting:
        cases = pattern_cases(files)
        missing = [name for name in dict.fromkeys((*DRAWN, *QUOTED)) if name not in cases]
        if missing:
            raise BadResults(f"bench/results lacks {'; '.join(missing)}, which {quoting[0]} shows")
        pages[THROUGHPUT] = make_throughput(cases)
        pages |= {page: with_blocks(page, files, cases) for page in quoting}
    return pages


def add(source, name):
    if not name.replace("_", "").isalnum():
        raise BadResults(f"'{name}' is not a name: letters, digits and _")
    lines = [line for line in read_lines(source) if line["kind"] not in SUMMED_UP]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def main(words):
    is_check = words == ["--check"]
    if words and not is_check and (words[0] != "--add" or len(words) != 3):
        sys.exit(__doc__)
    try:
        if words and not is_check:
            add(api_header.Path(words[1]), words[2])
        pages = make_pages()
    except (BadResults, OSError) as wrong:
        sys.exit(f"make_figures.py: {wrong}")
    stale = api_header.write_pages(pages, is_check)
    for file in sorted((ROOT / CHARTS).glob("*.svg")):
        if f"{CHARTS}/{file.name}" not in pages:
            stale += 1
            print(f"{CHARTS}/{file.name} belongs to no result file; remove it")
    return 1 if is_check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
