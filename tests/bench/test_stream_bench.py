"""The load client and the measured servers work together: a benchmark that counts wrongly, or a server that answers
wrongly, fails here and not in a long run at night.

ZLINK_BENCH_PROGRAMS names the folder of the programs, instead of the release build's.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("ZLINK_BENCH_PROGRAMS", ROOT / "build" / "release" / "bench" / "stream"))
sys.path.insert(0, str(ROOT / "bench" / "stream"))

import goals  # noqa: E402
import programs  # noqa: E402
import stream_report  # noqa: E402
from programs import PROFILE, SERVERS, Load  # noqa: E402

import runner  # noqa: E402

SHORT = dict(PROFILE, warmup=0.1, measure=0.3, connect_timeout=5.0)
CASES = [
    pytest.param(server, transport, id=f"{server.name}-{transport}")
    for server in SERVERS.values()
    for transport in server.transports
    if server.program != "zlink_echo" or (PROGRAMS / "zlink_echo").exists()
]


@pytest.fixture(scope="module")
def certificate():
    with programs.certificate() as options:
        yield options


@pytest.fixture(scope="module")
def built():
    if not (PROGRAMS / "load_client").exists():
        pytest.exit(f"{PROGRAMS} has no load_client: build it first", 2)
    return programs.Programs(str(PROGRAMS))


def run(built, certificate, server, load, **changes):
    return programs.run_once(built, server, load, {**SHORT, **changes}, certificate)


@pytest.mark.parametrize("server, transport", CASES)
def test_one_echo_comes_back_byte_for_byte(built, certificate, server, transport):
    result = run(built, certificate, server, Load("s0", transport, 1, 1, 1000))

    assert result["pass"]
    assert (result["sent"], result["recv"]) == (1, 1)


@pytest.mark.parametrize("server, transport", CASES)
def test_all_echoes_of_twenty_connections_come_back(built, certificate, server, transport):
    # Larger than a read of some servers, and with several batches in flight.
    load = Load("s2", transport, 20, 40, 5000)

    result = run(built, certificate, server, load, verify=1, workers=2, io_threads=2)

    assert result["pass"]
    assert result["connect_success"] == 20
    assert result["recv_total"] == result["sent_total"] > result["window_echoes"] > 0
    assert result["recv"] == result["sent"] > 0
    assert 0 < result["p50_us"] <= result["p95_us"] <= result["p99_us"]


def test_connections_are_made_and_counted(built, certificate):
    result = run(built, certificate, SERVERS["asio"], Load("s1", "tls", 50, 1, 16))

    assert result["pass"]
    assert result["connect_success"] == 50
    assert result["recv_total"] == 0


def test_nobody_listening_is_counted_as_failed_after_the_retries(built):
    client = [built.path("load_client"), "--scenario", "s1", "--ccu", "3", "--retries", "2"]
    client += ["--retry-delay", "1", "--port", str(runner.free_port())]

    ended = subprocess.run(client, capture_output=True, text=True, timeout=30)

    result = json.loads(ended.stdout)
    assert ended.returncode == 1 and not result["pass"]
    assert (result["connect_success"], result["connect_fail"]) == (0, 3)
    assert result["connect_retries"] == 6


@pytest.mark.parametrize("server, transport", CASES)
def test_the_load_comes_again_over_the_same_connections(built, certificate, server, transport):
    load = Load("s2", transport, 20, 40, 5000)
    profile = {**SHORT, "workers": 2, "verify": 1}

    with programs.Sitting(built, server, load, profile, certificate, runs=2) as sitting:
        first, second = sitting.run(), sitting.run()

    assert first["pass"] and second["pass"]
    assert first["connect_seconds"] == second["connect_seconds"]
    assert [result["connect_success"] for result in (first, second)] == [20, 20]
    for result in (first, second):
        assert result["recv_total"] == result["sent_total"] > result["window_echoes"] > 0


def test_a_connection_that_was_lost_stays_lost(built):
    broken = threading.Event()
    impostor = Impostor(lambda data: b"\xff" * len(data) if broken.is_set() else data)
    client = [built.path("load_client"), "--ccu", "1", "--inflight", "2", "--size", "16"]
    client += ["--warmup", "0", "--measure", "0.2", "--drain-timeout", "0.2", "--verify", "1"]
    client += ["--port", str(impostor.port), "--paced", "1"]
    side = runner.Side("load_client", client, dict(os.environ))
    results = []
    try:
        side.wait_for("ready", time.monotonic() + 30)
        for breaks in (False, True, False):
            if breaks:
                broken.set()
            side.release()
            results.append(side.wait_for("result", time.monotonic() + 30))
    finally:
        side.close()

    assert [result["pass"] for result in results] == [True, False, False]
    assert [result["connection_lost"] for result in results] == [0, 1, 1]


class Impostor:
    """A server that answers with the result of a function of the received bytes."""

    def __init__(self, answer):
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", runner.free_port()))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        peer, _ = self._listener.accept()
        with peer, self._listener:
            try:
                while data := peer.recv(65536):
                    peer.sendall(self._answer(data))
            except OSError:
                pass  # The client has ended the connection.


def load_impostor(built, answer):
    client = [built.path("load_client"), "--ccu", "1", "--inflight", "2", "--size", "16"]
    client += ["--warmup", "0", "--measure", "0.2", "--drain-timeout", "0.2", "--verify", "1"]
    client += ["--port", str(Impostor(answer).port)]
    ended = subprocess.run(client, capture_output=True, text=True, timeout=30)
    result = json.loads(ended.stdout)
    assert ended.returncode == 1 and not result["pass"]
    return result


def test_an_echo_too_many_violates_the_gate(built):
    result = load_impostor(built, lambda data: data + data)

    assert result["gating_violation"] > 0


def test_a_server_that_swallows_messages_leaves_a_worker_pending(built):
    result = load_impostor(built, lambda data: b"")

    assert result["drain_timeout"] == 1
    assert result["outstanding"] == 2


def test_an_altered_byte_ends_the_connection(built):
    result = load_impostor(built, lambda data: data[:-1] + bytes([data[-1] ^ 1]))

    assert result["connection_lost"] == 1
    assert result["drain_timeout"] == 1


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_tcp_has_more_memory_for_a_load_and_afterwards_what_it_had(tmp_path, is_interrupted):
    setting = tmp_path / "tcp_mem"
    setting.write_text("10\t20\t30\n")
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(KeyboardInterrupt):
        with programs.tcp_memory(100 * page_bytes - 1, setting) as numbers:
            assert numbers == [100, 125, 150]
            assert setting.read_text().split() == ["100", "125", "150"]
            if is_interrupted:
                raise KeyboardInterrupt
    assert setting.read_text().split() == ["10", "20", "30"]


def test_tcp_keeps_its_memory_where_that_is_enough_or_more_cannot_be_had(tmp_path):
    setting = tmp_path / "tcp_mem"
    setting.write_text("10\t20\t30\n")
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    too_many = os.sysconf("SC_PHYS_PAGES") // 2 + 1
    for pages in (0, 10, too_many):
        with programs.tcp_memory(pages * page_bytes, setting) as numbers:
            assert numbers == [10, 20, 30]
            assert setting.read_text() == "10\t20\t30\n"
    with programs.tcp_memory(100 * page_bytes, tmp_path / "missing") as numbers:
        assert numbers == []
    assert not (tmp_path / "missing").exists()


def test_only_the_load_that_needs_it_asks_for_more_memory_for_tcp():
    asked = {
        group.entrants[0].load.size: group.tcp_bytes
        for group in goals.groups(["goal"])
        if any(entrant.load.ccu == 10000 for entrant in group.entrants)
    }
    assert asked.pop(65536) == 10000 * 2 * 2 * (65536 + 65536)
    assert asked and not any(asked.values())


def test_goals_are_not_measured_without_the_library_that_they_are_about(built, tmp_path):
    for name in ("load_client", "epoll_echo"):
        (tmp_path / name).symlink_to(PROGRAMS / name)
    command = [sys.executable, ROOT / "bench" / "stream" / "scenarios.py", "goals", "claims"]
    command += ["--programs", tmp_path, "--output", tmp_path / "results", "--servers", "epoll,zlink"]

    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 1
    assert f"left out: zlink: {tmp_path}/zlink_echo does not exist" in ended.stderr
    assert "no goal or claim can be judged without the servers left out" in ended.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.skipif(not (PROGRAMS / "zlink_echo").exists(), reason="there is no zlink_echo")
def test_a_run_of_what_is_judged_is_made_of_windows_in_turns(built, tmp_path):
    command = [sys.executable, ROOT / "bench" / "stream" / "scenarios.py", "goals", "claims"]
    command += ["--programs", PROGRAMS, "--output", tmp_path, "--transports", "ws", "--ccu", "1"]
    command += ["--sizes", "1K", "--pairs", "2", "--warmup", "0.05"]
    command += ["--measure", "2.4"]  # On a busy machine, too, each window has its turn.

    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 0, ended.stderr
    assert "6 of 6 runs passed" in ended.stdout
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    rates = {}
    for line in lines:
        if line["kind"] == "run":
            assert line["result"]["window_seconds"] < 1.2
            rates.setdefault((line["server"], line["pair"]), []).append(line["result"]["throughput"])
    assert [len(windows) for windows in rates.values()] == [6] * 6
    [tuned] = [line for line in lines if line["kind"] == "goal" and "tuned" in line["name"]]
    assert tuned["values"] == pytest.approx(
        [sum(rates["zlink", pair]) / sum(rates["beast-tuned", pair]) for pair in (1, 2)]
    )


def test_scenarios_write_a_table_csv_lines_and_a_page(built, tmp_path):
    command = [sys.executable, ROOT / "bench" / "stream" / "scenarios.py", "s0", "s1", "s2", "goals"]
    command += ["--programs", PROGRAMS, "--output", tmp_path, "--servers", "epoll,asio"]
    command += ["--transports", "tcp", "--ccu", "10", "--sizes", "64", "--pairs", "2"]
    command += ["--warmup", "0.05", "--measure", "0.4"]  # On a busy machine, too, each run has its turn.

    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 0, ended.stderr
    assert "12 of 12 runs passed" in ended.stdout
    rows = (tmp_path / "results.csv").read_text().splitlines()
    assert rows[0].startswith(
        "scenario,transport,server,ccu,inflight,size,connect_success,connect_fail,connect_timeout,sent,"
        "recv,incomplete_ratio,throughput,p50_us,p95_us,p99_us,drain_timeout,gating_violation,pass,"
    )
    assert len(rows) == 1 + 12
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines].count("absolute") == 6
    page = (tmp_path / "report.html").read_text()
    assert page == stream_report.make_page(lines)
    assert "http://" not in page and "https://" not in page and "src=" not in page
