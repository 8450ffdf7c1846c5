"""The load client of the media experiment notices every wrong response, and the experiment judges as documented.

ZLINK_MEDIA_PROGRAMS names the folder of the programs, ZLINK_TOOL the program zlink, ZLINK_TOOL_LIBRARY the folder of its
library, instead of the release build's.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("ZLINK_MEDIA_PROGRAMS", ROOT / "build" / "release" / "bench" / "media"))
TOOL = Path(os.environ.get("ZLINK_TOOL", ROOT / "build" / "release" / "tools" / "zlink"))
LIBRARY = os.environ.get("ZLINK_TOOL_LIBRARY", "")
EXPERIMENT = ROOT / "bench" / "media" / "experiment.py"
sys.path.insert(0, str(ROOT / "bench" / "media"))

import experiment  # noqa: E402
import judging  # noqa: E402
import loads  # noqa: E402
import media_report  # noqa: E402
from judging import KIB, MIB, Claim, Term  # noqa: E402
from loads import Cell  # noqa: E402

import runner  # noqa: E402

FILE_BYTES = 40_000
CHUNK_BYTES = 8192


@pytest.fixture(scope="module")
def client():
    if not (PROGRAMS / "load_client").exists():
        pytest.exit(f"{PROGRAMS} has no load_client: build it first", 2)
    return str(PROGRAMS / "load_client")


@pytest.fixture(scope="module")
def content(client, tmp_path_factory):
    path = tmp_path_factory.mktemp("media") / "file"
    subprocess.run([client, "--make", path, "--file-size", str(FILE_BYTES)], check=True)
    made = path.read_bytes()
    assert len(made) == FILE_BYTES
    return made


class FileServer:
    """Answers requests for ranges, and passes each response through a function of its head and body."""

    def __init__(self, content, spoil=lambda head, body: head + body):
        self._content = content
        self._spoil = spoil
        self._listener = socket.create_server(("127.0.0.1", runner.free_port()), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.connections = 0
        self.targets = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        with peer, contextlib.suppress(OSError):
            received = b""
            while True:
                while b"\r\n\r\n" not in received:
                    got = peer.recv(4096)
                    if not got:
                        return
                    received += got
                request, _, received = received.partition(b"\r\n\r\n")
                response = self._spoil(*self._answer(request))
                if response is None:
                    return
                peer.sendall(response)

    def _answer(self, request):
        lines = request.split(b"\r\n")
        self.targets.add(lines[0].decode())
        [asked] = [line for line in lines if line.lower().startswith(b"range: bytes=")] or [None]
        if asked is None:
            body = self._content
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body
        first, last = map(int, asked.split(b"=")[1].split(b"-"))
        body = self._content[first : last + 1]
        head = b"HTTP/1.1 206 Partial Content\r\nContent-Length: %d\r\n" % len(body)
        head += b"Content-Range: bytes %d-%d/%d\r\n\r\n" % (first, last, len(self._content))
        return head, body


def load(client, port, **changes):
    options = {
        "port": port, "file-size": FILE_BYTES, "chunk": CHUNK_BYTES, "users": 3, "warmup": 0.05,
        "measure": 0.3, "drain-timeout": 0.5, "verify": 1, "limit": 20, **changes,
    }
    words = [word for name, value in options.items() for word in ("--" + name, str(value))]
    ended = subprocess.run([client, *words], capture_output=True, text=True, timeout=30)
    result = json.loads(ended.stdout)
    assert ended.returncode == (0 if result["pass"] else 1)
    return result


def load_spoilt(client, content, spoil, **changes):
    server = FileServer(content, spoil)
    try:
        return load(client, server.port, **changes)
    finally:
        server.close()


# --- the load client ---


@pytest.mark.parametrize("persistent", [1, 0])
def test_right_responses_are_counted(client, content, persistent):
    server = FileServer(content)
    result = load(client, server.port, persistent=persistent)
    server.close()

    assert result["pass"], result
    assert result["failures"] == result["unfinished"] == 0
    assert 0 < result["requests"] < result["requests_total"]
    assert result["bytes"] == result["requests"] * CHUNK_BYTES
    assert result["requests_per_second"] == pytest.approx(result["requests"] / result["seconds"])
    assert 0 < result["p50_ms"] <= result["p95_ms"] <= result["p99_ms"] <= result["max_ms"] * 1.01
    assert result["connections"] == server.connections
    assert server.connections == 3 if persistent else server.connections >= result["requests_total"]


def test_whole_files_are_requested_by_number(client, content):
    server = FileServer(content)
    result = load(client, server.port, chunk=0, files=2, path="/part-{}.bin")
    server.close()

    assert result["pass"], result
    assert result["bytes"] == result["requests"] * FILE_BYTES
    assert server.targets == {"GET /part-0.bin HTTP/1.1", "GET /part-1.bin HTTP/1.1"}


def test_users_pause_between_their_requests(client, content):
    server = FileServer(content)
    result = load(client, server.port, pause=0.1, measure=1.0)
    server.close()

    assert result["pass"], result
    # Three users with a pause of 0.1 s; a busy machine makes it fewer.
    assert 10 <= result["requests"] <= 33


SPOILT = {
    "another status": (lambda head, body: head.replace(b"206", b"200") + body, "status 200 instead of 206"),
    "a longer Content-Length": (
        lambda head, body: head.replace(b"Length: 8192", b"Length: 8193") + body,
        "Content-Length is 8193 instead of 8192",
    ),
    "no Content-Length": (
        lambda head, body: head.replace(b"Content-Length", b"Content-Size") + body,
        "Content-Length is missing instead of 8192",
    ),
    "another part": (
        lambda head, body: head.replace(b"/40000", b"/40001") + body,
        "Content-Range is missing or that of another part",
    ),
    "no Content-Range": (
        lambda head, body: head.replace(b"Content-Range", b"Content-Part") + body,
        "Content-Range is missing or that of another part",
    ),
    "an altered byte": (
        lambda head, body: head + body[:-1] + bytes([body[-1] ^ 1]), "the content differs, at or after ",
    ),
    "a byte too many": (lambda head, body: head + body + b"x", ""),
    "no HTTP": (lambda head, body: b"hello\r\n\r\n", "the head of a response is malformed"),
    "an endless head": (lambda head, body: b"HTTP/1.1 206 " + b"x" * 5000, "the head of a response is too long"),
    "an early end": (lambda head, body: None, "the connection was closed before the end of the response"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_wrong_response_is_a_failure(client, content, name):
    spoil, complaint = SPOILT[name]
    result = load_spoilt(client, content, spoil)

    assert not result["pass"]
    assert result["failures"] > 0
    assert result["first_failure"].startswith(complaint)
    if name != "a byte too many":
        assert result["requests_total"] == 0


@pytest.mark.parametrize("verify", [0, 1])
def test_a_response_that_never_ends_is_a_failure(client, content, verify):
    result = load_spoilt(client, content, lambda head, body: head + body[:-1], verify=verify)

    assert not result["pass"]
    assert result["failures"] == result["unfinished"] == 3
    assert result["first_failure"] == "no complete response within the drain timeout"


def test_a_server_that_closes_its_connection_after_each_response_is_allowed_to(client, content):
    def close_after(head, body):
        return head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + body

    result = load_spoilt(client, content, close_after)

    assert result["pass"], result
    assert result["connections"] >= result["requests_total"]


def test_nobody_listening_is_a_failure(client):
    result = load(client, runner.free_port())

    assert not result["pass"]
    assert result["requests"] == 0
    assert result["first_failure"] == "connect: Connection refused"


# --- judging ---

SMALL, LARGE = Cell(64 * KIB, 100, "paced"), Cell(MIB, 100, "paced")


def result(passed=True, **figures):
    return {"pass": passed, **figures}


@pytest.mark.parametrize(
    "is_less_better, is_about_java, ratio, verdict",
    [
        (True, False, 0.45, "beaten"),
        (True, False, 0.54, "reproduced"),
        (True, False, 0.56, "refuted, but the direction holds"),
        (True, False, 1.2, "refuted"),
        (True, True, 0.1, "reproduced"),
        (False, False, 0.56, "beaten"),
        (False, False, 0.46, "reproduced"),
        (False, False, 0.40, "refuted"),
    ],
)
def test_a_claim_is_judged_by_its_ratio(is_less_better, is_about_java, ratio, verdict):
    claim = Claim("1", "x", Term("zlink", SMALL, "p95_ms"), Term("spring", SMALL, "p95_ms"), 0.5,
                  is_less_better, is_about_java)
    results = {
        (SMALL, "zlink"): [result(p95_ms=ratio)] * 3,
        (SMALL, "spring"): [result(p95_ms=1.0)] * 3,
    }

    line = judging.judge(claim, results, {})

    assert line["verdict"] == verdict
    assert line["median"] == pytest.approx(ratio)
    assert line["reached"] == (not verdict.startswith("refuted"))


def test_nothing_is_judged_by_runs_that_failed_or_were_not_made():
    claim = Claim("1", "x", Term("zlink", SMALL, "p95_ms"), Term("spring", SMALL, "p95_ms"), 0.5)
    ours, theirs = (SMALL, "zlink"), (SMALL, "spring")
    good, bad = [result(p95_ms=0.1)], [result(passed=False, p95_ms=1.0)]

    assert judging.judge(claim, {ours: good}, {})["verdict"] == "not judged: spring was not measured"
    assert judging.judge(claim, {ours: good, theirs: []}, {theirs: "x"})["verdict"] == (
        "not judged: spring failed"
    )
    line = judging.judge(claim, {ours: good, theirs: bad}, {})
    assert line["verdict"] == "not judged: runs of spring had failures"
    assert not line["reached"]


def test_a_goal_is_judged_against_the_better_nginx():
    [goal] = [
        goal for goal in judging.goals() if goal.name == "server CPU per request" and goal.over.cell == SMALL
    ]
    results = {
        (SMALL, server): [result(server_cpu_us_per_request=value) for value in values]
        for server, values in (("zlink", (7, 8, 9)), ("nginx", (20, 20, 20)), ("nginx-nopush", (10, 10, 10)))
    }

    line = judging.judge(goal, results, {})

    assert goal.bound == 0.75
    assert (line["median"], line["minimum"], line["maximum"]) == (0.8, 0.7, 0.9)
    assert line["verdict"] == "missed"
    del results[(SMALL, "nginx-nopush")]
    line = judging.judge(goal.without(lambda term: term.server == "nginx-nopush"), results, {})
    assert line["verdict"] == "reached"


def test_a_growth_is_judged_by_its_difference_in_milliseconds():
    goal = next(
        goal for goal in judging.goals() if isinstance(goal, judging.GrowthGoal) and goal.other == "java-copy"
    )
    results = {
        (cell, server): [result(p95_ms=value)]
        for cell, server, value in (
            (SMALL, "zlink", 1.0), (LARGE, "zlink", 3.0), (SMALL, "java-copy", 2.0), (LARGE, "java-copy", 5.0)
        )
    }

    line = judging.judge(goal, results, {})

    assert (line["median"], line["verdict"]) == (1.0, "reached")
    results[(LARGE, "zlink")] = [result(p95_ms=4.5)]
    assert judging.judge(goal, results, {})["verdict"] == "missed"


# --- the experiment ---


def planned(monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["experiment.py", *options])
    return experiment.Plan(experiment.decode_arguments())


def test_the_experiments_have_the_published_loads_and_claims(monkeypatch):
    plan = planned(monkeypatch)

    assert [(cell.size, cell.users, cell.mode) for cell in plan.cells()] == [
        (64 * KIB, 100, "paced"), (MIB, 100, "paced"), (256 * KIB, 100, "paced"),
        (256 * KIB, 300, "paced"), (256 * KIB, 500, "paced"),
    ]
    assert {claim.name[:2] for claim in plan.judged} == {"B1", "B2", "B3", "B4"}
    assert len(plan.judged) == len(judging.claims(0.1))


def test_options_select_among_the_goals(monkeypatch):
    plan = planned(monkeypatch, "goals", "--sizes", "1M", "--users", "500", "--tls", "yes", "--modes", "paced")

    assert plan.cells() == [Cell(MIB, 500, "paced", is_secure=True)]
    assert [goal.name for goal in plan.judged] == ["server CPU per request", "requests/s", "p95"]
    assert len(planned(monkeypatch, "goals").judged) == len(judging.goals())


def tool_options(tmp_path):
    options = ["--programs", PROGRAMS, "--zlink", TOOL, "--files", tmp_path / "files"]
    options += ["--output", tmp_path / "results", "--file-size", "2M", "--sizes", "64K"]
    return [str(word) for word in options + (["--library", LIBRARY] if LIBRARY else [])]


NATIVE = ["zlink"] + (["nginx"] if shutil.which("nginx") else [])


@pytest.mark.skipif(not TOOL.exists(), reason="there is no zlink")
def test_the_experiment_writes_a_table_csv_lines_and_a_page(client, tmp_path):
    command = [sys.executable, EXPERIMENT, "cells", "1", *tool_options(tmp_path), "--servers", ",".join(NATIVE)]
    command += ["--users", "20,100", "--modes", "paced,saturated-new", "--tls", "both", "--verify"]
    command += ["--pairs", "2", "--seconds", "0.3", "--warmup", "0.1", "--no-syscalls"]

    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    count = 8 * len(NATIVE) * 2
    assert f"{count} of {count} runs without failures" in ended.stdout
    rows = (tmp_path / "results" / "results.csv").read_text().splitlines()
    assert rows[0].startswith("size,users,mode,is_secure,is_whole,server,pair,pass,requests,failures,")
    assert len(rows) == 1 + count
    lines = [json.loads(line) for line in (tmp_path / "results" / "results.jsonl").read_text().splitlines()]
    kinds = [line["kind"] for line in lines]
    assert (kinds.count("run"), kinds.count("absolute")) == (count, count // 2)
    runs = [line["result"] for line in lines if line["kind"] == "run"]
    assert all(run["server_cpu_seconds"] > 0 for run in runs)
    assert {run["cipher"] for run in runs} == {"", "TLSv1.3 TLS_AES_128_GCM_SHA256"}
    page = (tmp_path / "results" / "report.html").read_text()
    assert page == media_report.make_page(lines)
    assert "http://" not in page and "https://" not in page and "src=" not in page


@pytest.mark.skipif(not TOOL.exists(), reason="there is no zlink")
def test_an_interrupted_experiment_reports_and_leaves_no_process(client, tmp_path):
    command = [sys.executable, EXPERIMENT, "cells", *tool_options(tmp_path), "--servers", "zlink"]
    command += ["--users", "20,21,22", "--modes", "paced", "--seconds", "2", "--warmup", "0", "--no-syscalls"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith("1/3")
        time.sleep(0.3)
        servers = experiment.servers.processes_of(process.pid)
        assert len(servers) > 1
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=30)

    assert process.returncode == 130
    assert "1 of 1 runs without failures" in told
    assert (tmp_path / "results" / "report.html").exists()
    assert not any(os.path.exists(f"/proc/{server}") for server in servers)


@pytest.mark.skipif(not TOOL.exists(), reason="there is no zlink")
def test_a_server_that_fails_ends_with_its_reason(client, tmp_path):
    broken = tmp_path / "zlink"
    broken.write_text("#!/bin/sh\necho out of order >&2\nexit 1\n")
    broken.chmod(0o755)
    command = [sys.executable, EXPERIMENT, "cells", *tool_options(tmp_path), "--zlink", str(broken)]
    command += ["--servers", "zlink", "--users", "20", "--modes", "paced", "--seconds", "0.2"]

    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 1
    assert "zlink ended: out of order" in ended.stdout


@pytest.mark.skipif(shutil.which("strace") is None or not TOOL.exists(), reason="there is no strace or zlink")
@pytest.mark.parametrize("tool", ["perf", "strace"])
def test_system_calls_are_counted(client, tmp_path, monkeypatch, tool):
    counts = loads.SystemCalls(client)
    if tool == "perf" and counts.tool != "perf":
        pytest.skip("perf cannot count system calls here")
    counts.tool = tool
    monkeypatch.setattr(sys, "argv", ["experiment.py", *tool_options(tmp_path), "--seconds", "0.3"])
    arguments = experiment.decode_arguments()
    files = {"small-0.bin": 1024, "video.bin": arguments.file_size}
    experiment.servers.make_files(client, arguments.files, files)
    running = experiment.servers.Running(experiment.SERVERS["zlink"], arguments, ("", ""), False)
    try:
        count = counts.per_request(running, Cell(64 * KIB, 10, "saturated"), arguments)
    finally:
        running.close()

    assert 1 < count < 200


@pytest.mark.skipif(not (PROGRAMS / "echo_server").exists(), reason="there is no echo_server")
def test_echoes_come_back_beside_a_download(client, tmp_path):
    command = [sys.executable, ROOT / "bench" / "media" / "echo_beside_download.py", "--programs", PROGRAMS]
    command += ["--files", tmp_path / "files", "--output", tmp_path / "echo.jsonl", "--file-size", "4M"]
    command += ["--chunk", "2M", "--pairs", "1", "--seconds", "0.4", "--warmup", "0.1", "--size", "70000"]
    command += ["--library", LIBRARY] if LIBRARY else []

    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 0, ended.stderr
    line = json.loads((tmp_path / "echo.jsonl").read_text())
    [alone], [beside] = line["results"].values()
    assert alone["echoes"] > 0 and beside["echoes"] > 0
    assert (alone["megabytes_per_second"], beside["megabytes_per_second"] > 0) == (0, True)
    assert line["ratios"]["p99_us"]["median"] == pytest.approx(beside["p99_us"] / alone["p99_us"])
