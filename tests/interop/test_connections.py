"""The order of bind and connect, peers that go away, and the forms of bound and connected endpoints."""

import socket

import pytest

from driver import PeerError, encoded, eventually
from exchange import await_subscription, subscribe

PAIRINGS = ["stock-zlink", "zlink-stock", "zlink-zlink"]
pairings = pytest.mark.parametrize("pairing", PAIRINGS)
transports = pytest.mark.parametrize("transport", ["tcp", "ipc"])


def both(peers, pairing):
    return [peers(kind) for kind in pairing.split("-")]


@pairings
@transports
def test_connect_before_bind_keeps_what_was_sent(pairing, transport, peers, late_endpoint):
    first, second = both(peers, pairing)
    endpoint = late_endpoint(transport)
    push = first.socket("PUSH")
    push.connect(endpoint)
    push.call("send_numbered", count=500, size=100)
    pull = second.socket("PULL")
    pull.bind(endpoint)
    pull.call("recv_numbered", count=500, size=100)


@pytest.mark.parametrize(
    "kinds", [("PUSH", "PULL"), ("DEALER", "DEALER"), ("PAIR", "PAIR"), ("DEALER", "ROUTER")]
)
def test_inproc_connect_before_bind_keeps_what_was_sent(kinds, peers):
    peer = peers("zlink")
    sender = peer.socket(kinds[0])
    sender.connect("inproc://late")
    sender.call("send_numbered", count=500, size=100)
    receiver = peer.socket(kinds[1])
    receiver.bind("inproc://late")
    skip = 1 if kinds[1] == "ROUTER" else 0
    receiver.call("recv_numbered", count=500, size=100, skip=skip)


@pairings
@transports
def test_late_subscriber_hears_what_comes_after(pairing, transport, peers, late_endpoint):
    first, second = both(peers, pairing)
    endpoint = late_endpoint(transport)
    subscriber = second.socket("SUB", RCVHWM=0)
    subscribe(subscriber, b"")
    subscriber.connect(endpoint)
    publisher = first.socket("PUB", SNDHWM=0)
    publisher.bind(endpoint)
    await_subscription(publisher, subscriber)
    publisher.call("send_numbered", count=1000, size=40)
    subscriber.call("recv_numbered", count=1000, size=40)


@pairings
@transports
def test_connection_comes_back_after_the_binder_crashed(pairing, transport, peers, late_endpoint):
    first, second_kind = peers(pairing.split("-")[0]), pairing.split("-")[1]
    endpoint = late_endpoint(transport)
    requester = first.socket("REQ", RECONNECT_IVL=20, REQ_RELAXED=1, REQ_CORRELATE=1)
    requester.connect(endpoint)
    for generation in (b"one", b"two", b"three"):
        second = peers(second_kind)
        replier = second.socket("REP")
        replier.bind(endpoint)

        def is_answered():
            requester.send(generation)
            if replier.try_recv(500) != [generation]:
                return False
            replier.send(generation)
            return requester.try_recv(500) == [generation]

        eventually(is_answered, 20)
        second.kill()


@pairings
@transports
def test_connection_comes_back_after_the_binder_closed(pairing, transport, peers, late_endpoint):
    first, second = both(peers, pairing)
    endpoint = late_endpoint(transport)
    dealer = first.socket("DEALER", RECONNECT_IVL=20)
    dealer.connect(endpoint)
    for generation in (b"one", b"two", b"three"):
        router = second.socket("ROUTER")
        # The previous socket's listener is closed asynchronously.
        eventually(lambda: bound(router, endpoint))

        def arrives():
            dealer.send(generation)
            got = router.try_recv(200)
            return got and got[1] == generation

        eventually(arrives, 20)
        router.close(0)


def bound(target, endpoint):
    try:
        return target.bind(endpoint)
    except PeerError as error:
        assert error.errno == "EADDRINUSE", error
        return None


@pairings
def test_subscriptions_are_sent_again_after_a_reconnect(pairing, peers, late_endpoint):
    first, second_kind = peers(pairing.split("-")[0]), pairing.split("-")[1]
    endpoint = late_endpoint("tcp")
    subscriber = first.socket("SUB", RECONNECT_IVL=20)
    for topic in (b"a", b"bb"):
        subscribe(subscriber, topic)
    subscriber.connect(endpoint)
    for _ in range(2):
        second = peers(second_kind)
        # libzmq repeats its subscriptions from a call on the socket, so such a call is pending.
        receiving = subscriber.start("recv", timeout=20000)
        publisher = second.socket("XPUB")
        publisher.bind(endpoint)
        seen = {publisher.recv()[0] for _ in range(2)}
        assert seen == {b"\x01a", b"\x01bb"}
        publisher.send(b"no")
        publisher.send(b"bbb")
        assert receiving.result() == encoded([b"bbb"])
        second.kill()


@pairings
def test_messages_wait_while_nobody_is_there(pairing, peers, late_endpoint):
    """Messages sent between two instances of the binder go to the later one."""
    first, second_kind = peers(pairing.split("-")[0]), pairing.split("-")[1]
    endpoint = late_endpoint("tcp")
    push = first.socket("PUSH", RECONNECT_IVL=20)
    push.connect(endpoint)
    earlier = peers(second_kind)
    pull = earlier.socket("PULL")
    pull.bind(endpoint)
    push.call("send_numbered", count=10, size=32)
    pull.call("recv_numbered", count=10, size=32)
    earlier.kill()
    later = peers(second_kind)
    pull = later.socket("PULL")
    pull.bind(endpoint)
    # Messages that were written to the dead connection are lost; the rest comes, in order.
    push.call("send_numbered", count=200, size=32, first=10)
    push.send(b"last")
    received = []
    while not received or received[-1] != [b"last"]:
        received.append(pull.recv())
    indices = [int.from_bytes(parts[0][4:12], "big") for parts in received[:-1]]
    assert indices == list(range(indices[0], 210))


