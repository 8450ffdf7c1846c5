"""Peers of libzmq 2.x (ZMTP 1.0), 3.x (2.0) and 4.0 (3.0), played by bare connections byte by byte.

The bytes are the same with stock libzmq in zlink's place.
"""

import select
import socket
import struct

import pytest

from driver import encoded

MOMENT = 0.3
TYPES = {"PAIR": 0, "PUB": 1, "SUB": 2, "REQ": 3, "REP": 4, "DEALER": 5, "ROUTER": 6, "PULL": 7, "PUSH": 8, "XPUB": 9}
MORE = 1
COMMAND = 4
BODIES = [b"", b"x", bytes(253), bytes(254), bytes(255), b"y" * 256, b"z" * 70_000]


def signature(identity):
    return b"\xff" + struct.pack("!Q", len(identity) + 1) + b"\x7f"


class Wire:
    """One connection to the library. The subclasses implement a version's greeting and framing."""

    def __init__(self, connection):
        self.connection = connection

    def say(self, data):
        self.connection.sendall(data)

    def expect(self, data):
        heard = b""
        while len(heard) < len(data):
            more = self.connection.recv(len(data) - len(heard))
            assert more, f"closed after {heard[:100]} of {data[:100]}"
            heard += more
        assert heard == data

    def say_message(self, *frames):
        self.say(self.framed(*frames))

    def expect_message(self, *frames):
        self.expect(self.framed(*frames))

    def framed(self, *frames):
        last = len(frames) - 1
        return b"".join(self.frame(body, MORE if index < last else 0) for index, body in enumerate(frames))

    def is_closed(self):
        try:
            while self.connection.recv(65536):
                pass
        except ConnectionError:
            pass
        return True

    def is_silent(self):
        """Whether no byte comes for a moment."""
        return not select.select([self.connection], [], [], MOMENT)[0]


class Version1(Wire):
    """libzmq 2.2: no greeting; the library's signature is read as the header of its identity."""

    sends_subscriptions = False

    def frame(self, body, flags=0):
        length = len(body) + 1
        head = bytes([length]) if length < 255 else b"\xff" + struct.pack("!Q", length)
        return head + bytes([flags]) + body

    def greet(self, own_type, their_type, own_identity=b"", their_identity=b""):
        self.say(self.frame(own_identity))
        self.expect(signature(their_identity) + their_identity)


class Version2(Wire):
    """libzmq 3.2: a signature, a revision, a socket type, and then the identity."""

    sends_subscriptions = True

    def frame(self, body, flags=0):
        if len(body) < 256:
            return bytes([flags, len(body)]) + body
        return bytes([flags | 2]) + struct.pack("!Q", len(body)) + body

    def greet(self, own_type, their_type, own_identity=b"", their_identity=b""):
        self.expect(signature(their_identity))
        self.say(signature(own_identity))
        self.expect(b"\x03")
        self.say(bytes([1, TYPES[own_type]]))
        self.expect(bytes([TYPES[their_type]]))
        self.say(self.frame(own_identity))
        self.expect(self.frame(their_identity))


class Version3(Version2):
    """libzmq 4.0 to 4.3.2: today's handshake, but subscriptions are messages."""

    def ready(self, kind, identity):
        body = b"\x05READY" + self.property(b"Socket-Type", kind.encode())
        if kind in ("REQ", "DEALER", "ROUTER"):
            body += self.property(b"Identity", identity)
        return self.frame(body, COMMAND)

    @staticmethod
    def property(name, value):
        return bytes([len(name)]) + name + struct.pack("!I", len(value)) + value

    def greet(self, own_type, their_type, own_identity=b"", their_identity=b""):
        self.expect(signature(their_identity))
        self.say(signature(own_identity))
        self.expect(b"\x03")
        mechanism_and_rest = b"NULL".ljust(20, b"\0") + bytes(32)
        self.say(b"\x03\x00" + mechanism_and_rest)
        self.expect(b"\x01" + mechanism_and_rest)
        self.say(self.ready(own_type, own_identity))
        self.expect(self.ready(their_type, their_identity))


VERSIONS = {"1.0": Version1, "2.0": Version2, "3.0": Version3}


@pytest.fixture(params=VERSIONS)
def version(request):
    return VERSIONS[request.param]


def test_push_to_pull(library, version, join):
    pull = library.socket("PULL")
    wire = version(join(pull))
    wire.greet("PUSH", "PULL")
    for body in BODIES:
        wire.say_message(body)
        assert pull.recv() == [body]
    wire.say_message(*BODIES)
    assert pull.recv() == BODIES


def test_push_from_pull(library, version, join):
    push = library.socket("PUSH")
    wire = version(join(push))
    wire.greet("PULL", "PUSH")
    for body in BODIES:
        push.send(body)
        wire.expect_message(body)
    push.send(*BODIES)
    wire.expect_message(*BODIES)


