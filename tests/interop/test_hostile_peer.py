"""Bytes that no correct peer sends end their own session, and disturb no other.

Each test talks to a listening socket of a process through a bare connection, while an honest client continues to
exchange requests and replies, and compares the process's memory with its size before.
"""

import random
import socket
import struct

import pytest

from driver import eventually

GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
GROWTH_KB_MAX = 16 * 1024
SECONDS_MAX = 10


def property_bytes(name, value):
    return bytes([len(name)]) + name + struct.pack("!I", len(value)) + value


def command(body):
    if len(body) < 256:
        return bytes([4, len(body)]) + body
    return b"\x06" + struct.pack("!Q", len(body)) + body


def ready(kind=b"DEALER", extra=b""):
    body = b"\x05READY" + property_bytes(b"Socket-Type", kind) + property_bytes(b"Identity", b"")
    return command(body + extra)


class Service:
    """A bound ROUTER with an honest client, both checked again after every attack."""

    def __init__(self, server, client, endpoint):
        self.server = server
        self.router = server.socket("ROUTER", ROUTER_MANDATORY=1)
        self.endpoint = self.router.bind(endpoint)
        self.client = client.socket("DEALER", ROUTING_ID=b"honest")
        self.client.connect(self.endpoint)
        self._asked = 0
        self.ask()
        self.memory_before = server.status("VmRSS")

    def ask(self):
        """Sends a request and checks the reply; the next message at the server has to be the honest one."""
        self._asked += 1
        question = b"question %d" % self._asked
        self.client.send(question)
        assert self.router.recv() == [b"honest", question]
        self.router.send(b"honest", b"answer to " + question)
        assert self.client.recv() == [b"answer to " + question]

    def ask_past_strangers(self):
        """Like ask(), but the stranger's bytes may have been a message, too.

        Random bytes are sometimes a message of ZMTP 1.0, and libzmq delivers some unknown commands.
        """
        self._asked += 1
        question = b"question %d" % self._asked
        self.client.send(question)
        eventually(lambda: self.router.recv() == [b"honest", question])

    def dial(self):
        if self.endpoint.startswith("ipc://"):
            stranger = socket.socket(socket.AF_UNIX)
            stranger.connect(self.endpoint[len("ipc://") :])
        else:
            port = int(self.endpoint.rpartition(":")[2])
            stranger = socket.create_connection(("127.0.0.1", port))
        stranger.settimeout(SECONDS_MAX)
        return stranger

    def memory_growth(self):
        return self.server.status("VmRSS") - self.memory_before


@pytest.fixture(params=["tcp", "ipc"])
def service(request, peers, wildcard):
    running = Service(peers("zlink"), peers("stock"), wildcard(request.param))
    yield running
    running.ask_past_strangers()
    assert running.memory_growth() < GROWTH_KB_MAX


def read_exactly(stranger, count):
    data = b""
    while len(data) < count:
        more = stranger.recv(count - len(data))
        assert more, f"closed after {len(data)} of {count} bytes"
        data += more
    return data


def shake_hands(stranger, kind=b"DEALER"):
    """Sends an honest peer's greeting and returns once the server's READY has come."""
    stranger.sendall(GREETING)
    greeting = read_exactly(stranger, 64)
    assert greeting[0] == 0xFF and greeting[9] == 0x7F and greeting[10] == 3
    stranger.sendall(ready(kind))
    flags, size = read_exactly(stranger, 2)
    assert flags == 4
    assert read_exactly(stranger, size).startswith(b"\x05READY")


def is_closed(stranger):
    """Reads to the end; True if it comes before the time-out of the connection."""
    try:
        while stranger.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def send_quietly(stranger, data):
    """Sends, and ignores the error if the server ends the connection meanwhile."""
    try:
        stranger.sendall(data)
    except (ConnectionError, TimeoutError):
        pass


def test_an_honest_stranger_is_served(service):
    """The bare handshake of this file is valid; so it is the other tests' additions that end a session."""
    with service.dial() as stranger:
        shake_hands(stranger)
        stranger.sendall(b"\x00\x05hello")
        identity, text = service.router.recv()
        assert text == b"hello"
        service.router.send(identity, b"world")
        assert read_exactly(stranger, 7) == b"\x00\x05world"


@pytest.mark.parametrize("seed", range(40))
def test_random_bytes(seed, service):
    chance = random.Random(seed)
    with service.dial() as stranger:
        send_quietly(stranger, chance.randbytes(chance.randrange(1, 4000)))
        service.ask_past_strangers()


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_after_the_greeting(seed, service):
    chance = random.Random(1000 + seed)
    with service.dial() as stranger:
        stranger.sendall(GREETING)
        send_quietly(stranger, chance.randbytes(chance.randrange(1, 4000)))
        service.ask_past_strangers()


