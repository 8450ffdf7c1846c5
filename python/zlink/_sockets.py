# SPDX-License-Identifier: MPL-2.0
"""Sockets whose calls wait: a class for each pattern."""

from __future__ import annotations

import contextlib
import itertools
import os
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, NoReturn, TypeVar, cast

from . import _options, _zlink
from ._constants import Event, Pattern, Poll
from ._context import Context
from ._errors import Closed, ContextTerminated, InUse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from typing_extensions import Buffer, Self

    _Base = _zlink.Core
else:
    _Base = object

_PACKAGE = f"{__package__}."
_monitor_number = itertools.count(1)

_WHAT_FOR = {
    "recv": "receive",
    "recv_multipart": "receive",
    "recv_into": "receive",
    "recv_frame": "receive",
    "recv_string": "receive",
    "recv_json": "receive",
    "recv_batch": "receive batches",
    "send": "send",
    "send_string": "send texts; send takes them",
    "send_json": "send JSON",
    "send_multipart": "send messages of several frames",
    "send_many": "send to many peers",
    "send_batch": "send batches",
    "subscribe": "subscribe",
    "unsubscribe": "unsubscribe",
    "join": "join groups",
    "leave": "join groups",
    "connect_peer": "address its peers",
    "disconnect_peer": "address its peers",
    "serve": "serve files",
    "route": "take HTTP requests",
}


class PeerInfo(NamedTuple):
    """A peer of a socket."""

    endpoint: str
    routing_id: bytes  #: The name under which a Router knows it. Of a Stream: its number, 4 bytes.
    messages: int  #: Queued for it.
    bytes: int
    dropped: int  #: Messages for it that were dropped.

    @property
    def peer(self) -> int:
        """The number of a Stream's peer."""
        return int.from_bytes(self.routing_id, "big")


