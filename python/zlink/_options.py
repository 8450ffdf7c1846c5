# SPDX-License-Identifier: MPL-2.0
"""Options of sockets as attributes.

Times are seconds, as float or int. A limit that there is not is None; setting the number takes it,
too, that the C API has for that. Of other times None is the C API's -1, whose meaning the attribute
has.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from ._constants import Mechanism, Option
from ._errors import InvalidValue

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._zlink import Core

    _Base = Core
else:
    _Base = object

T = TypeVar("T")

# Of a key in Z85, with its zero byte.
_KEY_ROOM = 41

# As the library says it, in its own units, after the number that was given.
_RANGE = re.compile(r"is out of range \((?P<least>-?\d+) (?:or more|to (?P<most>-?\d+))\)")


class Attribute(Generic[T]):
    """An option of a socket: reads and writes it."""

    def __init__(self, option: Option, doc: str, writable: bool = True, readable: bool = True) -> None:
        self.option = option
        self.__doc__ = doc
        self._writable = writable
        self._readable = readable
        self._name = option.name.lower()

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, socket: None, owner: type) -> Self: ...

    @overload
    def __get__(self, socket: Core, owner: type) -> T: ...

    def __get__(self, socket: Core | None, owner: type) -> Self | T:
        if socket is None:
            return self
        if not self._readable:
            raise AttributeError(f"{owner.__name__}.{self._name} can only be set")
        return self._read(socket)

    def __set__(self, socket: Core, value: T) -> None:
        if not self._writable:
            raise AttributeError(f"{type(socket).__name__}.{self._name} can only be read")
        try:
            self._write(socket, value)
        except InvalidValue as error:
            place = f"{type(socket).__name__}.{self._name}"
            raise InvalidValue(error.errno, f"{place}: {self._words(str(error.strerror), value)}") from None

    def _words(self, text: str, value: T) -> str:
        """Why the value is invalid, of the library's "Push.set_option: ZLINK_SNDHWM: ..."."""
        return text.split(": ", 2)[-1]

    def _read(self, socket: Core) -> T:
        raise NotImplementedError

    def _write(self, socket: Core, value: T) -> None:
        raise NotImplementedError

    def _expect(self, value: object, kinds: type | tuple[type, ...], words: str) -> None:
        if not isinstance(value, kinds):
            raise TypeError(f"{self._name} is {words}, not {type(value).__name__}")


def set_number(socket: Core, option: int, value: int) -> None:
    """Sets an option that is a number. Of 64 bits: the library has affinity without a sign."""
    if option == Option.AFFINITY:
        if not -1 <= value < 1 << 64:
            raise ValueError(f"affinity is from 0 to 2**64 - 1, not {value}")
        value -= (1 << 64) * (value >= 1 << 63)
    elif not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{value} is more than an option can have")
    socket._set_int(int(option), value)


def get_number(socket: Core, option: int) -> int:
    """Reads an option that is a number."""
    value = socket._get_int(int(option))
    return value % (1 << 64) if option == Option.AFFINITY else value


class Number(Attribute[int]):
    """An option that is a number."""

    def _read(self, socket: Core) -> int:
        return get_number(socket, self.option)

    def _write(self, socket: Core, value: int) -> None:
        self._expect(value, int, "an int")
        set_number(socket, self.option, value)


class Limit(Attribute["int | None"]):
    """An option that is a largest number; None: no limit, which is `unlimited` in the C API."""

    def __init__(self, option: Option, doc: str, unlimited: int = 0) -> None:
        super().__init__(option, f"{doc} None: no limit.")
        self._unlimited = unlimited

    def _read(self, socket: Core) -> int | None:
        value = get_number(socket, self.option)
        return None if value == self._unlimited else value

    def _write(self, socket: Core, value: int | None) -> None:
        if value is None:
            value = self._unlimited
        self._expect(value, int, "an int or None")
        set_number(socket, self.option, value)


class Flag(Attribute[bool]):
    """An option that is on or off."""

    def _read(self, socket: Core) -> bool:
        return socket._get_int(self.option) != 0

    def _write(self, socket: Core, value: bool) -> None:
        self._expect(value, bool, "a bool")
        socket._set_int(self.option, int(value))


