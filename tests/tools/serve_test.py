#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Runs `zlink serve` with Python's HTTP client.

    serve_test.py PROGRAM
"""

import fcntl
import gzip
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

PROGRAM = sys.argv[1]
SECONDS_MAX = 60


class Server:
    """`zlink serve` with the given arguments; `endpoints` are those that it prints."""

    def __init__(self, *arguments, endpoint_count=1, cwd=None):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
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

    def test_listings_are_compressed(self):
        with Server(self.folder, "--listen", "http://127.0.0.1:*", "--list") as server:
            client = server.connect()
            _, plain = fetch(client, "/")
            response, packed = fetch(client, "/", Accept_Encoding="gzip")
            self.assertEqual(response.getheader("Content-Encoding"), "gzip")
            self.assertEqual(response.getheader("Vary"), "Accept-Encoding")
            self.assertEqual(gzip.decompress(packed), plain)
            response, content = fetch(client, "/", "HEAD", Accept_Encoding="gzip")
            self.assertEqual((content, response.getheader("Content-Length")), (b"", str(len(packed))))
        with Server(self.folder, "--listen", "http://127.0.0.1:*", "--list", "--uncompressed") as server:
            response, content = fetch(server.connect(), "/", Accept_Encoding="gzip")
            self.assertEqual((response.getheader("Content-Encoding"), content), (None, plain))

    def test_two_nodes_with_copies_send_the_same_tags(self):
        with tempfile.TemporaryDirectory() as copy:
            shutil.copytree(self.folder, copy, dirs_exist_ok=True)
            tags = []
            for folder in (self.folder, copy):
                with Server(folder, "--listen", "http://127.0.0.1:*", "--portable-etags") as server:
                    tags.append(fetch(server.connect(), "/page.html", "HEAD")[0].getheader("ETag"))
            self.assertEqual(tags[0], tags[1])

    def test_a_folder_given_by_a_relative_path_and_a_link(self):
        with tempfile.TemporaryDirectory() as outer:
            for name in ("one", "two"):
                (Path(outer) / name).mkdir()
                (Path(outer) / name / "a").write_text(name)
            link = Path(outer) / "current"
            link.symlink_to("one")
            with Server("current", "--listen", "http://127.0.0.1:*", cwd=outer) as server:
                client = server.connect()
                self.assertEqual(fetch(client, "/a")[1], b"one")
                (Path(outer) / "new").symlink_to("two")
                (Path(outer) / "new").rename(link)
                end = time.monotonic() + 1
                while fetch(client, "/a")[1] != b"two":
                    self.assertLess(time.monotonic(), end)

    def test_health_fails_while_it_drains(self):
        listens = ("--listen", "http://127.0.0.1:*", "--admin", "http://127.0.0.1:*", "--grace", 30)
        with Server(self.folder, *listens, endpoint_count=2) as server:
            health = server.connect(0)  # The endpoint of --admin is printed first.
            self.assertEqual((fetch(health, "/healthz")[0].status), 200)
            place = server.endpoints[1].split("//")[1].rstrip("/").split(":")
            slow = socket.socket()
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect((place[0], int(place[1])))
            slow.sendall(b"GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n" * 8)
            received = slow.recv(1)
            server.process.send_signal(signal.SIGTERM)
            end = time.monotonic() + SECONDS_MAX
            while fetch(health, "/healthz")[0].status != 503:
                self.assertLess(time.monotonic(), end)
            self.assertEqual(fetch(health, "/metrics")[0].status, 200)
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection((place[0], int(place[1])))
            slow.settimeout(SECONDS_MAX)
            while data := slow.recv(1 << 20):
                received += data
            self.assertTrue(received.endswith(self.large), "the answer that was under way was not completed")
            slow.close()
            self.assertEqual(server.process.wait(SECONDS_MAX), 0)

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

    def test_it_serves_for_the_drain_delay_and_says_that_it_will_end(self):
        options = ("--admin", "http://127.0.0.1:*", "--drain-delay", 600)
        with Server(self.folder, "--listen", "http://127.0.0.1:*", *options, endpoint_count=2) as server:
            admin = server.connect(0)
            self.assertEqual(fetch(admin, "/healthz")[0].status, 200)
            server.process.send_signal(signal.SIGTERM)
            while fetch(admin, "/healthz")[0].status != 503:
                pass
            self.assertEqual(fetch(admin, "/metrics")[0].status, 200)
            self.assertEqual(fetch(server.connect(1), "/page.html")[1], b"<p>hello")
        # The second signal has ended it.

    def test_the_drain_delay_ends_by_itself(self):
        with Server(self.folder, "--listen", "http://127.0.0.1:*", "--drain-delay", 1) as server:
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(SECONDS_MAX), 0)

    def test_a_trusted_proxy_tells_the_client(self):
        for proxies, client in ((("127.0.0.0/8", "10.0.0.1"), "192.0.2.7"), (("10.0.0.0/8",), "127.0.0.1")):
            options = [word for each in proxies for word in ("--trusted-proxy", each)]
            with Server(self.folder, "--listen", "http://127.0.0.1:*", "--access-log", "-", "--log-format", "json", *options) as server:
                fetch(server.connect(), "/page.html", X_Forwarded_For="198.51.100.1, 192.0.2.7")
                self.assertEqual(json.loads(server.process.stdout.readline())["client"], client)
        done = subprocess.run([PROGRAM, "serve", self.folder, "--trusted-proxy", "proxy.example.org"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('"proxy.example.org" is none of ADDRESS, ADDRESS/BITS and unix', done.stderr)

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

    def test_a_fifo_as_the_log(self):
        fifo = self.folder / "log.fifo"
        os.mkfifo(fifo)
        self.addCleanup(fifo.unlink)
        # Nobody reads it at the beginning, nor after SIGHUP.
        with Server(self.folder, "--listen", "http://127.0.0.1:*", "--access-log", fifo) as server:
            client = server.connect()
            self.assertEqual(fetch(client, "/page.html?early")[0].status, 200)
            for _ in range(2):  # Readers that come and go.
                reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
                with os.fdopen(reader, "rb") as lines:
                    os.set_blocking(reader, True)
                    fetch(client, "/page.html?now")
                    while b"?now" not in (line := lines.readline()):
                        self.assertIn(b"?early", line)
                server.process.send_signal(signal.SIGHUP)
            # More than a FIFO holds: the server answers all the same, and ends at once.
            for _ in range(200):
                self.assertEqual(fetch(client, "/none?" + 1000 * "x")[0].status, 404)
            # A log that is full is given up for the next one.
            fifo.rename(self.folder / "old.fifo")
            (self.folder / "old.fifo").unlink()
            server.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + SECONDS_MAX
            while not fifo.exists() or "?after" not in fifo.read_text():
                fetch(client, "/page.html?after")
                self.assertLess(time.monotonic(), end)

    def test_a_signal_ends_it_beside_a_log_that_nobody_reads(self):
        fifo = self.folder / "silent.fifo"
        os.mkfifo(fifo)
        self.addCleanup(fifo.unlink)
        for hangup in (False, True):
            with Server(self.folder, "--listen", "http://127.0.0.1:*", "--access-log", fifo) as server:
                client = server.connect()
                if hangup:
                    server.process.send_signal(signal.SIGHUP)
                for _ in range(100):
                    self.assertEqual(fetch(client, "/none?" + 1000 * "x")[0].status, 404)
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(server.process.wait(SECONDS_MAX), 0)

    def test_certificates_that_become_a_fifo_are_not_waited_for(self):
        with tempfile.TemporaryDirectory() as keys:
            certificate, key = Path(keys) / "certificate", Path(keys) / "key"
            shutil.copy(CERTIFICATE, certificate)
            shutil.copy(KEY, key)
            shown = ("--tls-cert", certificate, "--tls-key", key)
            with Server(self.folder, "--listen", "https://127.0.0.1:*", *shown) as server:
                certificate.unlink()
                os.mkfifo(certificate)
                server.process.send_signal(signal.SIGHUP)
                self.assertIn(f'--tls-cert "{certificate}": it is not a regular file', server.process.stderr.readline())
                self.assertEqual(fetch(server.connect(), "/page.html")[1], b"<p>hello")

    def test_silent_clients_do_not_keep_others_from_the_metrics(self):
        listens = ("--listen", "http://127.0.0.1:*", "--admin", "http://127.0.0.1:*")
        with Server(self.folder, *listens, endpoint_count=2) as server:
            host, port = server.endpoints[0].split("//")[1].rstrip("/").split(":")
            silent = [socket.create_connection((host, int(port))) for _ in range(300)]
            self.assertEqual(fetch(server.connect(0), "/healthz")[0].status, 200)
            self.assertEqual(fetch(server.connect(0), "/metrics")[0].status, 200)
            for each in silent:
                each.close()

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
            listen = (self.folder, "--listen", "https://127.0.0.1:*", "--tls-cert")
            page, fifo = self.folder / "page.html", self.folder / "fifo"
            os.mkfifo(fifo)
            self.addCleanup(fifo.unlink)
            for arguments, status, reason in (
                ((self.folder / "none",), 1, "none"),
                ((self.folder / "page.html",), 1, "page.html"),
                ((self.folder, "--listen", "tcp://127.0.0.1:*"), 2, "http://"),
                ((self.folder, "--listen", "http://127.0.0.1:x"), 2, "is not a port"),
                ((self.folder, "--listen", taken), 1, "already in use"),
                ((self.folder, "--listen", "https://127.0.0.1:*"), 2, "--tls-cert"),
                ((self.folder, "--tls-key", KEY), 2, "--tls-cert"),
                ((*listen, page), 1, f'--tls-cert "{page}": no certificate is in it'),
                ((*listen, CERTIFICATE, "--tls-key", page), 1, f'--tls-key "{page}": no private key is in it'),
                ((*listen, fifo), 1, f'--tls-cert "{fifo}": it is not a regular file'),
                ((*listen, CERTIFICATE, "--tls-key", "/dev/zero"), 1, "it is not a regular file"),
                ((self.folder, "--cache", "*.js"), 2, "--cache is not of the form"),
                ((self.folder, "--index", "a/b"), 2, "--index is the name of a file"),
                ((self.folder, "--root", "/video/"), 2, "--root /video/: it has to be /PREFIX/=DIR"),
                ((self.folder, "--root", "video=."), 2, "begin and end with a slash"),
                ((self.folder, "--threads", "0"), 2, "--threads"),
                ((self.folder, "--log-format", "xml"), 2, "--log-format"),
                ((self.folder, "--access-log", self.folder / "none" / "log"), 1, "No such file"),
                ((self.folder, "--access-log", self.folder), 1, "Is a directory"),
                ((self.folder, "--admin", "https://127.0.0.1:*"), 2, "http://"),
                ((self.folder, "--unknown"), 2, "--unknown"),
                ((), 2, "DIR"),
            ):
                with self.subTest(arguments=arguments):
                    ended = subprocess.run(
                        [PROGRAM, "serve", *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS_MAX
                    )
                    self.assertIn(reason, ended.stderr + ended.stdout)
                    self.assertEqual(ended.returncode, status)
                    self.assertNotIn("ZLINK_", ended.stderr + ended.stdout)
        for arguments in ((), ("none",), ("--none",)):
            self.assertEqual(subprocess.run([PROGRAM, *arguments], capture_output=True, check=False).returncode, 2)
        for arguments in (("--help",), ("serve", "--help"), ("--version",)):
            self.assertEqual(subprocess.run([PROGRAM, *arguments], capture_output=True, check=False).returncode, 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as keys:
        CERTIFICATE, KEY = os.path.join(keys, "certificate.pem"), os.path.join(keys, "key.pem")
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
        made = [*command.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", KEY, "-out", CERTIFICATE]
        subprocess.run(made, check=True, capture_output=True)
        unittest.main(argv=sys.argv[:1], verbosity=2)
