"""Every pattern over every transport, each library at each end, bound at either end."""

import pytest

from exchange import PATTERNS

PAIRINGS = ["stock-zlink", "zlink-stock", "zlink-zlink"]


def converse(pattern, first_peer, second_peer, endpoint, binder):
    first_kind, first_options, second_kind, second_options, say = PATTERNS[pattern]
    first = first_peer.socket(first_kind, **first_options)
    second = second_peer.socket(second_kind, **second_options)
    bound, connected = (first, second) if binder == "first" else (second, first)
    connected.connect(bound.bind(endpoint))
    say(first, second)


@pytest.mark.parametrize("binder", ["first", "second"])
@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_two_processes_converse(pattern, transport, pairing, binder, peers, wildcard):
    first_kind, second_kind = pairing.split("-")
    converse(pattern, peers(first_kind), peers(second_kind), wildcard(transport), binder)


@pytest.mark.parametrize("binder", ["first", "second"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_two_sockets_of_a_process_converse(pattern, binder, peers, wildcard):
    peer = peers("zlink")
    converse(pattern, peer, peer, wildcard("inproc"), binder)


def test_each_environment_loads_its_own_library(peers, candidate_library):
    stock = peers("stock").call("about")["libraries"]
    assert len(stock) == 1 and "/pyzmq.libs/libzmq-" in stock[0]
    zlink = peers("zlink").call("about")
    assert zlink["libraries"] == [str(candidate_library.resolve())]


def test_version_is_that_of_the_stable_api(peers):
    assert peers("zlink").call("about")["version"] == peers("stock").call("about")["version"]


def test_a_program_can_tell_zlink_from_libzmq(peers):
    assert peers("zlink").call("about")["is_zlink"]
    assert not peers("stock").call("about")["is_zlink"]
