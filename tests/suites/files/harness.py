# SPDX-License-Identifier: MPL-2.0
"""Shared by the parts of the suite http: the server under test, one line for each test, and commands.

A part is a module of this folder with `run (place, server)`. The results are lines on standard output, 'PASS NAME' and
'FAIL NAME  REASON'; a line 'NOTE TEXT' is no result.
"""

import contextlib
import hashlib
import os
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

HERE = Path(__file__).resolve().parent
REASON_MAX = 300
SECONDS_MAX = 120


class Failure(Exception):
    """A condition that does not hold."""


def expect(holds, otherwise):
    if not holds:
        raise Failure(otherwise)


def equal(found, expected, what):
    expect(found == expected, f"{what} is {found!r}, not {expected!r}")


@contextlib.contextmanager
def test(name):
    """Runs the statements under it as one test: it fails if they raise an exception."""
    try:
        yield
    except Exception as failure:  # The other tests go on.
        tell("FAIL", name, failure if isinstance(failure, Failure) else f"{type(failure).__name__} {failure}")
    else:
        tell("PASS", name)


def tell(verdict, name, reason=""):
    print(f"{verdict} {name}  {' '.join(str(reason).split())[:REASON_MAX]}".rstrip(), flush=True)


def note(text):
    print(f"NOTE {text}", flush=True)


class Place:
    """The folders of the suite."""

    def __init__(self, prefix, cache, logs, load_seconds):
        self.prefix = prefix
        self.cache = cache
        self.logs = logs
        self.load_seconds = load_seconds
        self.folder = cache / "files"
        self.node = cache / "node"
        self.authority = cache / "certificates" / "authority.crt"
        self.certificate = cache / "certificates" / "server.crt"
        self.key = cache / "certificates" / "server.key"

    def run(self, title, *command, status=0, seconds=SECONDS_MAX, **options):
        """Runs a command to its end. Its output is also in the logs. @error Failure  Its status is not `status`."""
        options.setdefault("stdout", subprocess.PIPE)
        try:
            done = subprocess.run(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=seconds,
                check=False,
                **options,
            )
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{command[0]} did not end within {seconds} s") from late
        log = self.logs / f"{title.replace('/', '_')}.log"
        words = " ".join(str(part) for part in command).encode()
        log.write_bytes(b"\n".join([words, done.stderr, done.stdout or b""]))
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        expect(status in (None, done.returncode), f"status {done.returncode}: {said[-1]}")
        return done

    def lines(self, title, *command, seconds=600, **environment):
        """Runs a program that prints its own results, without `title`."""
        told = 0
        with test(f"{title}/end"):
            given = {**os.environ, **environment}
            done = self.run(title, *command, status=None, seconds=seconds, env=given)
            for line in done.stdout.decode().splitlines():
                verdict, _, rest = line.partition(" ")
                if verdict in ("PASS", "FAIL"):
                    name, _, reason = rest.partition("  ")
                    tell(verdict, f"{title}/{name}", reason)
                    told += 1
                elif verdict == "NOTE":
                    note(f"{title}/{rest}")
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
            expect(done.returncode == 0 and told > 0, f"status {done.returncode}, {told} results: {said[-1]}")


class Server:
    """`zlink serve` of the PREFIX at http and https."""

    def __init__(self, place, *options):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(place.prefix / "lib")}
        listens = ["--listen", "http://127.0.0.1:*", "--listen", "https://127.0.0.1:*"]
        identity = ["--tls-cert", place.certificate, "--tls-key", place.key]
        folders = ["--root", f"/page/={HERE / 'page'}", "--root", f"/modules/={place.node / 'node_modules'}"]
        command = [place.prefix / "bin" / "zlink", "serve", place.folder, *listens, *identity, *folders, *options]
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.bases = {}
        for scheme in ("http", "https"):
            line = self.process.stdout.readline()
            if not line.startswith(f"serving at {scheme}://"):
                self.process.kill()
                raise Failure(f"the server did not start: {line}{self.process.communicate()[1]}")
            self.bases[scheme] = line.split()[2].rstrip("/")

    def url(self, scheme, name):
        """The URL of a file by its name relative to the folder."""
        return f"{self.bases[scheme]}/{quote(name)}"

    def end(self):
        """Ends the server. @error Failure  It had ended before, or does so in another way than it should."""
        had_ended = self.process.poll()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired as late:
            self.process.kill()
            raise Failure("it does not end after SIGTERM") from late
        finally:
            words = self.process.communicate()[1]
        expect(had_ended is None, f"it had ended by itself, status {had_ended}: {words}")
        expect(status == 0 and not words, f"status {status}: {words}")


def digest(path):
    """The SHA-256 of a file, as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def same(found, expected, what):
    """Compares the bytes of two files."""
    expect(found.exists(), f"{what} is not there")
    equal((found.stat().st_size, digest(found)), (expected.stat().st_size, digest(expected)), what)
