#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""zlink behind nginx and HAProxy.

    main.py PREFIX FOLDER

Prints a line for each test: 'PASS NAME', or 'FAIL NAME  WHY'. Each client has an address of its own, 127.0.0.5 and so on, the
proxies connect from 127.0.0.1, and both are told apart in the access log. FOLDER keeps the logs of the proxies.
"""

import contextlib
import ctypes
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

PREFIX = Path(sys.argv[1])
LOGS = Path(sys.argv[2])
PROXY = "127.0.0.1"
SECONDS_MAX = 60


def header_number(name):
    """The value of a constant of zlink.h."""
    text = (PREFIX / "include" / "zlink.h").read_text().replace("\\\n", " ")
    return int(re.search(rf"^#define {name}\s+(\d+)", text, re.M)[1])


def free_port():
    with socket.create_server((PROXY, 0)) as taken:
        return taken.getsockname()[1]


def wait_for(condition, what):
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)  # Between two looks.
    raise AssertionError(f"{what} did not happen within {SECONDS_MAX} s")


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection((PROXY, port), 1):
        return True
    return False


@contextlib.contextmanager
def running(name, *command, status=0):
    with (LOGS / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
    if status is not None and process.returncode != status:
        raise AssertionError(f"{name} ended with {process.returncode}: {(LOGS / f'{name}.log').read_text()[-300:]}")


class Site:
    """`zlink serve` with a file /a.txt."""

    def __init__(self, work, name, *options):
        self.port, self.admin_port = free_port(), free_port()
        self.log = work / f"{name}.json"
        folder = work / "site"
        folder.mkdir(exist_ok=True)
        (folder / "a.txt").write_text("hello")
        self.name = name
        self.command = [
            PREFIX / "bin" / "zlink", "serve", folder, f"--listen=http://{PROXY}:{self.port}",
            f"--admin=http://{PROXY}:{self.admin_port}", f"--access-log={self.log}", "--log-format=json", *options,
        ]

    def __enter__(self):
        self.ending = contextlib.ExitStack()
        self.process = self.ending.enter_context(running(self.name, *self.command))
        wait_for(lambda: listens(self.port) and listens(self.admin_port), "that zlink serve listens")
        return self

    def __exit__(self, *reason):
        self.ending.__exit__(*reason)

    def clients(self):
        return [json.loads(line)["client"] for line in self.log.read_text().splitlines()]

    def health(self):
        return fetch(self.admin_port, "127.0.0.1", "/healthz")[0]


class Echo:
    """A STREAM over WebSocket, which answers each message with its peer's address."""

    def __init__(self, **options):
        self.library = library = ctypes.CDLL(str(PREFIX / "lib" / "libzlink.so"))
        for name in ("zlink_ctx_new", "zlink_socket"):
            getattr(library, name).restype = ctypes.c_void_p
        library.zlink_msg_gets.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p(library.zlink_ctx_new())
        self.socket = ctypes.c_void_p(library.zlink_socket(self.context, header_number("ZLINK_STREAM")))
        for name, value in {"STREAM_EVENTS": 0, "LINGER": 0, "RCVTIMEO": 100, **options}.items():
            raw = value.encode() if isinstance(value, str) else int(value).to_bytes(4, sys.byteorder, signed=True)
            if library.zlink_setsockopt(self.socket, header_number(f"ZLINK_{name}"), raw, ctypes.c_size_t(len(raw))) != 0:
                raise AssertionError(f"{name} was refused")
        self.port = free_port()
        if library.zlink_bind(self.socket, f"ws://{PROXY}:{self.port}/ws".encode()) != 0:
            raise AssertionError("could not bind")
        self.ends = False
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()
        self.library.zlink_close(self.socket)
        self.library.zlink_ctx_term(self.context)

    def serve(self):
        library, message = self.library, (ctypes.c_uint64 * 8)()
        peer = ctypes.create_string_buffer(4)
        while not self.ends:
            if library.zlink_recv(self.socket, peer, ctypes.c_size_t(4), 0) != 4:
                continue
            library.zlink_msg_init(message)
            if library.zlink_msg_recv(message, self.socket, 0) >= 0:
                address = library.zlink_msg_gets(message, b"Peer-Address")
                library.zlink_send(self.socket, peer, ctypes.c_size_t(4), header_number("ZLINK_SNDMORE"))
                library.zlink_send(self.socket, address, ctypes.c_size_t(len(address)), 0)
            library.zlink_msg_close(message)


