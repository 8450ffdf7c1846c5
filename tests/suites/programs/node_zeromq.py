"""The npm package zeromq, whose addon contains a libzmq of its own: the library under test is loaded before it.

The addon calls the functions of that libzmq through the dynamic linker, so a preloaded library takes its place. The
tests are those of the older package zmq, for which zeromq's compatibility mode is meant, and a program of ours for the
newer API.
"""

import json
import re
import shutil
from pathlib import Path

PACKAGES = ("zeromq@6.8.0", "zmq@2.15.3", "mocha@11.7.5", "should@13.2.3", "semver@7.7.3")
# Tests that fail with the addon's own libzmq as well: compatibility mode lacks some features of zmq.
UNFIT = {
    "proxy.xpub-xsub should throw an error if the order is wrong",
    "socket.error-callback should callback with error when not connected",
    "socket.monitor should be able to monitor the socket",
    "socket.monitor should use default interval and numOfEvents",
    "socket.push-pull should be able to read messages after pause()",
    "socket.router should handle the unroutable",
    "socket.zap should support plain",
}
# In one of fourteen runs compatibility mode keeps Node busy for ever during an unbind, with any library.
RACES = {"socket.unbind"}
SECONDS = 120
RACE_SECONDS = 20


def install(place):
    place.once("packages", " ".join(PACKAGES), lambda: fetch(place))


def fetch(place):
    shutil.rmtree(place.cache / "node_modules", ignore_errors=True)
    options = ("--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", str(place.cache))
    place.command("npm", "install", *options, *PACKAGES)
    compat = place.cache / "compat"
    shutil.rmtree(compat, ignore_errors=True)
    shutil.copytree(place.cache / "node_modules" / "zmq" / "test", compat / "test")
    (compat / "index.js").write_text("module.exports = require ('zeromq/v5-compat');\n")


def run(place):
    environment = place.environment(LD_PRELOAD=str(place.library), NODE_PATH=str(place.cache / "node_modules"))
    bindings(place, environment)
    for test in sorted((place.cache / "compat" / "test").glob("*.js")):
        mocha(place, test, environment)
    own = Path(__file__).parent / "node_zeromq.js"
    place.lines("async", "node", own, env=environment)


def bindings(place, environment):
    """Checks that each function of libzmq that the addon called belongs to the library under test."""
    program = "const z = require ('zeromq'); const s = new z.Push (); s.close ()"
    place.run("bindings", "node", "-e", program, env={**environment, "LD_DEBUG": "bindings"}, cwd=place.cache)
    bound = re.findall(r"addon\.node \[\d+\] to (\S+) \[\d+\]: normal symbol `(zmq_\w+)'", place.said("bindings"))
    others = {f"{name} of {file}" for file, name in bound if Path(file).resolve() != place.library}
    place.check("bindings", bound and not others, f"{len(bound)} bound, {' '.join(sorted(others))}")


def mocha(place, test, environment):
    """Runs a file of tests. A test that does not end fails without the others; if Node itself ends, the file fails."""
    told = run_tests(place, test, test.stem, environment)
    if told is None:
        place.failed(test.stem, f"it does not end, or not well: {place.requested_close(test.stem)}")
        return
    for case in told["tests"]:
        if "Address already in use" in case["err"].get("message", ""):
            # Sockets of the previous test may still hold it: zmq_close (3) does not wait.
            again = run_tests(place, test, f"{test.stem}.again", environment, "--fgrep", case["fullTitle"])
            case = again["tests"][0] if again else case
        tell(place, case["fullTitle"], case["err"].get("message"), case in told["pending"])


def run_tests(place, test, title, environment, *options):
    """Runs the tests of a file. Returns mocha's results, or None if it ended early."""
    result = place.logs / f"{title}.json"
    program = place.cache / "node_modules" / "mocha" / "bin" / "mocha.js"
    reporter = ("--reporter", "json", "--reporter-option", f"output={result}")
    command = ("node", "--expose-gc", program, "--timeout", "10000", "--exit", *options, *reporter, test)
    tries, seconds = (5, RACE_SECONDS) if test.stem in RACES else (1, SECONDS)
    for _ in range(tries):
        place.run(title, *command, env=environment, cwd=test.parent.parent, seconds=seconds)
        if result.exists():
            return json.loads(result.read_text())
    return None


def tell(place, title, error, is_pending):
    name = re.sub(r"[\s:]+", "_", title)
    if title in UNFIT:
        place.skipped(name, "fails with the addon's own libzmq as well")
    elif is_pending:
        place.skipped(name)
    else:
        place.check(name, not error, error)
