# SPDX-License-Identifier: MPL-2.0
"""Options, CURVE, PLAIN and TLS."""

import datetime
import math
import pathlib
import re
import subprocess
import threading
import urllib.request

import pytest

import zlink
from conftest import DEADLINE, Pair

HEADER = pathlib.Path(__file__).parents[2] / "include" / "zlink.h"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("linger", 1.5),
        ("linger", None),
        ("linger", 0),
        ("recv_timeout", 0.25),
        ("send_timeout", None),
        ("reconnect_interval", None),
        ("heartbeat_interval", 2),
        ("tcp_keepalive_idle", 30),
        ("send_hwm", 5),
        ("max_message_size", 1 << 40),
        ("ipv6", True),
        ("immediate", True),
        ("tls_ca", "/tmp"),
        ("tls_ca", None),
        ("socks_proxy", "host:1"),
        ("routing_id", b"name"),
        ("plain_username", "user"),
        ("affinity", 1),
        ("affinity", 2**64 - 1),
    ],
)
def test_an_option_is_read_back(context, name, value):
    socket = zlink.Dealer(context)
    setattr(socket, name, value)
    assert getattr(socket, name) == value


def test_every_attribute_can_be_read(context):
    for kind in (zlink.Pair, zlink.XPub, zlink.Sub, zlink.Router, zlink.Req, zlink.Stream, zlink.aio.Dealer):
        socket = kind(context)
        for name in dir(kind):
            if name.startswith("_"):
                continue
            try:
                getattr(socket, name)
            except AttributeError as error:
                assert "can only be set" in str(error)
            except zlink.InvalidValue:
                # A Stream refuses what would have no effect, for instance.
                assert kind is zlink.Stream or name in ("curve_server_key",), name


def test_every_attribute_has_a_text():
    for kind in (zlink.Router, zlink.Stream, zlink.aio.Stream, zlink.aio.Push, zlink.Context):
        for name in dir(kind):
            if not name.startswith("_") and name != "pattern":
                assert getattr(kind, name).__doc__, f"{kind}.{name}"


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("linger", "1", TypeError, "linger is a number of seconds or None, not str"),
        ("linger", -1, ValueError, "linger is 0 or more seconds"),
        ("linger", datetime.timedelta(1), TypeError, "not timedelta"),
        ("recv_timeout", float("nan"), ValueError, "recv_timeout"),
        ("send_hwm", 1.5, TypeError, "send_hwm is an int or None, not float"),
        ("linger", 1e9, zlink.InvalidValue, r"Dealer.linger: 1000000000.0 is out of range \(0 to 2147483 seconds\)"),
        ("heartbeat_ttl", 1e6, zlink.InvalidValue, r"\(0 to 6553 seconds\)"),
        ("heartbeat_timeout", math.inf, ValueError, "heartbeat_timeout"),
        ("send_hwm", -5, zlink.InvalidValue, r"Dealer.send_hwm: -5 is out of range \(0 or more\)"),
        ("send_hwm", 1 << 40, zlink.InvalidValue, "out of range"),
        ("send_hwm", 1 << 80, ValueError, "more than an option can have"),
        ("affinity", 1 << 64, ValueError, "affinity is from 0"),
        ("tls_ca", "a\0b", ValueError, "embedded null character"),
        ("plain_username", "a\0b", ValueError, "embedded null character"),
        ("ipv6", 1, TypeError, "ipv6 is a bool, not int"),
        ("tls_ca", b"/", TypeError, "tls_ca is a str or None, not bytes"),
        ("routing_id", "name", TypeError, "routing_id is bytes, not str"),
        ("curve_secret_key", "short", zlink.InvalidValue, "key"),
        ("dropped", 1, AttributeError, "can only be read"),
        ("mechanism", zlink.Mechanism.NULL, AttributeError, "can only be read"),
    ],
)
def test_a_value_that_is_refused(context, name, value, error, text):
    with pytest.raises(error, match=text):
        setattr(zlink.Dealer(context), name, value)


def test_options_by_number(context):
    router = zlink.Router(context)
    router.set_option(zlink.Option.SNDHWM, 7)
    assert router.get_option(zlink.Option.SNDHWM, int) == 7
    router.set_option(zlink.Option.ROUTER_MANDATORY, True)
    router.set_option(zlink.Option.ROUTING_ID, b"name")
    assert router.get_option(zlink.Option.ROUTING_ID, bytes) == b"name"
    endpoint = router.bind("tcp://127.0.0.1:*")
    assert router.get_option(zlink.Option.LAST_ENDPOINT, str) == endpoint
    with pytest.raises(TypeError, match="not float"):
        router.get_option(zlink.Option.SNDHWM, float)
    with pytest.raises(zlink.InvalidValue):
        router.get_option(9999, int)
    with pytest.raises(AttributeError):
        router.nonsense


