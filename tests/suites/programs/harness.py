"""Shared by the programs of the suite applications: processes on the library under test, and their results.

A program is a module of this folder with `install (place)`, which may use the network and does nothing the second time,
and `run (place)`, which has only a loopback interface, if the system allows that. The results are lines on standard
output, 'PASS NAME', 'FAIL NAME  REASON', 'SKIP NAME  REASON'; a line 'LOADED PROGRAM  FILE' shows which library a
process had mapped, and is no result.
"""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree
from pathlib import Path

SUITES = Path(__file__).resolve().parents[1]
LIBRARY_NAME = re.compile(r"lib(zmq|zlink)\b.*\.so")
SET_CHILD_SUBREAPER = 36  # prctl(2)
WATCH_SECONDS = 0.02
REASON_MAX = 120


class Failure(Exception):
    """A condition that did not become true in time, or a command that failed."""


class Place:
    """The folders of one program, and the library of a PREFIX, or of the system's packages if `prefix` is None."""

    def __init__(self, name, prefix, cache, logs):
        self.name = name
        self.prefix = prefix
        self.library = (prefix / "lib" / "libzmq.so.5").resolve() if prefix else installed_library()
        self.cache = cache / name
        self.logs = logs / name
        self.cache.mkdir(parents=True, exist_ok=True)
        self.peers = set()
        self._started = []
        self._folders = []

    # Installing.

    def once(self, step, stamp, work):
        """Calls `work ()` unless that was done before with the same `stamp`."""
        done = self.cache / f"{step}.done"
        if not done.exists() or done.read_text() != stamp:
            work()
            done.write_text(stamp)

    def venv(self, *packages):
        """A Python environment with `packages`, among them pyzmq, on the library under test. Returns its python."""
        folder = self.cache / "venv"
        self.once("venv", " ".join(packages), lambda: self._make_venv(folder, packages))
        return folder / "bin" / "python"

    def _make_venv(self, folder, packages):
        shutil.rmtree(folder, ignore_errors=True)
        self.command("/usr/bin/python3", "-m", "venv", str(folder))
        # A system of its own has no network, and what it needs was fetched before.
        source = () if self.prefix else ("--no-index", "--find-links", str(self.cache / "wheels"))
        python = (str(folder / "bin" / "python"), "-m", "pip", "-q", "--disable-pip-version-check")
        self.command(*python, "install", *source, *packages)

    def use_library(self):
        """Puts the library under test in place of the one that pyzmq's wheel carries, unless it is the system's."""
        if not self.prefix:
            return
        bundled = list((self.cache / "venv").glob("lib/python3*/site-packages/pyzmq.libs/libzmq-*.so*"))
        if len(bundled) != 1:
            raise Failure(f"pyzmq carries {len(bundled)} libraries named libzmq-*.so*")
        bundled[0].unlink()
        bundled[0].symlink_to(self.library)

    def sdist(self, requirement):
        """The unpacked source distribution of a package of PyPI."""
        folder = self.cache / "source"
        self.once("source", requirement, lambda: self._fetch_sdist(folder, requirement))
        (top,) = (entry for entry in folder.iterdir() if entry.is_dir())
        return top

    def _fetch_sdist(self, folder, requirement):
        shutil.rmtree(folder, ignore_errors=True)
        python = str(self.cache / "venv" / "bin" / "python")
        download = ["-m", "pip", "-q", "download", "--no-deps", "--no-binary", ":all:", "-d", str(folder), requirement]
        self.command(python, *download)
        (archive,) = folder.glob("*.tar.gz")
        self.command("tar", "-xzf", str(archive), "-C", str(folder))

    def debian_original(self, package, folder, release):
        """Unpacks the original of a Debian source package of `release`, without Debian's changes."""
        script = f'. {SUITES}/common.sh; debian_original "$2" "$3" "$4"'
        suite = str(SUITES / "applications")
        self.command("bash", "-c", script, suite, str(self.prefix), package, str(folder), release)

    def command(self, *command, seconds=900, **options):
        """Runs a command to its end. Returns what it printed. @error Failure  Its status is not 0."""
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
                **options,
            )
        except FileNotFoundError as error:
            raise Failure(f"{command[0]} is not there; scripts/install_dependencies suites installs it") from error
        if done.returncode != 0:
            raise Failure(f"{' '.join(command[:4])}: {last_line(done.stdout)}")
        return done.stdout

    # Running.

    def environment(self, **more):
        """This process's environment, with the library under test first in the linker's path if it needs that."""
        path = {"LD_LIBRARY_PATH": str(self.prefix / "lib")} if self.prefix else {}
        return {**os.environ, **path, "PYTHONDONTWRITEBYTECODE": "1", **more}

    def short_folder(self):
        """A folder that is removed at the end, with a path short enough for sockets of the ipc transport."""
        self._folders.append(Path(tempfile.mkdtemp()))
        return self._folders[-1]

    def start(self, title, *command, is_peer=False, **options):
        """Starts a process of its own group, which ends with the program. Its output is in the logs.

        The libraries of a peer, which is not on the one under test, are not reported.
        """
        options.setdefault("env", self.environment())
        with (self.logs / f"{title}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **options,
            )
        if is_peer:
            self.peers.add(process.pid)
        self._started.append(process)
        return process

    def said(self, title):
        """The output of the process started under `title` up to now."""
        return (self.logs / f"{title}.log").read_text(errors="replace")

    def finish(self, process, seconds):
        """Waits for the end of a process. Returns its status, or None if it did not end in time and was killed."""
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            kill_group(process)
            return None

    def run(self, title, *command, seconds=60, **options):
        """Runs a command on the library under test to its end. Returns its status, or None if it took too long."""
        return self.finish(self.start(title, *command, **options), seconds)

    def stop_all(self):
        """Ends every process that was started, in reverse order, and their remaining descendants."""
        for process in reversed(self._started):
            kill_group(process)
        self._started.clear()
        for pid in descendants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    # Results.

    def passed(self, test):
        print(f"PASS {self.name}/{test}", flush=True)

    def failed(self, test, reason=""):
        reason = " ".join(str(reason).split())[:REASON_MAX]
        print(f"FAIL {self.name}/{test}  {reason}".rstrip(), flush=True)

    def skipped(self, test, reason=""):
        print(f"SKIP {self.name}/{test}  {' '.join(str(reason).split())[:REASON_MAX]}".rstrip(), flush=True)

    def check(self, test, holds, reason=""):
        if holds:
            self.passed(test)
        else:
            self.failed(test, reason)
        return holds

    def requested_close(self, title):
        """The last line printed by the process started under `title`."""
        return last_line(self.said(title))

    def lines(self, title, *command, under="", **options):
        """Runs a test program that prints its own results, one per line, without this program's name and `under`."""
        status = self.run(title, *command, **options)
        results = re.findall(r"^(PASS|FAIL|SKIP) (.*)$", self.said(title), re.M)
        for word, rest in results:
            print(f"{word} {self.name}/{under}{rest}", flush=True)
        if status != 0 or not results:
            self.failed(f"{title}_end", f"status {status}: {self.requested_close(title)}")

    def junit(self, file, unfit=(), others="the library of pyzmq's wheel"):
        """Prints the results in a JUnit file. Tests in `unfit` fail with any library, `others` among them."""
        results = {}
        for case in xml.etree.ElementTree.parse(file).iter("testcase"):
            name = ".".join((case.get("classname", "").split(".")[-2:]) + [case.get("name")]).replace(" ", "_")
            bad = case.find("failure") if case.find("failure") is not None else case.find("error")
            if name in unfit:
                results[name] = self.skipped, f"fails with {others} as well"
            elif bad is not None:  # An error in the teardown makes a passed test fail.
                results[name] = self.failed, bad.get("message") or "failed"
            elif case.find("skipped") is not None:
                results.setdefault(name, (self.skipped, case.find("skipped").get("message") or ""))
            else:
                results.setdefault(name, (self.passed,))
        for name, (tell, *reason) in sorted(results.items()):
            tell(name, *reason)
        if not results:
            self.failed("tests", f"{file} holds no result")

    def pytest(self, folder, *arguments, unfit=(), seconds=900, **options):
        """Runs pytest of the environment in `folder`; a test that hangs or crashes fails alone. See junit()."""
        result = self.logs / "result.xml"
        python = self.cache / "venv" / "bin" / "python"
        fixed = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=native", "-n", "1", "--max-worker-restart=100"]
        limits = ["--timeout", "20", "--timeout-method", "thread", "--junitxml", result]
        status = self.run("pytest", python, *fixed, *limits, *arguments, cwd=folder, seconds=seconds, **options)
        if not result.exists():
            raise Failure(f"pytest wrote no result, status {status}: {last_line(self.said('pytest'))}")
        self.junit(result, unfit)


