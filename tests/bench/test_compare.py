"""The comparison of patterns selects its cases as documented, and its program supports every way of calling."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import compare  # noqa: E402
from compare import Case  # noqa: E402


def selected(monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["compare.py", "--subject", "libzmq", *options])
    arguments, _ = compare.decode_arguments()
    return dict(compare.select_cases(arguments))


def test_goals_are_about_messages_unless_buffers_are_asked_for(monkeypatch):
    normal = selected(monkeypatch, "--targets")
    buffers = selected(monkeypatch, "--targets", "--api", "buffer")

    assert {case.api for case in normal} == {"msg", "ref"}
    assert {case.api for case in buffers} == {"buffer"}
    assert len(normal) == len(buffers) + 3
    assert normal[Case("push_pull", "tcp", 64)] == 4.8
    assert buffers[Case("push_pull", "tcp", 64, api="buffer")] == 6.0
    assert normal[Case("push_pull", "tcp", 1024)] == buffers[Case("push_pull", "tcp", 1024, api="buffer")]


def test_cases_without_a_goal_are_about_messages_too(monkeypatch):
    cases = selected(monkeypatch, "--patterns", "push_pull", "--transports", "tcp", "--sizes", "16")

    assert cases == {Case("push_pull", "tcp", 16, api="msg"): None}


def test_goals_in_instructions_are_those_of_each_way_of_calling(monkeypatch):
    cases = selected(monkeypatch, "--targets", "--instructions")

    assert {case.api: bound for case, bound in cases.items()} == {
        "msg": 480, "buffer": 351, "ref": 720, "frames": 720,
    }


@pytest.mark.parametrize("subject", ["libzmq", "zlink"])
def test_every_way_of_calling_brings_all_messages(tmp_path, subject):
    command = [sys.executable, ROOT / "bench" / "compare.py", "--subject", subject, "--pairs", "1"]
    command += ["--api", "msg,buffer,ref,frames", "--patterns", "push_pull,router_router,req_rep"]
    command += ["--transports", "tcp", "--sizes", "64", "--seconds", "0.1", "--warmup", "0.02", "--no-raw"]

    ended = subprocess.run([*command, "--output", tmp_path], capture_output=True, text=True, timeout=100)

    assert ended.returncode == 0, ended.stdout
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["absolute"] * 12
    assert {line["parameters"]["api"] for line in lines} == set(compare.APIS)
    said = {line["command"] for line in lines}
    assert len(said) == 1 and said.pop().startswith("bench/compare.py --subject")