def test_every_option_of_the_header_has_a_name():
    page = (HEADER.parents[1] / "docs" / "options.md").read_text()
    before, _, behind = page.partition("## Context options")
    rows = re.findall(r"^\| `ZLINK_(\w+)` \| (\d+) ", before + behind.partition("## Draft options")[2], re.M)
    assert len(rows) > 100
    known = {name: option.value for name, option in zlink.Option.__members__.items()}
    assert {name: int(number) for name, number in rows}.items() <= known.items()


@pytest.mark.parametrize(
    ("kind", "name", "number"),
    [
        (zlink.Dealer, "send_hwm", 0),
        (zlink.Dealer, "recv_hwm", 0),
        (zlink.Dealer, "max_message_size", -1),
        (zlink.Dealer, "max_connections", 0),
        (zlink.Dealer, "max_connections_per_address", 0),
        (zlink.Dealer, "handshake_timeout", 0),
        (zlink.Stream, "http_request_rate", 0),
        (zlink.aio.Dealer, "send_hwm", 0),
    ],
)
def test_a_limit_that_there_is_not_is_none(context, kind, name, number):
    socket = kind(context)
    attribute = getattr(kind, name)
    for value in (None, number):
        setattr(socket, name, 5)
        assert getattr(socket, name) == 5
        setattr(socket, name, value)
        assert getattr(socket, name) is None
        assert socket.get_option(attribute.option, int) == number
    assert "None: no limit" in attribute.__doc__


@pytest.mark.parametrize("name", ["linger", "recv_timeout", "send_timeout", "handshake_timeout"])
def test_infinity_is_no_limit(context, name):
    socket = zlink.Dealer(context)
    setattr(socket, name, 1)
    setattr(socket, name, math.inf)
    assert getattr(socket, name) is None


def test_an_option_that_is_no_number(context):
    dealer = zlink.Dealer(context)
    for _ in range(2):
        with pytest.raises(zlink.InvalidValue):
            dealer.get_option(zlink.Option.LAST_ENDPOINT, int)
        dealer.connect("inproc://a")
    dealer.set_option(zlink.Option.AFFINITY, 2**64 - 1)
    assert dealer.get_option(zlink.Option.AFFINITY, int) == 2**64 - 1


def test_a_misspelt_option(context):
    for socket in (zlink.Push(context), zlink.Stream(context), zlink.aio.Push(context)):
        with pytest.raises(AttributeError, match="has no option 'lingerr'; did you mean linger?"):
            socket.lingerr = 1
        with pytest.raises(AttributeError, match="has no option 'colour'$"):
            socket.colour = 1

    class Mine(zlink.Push):
        pass

    mine = Mine(context)
    mine.colour = "red"
    mine.linger = 0
    assert mine.colour == "red" and mine.linger == 0


def test_options_of_a_context(context):
    context.busy_poll = 0.0001
    assert context.busy_poll == pytest.approx(0.0001)
    context.set_option(zlink.ContextOption.IPV6, 1)
    assert context.get_option(zlink.ContextOption.IPV6) == 1
    with pytest.raises(zlink.InvalidValue):
        context.set_option(9999, 1)


def test_metrics(context):
    push, pull = zlink.Push(context), zlink.Pull(context)
    push.socket_name = "source"
    pull.bind("inproc://measured")
    push.connect("inproc://measured")
    push.send(b"12345")
    assert pull.recv() == b"12345"
    found = {
        each.name: each
        for each in context.metrics(peers=True)
        if each.labels.get("name") == "source" and "reason" not in each.labels
    }
    sent = found["zlink_socket_sent_bytes_total"]
    assert sent.value == 7 and sent.kind == "counter" and sent.family == sent.name and sent.help
    assert sent.labels == {"socket": "1", "type": "PUSH", "name": "source"}
    assert found["zlink_peer_sent_messages_total"].value == 1
    assert not any(each.name.startswith("zlink_peer_") for each in context.metrics())
    line = 'zlink_socket_sent_bytes_total{socket="1",type="PUSH",name="source"} 7\n'
    assert line in context.metrics_text() and "zlink_peer_" in context.metrics_text(peers=True)


def test_metrics_are_served(context):
    assert context.metrics_endpoint is None
    with pytest.raises(zlink.InvalidValue, match="http://HOST:PORT"):
        context.metrics_endpoint = "9090"
    with pytest.raises(zlink.InvalidValue, match="zero byte"):
        context.metrics_endpoint = "local\0"
    context.metrics_endpoint = "http://127.0.0.1:*"
    with urllib.request.urlopen(context.metrics_endpoint + "/metrics", timeout=DEADLINE) as answer:
        assert b"zlink_context_sockets 0\n" in answer.read()
    context.metrics_endpoint = None
    assert context.metrics_endpoint is None


