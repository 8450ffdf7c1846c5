"""gnuradio 3.10.5: its blocks for ZeroMQ. Its own tests, of a later 3.10, are programs of Python's unittest."""

import re

import exchange

# Tests that fail on Debian's libzmq 4.3.4 as well: they are of gnuradio 3.10.12.
UNFIT = set()


def run(place):
    exchange.exchange(place, "/usr/bin/python3", "-B", exchange.HERE / "exchange_gnuradio.py")
    source = exchange.source(place)
    if not source:
        return
    environment = place.environment(HOME=str(place.logs))
    for test in sorted((source / "gr-zeromq" / "python" / "zeromq").glob("qa_*.py")):
        status = place.run(test.stem, "/usr/bin/python3", "-B", test, "-v", env=environment, cwd=place.logs)
        # What a test prints comes between its name and its result.
        tests = re.split(r"^(test\w+) \(", place.said(test.stem).partition("\n------")[0], flags=re.M)[1:]
        results = [(name, re.search(r"(ok|FAIL|ERROR)\s*$", said)) for name, said in zip(tests[::2], tests[1::2])]
        for name, result in results:
            name = f"own.{test.stem}.{name}"
            if name in UNFIT:
                place.skipped(name, f"fails with {exchange.DEBIAN} as well")
            else:
                place.check(name, result and result[1] == "ok", place.requested_close(test.stem))
        if not results:
            place.failed(f"own.{test.stem}", f"status {status}: {place.requested_close(test.stem)}")