class MechanismAttribute(Attribute[Mechanism]):
    """The option that says how peers are authenticated."""

    def _read(self, socket: Core) -> Mechanism:
        return Mechanism(socket._get_int(self.option))


class Seconds(Attribute["float | None"]):
    """An option that is a time, in units of the C API of which `per_second` are a second.

    With `is_endless` infinity is taken, too, for no limit. `none` is what None is in the C API.
    """

    def __init__(
        self, option: Option, doc: str, per_second: int = 1000, *, is_endless: bool = False, none: int = -1
    ) -> None:
        super().__init__(option, doc)
        self._per_second = per_second
        self._is_endless = is_endless
        self._none = none

    def _read(self, socket: Core) -> float | None:
        value = socket._get_int(self.option)
        return None if value == self._none else value / self._per_second

    def _write(self, socket: Core, value: float | None) -> None:
        socket._set_int(self.option, self._units(value))

    def _units(self, value: float | None) -> int:
        if value is None:
            return self._none
        self._expect(value, (int, float), "a number of seconds or None")
        if self._is_endless and value == math.inf:
            return self._none
        if not 0 <= value < math.inf:
            raise ValueError(f"{self._name} is 0 or more seconds, or None, not {value}")
        return min(math.ceil(value * self._per_second), 1 << 62)

    def _words(self, text: str, value: float | None) -> str:
        found = _RANGE.search(text)
        if found is None or found["most"] is None:
            return super()._words(text, value)
        least, most = max(int(found["least"]), 0), int(found["most"])
        return f"{value} is out of range ({least / self._per_second:g} to {most // self._per_second} seconds)"


class Timeout(Seconds):
    """The timeout of sending or receiving."""

    def __init__(self, option: Option, doc: str) -> None:
        super().__init__(option, doc, is_endless=True)

    def _read(self, socket: Core) -> float | None:
        value = socket._get_timeout(self.option == Option.SNDTIMEO)
        return None if value == -1 else value / self._per_second

    def _write(self, socket: Core, value: float | None) -> None:
        socket._set_timeout(self.option == Option.SNDTIMEO, self._units(value))


class Text(Attribute["str | None"]):
    """An option that is a text; None: unset."""

    def _read(self, socket: Core) -> str | None:
        value = socket._get_bytes(self.option).rstrip(b"\0")
        return value.decode() if value else None

    def _write(self, socket: Core, value: str | None) -> None:
        if value is not None:
            self._expect(value, str, "a str or None")
        socket._set_bytes(self.option, value)


class Octets(Attribute[bytes]):
    """An option that is bytes."""

    def _read(self, socket: Core) -> bytes:
        return socket._get_bytes(self.option)

    def _write(self, socket: Core, value: bytes) -> None:
        self._expect(value, (bytes, bytearray, memoryview), "bytes")
        socket._set_bytes(self.option, value)


class Key(Attribute["str"]):
    """A key of CURVE, in Z85."""

    def _read(self, socket: Core) -> str:
        return socket._get_bytes(self.option, _KEY_ROOM).rstrip(b"\0").decode()

    def _write(self, socket: Core, value: str) -> None:
        self._expect(value, (str, bytes), "a key, 40 characters of Z85 or 32 bytes")
        socket._set_bytes(self.option, value)


