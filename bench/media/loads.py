# SPDX-License-Identifier: MPL-2.0
"""The loads, and one run of a load on a running server."""

import dataclasses
import os
import shutil
import subprocess
import tempfile
import time

from servers import FOLDER, cpu_seconds

import runner

VIDEO = "video.bin"
SMALL_BYTES = 1024
SMALL_COUNT = 64
SMALL = "small-{}.bin"

# A process exits if its run takes this much longer than planned.
TIME_LIMIT_SLACK_SECONDS = 20
DRAIN_SECONDS = 10.0
COUNTED_SECONDS_MAX = 1.0
HEAD_BYTES_MAX = 1024


@dataclasses.dataclass(frozen=True)
class Mode:
    name: str
    description: str
    is_paced: bool = False
    is_persistent: bool = True
    is_wrk: bool = False


MODES = {
    mode.name: mode
    for mode in (
        Mode("paced", "a pause after each response, connections kept", is_paced=True),
        Mode("saturated", "no pause, connections kept"),
        Mode("paced-new", "a pause, a new connection for each request", is_paced=True,
             is_persistent=False),
        Mode("saturated-new", "no pause, a new connection for each request", is_persistent=False),
        Mode("wrk", "wrk instead of the load client; no pause, connections kept", is_wrk=True),
    )
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """A load: `users` request ranges of `size` bytes at random positions of one large file."""

    size: int
    users: int
    mode: str
    is_secure: bool = False
    is_whole: bool = False  # Whole files of this size instead, without a range.

    def file_count(self):
        return SMALL_COUNT if self.is_whole else 1

    def file_name(self):
        return SMALL if self.is_whole else VIDEO


# What a run reports; None where it is not known.
FIGURES = (
    "requests_per_second", "megabytes_per_second", "avg_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms",
    "server_cpu_us_per_request", "server_cpu_seconds_per_gb", "server_cpu_share", "client_cpu_share",
)


def _client_options(cell, running, arguments, warmup, seconds):
    mode = MODES[cell.mode]
    size = cell.size if cell.is_whole else arguments.file_size
    options = {
        "port": running.port,
        "path": running.path(cell.file_name()),
        "files": cell.file_count(),
        "file-size": size,
        "chunk": 0 if cell.is_whole else cell.size,
        "users": cell.users,
        "pause": arguments.pause if mode.is_paced else 0,
        "persistent": int(mode.is_persistent),
        "tls": int(cell.is_secure),
        "copy": int(arguments.copy),
        "verify": int(arguments.verify),
        "warmup": warmup,
        "measure": seconds,
        "drain-timeout": DRAIN_SECONDS,
        "server-pids": ",".join(map(str, running.processes)),
        "limit": int(warmup + seconds + DRAIN_SECONDS + TIME_LIMIT_SLACK_SECONDS),
    }
    return [word for name, value in options.items() for word in ("--" + name, str(value))]


def _wait_for_result(side, running, seconds):
    deadline = time.monotonic() + seconds + TIME_LIMIT_SLACK_SECONDS + runner.LIMIT_MARGIN_SECONDS
    try:
        return side.wait_for("result", deadline)
    except runner.RunFailed as failure:
        raise runner.RunFailed(f"{failure}; {running.server.name}: {running.why_it_fails()}") from None


def _run_program(name, command, running, seconds):
    """Runs the program of a load to its end, and returns its result line."""
    side = runner.Side(name, command, dict(os.environ))
    try:
        result = _wait_for_result(side, running, seconds)
        side.join_any(time.monotonic() + runner.LIMIT_MARGIN_SECONDS)
        return result
    finally:
        side.close()


def run_once(client, running, cell, arguments, warmup, seconds):
    """Puts the load on the server, and returns what it reports."""
    run = _run_wrk if MODES[cell.mode].is_wrk else _run_client
    result = run(client, running, cell, arguments, warmup, seconds)
    if not running.is_alive():
        raise runner.RunFailed(f"{running.server.name} ended: {running.why_it_fails()}")
    return result


def _run_client(client, running, cell, arguments, warmup, seconds):
    command = [client, *_client_options(cell, running, arguments, warmup, seconds)]
    result = _run_program("load_client", command, running, warmup + seconds + DRAIN_SECONDS)
    return _with_figures(result, cell)


def _with_figures(result, cell):
    requests = result["requests"]
    gigabytes = requests * cell.size / 1e9
    cpu = result["server_cpu_seconds"]
    if requests == 0 and not result["first_failure"]:
        result["first_failure"] = "no response was complete within the window"
    return dict(
        result,
        server_cpu_us_per_request=cpu * 1e6 / requests if requests else 0.0,
        server_cpu_seconds_per_gb=cpu / gigabytes if requests else 0.0,
        server_cpu_share=result["server_cpu_seconds"] / result["seconds"],
        client_cpu_share=(
            None if result["client_cpu_seconds"] is None
            else result["client_cpu_seconds"] / result["seconds"]
        ),
    )


# --- wrk ---


def _wrk_command(cell, running, arguments, seconds):
    scheme = "https" if cell.is_secure else "http"
    size = cell.size if cell.is_whole else arguments.file_size
    chunk = 0 if cell.is_whole else cell.size
    return [
        "wrk", "-t", "1", "-c", str(cell.users), "-d", str(max(1, round(seconds))),
        "--timeout", str(int(DRAIN_SECONDS)), "-s", os.path.join(FOLDER, "range.lua"),
        f"{scheme}://127.0.0.1:{running.port}", "--", running.path(cell.file_name()),
        str(cell.file_count()), str(size), str(chunk),
    ]


class _Wrk(runner.Side):
    """wrk also prints lines for people, which are not events."""

    def wait_for(self, event, deadline):
        while True:
            line = self.next_event(deadline, event)
            if line["event"] == event:
                return line


def _run_wrk(_client, running, cell, arguments, warmup, seconds):
    if shutil.which("wrk") is None:
        raise runner.RunFailed("wrk is not installed")
    if warmup > 0:
        _one_wrk(running, cell, arguments, warmup)
    before = cpu_seconds(running.processes)
    result = _one_wrk(running, cell, arguments, seconds)
    used = cpu_seconds(running.processes) - before
    requests = max(result["requests"], 1)
    duration = result["microseconds"] / 1e6
    failures = result["errors"]
    complaint = f"{failures} errors" if failures else ""
    # wrk checks neither status 206 nor lengths, so the total has to be that of the ranges and heads,
    # and of responses that the end cut off.
    most = (cell.size + HEAD_BYTES_MAX) * (requests + cell.users)
    if not cell.size * result["requests"] <= result["bytes"] <= most:
        failures = max(1, failures)
        complaint = f"{result['bytes']} bytes in {result['requests']} responses of {cell.size}"
    made = {
        "event": "result",
        "pass": failures == 0 and result["requests"] > 0,
        "requests": result["requests"],
        "failures": failures,
        "unfinished": 0,
        "first_failure": complaint,
        "bytes": requests * cell.size,
        "seconds": duration,
        "requests_per_second": result["requests"] / duration,
        "megabytes_per_second": requests * cell.size / 1e6 / duration,
        "requests_total": result["requests"],
        "connections": cell.users,
        "cipher": "",
        "server_cpu_seconds": used,
        "client_cpu_seconds": None,
    }
    for name in ("avg", "p50", "p95", "p99", "max"):
        made[f"{name}_ms"] = result[f"{name}_us"] / 1e3
    return _with_figures(made, cell)


def _one_wrk(running, cell, arguments, seconds):
    command = _wrk_command(cell, running, arguments, seconds)
    side = _Wrk("wrk", command, dict(os.environ))
    try:
        return _wait_for_result(side, running, seconds + DRAIN_SECONDS)
    finally:
        side.close()


# --- system calls ---


class SystemCalls:
    """Counts system calls of a server's processes per request, in a short run of its own."""

    EVENT = "raw_syscalls:sys_enter"

    def __init__(self, client):
        self._client = client
        self.tool = self._find_tool()

    def _find_tool(self):
        if shutil.which("perf"):
            tried = subprocess.run(["perf", "stat", "-x,", "-e", self.EVENT, "true"],
                                   capture_output=True, text=True, check=False)
            if tried.returncode == 0 and decode_perf(tried.stderr) is not None:
                return "perf"
        return "strace" if shutil.which("strace") else None

    def per_request(self, running, cell, arguments):
        """The number, or None if nothing here can count them."""
        if self.tool is None or MODES[cell.mode].is_wrk:
            return None
        seconds = min(COUNTED_SECONDS_MAX, arguments.seconds)
        options = _client_options(cell, running, arguments, 0, seconds)
        counted = self._by_perf if self.tool == "perf" else self._by_strace
        count, result = counted(running, [self._client, *options], seconds + DRAIN_SECONDS)
        if count is None or result["requests_total"] == 0:
            return None
        return count / result["requests_total"]

    def _by_perf(self, running, client_command, seconds):
        with tempfile.NamedTemporaryFile(mode="r", prefix="zbench-", encoding="utf-8") as output:
            # perf counts while the command runs.
            command = ["perf", "stat", "-x,", "-o", output.name, "-e", self.EVENT, "-p",
                       ",".join(map(str, running.processes)), *client_command]
            result = _run_program("perf", command, running, seconds)
            return decode_perf(output.read()), result

    def _by_strace(self, running, client_command, seconds):
        with tempfile.NamedTemporaryFile(mode="r", prefix="zbench-", encoding="utf-8") as output:
            command = ["strace", "-c", "-f", "-o", output.name]
            for process in running.processes:
                command += ["-p", str(process)]
            tracer = runner.Side("strace", command, dict(os.environ))
            try:
                deadline = time.monotonic() + TIME_LIMIT_SLACK_SECONDS
                while tracer.stderr_text().count(" attached") < len(running.processes):
                    if not tracer.is_running() or time.monotonic() > deadline:
                        raise runner.RunFailed(f"strace did not attach: {tracer.stderr_tail()}")
                    time.sleep(0.02)
                result = _run_program("load_client", client_command, running, seconds)
                tracer.interrupt()
                tracer.join_any(time.monotonic() + TIME_LIMIT_SLACK_SECONDS)
            finally:
                tracer.close()
            return decode_strace_total(output.read()), result


def decode_perf(text):
    """The count of a line of `perf stat -x,`, or None."""
    for line in text.splitlines():
        words = line.split(",")
        if len(words) > 2 and words[2].startswith(SystemCalls.EVENT) and words[0].isdigit():
            return int(words[0])
    return None


def decode_strace_total(text):
    for line in text.splitlines():
        words = line.split()
        if words and words[-1] == "total":
            return int(words[3])
    return None
