"""The benchmark applications do what they claim on either library, and detect faults.

ZLINK_BENCH_APPS names the folder of the programs, instead of the release build's.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("ZLINK_BENCH_APPS", ROOT / "build" / "release" / "bench" / "apps"))
APPS = ROOT / "bench" / "apps"
sys.path.insert(0, str(APPS))

import run  # noqa: E402
import workloads  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

import runner  # noqa: E402

SECONDS = 0.15
WARMUP = 0.02
# On libzmq one workload per program: these tests are about the programs.
CASES = [pytest.param("zlink", workload, id=f"zlink-{name}") for name, workload in WORKLOADS.items()] + [
    pytest.param("libzmq", workload, id=f"libzmq-{workload.name}")
    for workload in {workload.program: workload for workload in WORKLOADS.values()}.values()
]


@pytest.fixture(scope="module", autouse=True)
def built():
    if not (PROGRAMS / "stream").exists():
        pytest.exit(f"{PROGRAMS} has no programs: install what {workloads.NEEDS} and build them first", 2)


@pytest.mark.parametrize("name, workload", CASES)
def test_a_workload_passes_its_own_check(name, workload):
    subject = runner.decode_subject(name)

    line = workloads.run_once(workload, PROGRAMS, subject, 1, SECONDS, WARMUP, workload.brief)

    assert line["total"] >= line["done"] > 0
    assert line["seconds"] >= SECONDS
    assert line["rate"] == pytest.approx(line["done"] / line["seconds"], rel=0.01)
    assert line["cpu_us_per_message"] > 0
    if workload.program in ("proxy", "pairs", "broker", "few_ready", "visits", "swarm", "py_requests.py"):
        assert 0 < line["p50_us"] <= line["p99_us"]


def start(program, *options, **variables):
    environment = dict(runner.decode_subject("libzmq").environment(), **variables)
    command = [PROGRAMS / program, *options]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    "program, status, complaint",
    [("stream", 2, "a message was lost or came out of order"), ("uv_loop", 3, "time limit passed while")],
)
def test_a_library_that_drops_a_message_fails_the_run(tmp_path, program, status, complaint):
    source = tmp_path / "drops.c"
    source.write_text(
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stddef.h>
        int zmq_msg_send(void* message, void* socket, int flags) {
            static int count;
            if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) == 1000) {
                return 0;
            }
            int (*next)(void*, void*, int) = (int (*)(void*, void*, int))dlsym(RTLD_NEXT, "zmq_msg_send");
            return next(message, socket, flags);
        }
        """
    )
    library = tmp_path / "drops.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)

    ended = start(program, "--seconds", "0.5", "--limit", "3", LD_PRELOAD=str(library))
    _, errors = ended.communicate(timeout=30)

    assert ended.returncode == status, errors
    assert complaint in errors


def test_a_part_that_dies_ends_the_run():
    leader = start("pipeline", "--seconds", "60")
    deadline = time.monotonic() + 20
    while len(children_of(leader.pid)) < 10 and time.monotonic() < deadline:
        pass

    os.kill(children_of(leader.pid)[-1], signal.SIGKILL)
    _, errors = leader.communicate(timeout=30)

    assert leader.returncode == 2
    assert "of the workload ended by signal 9" in errors


def test_another_library_than_the_subjects_fails_the_run(tmp_path):
    (tmp_path / "libzmq.so.5").write_bytes(Path(runner.decode_subject("libzmq").library()).read_bytes())
    class Mistaken(runner.Subject):
        def environment(self):
            return runner.decode_subject("libzmq").environment()

    with pytest.raises(runner.RunFailed, match="was loaded"):
        workloads.run_once(
            WORKLOADS["pipeline-inproc"], PROGRAMS, Mistaken("claimed", str(tmp_path)), 1, SECONDS, WARMUP
        )


def test_targets_are_judged_by_rate_and_cpu():
    line = {"rate": 100.0, "cpu_us_per_message": 10.0, "switches_per_message": 0}
    slower = dict(line, rate=95.0, cpu_us_per_message=10.5)

    missed = run.judge(WORKLOADS["broker"], run.ratios_of([slower], [line]))
    reached = run.judge(WORKLOADS["broker"], run.ratios_of([line], [slower]))

    assert not missed["reached"]
    assert missed["short_by"] == pytest.approx({"rate": 0.05, "cpu": 0.05})
    assert reached["reached"] and reached["short_by"] == {}
    assert run.judge(WORKLOADS["swarm"], run.ratios_of([dict(line, rate=97.1)], [line]))["reached"]


def test_the_driver_writes_a_table_and_lines(tmp_path):
    command = [sys.executable, APPS / "run.py", "visits-inproc", "pipeline-inp*", "--programs", PROGRAMS]
    command += ["--output", tmp_path, "--cpus", "1", "--pairs", "2", "--brief"]
    command += ["--seconds", str(SECONDS), "--warmup", str(WARMUP)]

    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 0, ended.stderr
    assert "workloads reach both targets" in ended.stdout
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["absolute", "absolute", "ratio"] * 2 + ["summary"]
    assert [line["parameters"]["workload"] for line in lines if line["kind"] == "ratio"] == [
        "pipeline-inproc", "visits-inproc",
    ]
    for base, mine, ratio in (lines[0:3], lines[3:6]):
        ratios = [a / b for a, b in zip(mine["values"], base["values"])]
        assert (ratio["minimum"], ratio["maximum"]) == pytest.approx((min(ratios), max(ratios)))
        assert ratio["ratios"]["rate"]["median"] == ratio["median"] == pytest.approx(sum(ratios) / 2)
        assert ratio["commit"] and ratio["machine"] and ratio["pairs"] == 2