class SocketOptions(_Base):
    """The options that sockets of every pattern have."""

    affinity = Number(Option.AFFINITY, "The I/O threads that may be used: bit n allows thread n. 0: all.")
    backlog = Number(Option.BACKLOG, "Largest number of connections that wait to be accepted.")
    bind_to_device = Text(Option.BINDTODEVICE, "The network interface to use.")
    connect_timeout = Seconds(Option.CONNECT_TIMEOUT, "Timeout of connecting. 0: the system's.")
    dropped = Number(Option.DROPPED, "The number of messages that the socket dropped so far.", writable=False)
    handshake_timeout = Seconds(
        Option.HANDSHAKE_IVL, "Timeout of a handshake. None: no limit.", is_endless=True, none=0
    )
    heartbeat_interval = Seconds(Option.HEARTBEAT_IVL, "Interval of pings. 0: none.")
    heartbeat_timeout = Seconds(
        Option.HEARTBEAT_TIMEOUT, "Silence after which the connection is closed. None: heartbeat_interval."
    )
    heartbeat_ttl = Seconds(Option.HEARTBEAT_TTL, "Silence after which the peer may close it. 0: none.")
    immediate = Flag(Option.IMMEDIATE, "Queue messages only for established connections.")
    ipv6 = Flag(Option.IPV6, "IPv6 and IPv4 instead of IPv4 only.")
    linger = Seconds(
        Option.LINGER,
        "How long a closed socket goes on sending what is queued. None: no limit.",
        is_endless=True,
    )
    max_connections = Limit(Option.MAX_CONNECTIONS, "Largest number of peers of a listener.")
    max_connections_per_address = Limit(
        Option.MAX_CONNECTIONS_PER_ADDRESS, "Largest number of peers of one address."
    )
    max_message_size = Limit(Option.MAXMSGSIZE, "Largest frame accepted, in bytes.", -1)
    priority = Number(Option.PRIORITY, "SO_PRIORITY. 0: the system's.")
    proxy_protocol = Flag(
        Option.PROXY_PROTOCOL, "Connections come through a proxy that sends its client's address."
    )
    reconnect_interval = Seconds(Option.RECONNECT_IVL, "Delay before reconnecting. None: never reconnect.")
    reconnect_interval_max = Seconds(
        Option.RECONNECT_IVL_MAX, "The delay doubles up to this value. 0: it is constant."
    )
    reconnect_stop = Number(Option.RECONNECT_STOP, "When not to reconnect; or-ed bits of zlink.h.")
    recv_buffer = Number(Option.RCVBUF, "SO_RCVBUF, in bytes. -1: the system's.")
    recv_hwm = Limit(Option.RCVHWM, "Largest number of messages queued from a peer.")
    recv_timeout = Timeout(Option.RCVTIMEO, "How long receiving waits. None: no limit.")
    reuse_port = Flag(Option.REUSE_PORT, "Several sockets may be bound to one port (SO_REUSEPORT).")
    send_buffer = Number(Option.SNDBUF, "SO_SNDBUF, in bytes. -1: the system's.")
    send_hwm = Limit(Option.SNDHWM, "Largest number of messages queued for a peer.")
    send_timeout = Timeout(Option.SNDTIMEO, "How long sending waits. None: no limit.")
    socket_name = Text(Option.SOCKET_NAME, "A name of the socket, which the metrics have as a label.")
    socks_password = Text(Option.SOCKS_PASSWORD, "Password at the SOCKS5 proxy.")
    socks_proxy = Text(Option.SOCKS_PROXY, '"host:port" of a SOCKS5 proxy.')
    socks_username = Text(Option.SOCKS_USERNAME, "User name at the SOCKS5 proxy.")
    tcp_keepalive = Number(Option.TCP_KEEPALIVE, "SO_KEEPALIVE. -1: the system's.")
    tcp_keepalive_count = Number(Option.TCP_KEEPALIVE_CNT, "TCP_KEEPCNT. -1: the system's.")
    tcp_keepalive_idle = Seconds(Option.TCP_KEEPALIVE_IDLE, "TCP_KEEPIDLE. None: the system's.", 1)
    tcp_keepalive_interval = Seconds(Option.TCP_KEEPALIVE_INTVL, "TCP_KEEPINTVL. None: the system's.", 1)
    tcp_user_timeout = Seconds(Option.TCP_MAXRT, "TCP_USER_TIMEOUT. 0: the system's.")
    tos = Number(Option.TOS, "IP type of service.")
    trusted_proxies = Text(
        Option.TRUSTED_PROXIES, "Addresses of proxies whose requests name the client, with commas between them. None: none."
    )
    use_fd = Number(Option.USE_FD, "A listening descriptor that the next bind takes over. -1: none.")
    ws_origins = Text(
        Option.WS_ORIGINS, "Origins of pages that may connect over ws, with commas between them. None: all."
    )

    tls_alpn = Text(Option.TLS_ALPN, "Protocol names to negotiate, with commas between them.")
    tls_ca = Text(Option.TLS_CA, "PEM file or folder with the trusted authorities. None: the system's.")
    tls_certificate = Text(Option.TLS_CERTIFICATE, "PEM file with this side's certificate.")
    tls_ciphers = Text(Option.TLS_CIPHERS, "Ciphers of TLS 1.2, as in openssl-ciphers(1).")
    tls_ciphersuites = Text(Option.TLS_CIPHERSUITES, "Cipher suites of TLS 1.3.")
    tls_client_certificates = Number(
        Option.TLS_CLIENT_CERTIFICATES, "Whether peers must have a certificate. 0: no, 1: asked for, 2: required."
    )
    tls_hostname = Text(Option.TLS_HOSTNAME, "The name that the peer's certificate must have. None: the endpoint's.")
    tls_key = Text(Option.TLS_KEY, "PEM file with this side's key. None: it is in the certificate's file.")
    tls_key_password = Text(Option.TLS_KEY_PASSWORD, "The password of an encrypted key.", readable=False)
    tls_min_version = Number(Option.TLS_MIN_VERSION, "Oldest TLS version allowed: 12 or 13.")
    tls_session_resumption = Flag(Option.TLS_SESSION_RESUMPTION, "A connection may resume an earlier session.")
    tls_verify = Flag(Option.TLS_VERIFY, "A peer that this socket connects to must have a valid certificate.")

    def tls_reload(self) -> None:
        """Reads the files of all bound endpoints again. Connected peers stay."""
        self._set_bytes(Option.TLS_RELOAD, b"")

    def get_option(self, option: Option, kind: type[T]) -> T:
        """Reads any option, as an int, a bool, a str or bytes: `kind` says which."""
        if kind is int or kind is bool:
            return kind(get_number(self, option))  # type: ignore[call-arg]
        if kind is bytes or kind is str:
            value = self._get_bytes(int(option))
            return value if kind is bytes else value.rstrip(b"\0").decode()  # type: ignore[return-value]
        raise TypeError(f"an option is read as int, bool, str or bytes, not {kind.__name__}")

    def set_option(self, option: Option, value: int | bool | str | bytes | None) -> None:
        """Sets any option."""
        if isinstance(value, int):
            set_number(self, option, int(value))
        else:
            self._set_bytes(int(option), value)