@pytest.mark.parametrize("seed", range(20))
def test_random_commands_after_the_handshake(seed, service):
    chance = random.Random(2000 + seed)
    with service.dial() as stranger:
        shake_hands(stranger)
        for _ in range(20):
            name = chance.choice([b"PING", b"PONG", b"SUBSCRIBE", b"CANCEL", b"ERROR", b"READY", b"WHAT", b""])
            body = bytes([len(name)]) + name + chance.randbytes(chance.randrange(0, 300))
            send_quietly(stranger, command(body))
        service.ask_past_strangers()


@pytest.mark.parametrize("length", [0, 1, 9, 10, 11, 12, 31, 32, 63, 64])
def test_a_greeting_that_stops(length, service):
    with service.dial() as stranger:
        stranger.sendall(GREETING[:length])
        service.ask()
    service.ask()


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 70])
def test_a_handshake_one_byte_at_a_time(length, service):
    with service.dial() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        for byte in (GREETING + ready())[:length]:
            stranger.sendall(bytes([byte]))
        service.ask()


@pytest.mark.parametrize(
    "mechanism", [b"PLAIN", b"CURVE", b"GSSAPI", b"null", b"", b"NULL\0x", b"\xff" * 20]
)
def test_another_mechanism_is_refused(mechanism, service):
    with service.dial() as stranger:
        send_quietly(stranger, GREETING[:12] + mechanism.ljust(20, b"\0")[:20] + GREETING[32:])
        send_quietly(stranger, ready())
        assert is_closed(stranger)
        service.ask()


@pytest.mark.parametrize("size", [2**63 - 1, 2**63, 2**64 - 1, 2**40, 2**32, 2**31])
@pytest.mark.parametrize("flags", [2, 3, 6])
def test_a_claimed_size_takes_no_memory(flags, size, service):
    """The claim comes with some of the bytes that it announces, and no more."""
    with service.dial() as stranger:
        shake_hands(stranger)
        send_quietly(stranger, bytes([flags]) + struct.pack("!Q", size) + bytes(100_000))
        service.ask()
        assert service.memory_growth() < GROWTH_KB_MAX
    service.ask()


@pytest.mark.parametrize("size", [2**63 - 1, 2**40, 2**20])
def test_a_claimed_size_during_the_handshake_takes_no_memory(size, service):
    with service.dial() as stranger:
        stranger.sendall(GREETING)
        send_quietly(stranger, b"\x06" + struct.pack("!Q", size) + bytes(100_000))
        service.ask()
        assert service.memory_growth() < GROWTH_KB_MAX


@pytest.mark.parametrize("size", [2**62, 2**40])
def test_many_claims_at_once_take_no_memory(size, service):
    strangers = [service.dial() for _ in range(50)]
    try:
        for stranger in strangers:
            shake_hands(stranger)
            send_quietly(stranger, b"\x02" + struct.pack("!Q", size))
        service.ask()
        assert service.memory_growth() < GROWTH_KB_MAX
    finally:
        for stranger in strangers:
            stranger.close()


@pytest.mark.parametrize("flags", [8, 16, 32, 64, 128, 0xFF, 5, 7])
def test_reserved_and_contradicting_flags(flags, service):
    """Bits 3 to 7 are reserved, and a command may not have MORE."""
    with service.dial() as stranger:
        shake_hands(stranger)
        long_form = flags & 2
        size = struct.pack("!Q", 3) if long_form else b"\x03"
        send_quietly(stranger, bytes([flags]) + size + b"bad")
        service.ask_past_strangers()


@pytest.mark.parametrize("kind", [b"PUB", b"PULL", b"SUB", b"PAIR", b"", b"NOTHING", b"dealer", b"R" * 255])
def test_a_socket_type_that_does_not_fit(kind, service):
    with service.dial() as stranger:
        stranger.sendall(GREETING)
        send_quietly(stranger, ready(kind) + b"\x00\x03bad")
        assert is_closed(stranger)
        service.ask()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x05READ",
        b"\x05READY\x0bSocket-Type",
        b"\x05READY\x0bSocket-Type\xff\xff\xff\xffDEALER",
        b"\x05READY\x0bSocket-Type\x7f\xff\xff\xffDEALER",
        b"\x05READY\xffSocket-Type",
        b"\x05READY\x00\x00\x00\x00\x00",
        b"\x05ERROR",
        b"\x05ERROR\xffshort",
        b"\x05HELLO\x00\x00",
        b"\xff" * 200,
    ],
)
def test_malformed_handshake_commands(body, service):
    with service.dial() as stranger:
        stranger.sendall(GREETING)
        send_quietly(stranger, command(body) + b"\x00\x03bad")
        service.ask()


