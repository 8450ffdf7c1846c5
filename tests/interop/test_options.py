"""Options of sockets and contexts, and properties of messages, compared with libzmq 4.3.5, the one in pyzmq's wheel:
every number that is or was an option, every kind of value and type of socket, before and after bind, set and read.
Where the two differ, option_differences.py has to state why.

option_probe.c tries the combinations, each in a process of its own. Without ZLINK_OPTIONS=all only one in seven of them
is tried, different ones for each type of socket; with ZLINK_OPTIONS=few, one in seventy.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT
from option_differences import RULES, Difference

ASKED = os.environ.get("ZLINK_OPTIONS")
ALL = ASKED == "all"
SHARES = 70 if ASKED == "few" else 7
HERE = Path(__file__).parent
TYPES = ["PAIR", "PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PULL", "PUSH", "XPUB", "XSUB", "STREAM"]
SHOWN_MAX = 40


@pytest.fixture(scope="session")
def names():
    """Names of socket options by number; of several names the first one."""
    header = (ROOT / "include" / "zlink.h").read_text().replace("\\\n", "")
    header = header[header.index("@name Socket options") : header.index("/// Flags of sending")]
    found = {}
    for name, number in re.findall(r"#define ZLINK_(\w+)\s+(\d+)", header):
        found.setdefault(number, name)
    return found


@pytest.fixture(scope="session")
def probe(tmp_path_factory):
    program = tmp_path_factory.mktemp("options") / "option_probe"
    source = HERE / "option_probe.c"
    subprocess.run(["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", program, "-ldl"], check=True)
    return program


@pytest.fixture(scope="session")
def libraries(environments, candidate_library):
    """Each library, and the environment that it needs."""
    python, _ = environments["stock"]
    bundled = list(Path(python).parents[1].glob("lib/python3*/site-packages/pyzmq.libs/libzmq-*.so*"))
    assert len(bundled) == 1
    return (bundled[0], {}), (candidate_library, environments["zlink"][1])


def outcomes(probe, library, environment, asked, share):
    command = [probe, library, asked, *(share or [])]
    said = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, check=True).stdout
    lines = (line.split(" ->", 1) for line in said.decode(errors="replace").splitlines() if " ->" in line)
    return {combination: outcome.strip() for combination, outcome in lines}


def difference(combination, theirs, ours, names):
    what, *rest = combination.split(" ", 4)
    if what in ("set", "get"):
        _, _, number, value = rest
        return Difference(what, names.get(number, number), value, theirs, ours)
    return Difference(what, rest[1], " ".join(rest), theirs, ours)


def compare(probe, libraries, asked, names, share=None):
    """The differences that no rule allows, and the rules that allowed one."""
    share = [str(number) for number in share] if share and not ALL else None
    theirs, ours = (outcomes(probe, *library, asked, share) for library in libraries)
    assert theirs.keys() == ours.keys()
    assert len(theirs) > (100 if ASKED == "few" else 1000)
    used, left = set(), []
    for combination, outcome in theirs.items():
        if outcome == ours[combination]:
            continue
        found = difference(combination, outcome, ours[combination], names)
        rule = next((rule.what for rule in RULES if rule.allows(found)), None)
        if rule:
            used.add(rule)
        else:
            left.append(f"{combination} ({found.option}): libzmq {outcome[:200]} | zlink {ours[combination][:200]}")
    return left, used


@pytest.mark.parametrize("socket_type", TYPES)
def test_socket_options_are_those_of_libzmq(socket_type, probe, libraries, names):
    number = TYPES.index(socket_type)
    left, _ = compare(probe, libraries, str(number), names, (number % SHARES, SHARES))
    assert not left, f"{len(left)} differences without a reason:\n" + "\n".join(left[:SHOWN_MAX])


def test_options_of_contexts_and_properties_of_messages_are_those_of_libzmq(probe, libraries, names):
    left, _ = compare(probe, libraries, "others", names)
    assert not left, f"{len(left)} differences without a reason:\n" + "\n".join(left[:SHOWN_MAX])


@pytest.mark.skipif(not ALL, reason="needs every combination: ZLINK_OPTIONS=all")
def test_each_difference_that_is_listed_is_one(probe, libraries, names):
    """SUB and ROUTER show all of the differences."""
    used = set()
    for socket_type in ("SUB", "ROUTER"):
        used |= compare(probe, libraries, str(TYPES.index(socket_type)), names)[1]
    assert used == {rule.what for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.what)
def test_the_page_of_differences_has(rule):
    page = (ROOT / "docs" / "compatibility.md").read_text()
    assert f"| {rule.what} |" in page