def installed_library():
    """The file of the package libzlink-zmq5, which is what the system's link libzmq.so.5 leads to."""
    (link,) = Path("/usr/lib").glob("*/libzmq.so.5")
    return link.resolve()


class Watch:
    """Records which libraries the descendants of this process map, but `others`, until stop()."""

    def __init__(self, others):
        self._others = others
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._seen = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        while not self._is_over.wait(WATCH_SECONDS):
            for pid in set(descendants()) - self._others:
                for file in mapped_libraries(pid):
                    self._seen.setdefault(file, set()).update(program_name(pid))

    def stop(self):
        """Returns each library that was mapped, with the names of the programs that mapped it."""
        self._is_over.set()
        self._thread.join()
        return self._seen


def report_loaded(place, seen):
    """Prints the libraries that were mapped, and checks that only the one under test is among them."""
    for file, programs in sorted(seen.items()):
        for program in sorted(programs):
            print(f"LOADED {place.name}/{program}  {file}", flush=True)
    others = sorted(set(seen) - {str(place.library)})
    place.check("library", str(place.library) in seen and not others, f"mapped: {', '.join(sorted(seen)) or 'none'}")


def descendants():
    """The processes that descend from this one."""
    children = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = []
    waiting = [os.getpid()]
    while waiting:
        further = children.get(waiting.pop(), [])
        found += further
        waiting += further
    return found


