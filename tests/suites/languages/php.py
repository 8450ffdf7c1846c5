"""PHP: php-zmq 1.1.3. Its own tests are run by PHP's run-tests.php."""

import re
import shutil
import xml.etree.ElementTree
from pathlib import Path

import exchange

# Tests that fail on Debian's libzmq 4.3.4 as well, with Debian's PHP 8.2.
UNFIT = {
    "own.007-addremovepoll",
    "own.013-pollclearandreuse",
    "own.016-callbackinvalidargs",
    "own.019-callbackinvalidsignature",
    "own.021-callbackwarning",
    "own.022-highwatermark",
    "own.036-device",
    "own.037-device-deprecated",
    "own.048-pollsetitems",
    "own.053-z85",
    "own.bug_gh_43",
    "own.bug_gh_49",
    "own.bug_gh_50",
}


def run(place):
    exchange.exchange(place, "php", exchange.HERE / "exchange.php")
    source = exchange.source(place)
    if not source:
        return
    # Tests leave files beside them.
    tests = place.short_folder() / "tests"
    shutil.copytree(source / "tests", tests)
    (runner,) = Path("/usr/lib/php").glob("*/build/run-tests.php")
    result = place.logs / "result.xml"
    environment = place.environment(TEST_PHP_JUNIT=str(result), NO_INTERACTION="1")
    command = ("php", runner, "-n", "-d", "extension=zmq.so", "-q", "--set-timeout", "30", tests)
    status = place.run("run-tests", *command, env={**environment, "TEST_PHP_EXECUTABLE": "/usr/bin/php"}, seconds=600)
    if not result.exists():
        place.failed("own_tests", f"status {status}: {place.requested_close('run-tests')}")
        return
    tests = xml.etree.ElementTree.parse(result)
    for case in tests.iter("testcase"):  # Named after the file, not after what it says.
        case.set("name", re.search(r"([^/]*)\.phpt", case.get("name"))[1])
        case.set("classname", "own")
        for left_out in case.iter("skipped"):
            left_out.set("message", left_out.get("message") or left_out.text or "its SKIPIF says so")
    tests.write(result)
    place.junit(result, UNFIT, exchange.DEBIAN)