class CommonSocket(_options.SocketOptions, _Base):
    """The common part of sockets, whether or not their calls wait.

    A socket may be used by one thread at a time; InUse is raised in another one.
    """

    pattern: ClassVar[Pattern]

    def __init__(self, context: Context | None = None) -> None:
        if not hasattr(type(self), "pattern"):
            raise TypeError(f"a {type(self).__name__} has no pattern; open one of the patterns, e.g. Push")
        if context is None:
            context = Context.default()
        elif not isinstance(context, Context):
            raise TypeError(f"{type(self).__name__} takes a Context, not {type(context).__name__}")
        super().__init__(context, int(self.pattern), type(self).__name__)

    @property
    def context(self) -> Context:
        """The context of the socket."""
        return cast("Context", self._context)

    def close(self) -> None:
        """Closes the socket. Messages that were sent are written in the background, for at most `linger`."""
        self._close()

    def peers(self) -> list[PeerInfo]:
        """The peers, with the number of messages that wait for each of them."""
        return [PeerInfo(*each) for each in self._peers()]

    def __repr__(self) -> str:
        module, kind = type(self).__module__, type(self).__name__
        if module.startswith(_PACKAGE):
            module = "zlink.aio" if module == "zlink.aio" else "zlink"
        state = " (closed)" if self.closed else f" {self._endpoint}" if self._endpoint else ""
        return f"<{module}.{kind}{state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle or copy a {type(self).__name__}: it is a socket of this process")

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            kind = type(self)
            # A program's own classes may have attributes of their own.
            if not name.startswith("_") and kind.__module__.startswith(_PACKAGE) and not hasattr(kind, name):
                import difflib

                close = difflib.get_close_matches(name, dir(kind), 1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise AttributeError(f"a {kind.__name__} has no option {name!r}{hint}")
            super().__setattr__(name, value)

        def __getattr__(self, name: str) -> NoReturn:
            kind = type(self).__name__
            if isinstance(getattr(type(self), name, None), _options.Attribute):
                raise AttributeError(f"{kind}.{name} can only be set")
            if name in _WHAT_FOR:
                raise AttributeError(f"a {kind} does not {_WHAT_FOR[name]}: it has no method {name}")
            raise AttributeError(f"a {kind} has no attribute {name!r}")


class Socket(CommonSocket):
    """A socket whose calls wait. Its subclasses are the patterns."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def poll(self, events: Poll = Poll.IN, timeout: float | None = None) -> Poll:
        """Waits until one of `events` would not wait, at most `timeout` seconds; returns which."""
        ready = _zlink.poll([(self, int(events))], timeout)
        return Poll(ready[0][1]) if ready else Poll(0)

    def drain(self, timeout: float | None = None) -> None:
        """Disconnects all peers in good order, for example before a restart.

        Waits until they have disconnected, at most `timeout` seconds; raises Again after that, and
        disconnects those that are left.
        """
        self._drain(timeout)

    def monitor(self, events: Event = Event.ALL) -> Monitor:
        """Reports the socket's connections: see Monitor. Replaces the monitor that it had before."""
        return Monitor(self, events)


class _Sending:
    """Of sockets that send."""

    if TYPE_CHECKING:

        def send(self, data: Buffer, *, more: bool = False, timeout: float | None = None) -> None: ...

    def send_string(self, text: str, *, more: bool = False, timeout: float | None = None) -> None:
        """Sends a text as a frame, in UTF-8."""
        self.send(text.encode(), more=more, timeout=timeout)

    def send_json(self, value: Any, *, more: bool = False, timeout: float | None = None) -> None:
        """Sends a value as a frame, in JSON."""
        self.send(to_json(value), more=more, timeout=timeout)


class _SendingSingle:
    """Of sockets that send messages of one frame."""

    if TYPE_CHECKING:

        def _send_single(
            self, data: Buffer, routing_id: int, group: str | None, timeout: float | None
        ) -> None: ...

    def send(self, data: Buffer, *, timeout: float | None = None) -> None:
        """Sends a message, which has one frame.

        Waits while no peer has room, at most `timeout` seconds; None: send_timeout. Raises Again
        after that.
        """
        self._send_single(data, 0, None, timeout)

    def send_string(self, text: str, *, timeout: float | None = None) -> None:
        """Sends a text as a message, in UTF-8."""
        self._send_single(text.encode(), 0, None, timeout)

    def send_json(self, value: Any, *, timeout: float | None = None) -> None:
        """Sends a value as a message, in JSON."""
        self._send_single(to_json(value), 0, None, timeout)


class _SendingToPeers:
    """Of sockets that send to a peer by its number: `routing_id` of a Frame, or of connect_peer()."""

    if TYPE_CHECKING:

        def _send_single(
            self, data: Buffer, routing_id: int, group: str | None, timeout: float | None
        ) -> None: ...

        def _disconnect_peer(self, routing_id: int, /) -> None: ...

    def send(self, data: Buffer, *, routing_id: int, timeout: float | None = None) -> None:
        """Sends a message, which has one frame, to one peer.

        Waits while the peer has no room, at most `timeout` seconds; None: send_timeout. Raises Again
        after that, and PeerUnreachable if there is no such peer, or not any more.
        """
        self._send_single(data, routing_id, None, timeout)

    def send_string(self, text: str, *, routing_id: int, timeout: float | None = None) -> None:
        """Sends a text to one peer, in UTF-8."""
        self._send_single(text.encode(), routing_id, None, timeout)

    def send_json(self, value: Any, *, routing_id: int, timeout: float | None = None) -> None:
        """Sends a value to one peer, in JSON."""
        self._send_single(to_json(value), routing_id, None, timeout)

    def disconnect_peer(self, routing_id: int) -> None:
        """Disconnects one peer, once the messages sent to it are written."""
        self._disconnect_peer(routing_id)


class _SendingToGroups:
    """Of sockets that send to a group."""

    if TYPE_CHECKING:

        def _send_single(
            self, data: Buffer, routing_id: int, group: str | None, timeout: float | None
        ) -> None: ...

    def send(self, data: Buffer, *, group: str = "", timeout: float | None = None) -> None:
        """Sends a message, which has one frame, to every Dish that has joined `group`.

        Drops it for a Dish that has no room; with `nodrop` it waits, as the other sockets do.
        """
        self._send_single(data, 0, group, timeout)

    def send_string(self, text: str, *, group: str = "", timeout: float | None = None) -> None:
        """Sends a text to a group, in UTF-8."""
        self._send_single(text.encode(), 0, group, timeout)

    def send_json(self, value: Any, *, group: str = "", timeout: float | None = None) -> None:
        """Sends a value to a group, in JSON."""
        self._send_single(to_json(value), 0, group, timeout)


class Joining:
    """Of Dish."""

    if TYPE_CHECKING:

        def _join_group(self, group: str, /) -> None: ...

        def _leave_group(self, group: str, /) -> None: ...

    def join(self, group: str) -> None:
        """Receive the messages of `group`, too: at most 255 bytes in UTF-8."""
        self._join_group(group)

    def leave(self, group: str) -> None:
        """Undoes join(), also for messages that have arrived."""
        self._leave_group(group)


class _Receiving:
    """Of sockets that receive."""

    if TYPE_CHECKING:

        def recv(self, *, timeout: float | None = None) -> bytes: ...

    def recv_string(self, *, timeout: float | None = None) -> str:
        """Receives a frame that is a text in UTF-8."""
        return self.recv(timeout=timeout).decode()

    def recv_json(self, *, timeout: float | None = None) -> Any:
        """Receives a frame that is JSON, and returns its value."""
        return from_json(self.recv(timeout=timeout))

    def __iter__(self) -> Iterator[bytes]:
        """Receives until the socket is closed or the context is shut down."""
        try:
            while True:
                yield self.recv()
        except (Closed, ContextTerminated):
            return


class _ReceivingFrames:
    """Of sockets that receive frames whose sender or group matters."""

    if TYPE_CHECKING:

        def recv(self, *, timeout: float | None = None) -> bytes: ...

        def recv_frame(self, *, timeout: float | None = None) -> _zlink.Frame: ...

    def recv_string(self, *, timeout: float | None = None) -> str:
        """Receives a message that is a text in UTF-8."""
        return self.recv(timeout=timeout).decode()

    def recv_json(self, *, timeout: float | None = None) -> Any:
        """Receives a message that is JSON, and returns its value."""
        return from_json(self.recv(timeout=timeout))

    def __iter__(self) -> Iterator[_zlink.Frame]:
        """Receives until the socket is closed or the context is shut down."""
        try:
            while True:
                yield self.recv_frame()
        except (Closed, ContextTerminated):
            return


def to_json(value: Any) -> bytes:
    """A value as it is sent."""
    import json

    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def from_json(frame: bytes) -> Any:
    """The value that was sent."""
    import json

    return json.loads(frame)


class Pair(Socket, _options.SecurityOptions, _Sending, _Receiving, _zlink.Duplex):
    """Exactly one peer, both ways."""

    pattern = Pattern.PAIR


class Pub(
    Socket,
    _options.SecurityOptions,
    _options.PublisherOptions,
    _options.ConflateOption,
    _Sending,
    _zlink.Sender,
):
    """Sends to every subscriber of the topic, which a message begins with; drops instead of waiting."""

    pattern = Pattern.PUB


class Sub(
    Socket,
    _options.SecurityOptions,
    _options.SubscriberOptions,
    _options.ConflateOption,
    _options.Subscribing,
    _Receiving,
    _zlink.Receiver,
):
    """Receives the topics that it subscribed to."""

    pattern = Pattern.SUB


class XPub(
    Socket,
    _options.SecurityOptions,
    _options.PublisherOptions,
    _options.Subscribing,
    _Sending,
    _Receiving,
    _zlink.Duplex,
):
    """As Pub, and receives the subscriptions: b"\\x01" or b"\\x00", and the topic."""

    pattern = Pattern.XPUB


class XSub(Socket, _options.SecurityOptions, _options.SubscriberOptions, _Sending, _Receiving, _zlink.Duplex):
    """As Sub, and subscribes by sending b"\\x01" and the topic."""

    pattern = Pattern.XSUB


class Req(Socket, _options.SecurityOptions, _options.RequestOptions, _Sending, _Receiving, _zlink.Duplex):
    """Sends a request, then receives its reply, in turn."""

    pattern = Pattern.REQ


class Rep(Socket, _options.SecurityOptions, _Sending, _Receiving, _zlink.Duplex):
    """Receives a request, then sends its reply, in turn."""

    pattern = Pattern.REP


class Dealer(Socket, _options.SecurityOptions, _options.ConflateOption, _Sending, _Receiving, _zlink.Duplex):
    """Sends to peers in turn; receives from all fairly."""

    pattern = Pattern.DEALER


class Router(Socket, _options.SecurityOptions, _options.RouterOptions, _Sending, _Receiving, _zlink.Duplex):
    """Sends to the peer named in the first frame; receives from all, that name first."""

    pattern = Pattern.ROUTER


class Pull(Socket, _options.SecurityOptions, _options.ConflateOption, _Receiving, _zlink.Receiver):
    """Receives from Push sockets fairly."""

    pattern = Pattern.PULL


class Push(Socket, _options.SecurityOptions, _options.ConflateOption, _Sending, _zlink.Sender):
    """Sends to Pull sockets in turn."""

    pattern = Pattern.PUSH


class RawStream(Socket, _Sending, _Receiving, _zlink.Duplex):
    """Exchanges bytes over tcp with peers that do not speak ZMTP: libzmq's ZMQ_STREAM."""

    pattern = Pattern.RAW_STREAM


class Server(
    Socket, _options.CredentialOptions, _SendingToPeers, _ReceivingFrames, _zlink.FrameReceiver
):
    """Sends to the Client that `routing_id` names; receives from all fairly. A draft of libzmq's."""

    pattern = Pattern.SERVER


class Client(Socket, _options.CredentialOptions, _SendingSingle, _Receiving, _zlink.FrameReceiver):
    """Sends to Server sockets in turn; receives from all fairly. A draft of libzmq's."""

    pattern = Pattern.CLIENT


class Radio(Socket, _options.CredentialOptions, _options.RadioOptions, _SendingToGroups, _zlink.Core):
    """Sends to every Dish that has joined the message's group; drops instead of waiting. A draft of libzmq's."""

    pattern = Pattern.RADIO


class Dish(Socket, _options.CredentialOptions, Joining, _ReceivingFrames, _zlink.FrameReceiver):
    """Receives the messages of the groups that it has joined. A draft of libzmq's."""

    pattern = Pattern.DISH


class Gather(Socket, _options.CredentialOptions, _Receiving, _zlink.FrameReceiver):
    """Receives from Scatter sockets fairly. A draft of libzmq's."""

    pattern = Pattern.GATHER


class Scatter(Socket, _options.CredentialOptions, _SendingSingle, _zlink.Core):
    """Sends to Gather sockets in turn. A draft of libzmq's."""

    pattern = Pattern.SCATTER


class Dgram(Socket, _Sending, _Receiving, _zlink.Duplex):
    """Datagrams over udp: frames of the peer's address, such as b"127.0.0.1:5555", and the content. A draft of libzmq's."""

    pattern = Pattern.DGRAM


class Peer(Socket, _options.CredentialOptions, _SendingToPeers, _ReceivingFrames, _zlink.FrameReceiver):
    """As Server, among equals. A draft of libzmq's."""

    pattern = Pattern.PEER

    def connect_peer(self, endpoint: str) -> int:
        """Connects as connect() does, and returns the other side's `routing_id`."""
        return self._connect_peer(endpoint)


class Channel(Socket, _options.CredentialOptions, _SendingSingle, _Receiving, _zlink.FrameReceiver):
    """Exactly one peer, both ways. A draft of libzmq's."""

    pattern = Pattern.CHANNEL


class MonitorEvent(NamedTuple):
    """An event of a connection of a socket."""

    event: Event
    value: int  #: zlink.h says what of: a descriptor, an errno, milliseconds.
    endpoint: str


P = TypeVar("P", bound=CommonSocket)


class CommonMonitor(Generic[P]):
    """The common part of monitors, whether or not their calls wait.

    Events are kept, up to 1000, and dropped beyond that while nothing receives them.
    """

    def __init__(self, socket: CommonSocket, pair: P, events: Event) -> None:
        self._socket = socket
        self._pair = pair
        endpoint = f"inproc://zlink.monitor.{os.getpid()}.{next(_monitor_number)}"
        try:
            # With the event that says that no more follow.
            socket._monitor(endpoint, int(events) | Event.MONITOR_STOPPED)
            pair.linger = 0
            pair.connect(endpoint)
        except BaseException:
            pair.close()
            raise

    def close(self) -> None:
        """Ends the monitor. Calls that wait end, too."""
        if not self._socket.closed and not self._pair.closed:
            self._socket._monitor(None, 0)
        # A thread that is receiving gets the last event, and closes the pair.
        with contextlib.suppress(InUse):
            self._pair.close()

    def _take(self, frames: list[bytes]) -> MonitorEvent:
        head = frames[0]
        event = Event(int.from_bytes(head[:2], "little"))
        if event == Event.MONITOR_STOPPED:
            self._pair.close()
        value = int.from_bytes(head[2:6], "little", signed=True)
        return MonitorEvent(event, value, frames[1].decode("utf-8", "replace"))

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle or copy a {type(self).__name__}")


class Monitor(CommonMonitor["Pair"]):
    """Receives the connection events of a socket. Ends with it, or by close()."""

    def __init__(self, socket: Socket, events: Event = Event.ALL) -> None:
        super().__init__(socket, Pair(socket.context), events)

    def recv(self, *, timeout: float | None = None) -> MonitorEvent:
        """Receives the next event; raises Again if there is none within `timeout` seconds.

        Raises Closed after the last one.
        """
        return self._take(self._pair.recv_multipart(timeout=timeout))

    def __iter__(self) -> Iterator[MonitorEvent]:
        """Receives until the monitored socket or the monitor is closed."""
        try:
            while (event := self.recv()).event != Event.MONITOR_STOPPED:
                yield event
        except (Closed, ContextTerminated):
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