def fetch(port, client, path="/a.txt", **fields):
    """The status and content of a response; `client` is the address that is connected from."""
    connection = http.client.HTTPConnection(PROXY, port, timeout=SECONDS_MAX, source_address=(client, 0))
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): text for name, text in fields.items()})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def ask_over_websocket(port, client):
    """What Echo answers."""
    with socket.create_connection((PROXY, port), SECONDS_MAX, source_address=(client, 0)) as peer:
        peer.sendall(
            b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Forwarded-For: 192.0.2.99\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        stream = peer.makefile("rb")
        status = stream.readline()
        assert b" 101 " in status, status
        while stream.readline() != b"\r\n":
            pass
        peer.sendall(b"\x82\x85\0\0\0\0hello")
        kind, size = stream.read(2)
        assert kind == 0x82, kind
        return stream.read(size).decode()


@contextlib.contextmanager
def nginx(work, servers):
    """nginx with these blocks of its part http."""
    folder = Path(tempfile.mkdtemp(dir=work))
    (folder / "nginx.conf").write_text(
        f"""
daemon off; pid {folder}/pid; error_log {LOGS}/nginx.error.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    map $http_upgrade $connection_upgrade {{ default upgrade; "" ""; }}
    {servers}
}}
"""
    )
    with running("nginx", "nginx", "-p", folder, "-c", folder / "nginx.conf") as process:
        yield process


def nginx_server(port, upstream, name):
    """As docs/guide/proxies.md has it."""
    return f"""
    upstream {name} {{ server {PROXY}:{upstream}; keepalive 8; }}
    server {{
        listen {PROXY}:{port};
        location / {{
            proxy_pass http://{name};
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_set_header Forwarded "";
            proxy_read_timeout 1h;
        }}
    }}
"""


@contextlib.contextmanager
def haproxy(work, text):
    file = Path(tempfile.mkdtemp(dir=work)) / "haproxy.cfg"
    file.write_text(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  timeout tunnel 1h\n"
        "  retries 0\n" + text
    )
    # SIGTERM ends it at once, with the status of that signal.
    with running("haproxy", "haproxy", "-db", "-f", file, status=None) as process:
        yield process


def test_files_behind_nginx(work):
    port = free_port()
    with Site(work, "nginx_files", f"--trusted-proxy={PROXY}") as site, nginx(work, nginx_server(port, site.port, "site")):
        wait_for(lambda: listens(port), "that nginx listens")
        for client in ("127.0.0.5", "127.0.0.6", "127.0.0.5"):
            assert fetch(port, client) == (200, b"hello")
        assert fetch(port, "127.0.0.7", X_Forwarded_For="192.0.2.99", Forwarded="for=192.0.2.98") == (200, b"hello")
        wait_for(lambda: len(site.clients()) == 4, "that four requests are logged")
        assert site.clients() == ["127.0.0.5", "127.0.0.6", "127.0.0.5", "127.0.0.7"], site.clients()


def test_upgrade_behind_nginx(work):
    port = free_port()
    with Echo(TRUSTED_PROXIES=PROXY) as echo, nginx(work, nginx_server(port, echo.port, "echo")):
        wait_for(lambda: listens(port), "that nginx listens")
        for client in ("127.0.0.5", "127.0.0.6"):
            assert ask_over_websocket(port, client) == client


def test_an_untrusted_proxy_tells_nothing(work):
    port = free_port()
    with Site(work, "nginx_untrusted", "--trusted-proxy=10.0.0.0/8") as site, nginx(work, nginx_server(port, site.port, "site")):
        wait_for(lambda: listens(port), "that nginx listens")
        assert fetch(port, "127.0.0.5") == (200, b"hello")
        wait_for(site.clients, "that the request is logged")
        assert site.clients() == [PROXY], site.clients()


def haproxy_front(port, *servers, options=""):
    lines = "".join(f"  server s{number} {PROXY}:{server}\n" for number, server in enumerate(servers))
    return f"listen front\n  bind {PROXY}:{port}\n  option forwardfor\n  http-request del-header Forwarded\n{options}{lines}"


def test_files_behind_haproxy(work):
    port = free_port()
    with Site(work, "haproxy_files", f"--trusted-proxy={PROXY}") as site, haproxy(work, haproxy_front(port, site.port)):
        wait_for(lambda: listens(port), "that HAProxy listens")
        for client in ("127.0.0.5", "127.0.0.6"):
            assert fetch(port, client, X_Forwarded_For="192.0.2.99") == (200, b"hello")
        wait_for(lambda: len(site.clients()) == 2, "that two requests are logged")
        assert site.clients() == ["127.0.0.5", "127.0.0.6"], site.clients()


def test_upgrade_behind_haproxy(work):
    port = free_port()
    with Echo(TRUSTED_PROXIES=PROXY) as echo, haproxy(work, haproxy_front(port, echo.port)):
        wait_for(lambda: listens(port), "that HAProxy listens")
        assert ask_over_websocket(port, "127.0.0.5") == "127.0.0.5"


def test_two_proxies_in_a_row(work):
    outer, inner = free_port(), free_port()
    with (
        Site(work, "chain", f"--trusted-proxy={PROXY}") as site,
        nginx(work, nginx_server(inner, site.port, "site")),
        haproxy(work, haproxy_front(outer, inner)),
    ):
        wait_for(lambda: listens(inner) and listens(outer), "that both proxies listen")
        assert fetch(outer, "127.0.0.5") == (200, b"hello")
        wait_for(site.clients, "that the request is logged")
        assert site.clients() == ["127.0.0.5"], site.clients()


def test_proxy_protocol_of_haproxy(work):
    for how in ("send-proxy", "send-proxy-v2"):
        port = free_port()
        with Site(work, how, "--proxy-protocol") as site, Echo(PROXY_PROTOCOL=1) as echo:
            web_port = free_port()
            text = "".join(
                f"listen {name}\n  mode tcp\n  bind {PROXY}:{at}\n  server s {PROXY}:{to} {how}\n"
                for name, at, to in (("files", port, site.port), ("web", web_port, echo.port))
            )
            with haproxy(work, text):
                wait_for(lambda: listens(web_port), "that HAProxy listens")  # noqa: B023
                assert fetch(port, "127.0.0.5") == (200, b"hello")
                wait_for(lambda: "127.0.0.5" in site.clients(), "that the request is logged")  # noqa: B023
                assert ask_over_websocket(web_port, "127.0.0.6") == "127.0.0.6"


def test_a_server_ends_without_a_failed_request(work):
    port = free_port()
    options = (f"--trusted-proxy={PROXY}", "--drain-delay=3", "--grace=5")
    with Site(work, "first", *options) as first, Site(work, "second", *options) as second:
        text = haproxy_front(port, options="  option httpchk GET /healthz\n  http-check expect status 200\n") + "".join(
            f"  server {site.name} {PROXY}:{site.port} check port {site.admin_port} inter 100 fall 1 rise 1\n" for site in (first, second)
        )
        with haproxy(work, text):
            wait_for(lambda: listens(port), "that HAProxy listens")
            answers, ends = [], threading.Event()

            def load():
                while not ends.is_set():
                    try:
                        answers.append(fetch(port, "127.0.0.5"))
                    except (OSError, http.client.HTTPException) as failed:
                        answers.append(failed)

            threads = [threading.Thread(target=load) for _ in range(4)]
            for thread in threads:
                thread.start()
            try:
                wait_for(lambda: first.clients() and second.clients(), "that both have answered")
                first.process.send_signal(signal.SIGTERM)
                wait_for(lambda: first.health() == 503, "that the first says that it ends")
                assert first.process.wait(SECONDS_MAX) == 0
                before = len(second.clients())
                wait_for(lambda: len(second.clients()) > before + 20, "that the second goes on alone")
            finally:
                ends.set()
                for thread in threads:
                    thread.join()
            wrong = [each for each in answers if each != (200, b"hello")]
            assert not wrong, f"{len(wrong)} of {len(answers)}: {wrong[:3]}"


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    for name, test in sorted(globals().items()):
        if not name.startswith("test_"):
            continue
        work = Path(tempfile.mkdtemp())
        os.chmod(work, 0o755)  # nginx's workers are another user.
        label = name.removeprefix("test_").replace("_", " ")
        try:
            test(work)
            print("PASS", label, flush=True)
        except Exception as failed:  # Each failure is a line.
            traceback.print_exc()
            print(f"FAIL {label}  {type(failed).__name__}: {str(failed)[:200]}", flush=True)
        finally:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
