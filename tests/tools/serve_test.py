#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Runs `zlink serve` with Python's HTTP client.

    serve_test.py PROGRAM
"""

import fcntl
import http.client
import json
import os
import random
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

PROGRAM = sys.argv[1]
SECONDS_MAX = 60


class Server:
    """`zlink serve` with the given arguments; `endpoints` are those that it prints."""

    def __init__(self, *arguments, endpoint_count=1):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.endpoints = []
        self.clients = []
        for _ in range(endpoint_count):
            line = self.process.stdout.readline()
            assert line.startswith(("serving at ", "metrics at ")), line + self.process.stderr.read()
            self.endpoints.append(line.split()[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(SECONDS_MAX) == 0, self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()

    def connect(self, index=0):
        scheme, place = self.endpoints[index].rstrip("/").split("://")
        if scheme == "https":
            trust = ssl.create_default_context(cafile=CERTIFICATE)
            client = http.client.HTTPSConnection(place, timeout=SECONDS_MAX, context=trust)
        else:
            client = http.client.HTTPConnection(place, timeout=SECONDS_MAX)
        self.clients.append(client)
        return client


def fetch(connection, path, method="GET", **fields):
    connection.request(method, path, headers={name.replace("_", "-"): text for name, text in fields.items()})
    response = connection.getresponse()
    return response, response.read()


class Serving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        cls.large = random.Random(1).randbytes(3_000_000)
        (cls.folder / "large.bin").write_bytes(cls.large)
        (cls.folder / "page.html").write_text("<p>hello")
        (cls.folder / "in").mkdir()
        (cls.folder / "in" / "a b.txt").write_text("with a space")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_files_over_one_connection(self):
        with Server(self.folder, "--listen", "http://127.0.0.1:*") as server:
            client = server.connect()
            for _ in range(3):
                response, content = fetch(client, "/large.bin")
                self.assertEqual((response.status, content == self.large), (200, True))
                response, content = fetch(client, "/page.html")
                self.assertEqual(content, b"<p>hello")
                self.assertEqual(response.getheader("Content-Type"), "text/html; charset=utf-8")
                self.assertEqual(fetch(client, "/in/a%20b.txt")[1], b"with a space")
                self.assertEqual(fetch(client, "/none")[0].status, 404)
                self.assertEqual(fetch(client, "/page.html", "HEAD")[0].getheader("Content-Length"), "8")

    def test_ranges_and_conditions(self):
        with Server(self.folder, "--listen", "http://127.0.0.1:*") as server:
            client = server.connect()
            chosen = random.Random(2)
            for _ in range(50):
                first = chosen.randrange(len(self.large))
                last = chosen.randrange(first, len(self.large))
                response, content = fetch(client, "/large.bin", Range=f"bytes={first}-{last}")
                self.assertEqual(response.status, 206)
                self.assertTrue(content == self.large[first : last + 1])
            tag = response.getheader("ETag")
            self.assertEqual(fetch(client, "/large.bin", If_None_Match=tag)[0].status, 304)

    def test_https_and_many_clients(self):
        listens = ("--listen", "https://127.0.0.1:*", "--listen", "http://127.0.0.1:*")
        shown = ("--tls-cert", CERTIFICATE, "--tls-key", KEY, "--threads", 2)
        with Server(self.folder, *listens, *shown, endpoint_count=2) as server:
            failures = []

            def load(index):
                try:
                    client = server.connect(index % 2)
                    for _ in range(5):
                        assert fetch(client, "/large.bin")[1] == self.large
                except Exception as failure:  # Told by the main thread.
                    failures.append(failure)

            threads = [threading.Thread(target=load, args=(index,)) for index in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            server.process.send_signal(signal.SIGHUP)
            self.assertEqual(fetch(server.connect(0), "/page.html")[1], b"<p>hello")

    def test_options(self):
        options = ("--list", "--cors", "*", "--cache", "*.html: max-age=5", "--root", f"/more/={self.folder / 'in'}")
        with Server(self.folder, "--listen", "http://127.0.0.1:*", *options) as server:
            client = server.connect()
            response, content = fetch(client, "/")
            self.assertIn(b'href="./large.bin"', content)
            response, _ = fetch(client, "/page.html")
            self.assertEqual(response.getheader("Cache-Control"), "max-age=5")
            self.assertEqual(response.getheader("Access-Control-Allow-Origin"), "*")
            self.assertEqual(fetch(client, "/more/a%20b.txt")[1], b"with a space")

    def test_a_signal_ends_it_beside_an_idle_client(self):
        with Server(self.folder, "--listen", "http://127.0.0.1:*") as server:
            client = server.connect()
            fetch(client, "/page.html")
            server.process.send_signal(signal.SIGINT)
            self.assertEqual(server.process.wait(SECONDS_MAX), 0)

    def test_an_answer_under_way_is_completed_after_sigterm(self):
        with Server(self.folder, "--listen", "http://127.0.0.1:*") as server:
            (self.folder / "huge.bin").write_bytes(bytes(50_000_000))
            client = server.connect()
            client.request("GET", "/huge.bin")
            response = client.getresponse()
            self.assertEqual(len(response.read(1000)), 1000)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(len(response.read()), 50_000_000 - 1000)
            self.assertEqual(server.process.wait(SECONDS_MAX), 0)

    def test_a_stalled_answer_ends_with_the_grace(self):
        with Server(self.folder, "--listen", "http://127.0.0.1:*", "--grace", 1) as server:
            (self.folder / "huge.bin").write_bytes(bytes(50_000_000))
            client = server.connect()
            client.request("GET", "/huge.bin")
            client.getresponse().read(1000)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(SECONDS_MAX), 0)

    def test_access_log_metrics_and_health(self):
        log = self.folder / "log.json"
        options = ("--access-log", log, "--log-format", "json", "--admin", "http://127.0.0.1:*")
        with Server(self.folder, "--listen", "http://127.0.0.1:*", *options, endpoint_count=2) as server:
            client = server.connect(1)
            fetch(client, "/page.html", User_Agent='a "name"')
            fetch(client, "/page.html")
            fetch(client, "/none?x=%22")
            admin = server.connect(0)
            self.assertEqual(fetch(admin, "/healthz")[1], b"ok\n")
            self.assertEqual(fetch(admin, "/other")[0].status, 404)
            self.assertEqual(fetch(admin, "/metrics", "POST")[0].status, 405)
            metrics = fetch(admin, "/metrics")[1].decode()
            files = 'socket="1",type="STREAM",name="files"'
            for expected in (
                f'zlink_http_requests_total{{{files},code="200"}} 2\n',
                f'zlink_http_requests_total{{{files},code="404"}} 1\n',
                f"zlink_http_file_cache_hits_total{{{files}}} 1\n",
                f"zlink_http_request_duration_seconds_count{{{files}}} 3\n",
                f'zlink_http_request_duration_seconds_bucket{{{files},le="+Inf"}} 3\n',
                f"zlink_http_connections{{{files}}} 1\n",
                f"zlink_http_accepted_connections_total{{{files}}} 1\n",
                'zlink_http_requests_total{socket="2",type="STREAM",name="admin",code="405"} 1\n',
                "zlink_http_dropped_log_lines_total 0\n",
            ):
                self.assertIn(expected, metrics)
            log.rename(self.folder / "old.json")
            server.process.send_signal(signal.SIGHUP)
            for _ in range(1000):  # Until the log is a new file.
                fetch(client, "/page.html")
                if log.exists():
                    break
            else:
                self.fail("the log was not opened again")
        lines = [json.loads(line) for line in (self.folder / "old.json").read_text().splitlines()]
        self.assertEqual([line["status"] for line in lines[:3]], [200, 200, 404])
        self.assertEqual(lines[0]["user_agent"], 'a "name"')
        self.assertEqual((lines[2]["method"], lines[2]["target"]), ("GET", "/none?x=%22"))
        self.assertEqual(lines[0]["client"], "127.0.0.1")
        self.assertTrue(lines[0]["complete"])

    def test_the_combined_log_goes_to_standard_output(self):
        server = subprocess.Popen(
            [PROGRAM, "serve", self.folder, "--listen", "http://127.0.0.1:*", "--access-log", "-"],
            stdout=subprocess.PIPE, text=True,
        )
        place = server.stdout.readline().split()[2].rstrip("/").split("://")[1]
        client = http.client.HTTPConnection(place, timeout=SECONDS_MAX)
        fetch(client, "/page.html", User_Agent='quote" here', Referer="http://example.org/")
        client.close()
        server.send_signal(signal.SIGTERM)
        output = server.communicate(timeout=SECONDS_MAX)[0]
        self.assertRegex(
            output,
            r'^127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:[\d:]{8} \+0000\] "GET /page\.html HTTP/1\.1" 200 \d+ '
            r'"http://example\.org/" "quote\\x22 here"\n$',
        )

    def test_a_reader_of_the_log_that_goes_does_not_end_the_server(self):
        reader, writer = os.pipe()
        server = subprocess.Popen(
            [PROGRAM, "serve", self.folder, "--listen", "http://127.0.0.1:*", "--access-log", "-"],
            stdout=writer, stderr=subprocess.PIPE, text=True,
        )
        os.close(writer)
        with os.fdopen(reader) as output:
            place = output.readline().split()[2].rstrip("/").split("://")[1]
        client = http.client.HTTPConnection(place, timeout=SECONDS_MAX)
        for _ in range(10):
            self.assertEqual(fetch(client, "/page.html")[0].status, 200)
        client.close()
        server.send_signal(signal.SIGTERM)
        self.assertIn("access log", server.communicate(timeout=SECONDS_MAX)[1])
        self.assertEqual(server.returncode, 0)

    def test_a_log_that_nobody_reads_does_not_keep_the_server_from_ending(self):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        server = subprocess.Popen(
            [PROGRAM, "serve", self.folder, "--listen", "http://127.0.0.1:*", "--access-log", "-"],
            stdout=writer, stderr=subprocess.PIPE, text=True,
        )
        os.close(writer)
        try:
            place = os.read(reader, 4096).decode().split()[2].rstrip("/").split("://")[1]
            client = http.client.HTTPConnection(place, timeout=SECONDS_MAX)
            for _ in range(10):
                self.assertEqual(fetch(client, "/" + 1000 * "x")[0].status, 404)
            client.close()
            server.send_signal(signal.SIGTERM)
            self.assertIn("access log", server.communicate(timeout=SECONDS_MAX)[1])
            self.assertEqual(server.returncode, 0)
        finally:
            os.close(reader)

    def test_the_manual_and_the_completion_name_every_option(self):
        shown = ""
        for command in ("serve", "top"):
            shown += subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=True).stdout
        options = set(re.findall(r"--[a-z][a-z-]+", "\n".join(re.findall(r"^ +(?:-\w,)?--.*$", shown, re.M))))
        options |= {"--listen"}
        self.assertIn("--interval", options)
        tools = Path(__file__).resolve().parents[2] / "tools"
        manual = (tools / "zlink.1").read_text().replace("\\-", "-")
        completion = (tools / "zlink.bash").read_text()
        self.assertGreater(len(options), 10)
        for option in options:
            self.assertIn(option, manual)
            self.assertIn(option, completion)

    def test_what_is_refused_and_why(self):
        with Server(self.folder, "--listen", "http://127.0.0.1:*") as server:
            taken = server.endpoints[0]
            for arguments, reason in (
                ((self.folder / "none",), "none"),
                ((self.folder / "page.html",), "page.html"),
                ((self.folder, "--listen", "tcp://127.0.0.1:*"), "http://"),
                ((self.folder, "--listen", taken), "already in use"),
                ((self.folder, "--listen", "https://127.0.0.1:*"), "ZLINK_TLS_CERTIFICATE"),
                ((self.folder, "--threads", "0"), "--threads"),
                ((self.folder, "--log-format", "xml"), "--log-format"),
                ((self.folder, "--access-log", self.folder / "none" / "log"), "No such file"),
                ((self.folder, "--admin", "https://127.0.0.1:*"), "http://"),
                ((), "DIR"),
            ):
                with self.subTest(arguments=arguments):
                    ended = subprocess.run(
                        [PROGRAM, "serve", *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS_MAX
                    )
                    self.assertNotEqual(ended.returncode, 0)
                    self.assertIn(reason, ended.stderr + ended.stdout)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as keys:
        CERTIFICATE, KEY = os.path.join(keys, "certificate.pem"), os.path.join(keys, "key.pem")
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
        made = [*command.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", KEY, "-out", CERTIFICATE]
        subprocess.run(made, check=True, capture_output=True)
        unittest.main(argv=sys.argv[:1], verbosity=2)
