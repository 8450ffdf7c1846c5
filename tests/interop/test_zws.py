"""Every pattern over ws with the system's libzmq, each library at each end, bound at either end; every mechanism."""

import pytest

from conftest import PEER, Peers, make_venv
from exchange import PATTERNS
from security import CURVE_CLIENT, CURVE_SERVER, PLAIN_CLIENT, PLAIN_SERVER, Handler
from test_patterns import converse

PAIRINGS = [("system", "zlink"), ("zlink", "system"), ("zlink", "zlink")]
WILDCARD = "ws://127.0.0.1:*/zws"


@pytest.fixture(scope="session")
def ws_programs(programs, system_library):
    python = make_venv("system", "zlink", str(system_library))
    return {**programs, "system": ([python, PEER], {})}


@pytest.fixture
def peers(ws_programs):
    running = Peers(ws_programs)
    yield running
    running.close()


def test_both_libraries_have_ws(peers):
    for kind in ("system", "zlink"):
        assert peers(kind).socket("PAIR").bind(WILDCARD).endswith("/zws")


@pytest.mark.parametrize("binder", ["first", "second"])
@pytest.mark.parametrize("pairing", PAIRINGS, ids="-".join)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_two_processes_converse(pattern, pairing, binder, peers):
    converse(pattern, *map(peers, pairing), WILDCARD, binder)


def joined(peers, sides, server_options, client_options, kinds):
    server_process, client_process = map(peers, sides)
    server = server_process.socket(kinds[0], **server_options)
    client = client_process.socket(kinds[1], **client_options)
    return server_process, server, client


@pytest.mark.parametrize("binder", ["server", "client"])
@pytest.mark.parametrize("sides", PAIRINGS, ids="-".join)
def test_curve_carries_messages_of_every_size(sides, binder, peers):
    _, server, client = joined(peers, sides, CURVE_SERVER, CURVE_CLIENT, ("PAIR", "PAIR"))
    bound, connecting = (server, client) if binder == "server" else (client, server)
    connecting.connect(bound.bind(WILDCARD))
    for size in (0, 1, 91, 92, 93, 222, 223, 255, 256, 65000, 65502, 65503, 65536, 1 << 20):
        client.send(b"x" * size, b"end")
        assert server.recv() == [b"x" * size, b"end"]
        server.send(b"y" * size)
        assert client.recv() == [b"y" * size]


@pytest.mark.parametrize("sides", PAIRINGS, ids="-".join)
def test_plain_asks_zap_who_may_enter(sides, peers):
    process, server, client = joined(peers, sides, PLAIN_SERVER, PLAIN_CLIENT, ("PULL", "PUSH"))
    handler = Handler(process)
    client.connect(server.bind(WILDCARD))
    asked = handler.decide(b"200")
    assert asked[2:4] + asked[5:] == [b"global", b"127.0.0.1", b"PLAIN", b"joe", b"secret"]
    client.send(b"hello")
    assert server.recv() == [b"hello"]


@pytest.mark.parametrize("sides", PAIRINGS, ids="-".join)
def test_heartbeats_keep_a_connection(sides, peers):
    beating = {"HEARTBEAT_IVL": 20, "HEARTBEAT_TIMEOUT": 5000}
    _, first, second = joined(peers, sides, beating, beating, ("PAIR", "PAIR"))
    second.connect(first.bind(WILDCARD))
    for _ in range(20):
        second.send(b"there")
        assert first.recv() == [b"there"]
        assert first.try_recv(20) is None
    first.send(b"back")
    assert second.recv() == [b"back"]