def test_one_byte_at_a_time(library, version, join):
    pull = library.socket("PULL")
    wire = version(join(pull))
    wire.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    at_once = wire.say
    wire.say = lambda data: [at_once(data[at : at + 1]) for at in range(len(data))]
    wire.greet("PUSH", "PULL")
    wire.say_message(b"hello", b"", bytes(300))
    assert pull.recv() == [b"hello", b"", bytes(300)]


def test_request_and_reply(library, version, join):
    rep = library.socket("REP")
    wire = version(join(rep))
    wire.greet("REQ", "REP")
    for number in (b"1", b"2"):
        wire.say_message(b"", b"question " + number)
        assert rep.recv() == [b"question " + number]
        rep.send(b"answer", number)
        wire.expect_message(b"", b"answer", number)


def test_reply_to_request(library, version, join):
    req = library.socket("REQ")
    wire = version(join(req))
    wire.greet("REP", "REQ")
    for number in (b"1", b"2"):
        req.send(b"question", number)
        wire.expect_message(b"", b"question", number)
        wire.say_message(b"", b"answer " + number)
        assert req.recv() == [b"answer " + number]


@pytest.mark.parametrize("identity", [b"old", b"o" * 254, b"o" * 255])
def test_router_knows_a_dealer_by_its_identity(library, version, join, identity):
    router = library.socket("ROUTER", ROUTER_MANDATORY=1)
    wire = version(join(router))
    wire.greet("DEALER", "ROUTER", own_identity=identity)
    wire.say_message(b"hello", b"world")
    assert router.recv() == [identity, b"hello", b"world"]
    router.send(identity, b"", b"answer")
    wire.expect_message(b"", b"answer")


@pytest.mark.parametrize("identity", [b"me", b"m" * 254, b"m" * 255])
def test_dealer_tells_a_router_its_identity(library, version, join, identity):
    dealer = library.socket("DEALER", ROUTING_ID=identity)
    wire = version(join(dealer))
    wire.greet("ROUTER", "DEALER", their_identity=identity)
    dealer.send(b"hello", b"world")
    wire.expect_message(b"hello", b"world")
    wire.say_message(b"", b"answer")
    assert dealer.recv() == [b"", b"answer"]


def test_publisher_and_an_older_subscriber(library, version, join):
    xpub = library.socket("XPUB")
    wire = version(join(xpub))
    wire.greet("SUB", "XPUB")
    if not version.sends_subscriptions:
        assert xpub.recv() == [b"\x01"]
        xpub.send(b"anything", b"at all")
        wire.expect_message(b"anything", b"at all")
        return
    wire.say_message(b"\x01topic")
    assert xpub.recv() == [b"\x01topic"]
    xpub.send(b"other news")
    xpub.send(b"topic", b"news")
    wire.expect_message(b"topic", b"news")
    wire.say_message(b"\x00topic")
    assert xpub.recv() == [b"\x00topic"]


def test_subscriber_and_an_older_publisher(library, version, join):
    sub = library.socket("SUB")
    sub.set("SUBSCRIBE", b"topic")
    wire = version(join(sub))
    wire.greet("PUB", "SUB")
    receiving = sub.start("recv", timeout=20000)  # Meanwhile it notices its new peer.
    wire.expect_message(b"\x01topic")
    wire.say_message(b"other news")
    wire.say_message(b"topic", b"news")
    assert receiving.result() == encoded([b"topic", b"news"])
    sub.set("SUBSCRIBE", b"")
    wire.expect_message(b"\x01")
    wire.say_message(b"other news")
    assert sub.recv() == [b"other news"]
    sub.set("UNSUBSCRIBE", b"topic")
    wire.expect_message(b"\x00topic")


@pytest.mark.parametrize(
    "options",
    [{"PLAIN_SERVER": 1}, {"PLAIN_USERNAME": b"me", "PLAIN_PASSWORD": b"mine"}, {"ZAP_DOMAIN": b"global"}],
)
@pytest.mark.parametrize("older", ["1.0", "2.0"])
def test_a_socket_with_a_mechanism_accepts_no_peer_without(library, older, join, options):
    pull = library.socket("PULL", RECONNECT_IVL=-1, **options)
    wire = VERSIONS[older](join(pull))
    if older == "1.0":
        wire.say(wire.frame(b""))
    else:
        wire.say(signature(b"") + bytes([1, TYPES["PUSH"]]) + wire.frame(b""))
    try:
        wire.say_message(b"hello")
    except ConnectionError:
        pass
    assert wire.is_closed()
    assert pull.try_recv(20) is None


@pytest.mark.parametrize("older", [name for name in VERSIONS if name != "3.0"])
def test_no_heartbeats(older, peers, join):
    """3.0 has them: libzmq 4.2 announces 3.0, and answers heartbeats."""
    push = peers("zlink").socket("PUSH", HEARTBEAT_IVL=10, HEARTBEAT_TIMEOUT=20)
    wire = VERSIONS[older](join(push))
    wire.greet("PULL", "PUSH")
    assert wire.is_silent()
    push.send(b"hello")
    wire.expect_message(b"hello")
