#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Runs `zlink top`, also in a terminal of tmux, and checks the metrics that it reads.

    top_test.py PROGRAM MEASURED_PROGRAM SOURCE_FOLDER [CLASS]
"""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path

PROGRAM, MEASURED, SOURCE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
SECONDS_MAX = 60

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.]+(?:e[-+]?[0-9]+)?|\+Inf)")


class Measured:
    """The program that is shown."""

    def __init__(self, endpoint):
        self.process = subprocess.Popen(
            [MEASURED, endpoint], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.endpoint = self.process.stdout.readline().strip()
        assert self.endpoint, self.process.stderr.read()

    @property
    def id(self):
        return str(self.process.pid)

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
        assert self.process.wait(SECONDS_MAX) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.process.stdout.close()
        self.process.stderr.close()


def top(*arguments):
    """The exit status and the texts of `zlink top`, which must end."""
    done = subprocess.run([PROGRAM, "top", *arguments], capture_output=True, timeout=SECONDS_MAX, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def fetch(measured, path="/metrics"):
    with urllib.request.urlopen(measured.endpoint + path, timeout=SECONDS_MAX) as answer:
        return answer.read().decode()


class Text(unittest.TestCase):
    """The text format, as its description says, and what refers to its names."""

    @classmethod
    def setUpClass(cls):
        with Measured("http://127.0.0.1:*") as measured:
            cls.text = fetch(measured, "/metrics?peers")

    def test_each_line_is_valid_and_belongs_to_its_family(self):
        kinds, seen, family = {}, set(), None
        for line in self.text.splitlines():
            if line.startswith("# HELP "):
                family = line.split(" ")[2]
                self.assertNotIn(family, kinds)
                self.assertRegex(line, r"\S\.$")
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.assertEqual(name, family)
                self.assertIn(kind, ("counter", "gauge", "histogram"))
                kinds[name] = kind
            else:
                match = SAMPLE.fullmatch(line)
                self.assertTrue(match, line)
                base = re.sub("_(bucket|sum|count)$", "", match[1]) if kinds[family] == "histogram" else match[1]
                self.assertEqual(base, family)
                key = line.rpartition(" ")[0]
                self.assertNotIn(key, seen)
                seen.add(key)
        for name, kind in kinds.items():
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
        self.assertTrue(self.text.endswith("\n"))

    @unittest.skipUnless(shutil.which("promtool"), "promtool (Debian's package prometheus) is not installed")
    def test_promtool_has_nothing_to_say(self):
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=self.text, capture_output=True, text=True, check=False
        )
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def families(self):
        return set(re.findall("^# TYPE (\\S+)", self.text, re.M)) | {
            # Only of servers of files and requests.
            f"zlink_http_{each}"
            for each in (
                "requests_total request_duration_seconds sent_bytes_total incomplete_answers_total "
                "file_cache_hits_total cold_reads_total accepted_connections_total connections"
            ).split()
        } | {
            # Only where there was such an event.
            f"zlink_{of}_{each}"
            for of in ("endpoint", "peer")
            for each in ("dropped_messages_total", "handshake_failures_total", "disconnections_total")
        }

    def test_the_dashboard_uses_names_that_exist(self):
        dashboard = json.loads((SOURCE / "docs" / "metrics" / "grafana.json").read_text())
        expressions = [
            target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])
        ] + [each["query"]["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
        self.assertGreater(len(expressions), 10)
        for expression in expressions:
            names = re.findall(r"\bzlink_\w+", expression)
            self.assertTrue(names, expression)
            for name in names:
                self.assertIn(name.removesuffix("_bucket"), self.families(), expression)
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
        self.assertEqual(len(set(places)), len(places))
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(set(ids)), len(ids))

    def test_the_guide_lists_every_name(self):
        guide = (SOURCE / "docs" / "guide" / "metrics.md").read_text()
        listed = set()
        for line in guide.splitlines():
            for name in re.findall(r"`(zlink_[a-z_{},]+)`", line.partition(" | ")[0]) if line.startswith("| `") else ():
                match = re.fullmatch(r"(\w*)\{(.*)\}(\w*)", name)
                listed |= {match[1] + each + match[3] for each in match[2].split(",")} if match else {name}
        for name in self.families():
            suffix = re.sub("^zlink_(context|socket|endpoint|peer)_", "", name)
            self.assertTrue(name in listed or f"zlink_*_{suffix}" in guide, name)


class Top(unittest.TestCase):
    def test_once(self):
        with Measured("http://127.0.0.1:*") as measured:
            for target in (measured.id, measured.endpoint, measured.endpoint + "/metrics"):
                status, text, errors = top(target, "--once", "--interval", "0.3")
                self.assertEqual((status, errors), (0, ""))
                lines = text.splitlines()
                self.assertRegex(lines[0], r"^zlink top: .*, 2 sockets, 2 peers, [0-9.k]+ messages/s sent, ")
                self.assertRegex(lines[2], "^SOCKET TYPE +PEERS +SENT/s .* CONNS RECON HSFAIL HTTP/s NAME")
                # Sorted by what is sent; nothing in a name reaches the terminal as a control character.
                self.assertRegex(lines[3], r'^ +2 PUSH .* source \?\[31m of "all" \(inproc://measured\)$')
                self.assertRegex(lines[4], r"^ +1 PULL .* inproc://measured$")

    def test_rates_as_json(self):
        with Measured("local") as measured:
            status, text, errors = top(measured.id, "--count", "2", "--interval", "0.2", "--json", "--sort", "number")
            self.assertEqual((status, errors), (0, ""))
            looks = [json.loads(line)["sockets"] for line in text.splitlines()]
            self.assertEqual(len(looks), 2)
            for pull, push in looks:
                self.assertEqual((pull["type"], push["type"]), ("PULL", "PUSH"))
                self.assertGreater(push["sent_per_second"], 0)
                self.assertEqual(push["received_per_second"], 0)
                # 64 bytes, and 2 of the header.
                self.assertAlmostEqual(push["sent_bytes_per_second"] / push["sent_per_second"], 66)

    def test_targets_that_cannot_be_shown(self):
        silent = subprocess.Popen(["sleep", "60"])
        try:
            for target, expected_status, expected in (
                (str(silent.pid), 1, f"process {silent.pid} serves no metrics: .*ZLINK_METRICS_ENDPOINT"),
                ("999999999", 1, "there is no process 999999999"),
                ("0", 2, "0 is no process id"),
                ("99999999999999999999", 2, "is no process id"),
                ("name", 2, "has to be a process id or http://HOST:PORT"),
                ("http://", 2, "has to be a process id or http://HOST:PORT"),
                ("http://127.0.0.1:x", 2, "has to be a process id or http://HOST:PORT"),
                ("http://127.0.0.1:1", 1, "Connection refused"),
            ):
                status, text, errors = top(target, "--once")
                self.assertEqual((status, text), (expected_status, ""))
                self.assertRegex(errors, f"^zlink: .*{expected}")
        finally:
            silent.kill()
            silent.wait()
        self.assertEqual(top("1", "--sort", "colour")[0], 2)
        self.assertEqual(top("1", "--interval", "0")[0], 2)
        self.assertEqual(top()[0], 2)

    def test_http_connections_reconnects_and_handshakes(self):
        # A server whose numbers are known.
        labels = 'socket="1",type="STREAM",name="web"'
        count = [0]

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                count[0] += 1
                lines = ['zlink_info{version="1"} 1', f"zlink_socket_sent_messages_total{{{labels}}} 0"]
                for name, value in (
                    ("zlink_socket_connections", 12),
                    ("zlink_socket_reconnects_total", 3),
                    ("zlink_socket_established_connections_total", 40 * count[0]),
                    ("zlink_http_connections", 11),
                    ("zlink_http_sent_bytes_total", 1000 * count[0]),
                ):
                    lines.append(f"{name}{{{labels}}} {value}")
                for reason in ("timeout", "protocol"):
                    lines.append(f'zlink_socket_handshake_failures_total{{{labels},reason="{reason}"}} 4')
                for code in ("200", "404"):
                    lines.append(f'zlink_http_requests_total{{{labels},code="{code}"}} {500 * count[0]}')
                content = ("\n".join(lines) + "\n").encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            place = f"http://127.0.0.1:{server.server_address[1]}"
            status, text, _ = top(place, "--once", "--interval", "0.2", "--json")
            self.assertEqual(status, 0)
            (shown,) = json.loads(text)["sockets"]
            for name, value in (
                ("connections", 12),
                ("reconnects", 3),
                ("handshakes", 80),
                ("failed_handshakes", 8),
                ("failed_handshakes_per_second", 0),
                ("http_connections", 11),
                ("http_requests", 2000),
            ):
                self.assertEqual(shown[name], value, name)
            # 1000 requests, 40 handshakes and 1000 bytes between two looks.
            self.assertAlmostEqual(shown["http_requests_per_second"] / shown["handshakes_per_second"], 25)
            self.assertAlmostEqual(shown["http_requests_per_second"], shown["http_bytes_per_second"])
            for by in ("connections", "reconnects", "failed", "http"):
                status, text, _ = top(place, "--once", "--interval", "0.2", "--sort", by)
                self.assertEqual(status, 0)
            self.assertRegex(text.splitlines()[0], ", 12 connections, [0-9.k]+ HTTP requests/s$")
            self.assertRegex(text.splitlines()[3], r" +12 +3 +8 +[0-9.k]+ web$")
            server.shutdown()

    def test_servers_that_are_none_of_zlink(self):
        answers = {
            "/metrics": b"go_goroutines 3\n",
            "/broken": b'zlink_info{version="1} 1\n',
            "/text": b"hello\n",
        }

        class Handler(http.server.BaseHTTPRequestHandler):
            # Closes each connection.
            def do_GET(self):
                content = answers.get(self.path)
                self.send_response(200 if content else 404)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            place = f"http://127.0.0.1:{server.server_address[1]}"
            for path, expected in (
                ("", "no metrics of zlink"),
                ("/broken", "malformed metrics"),
                ("/text", "malformed metrics: hello"),
                ("/none", "404"),
            ):
                status, _, errors = top(place + path, "--once")
                self.assertEqual(status, 1)
                self.assertIn(expected, errors)
            server.shutdown()

    def test_the_program_ends(self):
        with Measured("local") as measured:
            shown = subprocess.Popen(
                [PROGRAM, "top", measured.id, "--interval", "0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            shown.stdout.readline()
            measured.end()
            _, errors = shown.communicate(timeout=SECONDS_MAX)
            self.assertEqual(shown.returncode, 1)
            self.assertIn("has ended", errors.decode())

    def test_the_reader_goes(self):
        with Measured("local") as measured:
            shown = subprocess.Popen([PROGRAM, "top", measured.id, "--interval", "0.1"], stdout=subprocess.PIPE)
            shown.stdout.readline()
            shown.stdout.close()
            self.assertEqual(shown.wait(SECONDS_MAX), 0)


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class Terminal(unittest.TestCase):
    """In a terminal of tmux."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def tmux(self, *arguments):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        environment.pop("TMUX", None)
        return subprocess.run(
            ["tmux", "-S", self.folder.name + "/socket", "-f", "/dev/null", *arguments],
            capture_output=True, text=True, check=True, env=environment, timeout=SECONDS_MAX,
        ).stdout  # fmt: skip

    def await_screen(self, pattern):
        """The lines of the screen once it has the pattern."""
        end = time.monotonic() + SECONDS_MAX
        while time.monotonic() < end:
            screen = self.tmux("capture-pane", "-p")
            if re.search(pattern, screen, re.M):
                return screen.splitlines()
        self.fail(f"no {pattern} in\n{screen}")

    def test_keys_sizes_and_the_end(self):
        with Measured("local") as measured:
            shell = f"echo before; '{PROGRAM}' top {measured.id} --interval 0.1; echo ended with $?; read unused"
            self.tmux("new-session", "-d", "-x", "130", "-y", "20", shell)
            self.addCleanup(self.tmux, "kill-server")
            lines = self.await_screen(r"PUSH +1 +[1-9]\S* .*source")
            self.assertRegex(lines[0], "^zlink top: process [0-9]+, 2 sockets, 2 peers, ")
            self.assertRegex(lines[2], "^SOCKET TYPE ")
            self.assertRegex(lines[3], " PUSH ")
            self.assertRegex(lines[19], "^by sent   q quit  s sent  r received ")
            self.assertNotIn("before", "\n".join(lines))
            self.tmux("send-keys", "r")
            lines = self.await_screen("^by received")
            self.assertRegex(lines[3], " PULL ")
            self.tmux("send-keys", "n")
            self.await_screen("^by number")
            self.tmux("send-keys", "Space")
            self.await_screen("^by number, paused")
            self.tmux("send-keys", "Space", "x")
            self.await_screen("^by number   q quit")
            self.tmux("resize-window", "-x", "60", "-y", "5")
            lines = self.await_screen(r"\A.*\n.*\n.*\n.*\nby number   q quit.*\s*\Z")
            self.assertRegex(lines[3], " PULL ")
            self.assertTrue(all(len(line) <= 60 for line in lines))
            self.tmux("send-keys", "q")
            lines = self.await_screen("^ended with 0")
            self.assertIn("before", lines)  # The screen from before is back, and so is the cursor.
            self.assertEqual(self.tmux("display-message", "-p", "#{cursor_flag}").strip(), "1")

    def test_an_error_is_shown_after_the_screen_is_back(self):
        with Measured("local") as measured:
            shell = f"'{PROGRAM}' top {measured.id} --interval 0.1; echo ended with $?; read unused"
            self.tmux("new-session", "-d", "-x", "100", "-y", "20", shell)
            self.addCleanup(self.tmux, "kill-server")
            self.await_screen(" PUSH ")
            measured.end()
            lines = self.await_screen("^ended with 1")
            self.assertRegex(lines[0], "^zlink: process [0-9]+ has ended")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