class CredentialOptions(_Base):
    """CURVE, PLAIN and ZAP, of all patterns but Stream."""

    mechanism = MechanismAttribute(Option.MECHANISM, "What the other options select.", writable=False)
    curve_public_key = Key(Option.CURVE_PUBLICKEY, "This socket's public key.")
    curve_secret_key = Key(Option.CURVE_SECRETKEY, "This socket's secret key.")
    curve_server = Flag(Option.CURVE_SERVER, "Act as the CURVE server.")
    curve_server_key = Key(Option.CURVE_SERVERKEY, "The server's public key.")
    plain_password = Text(Option.PLAIN_PASSWORD, "The PLAIN client's password.")
    plain_server = Flag(Option.PLAIN_SERVER, "Act as the PLAIN server.")
    plain_username = Text(Option.PLAIN_USERNAME, "Act as a PLAIN client of that name.")
    zap_domain = Text(Option.ZAP_DOMAIN, "The domain under which peers are authenticated.")
    zap_enforce_domain = Flag(
        Option.ZAP_ENFORCE_DOMAIN, "With a domain but no ZAP handler, refuse all peers."
    )


class SecurityOptions(CredentialOptions):
    """Of all patterns but Stream and the draft types."""

    routing_id = Octets(Option.ROUTING_ID, "The name under which a Router knows this socket.")


class ConflateOption(_Base):
    """Of Push, Pull, Pub, Sub and Dealer."""

    conflate = Flag(Option.CONFLATE, "Keep only the newest message from and for each peer.")


