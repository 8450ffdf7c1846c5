"""PLAIN, CURVE and ZAP between stock pyzmq and zlink, each as server and as client, bound at either end."""

import random
import socket
import struct

import pytest

from driver import PeerError, encoded
from exchange import PATTERNS
from security import (
    CLIENT_PUBLIC,
    CURVE_CLIENT,
    CURVE_SERVER,
    PLAIN_CLIENT,
    PLAIN_SERVER,
    SERVER_PUBLIC,
    SERVER_SECRET,
    Handler,
)
from test_hostile_peer import GROWTH_KB_MAX, command, is_closed, send_quietly

SIDES = [("zlink", "stock"), ("stock", "zlink"), ("zlink", "zlink")]


def open_pair(peers, wildcard, sides, security, kinds, binder="server"):
    """Two connected sockets of the kinds, the first one's process being the server of the mechanism."""
    (first_kind, first_options, second_kind, second_options) = kinds
    server_options, client_options = security
    server_process, client_process = peers(sides[0]), peers(sides[1])
    first = server_process.socket(first_kind, **first_options, **server_options)
    second = client_process.socket(second_kind, **second_options, **client_options)
    binding, connecting = (first, second) if binder == "server" else (second, first)
    connecting.connect(binding.bind(wildcard("tcp")))
    return first, second


@pytest.mark.parametrize("binder", ["server", "client"])
@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_curve_carries_every_pattern(pattern, sides, binder, peers, wildcard):
    *kinds, exchange = PATTERNS[pattern]
    first, second = open_pair(
        peers, wildcard, sides, (CURVE_SERVER, CURVE_CLIENT), kinds, binder
    )
    exchange(first, second)


def guarded_server(process, **options):
    return Handler(process), process.socket("PULL", **options)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_plain_asks_zap_who_may_enter(sides, peers, wildcard):
    server_process, client_process = peers(sides[0]), peers(sides[1])
    handler, server = guarded_server(server_process, ROUTING_ID=b"me", **PLAIN_SERVER)
    client = client_process.socket("PUSH", **PLAIN_CLIENT)
    client.connect(server.bind(wildcard("tcp")))
    asked = handler.decide(b"200", b"user", b"\x05Hello\0\0\0\x05World")
    assert asked == [b"1.0", b"1", b"global", b"127.0.0.1", b"me", b"PLAIN", b"joe", b"secret"]
    client.send(b"hello")
    assert server.call("recv_properties", names=["User-Id", "Hello", "Socket-Type"]) == [
        "user",
        "World",
        "PUSH",
    ]


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_curve_shows_zap_the_clients_key(sides, peers, wildcard):
    server_process, client_process = peers(sides[0]), peers(sides[1])
    handler, server = guarded_server(server_process, ZAP_DOMAIN=b"global", **CURVE_SERVER)
    client = client_process.socket("PUSH", **CURVE_CLIENT)
    client.connect(server.bind(wildcard("tcp")))
    *_, mechanism, key = handler.decide(b"200")
    assert (mechanism, key) == (
        b"CURVE",
        bytes.fromhex("bb88471d65e2659b30c55a5321cebb5aab2b70a398645c26dca2b2fcb43fc518"),
    )
    client.send(b"hello")
    assert server.call("recv_properties", names=["User-Id"]) == ["user"]


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_null_with_a_domain_asks_zap(sides, peers, wildcard):
    server_process, client_process = peers(sides[0]), peers(sides[1])
    handler, server = guarded_server(server_process, ZAP_DOMAIN=b"global")
    client = client_process.socket("PUSH")
    client.connect(server.bind(wildcard("tcp")))
    assert handler.decide(b"200")[5:] == [b"NULL"]
    client.send(b"hello")
    assert server.call("recv_properties", names=["User-Id"]) == ["user"]


@pytest.mark.parametrize("security", ["PLAIN", "CURVE"])
@pytest.mark.parametrize("status", [b"400", b"500"])
@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_a_refused_client_stays_outside(sides, status, security, peers, wildcard):
    server_process, client_process = peers(sides[0]), peers(sides[1])
    secured = {
        "PLAIN": (PLAIN_SERVER, PLAIN_CLIENT),
        "CURVE": ({"ZAP_DOMAIN": b"global", **CURVE_SERVER}, CURVE_CLIENT),
    }[security]
    handler, server = guarded_server(server_process, **secured[0])
    client = client_process.socket("PUSH", IMMEDIATE=1, **secured[1])
    client.connect(server.bind(wildcard("tcp")))
    handler.decide(status)
    with pytest.raises(PeerError) as failure:
        client.call("send", parts=encoded([b"hello"]), timeout=100)
    assert failure.value.errno == "EAGAIN"


