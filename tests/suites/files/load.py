# SPDX-License-Identifier: MPL-2.0
"""wrk, h2load and vegeta: no request fails, and none has another status than it should."""

import json
import re

from harness import equal, expect, note, test

CONNECTIONS = 64
SMALL, LARGE = "text.txt", "fast.mp4"
REQUESTS = {  # The header fields of each kind of request, and the status that it has to have.
    "small file": (SMALL, {}, 200),
    "film": (LARGE, {}, 200),
    "range of a film": (LARGE, {"Range": "bytes=1000000-1065535"}, 206),
    "file that the client has": (SMALL, {"If-None-Match": "*"}, 304),
    "file that does not exist": ("none.txt", {}, 404),
}
RATES = {"film": 20}  # Requests per second of vegeta.
RATE = 500
SCRIPT = """
local wanted, threads = {status}, {{}}
function setup (thread) table.insert (threads, thread) end
function init () others = 0; counted = 0 end
function response (status)
    counted = counted + 1
    if status ~= wanted then others = others + 1 end
end
wrk.headers = {{ {fields} }}
function done (summary)
    local counts, others = 0, 0
    for _, thread in ipairs (threads) do
        counts = counts + thread:get ("counted")
        others = others + thread:get ("others")
    end
    local failed = summary.errors
    print (string.format ("counted %d others %d connect %d read %d write %d timeout %d",
        counts, others, failed.connect, failed.read, failed.write, failed.timeout))
end
"""


def run(place, server):
    for scheme in ("http", "https"):
        for kind, (name, fields, status) in REQUESTS.items():
            url = server.url(scheme, name)
            run_wrk(place, f"wrk/{scheme}/{kind}", url, fields, status)
            run_h2load(place, f"h2load/{scheme}/{kind}", url, fields, status)
            run_vegeta(place, f"vegeta/{scheme}/{kind}", url, fields, status, RATES.get(kind, RATE))


def run_wrk(place, title, url, fields, status):
    with test(title):
        script = place.cache / "wrk.lua"
        listed = ", ".join(f'["{name}"] = "{value}"' for name, value in fields.items())
        script.write_text(SCRIPT.format(status=status, fields=listed))
        command = ("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{place.load_seconds}s", "--timeout", "10s", "-s", script, url)
        said = place.run(title, *command, seconds=place.load_seconds + 60).stdout.decode()
        found = {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", said.splitlines()[-1])}
        counted = found.pop("counted")
        note(f"{title}: {counted / place.load_seconds:.0f} requests/s")
        expect(counted > 0, "no request was answered")
        equal(found, dict.fromkeys(("others", "connect", "read", "write", "timeout"), 0), "what failed")


def run_h2load(place, title, url, fields, status):
    with test(title):
        headers = [part for name, value in fields.items() for part in ("-H", f"{name}: {value}")]
        command = ("h2load", "--h1", "-t1", "-c", CONNECTIONS, "-D", place.load_seconds, *headers, url)
        said = place.run(title, *command, seconds=place.load_seconds + 60).stdout.decode()
        requests = counts_of(said, "requests")
        codes = counts_of(said, "status codes")
        note(f"{title}: {requests['done'] / place.load_seconds:.0f} requests/s")
        expect(requests["done"] > 0, "no request was answered")
        equal({name: requests[name] for name in ("errored", "timeout")}, {"errored": 0, "timeout": 0}, "what failed")
        # h2load takes a status from 400 on for a failure.
        equal(requests["failed"], requests["done"] if status >= 400 else 0, "what failed")
        # A code is counted when it comes, so a response that is not complete at the end has one, too.
        answered = codes.pop(f"{status // 100}xx")
        expect(0 <= answered - requests["done"] <= CONNECTIONS, f"{answered} of {requests['done']} have the status")
        equal(set(codes.values()), {0}, "the number of other status codes")


def counts_of(said, heading):
    """A line 'heading: 1 one, 2 two'."""
    line = re.search(rf"^{heading}: (.*)$", said, re.M)[1]
    return {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", line)}


def run_vegeta(place, title, url, fields, status, rate):
    with test(title):
        vegeta = place.cache / "vegeta"
        targets, results = place.cache / "vegeta.targets", place.cache / "vegeta.results"
        lines = [f"GET {url}", *(f"{name}: {value}" for name, value in fields.items())]
        targets.write_text("\n".join(lines) + "\n")
        options = ("-rate", rate, "-duration", f"{place.load_seconds}s", "-connections", CONNECTIONS)
        more = ("-targets", targets, "-output", results, "-root-certs", place.authority, "-http2=false")
        place.run(title, vegeta, "attack", *options, *more, seconds=place.load_seconds + 60)
        report = json.loads(place.run(title, vegeta, "report", "-type=json", results).stdout)
        slowest = report["latencies"]["99th"] / 1e6
        note(f"{title}: {report['rate']:.0f} requests/s, 99 of 100 within {slowest:.1f} ms")
        # On a machine that is too slow for the rate there are fewer requests.
        count = report["requests"]
        expect(count > 0, "there was no request")
        equal(report["status_codes"], {str(status): count}, "the status codes")
        if status == 200:
            size = (place.folder / url.rpartition("/")[2]).stat().st_size
            equal(report["bytes_in"]["total"], size * count, "the number of bytes")
