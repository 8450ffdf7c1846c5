"""The conversations of two connected sockets, for each pattern."""

from driver import PeerError, encoded, eventually

KIB = 1024


def filled(size):
    """Bytes that reveal a shift by any distance."""
    block = bytes(range(251))
    return (block * (size // len(block) + 1))[:size]


CONTENTS = [
    *([filled(size)] for size in (0, 1, 255, 256, 8 * KIB - 1, 8 * KIB, 64 * KIB, KIB * KIB)),
    [b"", b""],
    [b"", b"", b"end"],
    [b"begin", b"", filled(300), b""],
    [filled(64 * KIB), b"", filled(64 * KIB)],
    [filled(size) for size in range(60)],
]
SMALL_COUNT = 5000
LARGER_COUNT = 300


def send_all(sender, receiver, prefix=(), arriving=()):
    """Sends every content one way. `prefix` is sent before each, `arriving` is expected before each."""
    for content in CONTENTS:
        sender.send(*prefix, *content)
        assert receiver.recv() == [*arriving, *content]


def stream(sender, receiver, prefix=(), skip=0):
    """Thousands of messages without a pause arrive in order and complete."""
    for count, size in ((SMALL_COUNT, 32), (LARGER_COUNT, 8 * KIB)):
        sending = sender.start(
            "send_numbered", count=count, size=size, prefix=encoded(list(prefix))
        )
        receiver.call("recv_numbered", count=count, size=size, skip=skip)
        sending.result()


def one_way(sender, receiver):
    send_all(sender, receiver)
    stream(sender, receiver)


def both_ways(first, second):
    one_way(first, second)
    one_way(second, first)


def published(publisher, subscriber):
    subscribe(subscriber, b"")
    await_subscription(publisher, subscriber)
    one_way(publisher, subscriber)


def subscribe(subscriber, topic):
    if subscriber.kind == "SUB":
        subscriber.set("SUBSCRIBE", topic)
    else:
        subscriber.send(b"\x01" + topic)


def unsubscribe(subscriber, topic):
    if subscriber.kind == "SUB":
        subscriber.set("UNSUBSCRIBE", topic)
    else:
        subscriber.send(b"\x00" + topic)


def await_subscription(publisher, subscriber, topic=b""):
    """Publishes until a message arrives, then publishes a last one and receives up to it."""

    def arrives():
        publisher.send(topic + b"probe")
        return subscriber.try_recv(20)

    eventually(arrives, what="a subscription reaches the publisher")
    publisher.send(topic + b"now")
    eventually(lambda: subscriber.recv() == [topic + b"now"])


def requested(requester, replier, contents=CONTENTS):
    for content in contents:
        requester.send(*content)
        assert replier.recv() == content
        replier.send(*reversed(content))
        assert requester.recv() == content[::-1]
    answering = replier.start("echo", count=500)
    requester.call("ask", count=500, size=64)
    answering.result()


def requested_from_router(requester, router):
    for content in CONTENTS:
        requester.send(*content)
        identity, empty, *received = router.recv()
        assert (empty, received) == (b"", content)
        router.send(identity, b"", *reversed(content))
        assert requester.recv() == content[::-1]
    answering = router.start("echo", count=500)
    requester.call("ask", count=500, size=64)
    answering.result()


def dealt_to_replier(dealer, replier, contents=CONTENTS):
    for content in contents:
        dealer.send(b"trace", b"", *content)
        assert replier.recv() == content
        replier.send(*reversed(content))
        assert dealer.recv() == [b"trace", b"", *reversed(content)]
    # A dealer may send again without waiting for an answer.
    answering = replier.start("echo", count=SMALL_COUNT)
    dealer.call("send_numbered", count=100, size=32, prefix=encoded([b""]))
    dealer.call("recv_numbered", count=100, size=32, skip=1)
    dealer.call("send_numbered", count=SMALL_COUNT - 100, size=32, prefix=encoded([b""]))
    dealer.call("recv_numbered", count=SMALL_COUNT - 100, size=32, skip=1)
    answering.result()


def dealt_to_router(dealer, router):
    dealer.send(b"hello")
    identity, hello = router.recv()
    assert hello == b"hello"
    send_all(dealer, router, arriving=[identity])
    send_all(router, dealer, prefix=[identity])
    stream(dealer, router, skip=1)
    stream(router, dealer, prefix=[identity])


def routed(first, second):
    await_route(first, b"second")
    assert second.recv() == [b"first", b"are you there"]
    await_route(second, b"first")
    assert first.recv() == [b"second", b"are you there"]
    send_all(first, second, prefix=[b"second"], arriving=[b"first"])
    send_all(second, first, prefix=[b"first"], arriving=[b"second"])
    stream(first, second, prefix=[b"second"], skip=1)
    stream(second, first, prefix=[b"first"], skip=1)


def await_route(router, identity):
    """Sends to a mandatory route as soon as it exists."""

    def is_sent():
        try:
            router.send(identity, b"are you there")
        except PeerError as error:
            assert error.errno == "EHOSTUNREACH", error
            return False
        return True

    eventually(is_sent, what=f"a route to {identity}")


UNBOUNDED = {"SNDHWM": 0, "RCVHWM": 0}

# Name: the kinds of both sockets, their options, and their conversation.
PATTERNS = {
    "PAIR": ("PAIR", {}, "PAIR", {}, both_ways),
    "PUSH-PULL": ("PUSH", {}, "PULL", {}, one_way),
    "PUB-SUB": ("PUB", UNBOUNDED, "SUB", UNBOUNDED, published),
    "PUB-XSUB": ("PUB", UNBOUNDED, "XSUB", UNBOUNDED, published),
    "XPUB-SUB": ("XPUB", UNBOUNDED, "SUB", UNBOUNDED, published),
    "XPUB-XSUB": ("XPUB", UNBOUNDED, "XSUB", UNBOUNDED, published),
    "REQ-REP": ("REQ", {}, "REP", {}, requested),
    "REQ-ROUTER": ("REQ", {}, "ROUTER", {}, requested_from_router),
    "DEALER-REP": ("DEALER", UNBOUNDED, "REP", UNBOUNDED, dealt_to_replier),
    # A router that is not mandatory drops messages above its high-water mark.
    "DEALER-ROUTER": ("DEALER", {}, "ROUTER", {"ROUTER_MANDATORY": 1}, dealt_to_router),
    "DEALER-DEALER": ("DEALER", {}, "DEALER", {}, both_ways),
    "ROUTER-ROUTER": (
        "ROUTER",
        {"ROUTING_ID": b"first", "ROUTER_MANDATORY": 1},
        "ROUTER",
        {"ROUTING_ID": b"second", "ROUTER_MANDATORY": 1},
        routed,
    ),
}