class PublisherOptions(_Base):
    """Of Pub and XPub."""

    nodrop = Flag(Option.XPUB_NODROP, "Wait or raise Again instead of dropping.", readable=False)
    verbose = Flag(Option.XPUB_VERBOSE, "Pass on repeated subscriptions.", readable=False)
    verboser = Flag(Option.XPUB_VERBOSER, "Pass on repeated unsubscriptions, too.", readable=False)
    manual = Flag(
        Option.XPUB_MANUAL, "Subscriptions take effect when the application subscribes.", readable=False
    )
    welcome_message = Octets(Option.XPUB_WELCOME_MSG, "Sent to each new subscriber.", readable=False)
    invert_matching = Flag(Option.INVERT_MATCHING, "Deliver messages that match no subscription.")
    topics_count = Number(Option.TOPICS_COUNT, "The number of topics that peers subscribed to.", writable=False)


class RadioOptions(_Base):
    """Of Radio."""

    nodrop = Flag(Option.XPUB_NODROP, "Wait or raise Again instead of dropping.", readable=False)


class SubscriberOptions(_Base):
    """Of Sub and XSub."""

    invert_matching = Flag(Option.INVERT_MATCHING, "Receive messages that match no subscription.")
    topics_count = Number(Option.TOPICS_COUNT, "The number of topics subscribed to.", writable=False)


class Subscribing(_Base):
    """Subscriptions: of Sub; of XPub and Pub with `manual`, for the peer that was received from last."""

    def subscribe(self, topic: bytes | str = b"") -> None:
        """Receive messages that begin with `topic`; of an empty one, all."""
        self._set_bytes(Option.SUBSCRIBE, topic)

    def unsubscribe(self, topic: bytes | str = b"") -> None:
        """Removes one such subscription."""
        self._set_bytes(Option.UNSUBSCRIBE, topic)


class RequestOptions(_Base):
    """Of Req."""

    correlate = Flag(Option.REQ_CORRELATE, "Match replies to requests.", readable=False)
    relaxed = Flag(Option.REQ_RELAXED, "A new request may replace an unanswered one.", readable=False)
    probe_router = Flag(Option.PROBE_ROUTER, "Send each new peer an empty message.", readable=False)


class RouterOptions(_Base):
    """Of Router."""

    mandatory = Flag(
        Option.ROUTER_MANDATORY, "Sending to an unknown peer raises PeerUnreachable.", readable=False
    )
    handover = Flag(Option.ROUTER_HANDOVER, "A new peer takes over a name that is in use.", readable=False)
    connect_routing_id = Octets(
        Option.CONNECT_ROUTING_ID, "Name for the peer of the next connect().", readable=False
    )
    probe_router = Flag(Option.PROBE_ROUTER, "Send each new peer an empty message.", readable=False)


class StreamOptions(_Base):
    """Of Stream."""

    events = Flag(Option.STREAM_EVENTS, "Report each connect and disconnect.")
    full_close = Number(
        Option.STREAM_FULL_CLOSE, "The close code with which a peer is disconnected that has no room. 0: none."
    )
    http_request_rate = Limit(
        Option.HTTP_REQUEST_RATE, "Largest number of requests per second on a connection."
    )
    ws_deflate = Flag(Option.WS_DEFLATE, "Messages over ws may be compressed.")
    ws_deflate_context = Flag(Option.WS_DEFLATE_CONTEXT, "A message may refer to earlier ones.")
    ws_deflate_level = Number(Option.WS_DEFLATE_LEVEL, "zlib's level, from 1 to 9.")
    ws_deflate_min = Number(Option.WS_DEFLATE_MIN, "Shorter messages are not compressed.")
    ws_deflate_window = Number(Option.WS_DEFLATE_WINDOW, "Base-2 logarithm of the window.")
    ws_deflated = Number(Option.WS_DEFLATED, "The number of compressions so far.", writable=False)
    ws_subprotocols = Text(
        Option.WS_SUBPROTOCOLS, "Subprotocols, with commas between them, the preferred one first."
    )
