# SPDX-License-Identifier: MPL-2.0
"""The sockets of zlink for asyncio: calls that wait are awaited.

Classes and options are those of the package zlink. Calls that do not wait, such as bind and upgrade,
are made at once; they may be awaited, too, which gives the same result. A socket belongs to the event loop in which it
first waits. Each operation is tried at once, and waits only if it has to; after many that did not,
it lets the event loop run. Several tasks may wait for one socket. If a task is cancelled while it
waits, no message is lost: a message is taken from the socket by the task that gets it.

The event loop is woken through one descriptor for all of its sockets, by zlink_socket_notify.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import errno
import math
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from . import _options, _threads, _zlink
from ._constants import Event, Option, Pattern, Poll
from ._errors import Again, Closed, ContextTerminated, Error, InUse, PeerUnreachable
from ._results import DONE, Count, Done, FoundPeer, Outcomes, Peers, Text
from ._sockets import CommonMonitor, CommonSocket, Joining, MonitorEvent, from_json, to_json
from ._stream import CommonStream, Fields, File, StreamEvent, field_lines, opened

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Generator, Iterable
    from types import TracebackType

    from typing_extensions import Buffer, Self

    from ._context import Context

__all__ = [
    "Channel",
    "Client",
    "Dealer",
    "Dgram",
    "Dish",
    "Gather",
    "Monitor",
    "Pair",
    "Peer",
    "Pub",
    "Pull",
    "Push",
    "Radio",
    "RawStream",
    "Rep",
    "Req",
    "Router",
    "Scatter",
    "Server",
    "Socket",
    "Stream",
    "Sub",
    "XPub",
    "XSub",
]

T = TypeVar("T")

# Of ending drain(). Each takes a millisecond; only without I/O threads are many needed, and in vain.
_DRAIN_ATTEMPTS = 200


class _Place:
    """The place of a task in a queue."""

    __slots__ = ("is_late", "wake")

    def __init__(self) -> None:
        #: What the task waits for; None while it makes an attempt.
        self.wake: asyncio.Future[None] | None = None
        self.is_late = False

    def complete(self) -> None:
        if self.wake is not None and not self.wake.done():
            self.wake.set_result(None)

    def expire(self) -> None:
        self.is_late = True
        self.complete()


class _Queue:
    """The tasks that wait for one socket.

    In turn: only the first one is woken. When it has what it waits for, or is cancelled, it wakes
    the next one.
    """

    __slots__ = ("in_turn", "places", "sends")

    def __init__(self, *, in_turn: bool, sends: bool = False) -> None:
        self.in_turn = in_turn
        self.sends = sends
        self.places: collections.deque[_Place] = collections.deque()

    def wake(self) -> None:
        if self.in_turn:
            if self.places:
                self.places[0].complete()
        else:
            for place in self.places:
                place.complete()


class _Waker:
    """Completes what waits in one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # Kept as long as the event loop is, so it does not keep that, nor sockets and contexts that
        # are used no more.
        self._loop = weakref.ref(loop)
        self._waker = _zlink.Waker()
        #: The sockets, each with the descriptor of its context if the event loop does its I/O.
        self._sockets: dict[weakref.ref[Socket], int | None] = {}
        self._driven: dict[int, int] = {}

    def add(self, socket: Socket) -> None:
        loop = asyncio.get_running_loop()
        socket._watch(self._waker)
        if not self._sockets:
            loop.add_reader(self._waker.fileno(), self._on_ready)
        file = None
        context = socket.context
        if context.io_threads == 0:
            file = context.fileno()
            self._driven[file] = self._driven.get(file, 0) + 1
            if self._driven[file] == 1:
                loop.add_reader(file, _drive, weakref.ref(context))
        self._sockets[weakref.ref(socket, self._on_lost)] = file

    def remove(self, socket: Socket) -> None:
        self._remove(weakref.ref(socket))

    def _on_lost(self, socket: weakref.ref[Socket]) -> None:
        """Called when a socket is collected that was not closed, by any thread."""
        loop = self._loop()
        if loop is None or loop.is_closed():
            return
        if loop is _running_loop():
            self._remove(socket)
        else:
            with contextlib.suppress(RuntimeError):  # The event loop is closed.
                loop.call_soon_threadsafe(self._remove, socket)

    def _remove(self, socket: weakref.ref[Socket]) -> None:
        loop = self._loop()
        if loop is None or socket not in self._sockets:
            return
        file = self._sockets.pop(socket)
        if not self._sockets:
            loop.remove_reader(self._waker.fileno())
        if file is not None:
            self._driven[file] -= 1
            if self._driven[file] == 0:
                del self._driven[file]
                loop.remove_reader(file)

    def _on_ready(self) -> None:
        for socket in self._waker.take():
            socket._on_change()  # type: ignore[attr-defined]


