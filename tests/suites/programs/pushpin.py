"""pushpin: condure, zurl, pushpin-proxy and pushpin-handler, which communicate through libzmq only.

A client sends a request to pushpin, which forwards it to our server; the server tells it, by GRIP headers, to answer at
once, to hold the request until something is published (long poll), or to keep the response open and append everything
published.
"""

import http.client
import http.server
import json
import threading
import time
import urllib.request
from pathlib import Path

import harness

CLIENTS = 50
MESSAGES = 200
CONFIGURATION = """[global]
include={folder}/internal.conf
rundir={folder}
ipc_prefix=pushpin-
port_offset=0
[runner]
services=condure,pushpin-proxy,pushpin-handler
http_port=17999
logdir={folder}
log_level=2
client_buffer_size=8192
client_maxconn=1000
condure_bin=condure
[proxy]
routesfile=routes
debug=true
[handler]
push_in_spec=tcp://127.0.0.1:15560
push_in_sub_specs=tcp://127.0.0.1:15562
push_in_http_addr=127.0.0.1
push_in_http_port=15561
stats_spec=ipc://{folder}/pushpin-stats
command_spec=tcp://127.0.0.1:15563
message_rate=10000
message_hwm=25000
message_wait=5000
"""
ZURL = """[General]
in_spec=ipc://{folder}/zurl-in
in_stream_spec=ipc://{folder}/zurl-in-stream
out_spec=ipc://{folder}/zurl-out
defpolicy=allow
"""


