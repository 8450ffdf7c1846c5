"""Other implementations against zlink: every pattern and mechanism that they have, in both roles.

Some of them have faults of their own, whatever the peer is; a comment beside each omission names the fault.
"""

from functools import partial
from itertools import product

import pytest

from driver import encoded
from exchange import (
    CONTENTS,
    PATTERNS,
    UNBOUNDED,
    await_route,
    await_subscription,
    one_way,
    subscribe,
    unsubscribe,
)
from security import CLIENT_PUBLIC, CURVE_CLIENT, CURVE_SERVER, PLAIN_CLIENT, PLAIN_SERVER, Handler

# Options of the binder, which is the mechanism's server, and of the other side.
SECURITY = {"NULL": ({}, {}), "PLAIN": (PLAIN_SERVER, PLAIN_CLIENT), "CURVE": (CURVE_SERVER, CURVE_CLIENT)}

# Implementation: the transports that it shares with libzmq, its mechanisms, its patterns.
IMPLEMENTATIONS = {
    "stock": (["tcp"], ["PLAIN"], list(PATTERNS)),  # NULL and CURVE are tested one folder up.
    "jeromq": (["tcp"], ["NULL", "PLAIN", "CURVE"], list(PATTERNS)),
    "zmq4": (["tcp", "ipc"], ["NULL", "PLAIN"], list(PATTERNS)),
    "zeromq.rs": (["tcp", "ipc"], ["NULL"], [pattern for pattern in PATTERNS if pattern != "PAIR"]),
}
implementations = pytest.mark.parametrize("implementation", ["jeromq", "zmq4", "zeromq.rs"])


def conversations():
    for implementation, (transports, mechanisms, patterns) in IMPLEMENTATIONS.items():
        for transport in transports:
            for mechanism in mechanisms:
                for pattern in patterns:
                    name = f"{implementation}-{transport}-{mechanism}-{pattern}"
                    yield pytest.param(implementation, transport, mechanism, pattern, id=name)


def lacking():
    """Limits of an implementation, whatever the peer is: mechanism, pattern, first, binder."""
    for pattern in ("REQ-REP", "REQ-ROUTER"):
        case = ("stock", "PLAIN", pattern, "foreign", "foreign")
        yield case, "a REQ of libzmq that is PLAIN's server loses the reply"
    for mechanism, binder in product(("NULL", "PLAIN"), ("foreign", "zlink")):
        case = ("zmq4", mechanism, "ROUTER-ROUTER", "foreign", binder)
        yield case, "a ROUTER of zmq4 does not say that it knows no route, so it cannot begin"
    for pattern in ("XPUB-SUB", "XPUB-XSUB"):
        case = ("zeromq.rs", "NULL", pattern, "foreign", "zlink")
        yield case, "an XPUB of zeromq.rs that connects may overlook the first subscription"


LACKING = dict(lacking())


@pytest.mark.parametrize("binder", ["foreign", "zlink"])
@pytest.mark.parametrize("first", ["foreign", "zlink"])
@pytest.mark.parametrize("implementation, transport, mechanism, pattern", list(conversations()))
def test_they_converse(implementation, transport, mechanism, pattern, first, binder, peers, wildcard):
    reason = LACKING.get((implementation, mechanism, pattern, first, binder))
    if reason:
        pytest.skip(reason)
    first_kind, first_options, second_kind, second_options, say = PATTERNS[pattern]
    second, connector = other(first), other(binder)
    processes = {"foreign": peers(implementation), "zlink": peers("zlink")}
    options = {first: dict(first_options), second: dict(second_options)}
    options[binder].update(SECURITY[mechanism][0])
    options[connector].update(SECURITY[mechanism][1])
    if (implementation, mechanism) == ("jeromq", "CURVE"):
        options["foreign"].update(UNBOUNDED)  # It delivers messages still encrypted once a queue was full.
    sockets = {
        first: processes[first].socket(first_kind, **options[first]),
        second: processes[second].socket(second_kind, **options[second]),
    }
    # JeroMQ and zmq4 accept every client without a handler.
    asks_zap = mechanism == "PLAIN" and (binder == "zlink" or implementation == "stock")
    handler = Handler(processes[binder]) if asks_zap else None
    join(sockets[binder], sockets[connector], wildcard(transport), handler)
    conversation(implementation, sockets["foreign"].kind, say)(sockets[first], sockets[second])


