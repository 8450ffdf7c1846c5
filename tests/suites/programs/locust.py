"""locust: a master and two workers, which talk through zmq.green of pyzmq, load an HTTP server on loopback."""

import http.server
import json
import threading

import harness

REQUESTS = 400
LOCUSTFILE = """
from locust import HttpUser, constant, task


class Visitor(HttpUser):
    wait_time = constant(0.05)

    @task
    def page(self):
        self.client.get("/page")
"""


class Page(http.server.BaseHTTPRequestHandler):
    """Answers every request, and counts them."""

    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self):
        Page.count += 1
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


def install(place):
    place.venv("pyzmq==27.3.0", "locust==2.47.0")


def run(place):
    place.use_library()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = place.logs / "locustfile.py"
    file.write_text(LOCUSTFILE)
    locust = (place.cache / "venv" / "bin" / "locust", "-f", file, "--host", f"http://127.0.0.1:{server.server_port}")
    address = ("--master-bind-host", "127.0.0.1", "--master-bind-port", "15557")
    load = ("--headless", "--users", "20", "--spawn-rate", "20", "--run-time", "10s", "--expect-workers", "2")
    csv = place.logs / "stats"
    master = place.start("master", *locust, "--master", *address, *load, "--json", "--csv", csv)
    workers = [
        place.start(f"worker{i}", *locust, "--worker", "--master-host", "127.0.0.1", "--master-port", "15557")
        for i in range(2)
    ]
    status = place.finish(master, 90)
    place.check("master_ends", status == 0, f"status {status}: {place.requested_close('master')}")
    ends = [place.finish(worker, 20) for worker in workers]
    place.check("workers_end", ends == [0, 0], f"statuses {ends}")
    place.check("users_of_all_workers", "All users spawned" in place.said("master"), place.requested_close("master"))
    report(place)


def report(place):
    """Compares the numbers that the workers reported to the master with the server's count."""
    said = place.said("master")
    try:
        told = json.loads(said[said.index("\n[\n") :].strip().split("\n]")[0] + "\n]")
    except ValueError as error:
        raise harness.Failure(f"the master wrote no statistics: {error}") from error
    count = sum(entry["num_requests"] for entry in told)
    place.check("statistics", REQUESTS < count <= Page.count, f"{count} told, {Page.count} counted")