def _drive(reference: weakref.ref[Context]) -> None:
    context = reference()
    if context is not None:
        with contextlib.suppress(Error):
            context.run()


_wakers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Waker] = weakref.WeakKeyDictionary()


def _waker_of(loop: asyncio.AbstractEventLoop) -> _Waker:
    found = _wakers.get(loop)
    if found is None:
        found = _wakers[loop] = _Waker(loop)
    return found


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


# Whether these can send depends on the peer, which only an attempt finds out.
_SENDS_TO_PEERS = (Pattern.STREAM, Pattern.SERVER, Pattern.PEER)

# Of Socket._loop.
_attaching = threading.Lock()


class Socket(CommonSocket):
    """A socket whose calls are awaited. Its subclasses are the patterns."""

    def __init__(self, context: Context | None = None) -> None:
        super().__init__(context)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receiving = _Queue(in_turn=True)
        self._sending = _Queue(in_turn=self.pattern not in _SENDS_TO_PEERS, sends=True)
        self._polling = _Queue(in_turn=False)
        self._drainer: threading.Thread | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    # Calls that do not wait. Each returns something that may be awaited.

    def bind(self, endpoint: str) -> Text:
        """Accepts peers at `endpoint`, e.g. "tcp://*:5555" or "ws://127.0.0.1:*/chat".

        Returns the endpoint with its wildcards resolved.
        """
        return Text(super().bind(endpoint))

    def connect(self, endpoint: str) -> Done:  # type: ignore[override]
        """Connects to the peer at `endpoint`, in the background, and again when the connection is lost."""
        super().connect(endpoint)
        return DONE

    def unbind(self, endpoint: str) -> Done:  # type: ignore[override]
        """Stops accepting peers at `endpoint`, as bind() returned it."""
        super().unbind(endpoint)
        return DONE

    def disconnect(self, endpoint: str) -> Done:  # type: ignore[override]
        """Closes the connection to `endpoint`."""
        super().disconnect(endpoint)
        return DONE

    def close(self) -> Done:  # type: ignore[override]
        """Closes the socket. Tasks that wait get Closed; messages that were sent are still written."""
        if self._end_waiting_drain():
            super().close()
        else:
            self._close_when_drained()
        loop, self._loop = self._loop, None
        if loop is not None and not loop.is_closed():
            if loop is _running_loop():
                self._leave(loop)
            else:  # Context.term() of another thread.
                loop.call_soon_threadsafe(self._leave, loop)
        return DONE

    def peers(self) -> Peers:
        """The peers, with the number of messages that wait for each of them."""
        return Peers(super().peers())

    def tls_reload(self) -> Done:  # type: ignore[override]
        """Reads the files of all bound endpoints again. Connected peers stay."""
        super().tls_reload()
        return DONE

    def set_option(self, option: Option, value: int | bool | str | bytes | None) -> Done:  # type: ignore[override]
        """Sets any option."""
        super().set_option(option, value)
        return DONE

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        _waker_of(loop).remove(self)
        for queue in (self._receiving, self._sending, self._polling):
            for place in queue.places:
                if place.wake is not None and not place.wake.done():
                    place.wake.set_exception(self._closed_error())

    def _closed_error(self) -> Closed:
        return Closed(errno.ENOTSOCK, f"{type(self).__name__}: the socket was closed during the call")

    async def poll(self, events: Poll = Poll.IN, timeout: float | None = None) -> Poll:
        """Waits until one of `events` would not wait, at most `timeout` seconds; returns which."""

        if timeout is not None and not timeout >= 0:
            raise ValueError("a timeout is 0 or more seconds")

        def ready() -> Poll | None:
            return Poll(self._events()) & events or None

        try:
            return await self._until("poll", ready, self._polling, math.inf if timeout is None else timeout)
        except Again:
            return Poll(0)

    async def drain(self, timeout: float | None = None) -> None:
        """Disconnects all peers in good order, for example before a restart.

        Waits until they have disconnected, at most `timeout` seconds; raises Again after that, and
        disconnects those that are left. A thread waits, so other calls raise InUse meanwhile; those
        that wait already continue afterwards. Cancelling the task ends the wait, and close() does.
        """
        name = type(self).__name__
        if self._drainer is not None:
            raise InUse(errno.EBUSY, f"{name}.drain: another task is draining the socket")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def complete(error: Exception | None) -> None:
            leave()
            if done.done():
                return
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(self._closed_error() if self.closed else error)

        def leave() -> None:
            if self._drainer is thread:
                self._drainer = None
                self._on_change()

        thread = self._drainer = _threads.start(lambda: self._drain(timeout), f"{name}.drain", complete)
        try:
            await done
        finally:
            if self._end_waiting_drain():
                leave()

    def _end_waiting_drain(self) -> bool:
        """Ends what drain() waits for; returns False if that is impossible."""
        thread = self._drainer
        for _ in range(_DRAIN_ATTEMPTS):
            if thread is None or not thread.is_alive():
                return True
            self._end_drain()
            thread.join(0.001)
        return False

    def monitor(self, events: Event = Event.ALL) -> Monitor:
        """Reports the socket's connections: see Monitor."""
        return Monitor(self, events)

    def _attach(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            with _attaching:
                if self._loop is not None:
                    if not self._loop.is_closed():
                        raise RuntimeError(f"the {type(self).__name__} belongs to another event loop")
                    for queue in (self._receiving, self._sending, self._polling):
                        queue.places.clear()
                _waker_of(loop).add(self)
                self._loop = loop
        return loop

    def _on_change(self) -> None:
        """Called by the event loop when the socket may have become ready."""
        if self.closed or self._drainer is not None:
            return
        try:
            events = self._events()
        except Error:
            events = ~0  # The calls that wait will raise it.
        if events & Poll.IN:
            self._receiving.wake()
        if events & Poll.OUT:
            self._sending.wake()
        self._polling.wake()

    async def _until(
        self, name: str, attempt: Callable[[], T | None], queue: _Queue, seconds: float | None = None
    ) -> T:
        """Makes attempts until one has a result, each time that the socket may be ready.

        :param name: of the method, for errors
        :param seconds: after which Again is raised; None: as the socket's option says
        """
        loop = self._attach()
        if seconds is None:
            units = self._get_timeout(queue.sends)
            seconds = math.inf if units == -1 else units / 1000
        place = _Place()
        queue.places.append(place)
        timer = None if seconds in (0, math.inf) else loop.call_later(seconds, place.expire)
        may_attempt = not queue.in_turn or seconds == 0
        try:
            if self._is_tired():
                await asyncio.sleep(0)
            while True:
                if may_attempt or queue.places[0] is place:
                    # An attempt that fails allows the next notification.
                    result = attempt()
                    if result is not None:
                        return result
                if place.is_late or seconds == 0:
                    words = "no peer had room in time" if queue.sends else "no message arrived in time"
                    raise Again(errno.EAGAIN, f"{type(self).__name__}.{name}: {words}")
                place.wake = loop.create_future()
                await place.wake
                place.wake = None
        finally:
            if timer is not None:
                timer.cancel()
            with contextlib.suppress(ValueError):  # Another event loop has cleared the queue.
                queue.places.remove(place)
            # Of messages that the socket has reported before, there is no further notification.
            if queue.in_turn and not self.closed:
                queue.wake()


class _Sending(Socket):
    """Of sockets that send."""

    async def send(self, data: Buffer, *, more: bool = False) -> None:
        """Sends a frame, waiting until a peer has room. With `more` further frames follow.

        Raises Again after send_timeout, as the other calls that send do.
        """
        if self._sending.places or not self._try_send(data, more):
            await self._until("send", lambda: self._try_send(data, more) or None, self._sending)

    async def send_string(self, text: str, *, more: bool = False) -> None:
        """Sends a text as a frame, in UTF-8."""
        await self.send(text.encode(), more=more)

    async def send_json(self, value: Any, *, more: bool = False) -> None:
        """Sends a value as a frame, in JSON."""
        await self.send(to_json(value), more=more)

    async def send_multipart(self, frames: Iterable[Buffer]) -> None:
        """Sends a message of several frames, which arrives whole or not at all."""
        parts = frames if isinstance(frames, (list, tuple, str, bytes)) else list(frames)
        if self._sending.places or not self._try_send_multipart(parts):
            await self._until(
                "send_multipart", lambda: self._try_send_multipart(parts) or None, self._sending
            )


class _SendingSingle(Socket):
    """Of sockets that send messages of one frame."""

    async def _send(self, data: Buffer, routing_id: int, group: str | None) -> None:
        def attempt() -> bool:
            return self._try_send_single(data, routing_id, group)

        if (self._sending.in_turn and self._sending.places) or not attempt():
            await self._until("send", lambda: attempt() or None, self._sending)


class _SendingAlone(_SendingSingle):
    """To any peer."""

    async def send(self, data: Buffer) -> None:
        """Sends a message, which has one frame, waiting until a peer has room.

        Raises Again after send_timeout.
        """
        await self._send(data, 0, None)

    async def send_string(self, text: str) -> None:
        """Sends a text as a message, in UTF-8."""
        await self._send(text.encode(), 0, None)

    async def send_json(self, value: Any) -> None:
        """Sends a value as a message, in JSON."""
        await self._send(to_json(value), 0, None)


class _SendingToPeers(_SendingSingle):
    """To one peer."""

    async def send(self, data: Buffer, *, routing_id: int) -> None:
        """Sends a message, which has one frame, to one peer, waiting until that has room.

        Raises Again after send_timeout, and PeerUnreachable if there is no such peer, or not any more.
        """
        await self._send(data, routing_id, None)

    async def send_string(self, text: str, *, routing_id: int) -> None:
        """Sends a text to one peer, in UTF-8."""
        await self._send(text.encode(), routing_id, None)

    async def send_json(self, value: Any, *, routing_id: int) -> None:
        """Sends a value to one peer, in JSON."""
        await self._send(to_json(value), routing_id, None)

    def disconnect_peer(self, routing_id: int) -> Done:
        """Disconnects one peer, once the messages sent to it are written."""
        self._disconnect_peer(routing_id)
        return DONE


class _SendingToGroups(_SendingSingle):
    """To a group."""

    async def send(self, data: Buffer, *, group: str = "") -> None:
        """Sends a message, which has one frame, to every Dish that has joined `group`.

        Drops it for a Dish that has no room; with `nodrop` it waits, as the other sockets do.
        """
        await self._send(data, 0, group)

    async def send_string(self, text: str, *, group: str = "") -> None:
        """Sends a text to a group, in UTF-8."""
        await self._send(text.encode(), 0, group)

    async def send_json(self, value: Any, *, group: str = "") -> None:
        """Sends a value to a group, in JSON."""
        await self._send(to_json(value), 0, group)


class _Subscribing(_options.Subscribing):
    """Subscriptions: of Sub; of XPub with `manual`, for the peer that was received from last."""

    def subscribe(self, topic: bytes | str = b"") -> Done:  # type: ignore[override]
        """Receive messages that begin with `topic`; of an empty one, all."""
        super().subscribe(topic)
        return DONE

    def unsubscribe(self, topic: bytes | str = b"") -> Done:  # type: ignore[override]
        """Removes one such subscription."""
        super().unsubscribe(topic)
        return DONE


class _Joining(Joining):
    """Of Dish."""

    def join(self, group: str) -> Done:  # type: ignore[override]
        """Receive the messages of `group`, too: at most 255 bytes in UTF-8."""
        super().join(group)
        return DONE

    def leave(self, group: str) -> Done:  # type: ignore[override]
        """Undoes join(), also for messages that have arrived."""
        super().leave(group)
        return DONE


class _ReceivingSingle(Socket):
    """Of sockets that receive."""

    # The rest of a message is taken at once, before tasks that wait for another one.

    async def recv(self) -> bytes:
        """Receives a frame; `more` says whether further frames of its message follow.

        Raises Again after recv_timeout, as the other calls that receive do.
        """
        if not self._receiving.places or self.more:
            frame = self._try_recv()
            if frame is not None:
                return frame
        return await self._until("recv", self._try_recv, self._receiving)

    async def recv_string(self) -> str:
        """Receives a frame that is a text in UTF-8."""
        return (await self.recv()).decode()

    async def recv_json(self) -> Any:
        """Receives a frame that is JSON, and returns its value."""
        return from_json(await self.recv())

    async def recv_into(self, buffer: Buffer) -> int:
        """Receives a frame into `buffer` and returns the frame's size."""
        if not self._receiving.places or self.more:
            size = self._try_recv_into(buffer)
            if size is not None:
                return size
        return await self._until("recv_into", lambda: self._try_recv_into(buffer), self._receiving)

    async def recv_frame(self) -> _zlink.Frame:
        """Receives a frame without copying it, and with the properties of its connection."""
        if not self._receiving.places or self.more:
            frame = self._try_recv_frame()
            if frame is not None:
                return frame
        return await self._until("recv_frame", self._try_recv_frame, self._receiving)


class _ReceivingBytes(_ReceivingSingle):
    """Of sockets that receive frames whose content is enough."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Receives until the socket is closed or the context is shut down."""
        try:
            while True:
                yield await self.recv()
        except (Closed, ContextTerminated):
            return


class _ReceivingFrames(_ReceivingSingle):
    """Of sockets that receive frames whose sender or group matters."""

    async def __aiter__(self) -> AsyncIterator[_zlink.Frame]:
        """Receives until the socket is closed or the context is shut down."""
        try:
            while True:
                yield await self.recv_frame()
        except (Closed, ContextTerminated):
            return


class _Receiving(_ReceivingBytes):
    """Of sockets that receive messages of several frames."""

    async def recv_multipart(self) -> list[bytes]:
        """Receives a message, as a list of its frames."""
        if not self._receiving.places or self.more:
            frames = self._try_recv_multipart()
            if frames is not None:
                return frames
        return await self._until("recv_multipart", self._try_recv_multipart, self._receiving)


class Pair(_Sending, _Receiving, _options.SecurityOptions, _zlink.Core):
    """Exactly one peer, both ways."""

    pattern = Pattern.PAIR


class Pub(
    _Sending, _options.SecurityOptions, _options.PublisherOptions, _options.ConflateOption, _zlink.Core
):
    """Sends to every subscriber of the topic; drops instead of waiting."""

    pattern = Pattern.PUB


class Sub(
    _Receiving,
    _options.SecurityOptions,
    _options.SubscriberOptions,
    _options.ConflateOption,
    _Subscribing,
    _zlink.Core,
):
    """Receives the topics that it subscribed to."""

    pattern = Pattern.SUB


class XPub(
    _Sending,
    _Receiving,
    _options.SecurityOptions,
    _options.PublisherOptions,
    _Subscribing,
    _zlink.Core,
):
    """As Pub, and receives the subscriptions."""

    pattern = Pattern.XPUB


class XSub(_Sending, _Receiving, _options.SecurityOptions, _options.SubscriberOptions, _zlink.Core):
    """As Sub, and subscribes by sending."""

    pattern = Pattern.XSUB


class Req(_Sending, _Receiving, _options.SecurityOptions, _options.RequestOptions, _zlink.Core):
    """Sends a request, then receives its reply, in turn."""

    pattern = Pattern.REQ


class Rep(_Sending, _Receiving, _options.SecurityOptions, _zlink.Core):
    """Receives a request, then sends its reply, in turn."""

    pattern = Pattern.REP


class Dealer(_Sending, _Receiving, _options.SecurityOptions, _options.ConflateOption, _zlink.Core):
    """Sends to peers in turn; receives from all fairly."""

    pattern = Pattern.DEALER


class Router(_Sending, _Receiving, _options.SecurityOptions, _options.RouterOptions, _zlink.Core):
    """Sends to the peer named in the first frame; receives from all, that name first."""

    pattern = Pattern.ROUTER


class Pull(_Receiving, _options.SecurityOptions, _options.ConflateOption, _zlink.Core):
    """Receives from Push sockets fairly."""

    pattern = Pattern.PULL


class Push(_Sending, _options.SecurityOptions, _options.ConflateOption, _zlink.Core):
    """Sends to Pull sockets in turn."""

    pattern = Pattern.PUSH


class RawStream(_Sending, _Receiving, _zlink.Core):
    """Exchanges bytes over tcp with peers that do not speak ZMTP."""

    pattern = Pattern.RAW_STREAM


class Server(_SendingToPeers, _ReceivingFrames, _options.CredentialOptions, _zlink.Core):
    """Sends to the Client that `routing_id` names; receives from all fairly. A draft of libzmq's."""

    pattern = Pattern.SERVER


class Client(_SendingAlone, _ReceivingBytes, _options.CredentialOptions, _zlink.Core):
    """Sends to Server sockets in turn; receives from all fairly. A draft of libzmq's."""

    pattern = Pattern.CLIENT


class Radio(_SendingToGroups, _options.CredentialOptions, _options.RadioOptions, _zlink.Core):
    """Sends to every Dish that has joined the message's group; drops instead of waiting. A draft of libzmq's."""

    pattern = Pattern.RADIO


class Dish(_ReceivingFrames, _options.CredentialOptions, _Joining, _zlink.Core):
    """Receives the messages of the groups that it has joined. A draft of libzmq's."""

    pattern = Pattern.DISH


class Gather(_ReceivingBytes, _options.CredentialOptions, _zlink.Core):
    """Receives from Scatter sockets fairly. A draft of libzmq's."""

    pattern = Pattern.GATHER


class Scatter(_SendingAlone, _options.CredentialOptions, _zlink.Core):
    """Sends to Gather sockets in turn. A draft of libzmq's."""

    pattern = Pattern.SCATTER


class Dgram(_Sending, _Receiving, _zlink.Core):
    """Datagrams over udp: frames of the peer's address, such as b"127.0.0.1:5555", and the content. A draft of libzmq's."""

    pattern = Pattern.DGRAM


class Peer(_SendingToPeers, _ReceivingFrames, _options.CredentialOptions, _zlink.Core):
    """As Server, among equals. A draft of libzmq's."""

    pattern = Pattern.PEER

    def connect_peer(self, endpoint: str) -> Count:
        """Connects as connect() does, and returns the other side's `routing_id`."""
        return Count(self._connect_peer(endpoint))


class Channel(_SendingAlone, _ReceivingBytes, _options.CredentialOptions, _zlink.Core):
    """Exactly one peer, both ways. A draft of libzmq's."""

    pattern = Pattern.CHANNEL


class Stream(CommonStream, Socket, _zlink.StreamCore):
    """Exchanges messages with browsers and game clients, and answers HTTP requests.

    Unlike those of zlink.Stream, the messages of a batch are copies, valid without limit: while a
    task waits, other calls of the socket are made.
    """

    async def recv(self) -> StreamEvent:
        """Receives a message, or what happened to a peer."""
        if not self._receiving.places:
            event = self._try_recv_event()
            if event is not None:
                return event
        return await self._until("recv", self._try_recv_event, self._receiving)

    async def recv_batch(self, count: int = 256) -> _zlink.Batch:
        """Receives up to `count` messages and events that are there; waits for the first one only."""
        if not self._receiving.places:
            batch = self._try_recv_batch(count)
            if batch is not None:
                return batch
        return await self._until("recv_batch", lambda: self._try_recv_batch(count), self._receiving)

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        """Receives until the socket is closed or the context is shut down."""
        try:
            while True:
                yield await self.recv()
        except (Closed, ContextTerminated):
            return

    async def send(self, peer: int, data: Buffer | str, *, text: bool = False) -> None:
        """Sends a message to a peer, waiting until it has room: a str as text, bytes as binary.

        Raises PeerUnreachable if the peer has gone.
        """
        if not self._try_send_to(peer, data, text):
            await self._until("send", lambda: self._try_send_to(peer, data, text) or None, self._sending)

    async def send_batch(
        self,
        messages: _zlink.Batch | Iterable[tuple[int, Buffer | str] | _zlink.Message | _zlink.MessageView],
    ) -> int:
        """Sends messages in order: those of a Batch, or tuples (peer, data).

        Events in a Batch and peers that have gone are skipped. Returns the number of messages sent.
        """
        listed = messages if isinstance(messages, _zlink.Batch) else list(messages)
        is_done, done, sent = self._try_send_batch(listed, 0, 0)

        def rest() -> bool | None:
            nonlocal is_done, done, sent
            is_done, done, sent = self._try_send_batch(listed, done, sent)
            return is_done or None

        if not is_done:
            await self._until("send_batch", rest, self._sending)
        return sent

    async def send_file(
        self, peer: int, file: File, *, offset: int = 0, length: int | None = None
    ) -> None:
        """Sends a region of a file to a peer, as one binary message. `length` None: up to its end."""
        with opened(file, offset, length) as descriptor:
            await self._until(
                "send_file",
                lambda: self._send_file(peer, descriptor, offset, length, 0) or None,
                self._sending,
            )

    async def reply(
        self,
        peer: int,
        status: int = 200,
        content: Buffer | str = b"",
        *,
        fields: Fields | None = None,
        more: bool = False,
    ) -> None:
        """Answers a request. With `more`, parts of the content follow: reply_part()."""
        lines = field_lines(fields)
        if not self._reply(peer, status, lines, content, more, 0):
            await self._until(
                "reply", lambda: self._reply(peer, status, lines, content, more, 0) or None, self._sending
            )

    async def reply_part(self, peer: int, content: Buffer | str, *, more: bool = True) -> None:
        """Sends a further part of an answer that was begun with `more`; the last one without it."""
        if not self._reply_part(peer, content, more, 0):
            await self._until(
                "reply_part", lambda: self._reply_part(peer, content, more, 0) or None, self._sending
            )

    async def reply_parts(
        self,
        peer: int,
        parts: AsyncIterable[Buffer | str] | Iterable[Buffer | str],
        status: int = 200,
        *,
        fields: Fields | None = None,
    ) -> None:
        """Answers a request with parts, each of which is sent at once, e.g. server-sent events.

        If taking a part raises an exception, or the task is cancelled, the connection is ended, so
        that the client does not take the answer for complete.
        """
        await self.reply(peer, status, fields=fields, more=True)
        try:
            async for part in _asynchronous(parts):
                await self.reply_part(peer, part)
        except BaseException:
            if not self.closed:
                with contextlib.suppress(PeerUnreachable):
                    self.abort_peer(peer, 1011)
            raise
        await self.reply_part(peer, b"", more=False)

    async def reply_file(
        self,
        peer: int,
        file: File,
        status: int = 200,
        *,
        fields: Fields | None = None,
        offset: int = 0,
        length: int | None = None,
    ) -> None:
        """Answers a request with a region of a file. `length` None: up to its end."""
        lines = field_lines(fields)
        with opened(file, offset, length) as descriptor:
            await self._until(
                "reply_file",
                lambda: self._reply_file(peer, status, lines, descriptor, offset, length, 0) or None,
                self._sending,
            )

    # Calls that do not wait.

    def send_many(self, peers: Iterable[int], data: Buffer | str, *, text: bool = False) -> Count:
        """Sends a payload to many peers, which share it.

        Peers that have no room or have gone are skipped. Returns the number of peers that it was sent to.
        """
        return Count(super().send_many(peers, data, text=text))

    def send_each(self, peers: Iterable[int], data: Buffer | str, *, text: bool = False) -> Outcomes:
        """As send_many(). Returns the peers that were skipped, each with an errno.

        That is EAGAIN if it has no room, EHOSTUNREACH if it has gone.
        """
        return Outcomes(super().send_each(peers, data, text=text))

    def close_peer(self, peer: int, code: int = 1000, reason: str = "") -> Done:  # type: ignore[override]
        """Closes the connection to a peer after what was sent to it is written."""
        super().close_peer(peer, code, reason)
        return DONE

    def abort_peer(self, peer: int, code: int = 1008, reason: str = "") -> Done:  # type: ignore[override]
        """Closes the connection to a peer at once; what is queued for it is dropped."""
        super().abort_peer(peer, code, reason)
        return DONE

    def peer(self, peer: int) -> FoundPeer:
        """Looks a peer up, with the messages queued for it; raises PeerUnreachable if there is no such peer."""
        return FoundPeer(*super().peer(peer))

    def serve(  # type: ignore[override]
        self,
        prefix: str,
        folder: str | os.PathLike[str],
        *,
        index: str | None = None,
        cors_origin: str | None = None,
        cache_control: str | None = None,
        lists: bool = False,
        uncompressed: bool = False,
        portable_etags: bool = False,
    ) -> Done:
        """Serves the files of `folder` under the path `prefix`: see zlink.Stream.serve."""
        super().serve(
            prefix,
            folder,
            index=index,
            cors_origin=cors_origin,
            cache_control=cache_control,
            lists=lists,
            uncompressed=uncompressed,
            portable_etags=portable_etags,
        )
        return DONE

    def route(  # type: ignore[override]
        self, path: str, *, requests: bool = True, peers: bool = False, upgrades: bool = False
    ) -> Done:
        """Decides what happens to HTTP requests for `path`: see zlink.Stream.route."""
        super().route(path, requests=requests, peers=peers, upgrades=upgrades)
        return DONE

    def upgrade(  # type: ignore[override]
        self, peer: int, *, subprotocol: str | None = None, fields: Fields | None = None
    ) -> Done:
        """Accepts a request for an upgrade to WebSocket. Connected follows, with the same peer.

        Raises WrongState if the peer has not sent one, which a Request tells by `is_upgrade`.
        """
        super().upgrade(peer, subprotocol=subprotocol, fields=fields)
        return DONE


async def _asynchronous(parts: AsyncIterable[T] | Iterable[T]) -> AsyncIterator[T]:
    if hasattr(parts, "__aiter__"):
        async for part in parts:
            yield part
    else:
        for part in parts:
            yield part


class Monitor(CommonMonitor[Pair]):
    """Receives the connection events of a socket. Ends with it, or by close()."""

    def __init__(self, socket: Socket, events: Event = Event.ALL) -> None:
        super().__init__(socket, Pair(socket.context), events)

    def __await__(self) -> Generator[Any, None, Self]:
        return self
        yield

    def close(self) -> Done:  # type: ignore[override]
        """Ends the monitor. Calls that wait end, too."""
        super().close()
        return DONE

    async def recv(self) -> MonitorEvent:
        """Receives the next event; raises Closed after the last one."""
        return self._take(await self._pair.recv_multipart())

    async def __aiter__(self) -> AsyncIterator[MonitorEvent]:
        """Receives until the monitored socket or the monitor is closed."""
        try:
            while (event := await self.recv()).event != Event.MONITOR_STOPPED:
                yield event
        except (Closed, ContextTerminated):
            return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
