"""Routing ids: how they are set, where they are visible, and what happens to messages for unknown ids."""

import pytest

from driver import PeerError, eventually
from exchange import await_route

PAIRINGS = ["stock-zlink", "zlink-stock", "zlink-zlink", "inproc"]
pairings = pytest.mark.parametrize("pairing", PAIRINGS)


@pytest.fixture
def processes(pairing, peers):
    if pairing == "inproc":
        peer = peers("zlink")
        return peer, peer
    return [peers(kind) for kind in pairing.split("-")]


@pytest.fixture
def endpoint(pairing, wildcard):
    return wildcard("inproc" if pairing == "inproc" else "tcp")


@pairings
@pytest.mark.parametrize("kind", ["DEALER", "REQ", "ROUTER"])
@pytest.mark.parametrize("identity", [b"A", b"\x01\x00\xff", b"x" * 255])
def test_a_peer_chooses_its_routing_id(kind, identity, processes, endpoint):
    router = processes[0].socket("ROUTER", ROUTING_ID=b"the router")
    bound = router.bind(endpoint)
    peer = processes[1].socket(kind, ROUTING_ID=identity, **mandatory(kind))
    peer.connect(bound)
    if kind == "ROUTER":
        await_route(peer, b"the router")
    else:
        peer.send(b"are you there")
    assert router.recv()[0] == identity


def mandatory(kind):
    return {"ROUTER_MANDATORY": 1} if kind == "ROUTER" else {}


@pairings
def test_a_peer_without_one_gets_five_bytes(processes, endpoint):
    router = processes[0].socket("ROUTER")
    bound = router.bind(endpoint)
    identities = set()
    for _ in range(4):
        dealer = processes[1].socket("DEALER")
        dealer.connect(bound)
        dealer.send(b"x")
        identity, _ = router.recv()
        assert len(identity) == 5 and identity[0] == 0
        identities.add(identity)
    assert len(identities) == 4


@pairings
def test_unknown_routes_are_dropped_or_refused(processes, endpoint):
    router = processes[0].socket("ROUTER")
    bound = router.bind(endpoint)
    dealer = processes[1].socket("DEALER", ROUTING_ID=b"known")
    dealer.connect(bound)
    dealer.send(b"x")
    assert router.recv() == [b"known", b"x"]
    router.send(b"unknown", b"dropped", b"with all its parts")
    router.send(b"known", b"kept")
    assert dealer.recv() == [b"kept"]
    router.set("ROUTER_MANDATORY", 1)
    with pytest.raises(PeerError) as refusal:
        router.send(b"unknown", b"refused")
    assert refusal.value.errno == "EHOSTUNREACH"
    router.send(b"known", b"kept")
    assert dealer.recv() == [b"kept"]


@pairings
def test_a_route_ends_with_its_peer(processes, endpoint):
    router = processes[0].socket("ROUTER", ROUTER_MANDATORY=1)
    bound = router.bind(endpoint)
    dealer = processes[1].socket("DEALER", ROUTING_ID=b"leaves")
    dealer.connect(bound)
    dealer.send(b"x")
    assert router.recv() == [b"leaves", b"x"]
    dealer.close(0)

    def is_gone():
        try:
            router.try_send(b"leaves", b"late")
        except PeerError as error:
            return error.errno == "EHOSTUNREACH"
        return False

    eventually(is_gone)


@pairings
def test_a_mandatory_route_that_is_full_says_so(processes, endpoint):
    router = processes[0].socket("ROUTER", ROUTER_MANDATORY=1, SNDHWM=5, SNDBUF=4096)
    bound = router.bind(endpoint)
    dealer = processes[1].socket("DEALER", ROUTING_ID=b"slow", RCVHWM=5, RCVBUF=4096)
    dealer.connect(bound)
    dealer.send(b"x")
    assert router.recv() == [b"slow", b"x"]
    body = bytes(20000)
    sent = 0
    with pytest.raises(PeerError) as refusal:
        for _ in range(5000):
            router.try_send(b"slow", body)
            sent += 1
    assert refusal.value.errno == "EAGAIN"
    assert sent >= 5
    assert [dealer.recv() for _ in range(sent)] == [[body]] * sent
    router.send(b"slow", b"again")
    assert dealer.recv() == [b"again"]


@pairings
def test_a_second_peer_of_the_same_id_is_refused(processes, endpoint):
    router = processes[0].socket("ROUTER")
    bound = router.bind(endpoint)
    first = processes[1].socket("DEALER", ROUTING_ID=b"same")
    first.connect(bound)
    first.send(b"first")
    assert router.recv() == [b"same", b"first"]
    second = processes[1].socket("DEALER", ROUTING_ID=b"same")
    second.connect(bound)
    second.send(b"second")
    assert router.try_recv(200) is None
    router.send(b"same", b"answer")
    assert first.recv() == [b"answer"]


@pairings
def test_handover_gives_the_id_to_the_newcomer(pairing, processes, endpoint):
    router = processes[0].socket("ROUTER", ROUTER_HANDOVER=1)
    bound = router.bind(endpoint)
    first = processes[1].socket("DEALER", ROUTING_ID=b"same", RECONNECT_IVL=-1)
    first.connect(bound)
    first.send(b"first")
    assert router.recv() == [b"same", b"first"]
    second = processes[1].socket("DEALER", ROUTING_ID=b"same")
    second.connect(bound)
    second.send(b"second")
    assert router.recv() == [b"same", b"second"]
    router.send(b"same", b"answer")
    assert second.recv() == [b"answer"]


@pairings
def test_a_router_names_the_peer_it_connects_to(processes, endpoint):
    dealer = processes[0].socket("DEALER")
    bound = dealer.bind(endpoint)
    router = processes[1].socket("ROUTER", ROUTER_MANDATORY=1, CONNECT_ROUTING_ID=b"chosen")
    router.connect(bound)
    await_route(router, b"chosen")
    assert dealer.recv() == [b"are you there"]
    dealer.send(b"answer")
    assert router.recv() == [b"chosen", b"answer"]


@pairings
def test_replies_find_their_way_through_two_hops(processes, endpoint, ipc_folder):
    """From REQ to ROUTER, forwarded by DEALER to REP, and back."""
    router = processes[0].socket("ROUTER")
    front = router.bind(endpoint)
    requesters = [processes[1].socket("REQ") for _ in range(3)]
    dealer = processes[0].socket("DEALER")
    replier = processes[1].socket("REP")
    dealer.connect(replier.bind(f"ipc://{ipc_folder}/back"))
    for requester in requesters:
        requester.connect(front)
    for index, requester in enumerate(requesters):
        requester.send(b"question", bytes([index]))
    for _ in requesters:
        dealer.send(*router.recv())
    for _ in requesters:
        question, index = replier.recv()
        replier.send(b"answer", index)
        router.send(*dealer.recv())
    for index, requester in enumerate(requesters):
        assert requester.recv() == [b"answer", bytes([index])]


def test_a_router_skips_replies_without_an_envelope(peers, wildcard):
    """REP drops messages without an empty part, and REQ drops messages that answer no request."""
    replier = peers("zlink").socket("REP")
    bound = replier.bind(wildcard("tcp"))
    dealer = peers("stock").socket("DEALER")
    dealer.connect(bound)
    dealer.send(b"no envelope")
    dealer.send(b"", b"with one")
    assert replier.recv() == [b"with one"]
    replier.send(b"answer")
    assert dealer.recv() == [b"", b"answer"]