def conversation(implementation, foreign_kind, say):
    """The replacement conversation for a socket of the implementation that cannot take part in everything."""
    if (implementation, foreign_kind) == ("zmq4", "REP"):
        # It treats the last empty part as the end of the envelope.
        return partial(say, contents=[content for content in CONTENTS if all(content)])
    if (implementation, foreign_kind) == ("zeromq.rs", "XPUB"):
        return heard_and_published
    return say


def other(role):
    return "zlink" if role == "foreign" else "foreign"


def heard_and_published(publisher, subscriber):
    """An XPUB of zeromq.rs processes subscriptions while it receives."""
    subscribe(subscriber, b"")
    assert publisher.recv() == [b"\x01"]
    one_way(publisher, subscriber)


def join(binding, connecting, endpoint, handler=None):
    """Binds and connects. connect() may block until the handshake is done, so ZAP requests are answered meanwhile."""
    connect = connecting.start("connect", endpoint=binding.bind(endpoint))
    if handler:
        handler.decide(b"200")
    connect.result()


@implementations
@pytest.mark.parametrize("binder", ["foreign", "zlink"])
def test_only_what_was_asked_for_arrives(implementation, binder, peers, wildcard):
    """Subscriptions arrive in order: the next topic's arrival shows that the last unsubscription has arrived, too."""
    for publishing, subscribing in ((implementation, "zlink"), ("zlink", implementation)):
        publisher, subscriber = peers(publishing).socket("PUB"), peers(subscribing).socket("SUB")
        is_publisher_bound = (binder == "zlink") == (publishing == "zlink")
        ends = (publisher, subscriber) if is_publisher_bound else (subscriber, publisher)
        join(*ends, wildcard("tcp"))
        subscribe(subscriber, b"apple")
        await_subscription(publisher, subscriber, b"apple")
        unsubscribe(subscriber, b"apple")
        subscribe(subscriber, b"pear" * 100)
        await_subscription(publisher, subscriber, b"pear" * 100)
        for message in (b"apples", b"pear" * 99, b"pear" * 101):
            publisher.send(message, b"", b"second part")
        assert subscriber.recv() == [b"pear" * 101, b"", b"second part"]


@implementations
def test_an_xpub_hears_of_topics(implementation, peers, wildcard):
    publisher, subscriber = peers("zlink").socket("XPUB"), peers(implementation).socket("SUB")
    join(publisher, subscriber, wildcard("tcp"))
    subscribe(subscriber, b"topic")
    assert publisher.recv() == [b"\x01topic"]
    unsubscribe(subscriber, b"topic")
    assert publisher.recv() == [b"\x00topic"]


@implementations
@pytest.mark.parametrize("kind", ["DEALER", "REQ", "ROUTER"])
def test_routing_ids_are_exchanged(implementation, kind, peers, wildcard):
    for of_router, of_peer in (("zlink", implementation), (implementation, "zlink")):
        router = peers(of_router).socket("ROUTER", ROUTING_ID=b"router")
        mandatory = {"ROUTER_MANDATORY": 1} if kind == "ROUTER" else {}
        peer = peers(of_peer).socket(kind, ROUTING_ID=b"peer", **mandatory)
        join(router, peer, wildcard("tcp"))
        if kind == "ROUTER":
            await_route(peer, b"router")
        else:
            peer.send(b"are you there")
        assert router.recv()[0] == b"peer"


@implementations
def test_an_anonymous_peer_is_answered(implementation, peers, wildcard):
    for of_router, of_peer in (("zlink", implementation), (implementation, "zlink")):
        router, peer = peers(of_router).socket("ROUTER"), peers(of_peer).socket("DEALER")
        join(router, peer, wildcard("tcp"))
        peer.send(b"question")
        identity, question = router.recv()
        assert question == b"question" and identity
        router.send(identity, b"answer")
        assert peer.recv() == [b"answer"]


@implementations
def test_connection_waits_for_the_binder(implementation, peers, late_endpoint):
    for sending, receiving in (("zlink", implementation), (implementation, "zlink")):
        endpoint = late_endpoint("tcp")
        push, pull = peers(sending).socket("PUSH"), peers(receiving).socket("PULL")
        connect = push.start("connect", endpoint=endpoint)
        pull.bind(endpoint)
        connect.result()
        push.call("send_numbered", count=500, size=100)
        pull.call("recv_numbered", count=500, size=100)


