# SPDX-License-Identifier: MPL-2.0
"""The workloads: their list, how to build their programs, and how to run one of them once."""

import dataclasses
import os
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))

import runner  # noqa: E402

PROGRAMS_DIR = os.path.join(runner.BUILD_DIR, "apps")
NEEDS = "libzmq3-dev, cppzmq-dev, libuv1-dev and cmake (scripts/install_dependencies tests)"

# For connecting, draining and closing: a run that takes this much longer has failed.
SLACK_SECONDS = 30

RATE_BOUND = 1.0
# If the load is paced, or code other than the library is the bottleneck.
LIMITED_RATE_BOUND = 0.97
CPU_BOUND = 1.0


@dataclasses.dataclass(frozen=True)
class Workload:
    """A program and its options. The name of a Python program ends in .py."""

    name: str
    program: str
    options: tuple = ()
    transport: str = "tcp"
    rate_bound: float = RATE_BOUND
    brief: tuple = ()  # Options of a short run, which only checks that the workload works.

    @property
    def is_python(self):
        return self.program.endswith(".py")


def _options(values):
    return tuple(text for name, value in values.items() for text in (f"--{name}", str(value)))


def _make(name, program, transport="tcp", rate_bound=RATE_BOUND, brief=(), **values):
    return Workload(name, program, _options(values), transport, rate_bound, _options(dict(brief)))


def _python(name, program, transport="tcp", **values):
    # The interpreter is the bottleneck.
    return _make(name, program, transport, LIMITED_RATE_BOUND, **values)


WORKLOADS = {
    workload.name: workload
    for workload in (
        *(
            _make(f"proxy-{transport}-{workers}", "proxy", transport, workers=workers)
            for transport in ("inproc", "ipc", "tcp")
            for workers in (1, 4, 16, 64)
        ),
        _make("proxy-inproc-1x1", "proxy", "inproc", workers=1, clients=1),
        _make("proxy-steered", "proxy", "inproc", steered=1),
        *(
            _make(f"{pattern}-inproc-{pairs}", "pairs", "inproc", pattern=pattern, pairs=pairs)
            for pattern in ("req_rep", "dealer_router")
            for pairs in (1, 4, 32)
        ),
        _make("broker", "broker", brief={"clients": 60, "workers": 8}),
        _make("pipeline-tcp", "pipeline"),
        _make("pipeline-inproc", "pipeline", "inproc"),
        _make("topics", "topics", brief={"topics": 500, "subscribers": 10}),
        _make(
            "xpub_xsub", "topics", proxy=1, publishers=2, topics=1000, subscribers=8,
            brief={"topics": 200},
        ),
        _make("few_ready-inproc", "few_ready", "inproc"),
        _make("few_ready-tcp", "few_ready"),
        _make("libuv-inproc", "uv_loop", "inproc"),
        _make("libuv-tcp", "uv_loop"),
        _python("asyncio_fd-inproc", "py_loop.py", "inproc"),
        _python("asyncio_fd-tcp", "py_loop.py"),
        _python("pyzmq-copy-64", "py_stream.py"),
        _python("pyzmq-copy-1K", "py_stream.py", size=1024),
        _python("pyzmq-nocopy-1K", "py_stream.py", copy=0, size=1024),
        _python("pyzmq-nocopy-64K", "py_stream.py", copy=0, size=65536),
        _python("pyzmq-req_rep", "py_requests.py"),
        _python("pyzmq-asyncio-inproc", "py_asyncio.py", "inproc"),
        _python("pyzmq-asyncio-tcp", "py_asyncio.py"),
        *(_make(f"cppzmq-{transport}", "stream", transport) for transport in ("tcp", "ipc", "inproc")),
        _make("cppzmq-tcp-1K", "stream", size=1024),
        *(
            _make(f"frames-{frames}-{transport}", "stream", transport, frames=frames)
            for frames in (2, 10)
            for transport in ("tcp", "inproc")
        ),
        *(
            _make(f"hwm-{mark}-{transport}", "stream", transport, hwm=mark)
            for mark in (1, 10, 100)
            for transport in ("tcp", "inproc")
        ),
        *(_make(f"visits-{transport}", "visits", transport) for transport in ("tcp", "ipc", "inproc")),
        _make(
            "swarm", "swarm", rate_bound=LIMITED_RATE_BOUND, brief={"clients": 400, "interval": 0.1}
        ),
        _make("curve-req_rep", "pairs", curve=1),
        _make("monitors-req_rep", "pairs", monitors=1),
        _make("monitors-stream", "stream", monitors=1),
    )
}


def build_programs():
    """Builds programs that are missing or older than their sources; returns their folder."""
    print("building the applications", file=sys.stderr)
    commands = (
        ["cmake", "-S", FOLDER, "-B", PROGRAMS_DIR, "-DCMAKE_BUILD_TYPE=Release"],
        ["cmake", "--build", PROGRAMS_DIR, "--parallel", str(os.cpu_count())],
    )
    for command in commands:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode != 0:
            sys.exit(f"the applications did not build; they need {NEEDS}\n{done.stdout}")
    if not os.path.exists(os.path.join(PROGRAMS_DIR, "stream")):
        sys.exit(f"the applications need {NEEDS}")
    return PROGRAMS_DIR


_interpreters = {}


def interpreter(subject):
    """The Python interpreter whose pyzmq loads the subject's library."""
    if subject not in _interpreters:
        library = os.path.join(subject.library_dir, "libzmq.so.5")
        folder = runner.make_python(f"app-{subject.name}", "zlink", library)
        _interpreters[subject] = os.path.join(folder, "bin", "python")
    return _interpreters[subject]


def pinned_to(processor_count):
    """The prefix that pins a command to that many of the processors that this process may use."""
    processors = sorted(os.sched_getaffinity(0))
    if processor_count > len(processors):
        raise runner.RunFailed(f"{processor_count} processors needed, {len(processors)} available")
    return ["taskset", "-c", ",".join(map(str, processors[:processor_count]))]


def _command(workload, programs_dir, subject, folder):
    if not workload.is_python:
        return [os.path.join(programs_dir, workload.program), "--transport", workload.transport]
    endpoint = runner.make_endpoint(workload.transport, folder)
    return [interpreter(subject), "-B", os.path.join(FOLDER, workload.program), "--endpoint", endpoint]


def run_once(workload, programs_dir, subject, processor_count, seconds, warmup, more=()):
    """Runs the workload once; returns its result line. Raises RunFailed if it fails its own checks."""
    with tempfile.TemporaryDirectory(prefix="zapps-") as folder:
        command = pinned_to(processor_count) + _command(workload, programs_dir, subject, folder)
        limit = int(seconds + warmup) + SLACK_SECONDS
        command += [*workload.options, *more, "--limit", str(limit)]
        command += ["--seconds", str(seconds), "--warmup", str(warmup)]
        side = runner.Side(workload.name, command, dict(subject.environment(), TMPDIR=folder))
        try:
            deadline = time.monotonic() + limit + runner.LIMIT_MARGIN_SECONDS
            line = side.wait_for("result", deadline)
            side.join(deadline)
        finally:
            side.close()
    runner.check_library(line, subject)
    return line
