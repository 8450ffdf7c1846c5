# SPDX-License-Identifier: MPL-2.0
"""Code shared by the Python workloads: parts in processes or threads, a window, and a result line.

It corresponds to cast, board and measurement of the C++ workloads: the leader starts the parts, waits until
they are ready, opens the window, closes it, and stops the load. A part that fails ends the run.
"""

import argparse
import json
import mmap
import os
import signal
import sys
import threading
import time
import traceback

import zmq

STARTING, WARMING, MEASURING, STOPPING = range(4)
PHASE_NAMES = ("starting", "warming up", "measuring", "draining")

# Allowed in addition to the length of a run, for connecting, draining and closing.
TIME_LIMIT_SLACK_SECONDS = 30
EXIT_FAILURE = 2
EXIT_TIMEOUT = 3

END = (1 << 64) - 1  # The sequence number that closes a stream or stops a server.
BODY_BYTES_MIN = 16
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
CPUCLOCK_SCHED = 2


class Board:
    """Counters in shared memory: the phase, the round-trip times, and for each part the messages sent and
    received. Each counter has one writer.
    """

    PHASE, P50_NS, P99_NS, SHARED_COUNT = range(4)
    SENT, DONE, WAKEUPS, FIELD_COUNT = range(4)

    def __init__(self, part_count):
        count = self.SHARED_COUNT + part_count * self.FIELD_COUNT
        self._words = memoryview(mmap.mmap(-1, 8 * count)).cast("Q")
        self._arrivals = os.pipe()

    @property
    def phase(self):
        return self._words[self.PHASE]

    @phase.setter
    def phase(self, value):
        self._words[self.PHASE] = value

    def add(self, part, field):
        self._words[self.SHARED_COUNT + part * self.FIELD_COUNT + field] += 1

    def sum(self, field):
        return sum(self._words[self.SHARED_COUNT + field :: self.FIELD_COUNT])

    def publish(self, round_trips_ns):
        """Stores the median and p99 of the round trips; one part calls it once."""
        ordered = sorted(round_trips_ns)
        for word, share in ((self.P50_NS, 50), (self.P99_NS, 99)):
            self._words[word] = ordered[(len(ordered) - 1) * share // 100] if ordered else 0

    def round_trips(self):
        if not self._words[self.P50_NS]:
            return {}
        return {"p50_us": self._words[self.P50_NS] / 1000, "p99_us": self._words[self.P99_NS] / 1000}

    def arrive(self):
        os.write(self._arrivals[1], b".")

    def wait_for(self, part_count):
        for _ in range(part_count):
            os.read(self._arrivals[0], 1)


class Bodies:
    """Bodies of one size that start with a sequence number; the rest is a fixed filling."""

    def __init__(self, size):
        if size < BODY_BYTES_MIN:
            sys.exit(f"--size must be at least {BODY_BYTES_MIN}")
        self._filling = bytes((i * 131 + 7) % 256 for i in range(8, size))

    def make(self, sequence):
        return sequence.to_bytes(8, "little") + self._filling

    def check(self, body):
        """Returns the sequence number of a body, which must be unaltered."""
        data = memoryview(body)
        if data[8:] != self._filling:
            raise ValueError("a body was altered")
        return int.from_bytes(data[:8], "little")


def require(claim, complaint):
    if not claim:
        raise ValueError(complaint)


def process_usage(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    usage = {
        "cpu_seconds": time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED),
        "user_seconds": int(fields[11]) / TICKS_PER_SECOND,
        "system_seconds": int(fields[12]) / TICKS_PER_SECOND,
        "voluntary_switches": 0,
        "involuntary_switches": 0,
    }
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name == "voluntary_ctxt_switches":
                    usage["voluntary_switches"] += int(value)
                elif name == "nonvoluntary_ctxt_switches":
                    usage["involuntary_switches"] += int(value)
    return usage


def loaded_library():
    """The path of the libzmq that this process has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as lines:
        for line in lines:
            path = line.rstrip("\n").partition("/")
            if path[1] and os.path.basename(path[2]).startswith("libzmq"):
                return "/" + path[2]
    return ""


class Cast:
    """The parts of a workload, each in a process of its own, or in threads of this one over inproc."""

    def __init__(self, is_one_process):
        self._context = zmq.Context() if is_one_process else None
        self._threads = []
        self._children = []
        if not is_one_process:
            signal.signal(signal.SIGCHLD, self._on_child)

    def start(self, part):
        """Starts `part(context)`, which closes its own sockets."""
        if self._context is not None:
            self._threads.append(threading.Thread(target=self._play_thread, args=(part,)))
            self._threads[-1].start()
            return
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os._exit(self._play_process(part))
        self._children.append(child)

    def end(self):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for thread in self._threads:
            thread.join()
        for child in self._children:
            _, status = os.waitpid(child, 0)
            if status != 0:
                sys.exit("a part failed")
        if self._context is not None:
            self._context.term()

    def processes(self):
        return [*self._children, os.getpid()]

    def end_all(self):
        for child in self._children:
            os.kill(child, signal.SIGKILL)

    def _play_thread(self, part):
        try:
            part(self._context)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(EXIT_FAILURE)

    def _play_process(self, part):
        try:
            with zmq.Context() as context:
                part(context)
            return 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            return EXIT_FAILURE

    def _on_child(self, _number, _frame):
        for child in self._children:
            ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None and (ended.si_code != os.CLD_EXITED or ended.si_status != 0):
                print(f"a part ended with status or signal {ended.si_status}", file=sys.stderr, flush=True)
                self.end_all()
                os._exit(EXIT_FAILURE)


def decode_arguments(**own):
    """The command line; `own` are further options, each with default and help text."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--warmup", type=float, default=0.5)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--endpoint", default="inproc://app", help="tcp or ipc: parts are processes; inproc: threads")
    for name, (default, text) in own.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=text)
    return parser.parse_args()