def test_giant_metadata(service):
    """A mebibyte of properties in READY, and then many that are never completed."""
    with service.dial() as stranger:
        stranger.sendall(GREETING)
        extra = b"".join(property_bytes(b"X-%d" % number, bytes(1000)) for number in range(1000))
        send_quietly(stranger, ready(extra=extra))
        service.ask_past_strangers()
    strangers = [service.dial() for _ in range(30)]
    try:
        for stranger in strangers:
            stranger.sendall(GREETING)
            head = b"\x05READY" + property_bytes(b"Socket-Type", b"DEALER")
            send_quietly(stranger, b"\x06" + struct.pack("!Q", 1 << 30) + head + bytes(50_000))
        service.ask()
    finally:
        for stranger in strangers:
            stranger.close()


def test_a_message_without_an_end(service):
    """Parts with MORE, until the connection is closed: the router delivers none of them."""
    with service.dial() as stranger:
        shake_hands(stranger)
        send_quietly(stranger, b"\x01\x04part" * 1000)
        service.ask()
    service.ask()


def test_connections_that_say_nothing(service):
    strangers = [service.dial() for _ in range(200)]
    try:
        service.ask()
    finally:
        for stranger in strangers:
            stranger.close()
    service.ask()


def test_connections_that_reset(service):
    for _ in range(100):
        stranger = service.dial()
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        send_quietly(stranger, GREETING)
        stranger.close()
    service.ask()


def test_a_ping_that_is_too_short_or_too_long(service):
    for context in (b"", b"\x00", bytes(2 + 17), bytes(300)):
        with service.dial() as stranger:
            shake_hands(stranger)
            send_quietly(stranger, command(b"\x04PING" + context))
            service.ask()


def test_a_stalled_reader_holds_up_nobody(service):
    """A peer that sends requests and never reads the replies fills its own queue and no other."""
    with service.dial() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        shake_hands(stranger)
        stranger.sendall(b"\x00\x05hello")
        identity, _ = service.router.recv()
        service.router.set("ROUTER_MANDATORY", 0)
        for _ in range(2000):
            service.router.send(identity, bytes(1000))
        service.ask()


def test_subscriptions_from_a_stranger(peers, wildcard):
    """Long, many and odd topics are removed with the session that subscribed to them."""
    server = peers("zlink")
    publisher = server.socket("PUB", SNDHWM=0)
    endpoint = publisher.bind(wildcard("tcp"))
    honest = peers("stock").socket("SUB", RCVHWM=0)
    honest.set("SUBSCRIBE", b"honest")
    honest.connect(endpoint)

    def arrives():
        publisher.send(b"honest probe")
        return honest.try_recv(20)

    eventually(arrives)
    chance = random.Random(7)
    port = int(endpoint.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.settimeout(SECONDS_MAX)
        shake_hands(stranger, b"SUB")
        for _ in range(300):
            topic = chance.randbytes(chance.randrange(0, 200))
            first = chance.choice([b"\x00", b"\x01", b"\x02", b""])
            body = (first + topic)[:255]
            send_quietly(stranger, bytes([0, len(body)]) + body)
        # One topic of a mebibyte, too deep for any recursion.
        send_quietly(stranger, b"\x02" + struct.pack("!Q", 1 + (1 << 20)) + b"\x01" + bytes(1 << 20))
        publisher.send(bytes(100))
    eventually(arrives)


def test_a_socket_dials_again_when_it_is_hung_up_on(listener, peers):
    endpoint = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    dealer = peers("zlink").socket("DEALER", RECONNECT_IVL=20)
    dealer.connect(endpoint)
    for answer in (b"", GREETING[:1], GREETING[:30], GREETING):
        connection, _ = listener.accept()
        with connection:
            send_quietly(connection, answer)
    listener.close()
    router = peers("stock").socket("ROUTER")
    router.bind(endpoint)
    dealer.send(b"through")
    assert router.recv()[1] == b"through"


@pytest.mark.parametrize("seed", range(10))
def test_a_hostile_binder_ends_its_own_session_only(seed, listener, peers, wildcard):
    """Random bytes from a peer that the socket dialled do not affect its other peers."""
    chance = random.Random(seed)
    pull = peers("zlink").socket("PULL", RECONNECT_IVL=20)
    push = peers("stock").socket("PUSH")
    pull.connect(push.bind(wildcard("tcp")))
    push.send(b"before")
    assert pull.recv() == [b"before"]
    pull.connect(f"tcp://127.0.0.1:{listener.getsockname()[1]}")
    connection, _ = listener.accept()
    with connection:
        head = chance.choice([b"\xff", GREETING[:10], GREETING, GREETING + ready(b"PULL")])
        send_quietly(connection, head + chance.randbytes(500))
        push.send(b"meanwhile")
        assert pull.recv() == [b"meanwhile"]
    push.send(b"after")
    assert pull.recv() == [b"after"]