@pairings
def test_partly_sent_multipart_is_never_seen(pairing, peers, wildcard):
    """A sender that dies between two parts leaves no message behind."""
    first, second = both(peers, pairing)
    pull = second.socket("PULL")
    endpoint = pull.bind(wildcard("tcp"))
    push = first.socket("PUSH")
    push.connect(endpoint)
    push.send(b"whole", b"message")
    assert pull.recv() == [b"whole", b"message"]
    push.call("send_part", part="eA==", more=True)
    first.kill()
    other = peers(pairing.split("-")[0]).socket("PUSH")
    other.connect(endpoint)
    other.send(b"next")
    assert pull.recv() == [b"next"]
    assert pull.try_recv(50) is None


@pairings
def test_a_socket_binds_and_connects_several_times(pairing, peers, wildcard):
    first, second = both(peers, pairing)
    pull = first.socket("PULL")
    endpoints = [pull.bind(wildcard(transport)) for transport in ("tcp", "tcp", "ipc")]
    assert len(set(endpoints)) == 3
    later = second.socket("PUSH")
    pull.connect(later.bind("tcp://127.0.0.1:*"))
    pushes = [later]
    for endpoint in endpoints:
        push = second.socket("PUSH")
        push.connect(endpoint)
        pushes.append(push)
    for index, push in enumerate(pushes):
        push.send(bytes([index]))
    assert sorted(pull.recv()[0] for _ in pushes) == [bytes([index]) for index in range(len(pushes))]


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_unbind_refuses_new_peers(transport, peers, wildcard):
    peer = peers("zlink")
    pull = peer.socket("PULL")
    endpoint = pull.bind(wildcard(transport))
    pull.call("unbind", endpoint=endpoint)
    # Bound again by another socket, once the listener is gone.
    other = peer.socket("PULL")
    eventually(lambda: bound(other, endpoint))
    push = peers("stock").socket("PUSH")
    push.connect(endpoint)
    push.send(b"to the other")
    assert other.recv() == [b"to the other"]


@pytest.mark.parametrize("kind", ["zlink", "stock"])
def test_disconnect_stops_the_flow(kind, peers, wildcard):
    peer = peers("zlink")
    pull = peers(kind).socket("PULL")
    endpoint = pull.bind(wildcard("tcp"))
    push = peer.socket("PUSH")
    push.connect(endpoint)
    push.send(b"before")
    assert pull.recv() == [b"before"]
    push.call("disconnect", endpoint=endpoint)

    def is_refused():
        try:
            push.try_send(b"after")
        except PeerError as error:
            return error.errno == "EAGAIN"
        return False

    eventually(is_refused)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("host", ["[::1]", "127.0.0.1", "localhost", "*", "lo"])
def test_tcp_addresses(host, pairing, peers):
    if host == "[::1]" and not has_ipv6():
        pytest.skip("this machine has no IPv6 loopback")
    first, second = both(peers, pairing)
    options = {"IPV6": 1} if host == "[::1]" else {}
    pull = first.socket("PULL", **options)
    bound_at = pull.bind(f"tcp://{host}:*")
    port = int(bound_at.rpartition(":")[2])
    assert port > 0
    reachable = {"*": "127.0.0.1", "lo": "127.0.0.1"}.get(host, host)
    push = second.socket("PUSH", **options)
    push.connect(f"tcp://{reachable}:{port}")
    push.send(b"through")
    assert pull.recv() == [b"through"]


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "endpoint, expected",
    [
        ("bogus", "EINVAL"),
        ("tcp://", "EINVAL"),
        ("tcp://127.0.0.1", "EINVAL"),
        ("tcp://127.0.0.1:65536", "EINVAL"),
        ("tcp://127.0.0.1:x", "EINVAL"),
        ("nothing://127.0.0.1:5555", "EPROTONOSUPPORT"),
        ("tcp://192.0.2.1:5555", "EADDRNOTAVAIL"),
        ("tcp://no-such-interface:5555", "ENODEV"),
        ("ipc:///no/such/folder/socket", "ENOENT"),
    ],
)
@pytest.mark.parametrize("kind", ["stock", "zlink"])
def test_bind_refuses_with_libzmqs_errno(kind, endpoint, expected, peers):
    pull = peers(kind).socket("PULL")
    with pytest.raises(PeerError) as refusal:
        pull.bind(endpoint)
    assert refusal.value.errno == expected


@pytest.mark.parametrize("transport", ["tcp", "inproc"])
def test_an_endpoint_in_use_is_refused(transport, peers, wildcard):
    """Except for ipc: libzmq takes a path over from its holder."""
    peer = peers("zlink")
    endpoint = peer.socket("PULL").bind(wildcard(transport))
    with pytest.raises(PeerError) as refusal:
        peer.socket("PULL").bind(endpoint)
    assert refusal.value.errno == "EADDRINUSE"