@implementations
def test_connection_comes_back_after_the_binder_crashed(implementation, peers, late_endpoint):
    for binding, connecting in (("zlink", implementation), (implementation, "zlink")):
        endpoint = late_endpoint("tcp")
        subscriber = peers(connecting).socket("SUB", RECONNECT_IVL=20)
        subscribe(subscriber, b"topic")
        subscriber.start("connect", endpoint=endpoint)
        for _ in range(3):
            process = peers(binding)
            publisher = process.socket("PUB")
            publisher.bind(endpoint)
            await_subscription(publisher, subscriber, b"topic")
            process.kill()


@implementations
def test_a_crashed_peer_is_forgotten_and_the_next_is_served(implementation, peers, wildcard):
    for binding, connecting in (("zlink", implementation), (implementation, "zlink")):
        replier = peers(binding).socket("REP")
        endpoint = replier.bind(wildcard("tcp"))
        for _ in range(3):
            process = peers(connecting)
            requester = process.socket("REQ")
            requester.connect(endpoint)
            requester.send(b"question")
            assert replier.recv() == [b"question"]
            replier.send(b"answer")
            assert requester.recv() == [b"answer"]
            process.kill()


# The others do not answer heartbeats.
@pytest.mark.parametrize("beating", ["zlink", "jeromq"])
def test_heartbeats_are_answered(beating, peers, wildcard):
    """A connection that lasts keeps the routing id that the router generated for it."""
    heartbeats = {"HEARTBEAT_IVL": 20, "HEARTBEAT_TIMEOUT": 500}
    router = peers("zlink").socket("ROUTER", **(heartbeats if beating == "zlink" else {}))
    dealer = peers("jeromq").socket("DEALER", **(heartbeats if beating == "jeromq" else {}))
    join(router, dealer, wildcard("tcp"))
    dealer.send(b"before")
    identity, _ = router.recv()
    assert router.try_recv(1500) is None
    dealer.send(b"after")
    assert router.recv() == [identity, b"after"]
    assert dealer.try_recv(0) is None


@pytest.mark.parametrize("implementation", ["jeromq", "zmq4"])
def test_a_client_refused_by_zap_stays_outside(implementation, peers, wildcard):
    server_process = peers("zlink")
    handler = Handler(server_process)
    server = server_process.socket("PULL", **PLAIN_SERVER)
    endpoint = server.bind(wildcard("tcp"))
    refused = peers(implementation).socket("PUSH", **PLAIN_CLIENT)
    refused.start("connect", endpoint=endpoint)
    assert handler.decide(b"400")[6:] == [b"joe", b"secret"]
    refused.start("send", parts=encoded([b"refused"]), timeout=20000)
    admitted = peers("zlink").socket("PUSH", **{**PLAIN_CLIENT, "PLAIN_USERNAME": b"ann"})
    admitted.connect(endpoint)
    admit_only(b"ann", handler)
    admitted.send(b"admitted")
    assert server.recv() == [b"admitted"]


def admit_only(user, handler):
    """Refuses every client until `user` comes, because a refused client may retry."""
    while True:
        question = handler.question()
        is_welcome = question[6] == user
        handler.reply(b"1.0", question[1], b"200" if is_welcome else b"400", b"text", b"", b"")
        if is_welcome:
            return


@pytest.mark.parametrize("server, client", [("zlink", "jeromq"), ("jeromq", "zlink")])
def test_a_wrong_curve_key_opens_nothing(server, client, peers, wildcard):
    pull = peers(server).socket("PULL", **CURVE_SERVER)
    endpoint = pull.bind(wildcard("tcp"))
    refused = peers(client).socket("PUSH", **{**CURVE_CLIENT, "CURVE_SERVERKEY": CLIENT_PUBLIC})
    refused.connect(endpoint)
    refused.start("send", parts=encoded([b"refused"]), timeout=20000)
    admitted = peers(client).socket("PUSH", **CURVE_CLIENT)
    admitted.connect(endpoint)
    admitted.send(b"admitted")
    assert pull.recv() == [b"admitted"]
    assert pull.try_recv(200) is None