def mapped_libraries(pid):
    """The files named like libzmq or zlink that a process has mapped; none of a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return set()
    files = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return {file for file in files if LIBRARY_NAME.match(os.path.basename(file))}


def program_name(pid):
    """The program that a process runs, without Cargo's digest behind a test's name; none if it has ended."""
    try:
        return {re.sub(r"-[0-9a-f]{16}$", "", os.path.basename(os.readlink(f"/proc/{pid}/exe")))}
    except OSError:
        return set()


def kill_group(process):
    """Ends a process and its group, with SIGTERM first."""
    for deadly, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, deadly)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def wait_until(fact, seconds, what):
    """Calls `fact` until its result is true, and returns it. @error Failure  It was not true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if found := fact():
                return found
        time.sleep(0.05)
    raise Failure(f"{what}: not within {seconds} s")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no word"


def main_of(place, module, action):
    """Installs or runs a program. Returns the exit status."""
    if action == "install":
        try:
            getattr(module, "install", lambda _: None)(place)
        except (Failure, subprocess.TimeoutExpired, OSError) as error:
            print(error)
            return 1
        return 0
    shutil.rmtree(place.logs, ignore_errors=True)
    place.logs.mkdir(parents=True)
    watch = Watch(place.peers)
    try:
        module.run(place)
    except Failure as error:
        place.failed("end", error)
    finally:
        seen = watch.stop()
        place.stop_all()
    report_loaded(place, seen)
    return 0


if __name__ == "__main__":
    sys.exit("harness.py is a module; tests/suites/applications runs the programs")