def test_the_numbers_are_those_of_the_header():
    if not HEADER.exists():
        pytest.skip("the header is not here")
    text = HEADER.read_text()
    defined = {
        name: int(value, 0)
        for name, value in re.findall(r"#define ZLINK_(\w+)\s*(?:\\\n\s*)?(\w+)\b", text)
        if re.fullmatch(r"0x[0-9a-fA-F]+|\d+", value)
    }
    for enumeration, prefix in (
        (zlink.Option, ""),
        (zlink.ContextOption, ""),
        (zlink.Pattern, ""),
        (zlink.Mechanism, ""),
        (zlink.Poll, "POLL"),
        (zlink.Event, "EVENT_"),
        (zlink.ProtocolError, "PROTOCOL_ERROR_"),
    ):
        for name, member in enumeration.__members__.items():
            assert defined[prefix + name] == member.value, name


def test_curve(context):
    public, secret = zlink.curve_keypair()
    server, client = zlink.Pull(context), zlink.Push(context)
    server.recv_timeout = DEADLINE
    server.curve_server = True
    server.curve_secret_key = secret
    endpoint = server.bind("tcp://127.0.0.1:*")
    client.curve_public_key, client.curve_secret_key = zlink.curve_keypair()
    client.curve_server_key = public
    assert client.curve_server_key == public
    assert client.mechanism == zlink.Mechanism.CURVE
    client.connect(endpoint)
    client.send(b"secret")
    assert server.recv() == b"secret"


def test_plain_with_zap(context):
    handler = zlink.Rep(context)
    handler.recv_timeout = DEADLINE
    handler.bind("inproc://zeromq.zap.01")
    asked = []

    def authenticate():
        version, request, *rest = handler.recv_multipart()
        asked.extend(rest)
        handler.send_multipart([version, request, b"200", b"OK", b"the user", b""])

    thread = threading.Thread(target=authenticate)
    thread.start()
    server, client = zlink.Pull(context), zlink.Push(context)
    server.recv_timeout = DEADLINE
    server.plain_server = True
    server.zap_domain = "here"
    client.plain_username, client.plain_password = "name", "word"
    client.connect(server.bind("tcp://127.0.0.1:*"))
    client.send(b"x")
    assert server.recv_frame().property("User-Id") == "the user"
    thread.join(DEADLINE)
    assert asked[0] == b"here" and asked[-3:] == [b"PLAIN", b"name", b"word"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Files of a key and a certificate for localhost, which is its own authority."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "30", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    return str(folder / "cert.pem"), str(folder / "key.pem")


@pytest.mark.parametrize("transport", ["tls", "wss"])
def test_tls(context, certificate, transport):
    server, client = zlink.Stream(context), zlink.Stream(context)
    server.recv_timeout = client.recv_timeout = DEADLINE
    server.tls_certificate, server.tls_key = certificate
    server.tls_min_version = 13
    client.tls_ca = certificate[0]
    client.connect(server.bind(f"{transport}://127.0.0.1:*"))
    peer = server.recv().peer
    client.recv()
    server.send(peer, b"over tls")
    assert client.recv().data == b"over tls"
    server.tls_reload()


def test_tls_with_a_wrong_file(context):
    server = zlink.Stream(context)
    server.tls_certificate = "/nowhere.pem"
    with pytest.raises(zlink.Error, match="/nowhere.pem"):
        server.bind("wss://127.0.0.1:*")


def test_a_stream_has_no_curve(context):
    with pytest.raises(AttributeError):
        zlink.Stream(context).curve_server_key
    with pytest.raises(zlink.InvalidValue):
        zlink.Stream(context).set_option(zlink.Option.CURVE_SERVER, 1)


def test_deflate(context):
    server = zlink.Stream(context)
    server.ws_deflate = True
    client = zlink.Stream(context)
    client.ws_deflate = True
    client.connect(server.bind("ws://127.0.0.1:*"))
    came = server.recv(timeout=DEADLINE)
    assert "permessage-deflate" in came.extensions
    client.recv(timeout=DEADLINE)
    server.send(came.peer, "a" * 10_000)
    assert client.recv(timeout=DEADLINE).text == "a" * 10_000
    assert server.ws_deflated == 1


def test_origins(context):
    server = zlink.Stream(context)
    server.ws_origins = "https://example.org"
    assert Pair(context, server=server).came.origin == ""
