# SPDX-License-Identifier: MPL-2.0
"""The page of figures, made of result files."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import api_header
import make_figures

ORIGIN = {
    "command": "bench/compare.py --pairs 5", "commit": "0123456789ab", "time": "2026-01-02T03:04:05+00:00",
    "machine": {"cpu": "Some CPU", "cores": 2, "kernel": "6.1"},
    "parameters": {"pattern": "push_pull", "transport": "tcp", "size": 65536, "peers": 1, "api": "msg", "mechanism": "null",
                   "caller_driven": False, "seconds": 3.0},
}
VALUES = {"pairs": 5, "minimum": 1.0, "maximum": 2.0}
LINES = [
    {**ORIGIN, **VALUES, "kind": "absolute", "subject": "libzmq", "median": 1_234_567, "raw_limit": 3e6},
    {**ORIGIN, **VALUES, "kind": "absolute", "subject": "zlink", "median": 999_700, "raw_limit": 3e6},
    {**ORIGIN, **VALUES, "kind": "ratio", "subject": "zlink", "baseline": "libzmq", "median": 0.81, "medians_unit": "msg/s",
     "minimum": 0.5, "maximum": 1.125},
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    for module in (make_figures, api_header):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(make_figures, "RESULTS", tmp_path / "bench/results")
    (tmp_path / "bench").mkdir()
    return tmp_path


def write(path, lines):
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_a_page_has_the_values_origin_and_shortfalls_of_the_results(project):
    file = write(project / "results.jsonl", [*LINES, {**ORIGIN, "kind": "run"}])

    assert make_figures.main(["--add", str(file), "mine"]) == 0

    page = (project / "docs/figures.md").read_text()
    assert "2026-01-02, commit `0123456789ab`; Some CPU, 2 processors, Linux 6.1; 3 s a run" in page
    assert "    bench/compare.py --pairs 5\n" in page
    assert "| PUSH/PULL tcp 64 KiB | 1.23 M/s | 1.00 M/s | 0.81 (0.50 to 1.12) | 5 | 3.00 M/s |" in page
    assert "| messages, or time | libzmq | zlink | ratio | pairs | sockets of the system |" in page
    assert "- Patterns: PUSH/PULL tcp 64 KiB: 0.81 (0.50 to 1.12)" in page
    assert ">0.81</text>" in (project / "docs/figures/mine.svg").read_text()
    assert '"kind": "run"' not in (project / "bench/results/mine.jsonl").read_text()


def test_a_page_that_differs_from_the_results_is_out_of_date(project, capsys):
    assert make_figures.main(["--add", str(write(project / "results.jsonl", LINES)), "mine"]) == 0
    assert make_figures.main(["--check"]) == 0

    write(project / "bench/results/mine.jsonl", [{**each, "commit": "ba9876543210"} for each in LINES])

    assert make_figures.main(["--check"]) == 1
    assert "docs/figures.md is out of date" in capsys.readouterr().out


@pytest.mark.parametrize("text, told", [
    ("", "has no results"),
    ("{", "line 1 is not JSON"),
    ('{"kind": "ratio"}', "line 1 lacks its kind, command, commit, machine or time"),
    (json.dumps({**ORIGIN, "kind": "ratio", "command": "bench/python/compare.py"}), "have to be those of one of"),
])
def test_a_file_without_results_is_refused(project, text, told):
    (project / "results.jsonl").write_text(text)

    with pytest.raises(SystemExit) as raised:
        make_figures.main(["--add", str(project / "results.jsonl"), "mine"])
    assert told in str(raised.value)
    assert not (project / "bench/results").exists()


def cases_of_all_quoted_rows():
    lines = []
    for name in dict.fromkeys((*make_figures.QUOTED, *make_figures.DRAWN)):
        pattern = next(key for key, shown in sorted(make_figures.PATTERNS.items(), key=lambda each: -len(each[1]))
                       if name.startswith(f"{shown} "))
        size = 65536 if "64 KiB" in name else 64
        parameters = {**ORIGIN["parameters"], "pattern": pattern, "size": size, "peers": 1,
                      "transport": next(each for each in ("inproc", "ipc", "tcp") if f" {each} " in name),
                      "mechanism": "curve" if "CURVE" in name else "null"}
        lines += [{**each, "parameters": parameters} for each in LINES]
    return lines


def test_pages_quote_the_results(project):
    page = project / "README.md"
    page.write_text("before\n<!-- figures: patterns -->\nold\n<!-- end of figures -->\nafter\n")
    assert make_figures.main(["--add", str(write(project / "results.jsonl", cases_of_all_quoted_rows())), "mine"]) == 0

    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| PUSH/PULL tcp 64 KiB | 1.23 M/s | 1.00 M/s | 0.81 (0.50 to 1.12) |" in text
    assert "2026-01-02, commit `0123456789ab`, Some CPU, 2 processors, Linux 6.1" in text
    assert "1.23 M" in (project / "docs/throughput.svg").read_text()
    assert make_figures.main(["--check"]) == 0

    page.write_text(text.replace("1.23", "1.24"))
    assert make_figures.main(["--check"]) == 1


@pytest.mark.parametrize("block, lines, told", [
    ("patterns", LINES, "lacks PUSH/PULL inproc 64 B"),
    ("patterns", [*cases_of_all_quoted_rows(), *LINES], "has two values of PUSH/PULL tcp 64 KiB"),
    ("weather", cases_of_all_quoted_rows(), "there are no figures 'weather'"),
])
def test_results_that_pages_cannot_quote_are_refused(project, block, lines, told):
    (project / "README.md").write_text(f"<!-- figures: {block} -->\n<!-- end of figures -->\n")

    with pytest.raises(SystemExit) as raised:
        make_figures.main(["--add", str(write(project / "results.jsonl", lines)), "mine"])
    assert told in str(raised.value)
