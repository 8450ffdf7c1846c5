# SPDX-License-Identifier: MPL-2.0
"""Sockets whose calls wait: a class for each pattern."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, ClassVar, NamedTuple, NoReturn, cast

from . import _options, _zlink
from ._constants import Event, Pattern, Poll
from ._context import Context
from ._errors import ContextTerminated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from typing_extensions import Self

    _Base = _zlink.Core
else:
    _Base = object

_monitor_number = itertools.count(1)

_WHAT_FOR = {
    "recv": "receive",
    "recv_multipart": "receive",
    "recv_into": "receive",
    "recv_frame": "receive",
    "recv_batch": "receive batches",
    "send": "send",
    "send_multipart": "send messages of several frames",
    "send_many": "send to many peers",
    "send_batch": "send batches",
    "subscribe": "subscribe",
    "unsubscribe": "unsubscribe",
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
        state = " (closed)" if self.closed else ""
        return f"<zlink {type(self).__module__.rpartition('.')[2]}.{type(self).__name__}{state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle or copy a {type(self).__name__}: it is a socket of this process")

    def _start_monitor(self, events: Event) -> str:
        endpoint = f"inproc://zlink.monitor.{os.getpid()}.{next(_monitor_number)}"
        self._monitor(endpoint, int(events))
        return endpoint

    if not TYPE_CHECKING:

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


class _Iterating:
    """Of sockets that receive."""

    if TYPE_CHECKING:

        def recv(self, *, timeout: float | None = None) -> bytes: ...

    def __iter__(self) -> Iterator[bytes]:
        """Receives until the context is shut down."""
        try:
            while True:
                yield self.recv()
        except ContextTerminated:
            return


class Pair(Socket, _options.SecurityOptions, _Iterating, _zlink.Duplex):
    """Exactly one peer, both ways."""

    pattern = Pattern.PAIR


class Pub(
    Socket,
    _options.SecurityOptions,
    _options.PublisherOptions,
    _options.ConflateOption,
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
    _Iterating,
    _zlink.Receiver,
):
    """Receives the topics that it subscribed to."""

    pattern = Pattern.SUB


class XPub(
    Socket,
    _options.SecurityOptions,
    _options.PublisherOptions,
    _options.Subscribing,
    _Iterating,
    _zlink.Duplex,
):
    """As Pub, and receives the subscriptions: b"\\x01" or b"\\x00", and the topic."""

    pattern = Pattern.XPUB


class XSub(Socket, _options.SecurityOptions, _options.SubscriberOptions, _Iterating, _zlink.Duplex):
    """As Sub, and subscribes by sending b"\\x01" and the topic."""

    pattern = Pattern.XSUB


class Req(Socket, _options.SecurityOptions, _options.RequestOptions, _Iterating, _zlink.Duplex):
    """Sends a request, then receives its reply, in turn."""

    pattern = Pattern.REQ


class Rep(Socket, _options.SecurityOptions, _Iterating, _zlink.Duplex):
    """Receives a request, then sends its reply, in turn."""

    pattern = Pattern.REP


class Dealer(Socket, _options.SecurityOptions, _options.ConflateOption, _Iterating, _zlink.Duplex):
    """Sends to peers in turn; receives from all fairly."""

    pattern = Pattern.DEALER


class Router(Socket, _options.SecurityOptions, _options.RouterOptions, _Iterating, _zlink.Duplex):
    """Sends to the peer named in the first frame; receives from all, that name first."""

    pattern = Pattern.ROUTER


class Pull(Socket, _options.SecurityOptions, _options.ConflateOption, _Iterating, _zlink.Receiver):
    """Receives from Push sockets fairly."""

    pattern = Pattern.PULL


class Push(Socket, _options.SecurityOptions, _options.ConflateOption, _zlink.Sender):
    """Sends to Pull sockets in turn."""

    pattern = Pattern.PUSH


class RawStream(Socket, _Iterating, _zlink.Duplex):
    """Exchanges bytes over tcp with peers that do not speak ZMTP: libzmq's ZMQ_STREAM."""

    pattern = Pattern.RAW_STREAM


class MonitorEvent(NamedTuple):
    """An event of a connection of a socket."""

    event: Event
    value: int  #: zlink.h says what of: a descriptor, an errno, milliseconds.
    endpoint: str


def monitor_event(frames: list[bytes]) -> MonitorEvent:
    """The event that a monitor's message is."""
    head = frames[0]
    return MonitorEvent(
        Event(int.from_bytes(head[:2], "little")),
        int.from_bytes(head[2:6], "little", signed=True),
        frames[1].decode("utf-8", "replace"),
    )


class Monitor:
    """Receives the connection events of a socket. Ends with it, or by close().

    Events are kept, up to 1000, and dropped beyond that while nothing receives them.
    """

    def __init__(self, socket: Socket, events: Event = Event.ALL) -> None:
        self._socket = socket
        endpoint = socket._start_monitor(events)
        self._pair = Pair(socket.context)
        self._pair.linger = 0
        self._pair.connect(endpoint)

    def recv(self, *, timeout: float | None = None) -> MonitorEvent:
        """Receives the next event; raises Again if there is none within `timeout` seconds."""
        return monitor_event(self._pair.recv_multipart(timeout=timeout))

    def __iter__(self) -> Iterator[MonitorEvent]:
        """Receives until the monitored socket is closed."""
        while True:
            event = self.recv()
            if event.event == Event.MONITOR_STOPPED:
                return
            yield event

    def close(self) -> None:
        """Ends the monitor."""
        if not self._socket.closed and not self._pair.closed:
            self._socket._monitor(None, 0)
        self._pair.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