def run_workload(arguments, board, parts):
    """Starts the parts one by one, each after the previous one is ready, and prints the result.

    Every part calls arrive() when it is ready, and again when it has received all messages.
    """
    cast = Cast(arguments.endpoint.startswith("inproc:"))

    def on_alarm(_number, _frame):
        print(f"time limit passed while {PHASE_NAMES[board.phase]}", file=sys.stderr, flush=True)
        cast.end_all()
        os._exit(EXIT_TIMEOUT)

    signal.signal(signal.SIGALRM, on_alarm)
    limit = arguments.limit or int(arguments.seconds + arguments.warmup) + TIME_LIMIT_SLACK_SECONDS
    signal.alarm(limit)
    for part in parts:
        cast.start(part)
        board.wait_for(1)
    measured = measure(arguments, board, cast.processes())
    board.wait_for(len(parts))
    cast.end()
    sent, done = board.sum(Board.SENT), board.sum(Board.DONE)
    if sent != done or not measured["done"]:
        sys.exit(f"{done} of {sent} messages arrived, {measured['done']} of them within the window")
    line = {"event": "result", "library": loaded_library(), "total": done, **measured, **board.round_trips()}
    print(json.dumps(line), flush=True)


def measure(arguments, board, processes):
    board.phase = WARMING
    time.sleep(arguments.warmup)
    before = [process_usage(pid) for pid in processes]
    done, wakeups = board.sum(Board.DONE), board.sum(Board.WAKEUPS)
    start = time.monotonic()
    board.phase = MEASURING
    time.sleep(arguments.seconds)
    done, wakeups = board.sum(Board.DONE) - done, board.sum(Board.WAKEUPS) - wakeups
    seconds = time.monotonic() - start
    after = [process_usage(pid) for pid in processes]
    board.phase = STOPPING
    used = {
        key: sum(later[key] - earlier[key] for later, earlier in zip(after, before))
        for key in after[0]
    }
    cpu_seconds = used.pop("cpu_seconds")
    switches = used["voluntary_switches"] + used["involuntary_switches"]
    return {
        "seconds": seconds,
        "done": done,
        "rate": done / seconds,
        "cpu_us_per_message": cpu_seconds * 1e6 / max(1, done),
        "switches_per_message": switches / max(1, done),
        **({"wakeups_per_message": wakeups / max(1, done)} if wakeups else {}),
        **used,
    }