class Origin(http.server.BaseHTTPRequestHandler):
    """The server behind pushpin."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        headers = {"Content-Type": "text/plain"}
        body = b"hello\n"
        if self.path.startswith("/poll"):
            headers |= {"Grip-Hold": "response", "Grip-Channel": "poll", "Grip-Timeout": "60"}
        elif self.path.startswith("/stream"):
            headers |= {"Grip-Hold": "stream", "Grip-Channel": "stream"}
        elif self.path.startswith("/big"):
            body = b"x" * 3_000_000
        self.answer(headers, body)

    def do_POST(self):
        self.answer({}, self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, headers, body):
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 200
    daemon_threads = True


def install(place):
    place.command("pushpin", "--version")
    place.command("zurl", "--version")
    place.command("condure", "--version")


def run(place):
    origin = Server(("127.0.0.1", 0), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    start(place, origin.server_port)
    tests = (http_get, http_post, http_large, http_at_once, long_poll, long_poll_many, stream, stream_many, stream_zmq)
    for test in tests:
        try:
            test(place)
        except (OSError, http.client.HTTPException, harness.Failure, AssertionError) as error:
            place.failed(test.__name__, repr(error))
        else:
            place.passed(test.__name__)


def start(place, port):
    """Starts all four programs, and waits until the proxy answers."""
    folder = place.short_folder()
    internal = Path("/usr/lib/pushpin/internal.conf").read_text().replace("/var/run/zurl", "{rundir}")
    (folder / "internal.conf").write_text(internal)
    (folder / "pushpin.conf").write_text(CONFIGURATION.format(folder=folder))
    (folder / "zurl.conf").write_text(ZURL.format(folder=folder))
    (folder / "routes").write_text(f"* 127.0.0.1:{port}\n")
    place.start("zurl", "zurl", f"--config={folder}/zurl.conf", cwd=folder)
    place.start("pushpin", "pushpin", f"--config={folder}/pushpin.conf", "--merge-output", cwd=folder)
    harness.wait_until(lambda: is_listening(17999) and is_listening(15561), 20, "pushpin listens")
    place.passed("starts")


def is_listening(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.connect()
        return True
    finally:
        connection.close()


def ask(path, body=None, seconds=15):
    """Sends a request to pushpin. Returns the connection and the response, whose body is not read yet."""
    connection = http.client.HTTPConnection("127.0.0.1", 17999, timeout=seconds)
    connection.request("POST" if body else "GET", path, body)
    return connection, connection.getresponse()


def answer(path, body=None):
    connection, response = ask(path, body)
    with connection.sock or response:
        assert response.status == 200, f"status {response.status}: {response.read(200)}"
        return response.read()


def publish(channel, formats):
    """Publishes by HTTP."""
    items = {"items": [{"channel": channel, "formats": formats}]}
    request = urllib.request.Request("http://127.0.0.1:15561/publish/", json.dumps(items).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.status == 200, response.status


def http_get(_):
    said = answer("/")
    assert said == b"hello\n", said


def http_post(_):
    body = bytes(range(256)) * 100
    assert answer("/echo", body) == body, "another body"


def http_large(_):
    assert len(answer("/big")) == 3_000_000, "another size"


def at_once(work, count):
    """Calls `work (i)` in as many threads. Returns their results or exceptions."""
    results = [None] * count

    def call(i):
        try:
            results[i] = work(i)
        except Exception as error:
            results[i] = error

    threads = [threading.Thread(target=call, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    return threads, results


def http_at_once(_):
    threads, results = at_once(lambda i: [answer(f"/{i}") for _ in range(10)], CLIENTS)
    for thread in threads:
        thread.join()
    wrong = [result for result in results if result != [b"hello\n"] * 10]
    assert not wrong, f"{len(wrong)} of {CLIENTS}: {wrong[0]!r}"


def held(path, count):
    """Clients whose requests pushpin holds; their results are available once their threads have ended."""
    waiting = threading.Semaphore(0)

    def wait(_):
        connection = http.client.HTTPConnection("127.0.0.1", 17999, timeout=20)
        connection.request("GET", path)
        waiting.release()
        return connection.getresponse().read()

    threads, results = at_once(wait, count)
    for _ in threads:
        assert waiting.acquire(timeout=10), "requests are not sent"
    return threads, results


def publish_until_answered(threads, content):
    """Publishes again and again, because a client that is not subscribed yet has to wait for the next one."""
    for _ in range(100):
        publish("poll", {"http-response": {"body": content}})
        end = time.monotonic() + 0.2
        for thread in threads:
            thread.join(max(0, end - time.monotonic()))
        if not any(thread.is_alive() for thread in threads):
            return
    raise harness.Failure("not answered")


def long_poll(_):
    threads, results = held("/poll", 1)
    publish_until_answered(threads, "news\n")
    assert results == [b"news\n"], results


def long_poll_many(_):
    threads, results = held("/poll", CLIENTS)
    publish_until_answered(threads, "more news\n")
    wrong = [result for result in results if result != b"more news\n"]
    assert not wrong, f"{len(wrong)} of {CLIENTS}: {wrong[0]!r}"


def open_stream():
    """A response that is kept open. Its first line shows that pushpin has subscribed it."""
    _, response = ask("/stream")
    assert response.status == 200, response.status
    assert response.readline() == b"hello\n", "another first line"
    return response


def stream(_):
    response = open_stream()
    for i in range(MESSAGES):
        publish("stream", {"http-stream": {"content": f"{i}\n"}})
    came = [response.readline() for _ in range(MESSAGES)]
    assert came == [f"{i}\n".encode() for i in range(MESSAGES)], came[:3]
    publish("stream", {"http-stream": {"action": "close"}})
    assert response.read() == b"", "more came"


def stream_many(_):
    responses = [open_stream() for _ in range(CLIENTS)]
    for i in range(20):
        publish("stream", {"http-stream": {"content": f"{i}\n"}})
    for response in responses:
        came = [response.readline() for _ in range(20)]
        assert came == [f"{i}\n".encode() for i in range(20)], came[:3]
    publish("stream", {"http-stream": {"action": "close"}})
    for response in responses:
        assert response.read() == b"", "more came"


def stream_zmq(place):
    """Publishes with pushpin's own program, a PUSH socket that connects, sends and ends."""
    response = open_stream()
    for i in range(10):
        command = ("pushpin-publish", "--spec=tcp://127.0.0.1:15560", "stream", f"by zmq {i}")
        status = place.run(f"publish{i}", *command, seconds=15)
        assert status == 0, f"status {status}: {place.requested_close(f'publish{i}')}"
        line = response.readline()
        assert line == f"by zmq {i}\n".encode(), line