# For a temporary refusal, libzmq's PLAIN server leaves the client connected, and sends nothing.
@pytest.mark.parametrize("security", ["PLAIN", "CURVE", "NULL"])
@pytest.mark.parametrize("sides", [("zlink", "stock"), ("zlink", "zlink")], ids="-".join)
def test_a_client_refused_for_now_retries(sides, security, peers, wildcard):
    server_process, client_process = peers(sides[0]), peers(sides[1])
    secured = {
        "PLAIN": (PLAIN_SERVER, PLAIN_CLIENT),
        "CURVE": ({"ZAP_DOMAIN": b"global", **CURVE_SERVER}, CURVE_CLIENT),
        "NULL": ({"ZAP_DOMAIN": b"global"}, {}),
    }[security]
    handler, server = guarded_server(server_process, **secured[0])
    client = client_process.socket("PUSH", **secured[1])
    client.connect(server.bind(wildcard("tcp")))
    handler.decide(b"300")
    handler.decide(b"200")
    client.send(b"hello")
    assert server.recv() == [b"hello"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"CURVE_SERVERKEY": CLIENT_PUBLIC},
        {"CURVE_PUBLICKEY": SERVER_PUBLIC},
        {"CURVE_SECRETKEY": SERVER_SECRET},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_a_wrong_key_opens_nothing(sides, wrong, peers, wildcard):
    server_process, client_process = peers(sides[0]), peers(sides[1])
    server = server_process.socket("PULL", **CURVE_SERVER)
    client = client_process.socket("PUSH", IMMEDIATE=1, **{**CURVE_CLIENT, **wrong})
    client.connect(server.bind(wildcard("tcp")))
    with pytest.raises(PeerError) as failure:
        client.call("send", parts=encoded([b"hello"]), timeout=100)
    assert failure.value.errno == "EAGAIN"


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_other_mechanisms_do_not_meet(sides, peers, wildcard):
    server_process, client_process = peers(sides[0]), peers(sides[1])
    server = server_process.socket("PULL", **CURVE_SERVER)
    endpoint = server.bind(wildcard("tcp"))
    for options in ({}, PLAIN_CLIENT):
        client = client_process.socket("PUSH", IMMEDIATE=1, **options)
        client.connect(endpoint)
        with pytest.raises(PeerError) as failure:
            client.call("send", parts=encoded([b"hello"]), timeout=100)
        assert failure.value.errno == "EAGAIN"


# The bytes that strangers send after a valid greeting.
MISDEEDS = [
    b"",
    b"\x00\x05hello",
    b"\x04\xc8\x05HELLO",
    b"\x06" + struct.pack("!Q", 2**62),
    command(b"\x05HELLO\x01\x00" + random.Random(0).randbytes(192)),
    command(b"\x05HELLO" + bytes(60000)) * 100,
    command(b"\x08INITIATE" + random.Random(1).randbytes(300)) * 100,
]


@pytest.mark.parametrize("mechanism", ["PLAIN", "CURVE"])
def test_strangers_are_shut_out_and_leave_nothing(mechanism, peers, wildcard):
    server_process = peers("zlink")
    server_options, client_options = {
        "PLAIN": (PLAIN_SERVER, PLAIN_CLIENT),
        "CURVE": ({"ZAP_DOMAIN": b"global", **CURVE_SERVER}, CURVE_CLIENT),
    }[mechanism]
    handler, server = guarded_server(server_process, HANDSHAKE_IVL=3000, **server_options)
    endpoint = server.bind(wildcard("tcp"))
    memory_before = server_process.status("VmRSS")
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x01" + mechanism.encode().ljust(20, b"\0") + bytes(32)
    strangers = []
    for said in MISDEEDS * 30:
        stranger = socket.create_connection(("127.0.0.1", int(endpoint.rpartition(":")[2])), 10)
        send_quietly(stranger, greeting + said)
        strangers.append(stranger)
    for stranger in strangers:
        assert is_closed(stranger)
        stranger.close()
    assert server_process.status("VmRSS") - memory_before < GROWTH_KB_MAX

    client = peers("stock").socket("PUSH", **client_options)
    client.connect(endpoint)
    handler.decide(b"200")
    client.send(b"hello")
    assert server.recv() == [b"hello"]


def test_keys_are_made_and_derived(peers):
    assert peers("zlink").call("make_keys")
