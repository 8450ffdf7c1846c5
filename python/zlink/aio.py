# SPDX-License-Identifier: MPL-2.0
"""The sockets of zlink for asyncio: calls that wait are awaited.

Classes and options are those of the package zlink. A socket belongs to the event loop in which it
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
import threading
import weakref
from typing import TYPE_CHECKING, TypeVar

from . import _options, _zlink
from ._constants import Event, Pattern, Poll
from ._errors import Closed, ContextTerminated, Error, InUse, PeerUnreachable
from ._sockets import CommonSocket, MonitorEvent, monitor_event
from ._stream import CommonStream, Fields, File, StreamEvent, field_lines, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
    from types import TracebackType

    from typing_extensions import Buffer, Self

    from ._context import Context

__all__ = [
    "Dealer",
    "Monitor",
    "Pair",
    "Pub",
    "Pull",
    "Push",
    "RawStream",
    "Rep",
    "Req",
    "Router",
    "Socket",
    "Stream",
    "Sub",
    "XPub",
    "XSub",
]

T = TypeVar("T")

# Of ending drain(). Each takes a millisecond; only without I/O threads are many needed, and in vain.
_DRAIN_ATTEMPTS = 200
_Waiters = collections.deque["asyncio.Future[None]"]


class _Waker:
    """Completes what waits in one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waker = _zlink.Waker()
        self._loop = loop
        self._sockets = 0
        self._driven: dict[int, int] = {}

    def add(self, socket: Socket) -> None:
        socket._watch(self._waker)
        if self._sockets == 0:
            self._loop.add_reader(self._waker.fileno(), self._on_ready)
        self._sockets += 1
        context = socket.context
        if context.io_threads == 0:
            # The loop does the I/O of this context.
            file = context.fileno()
            self._driven[file] = self._driven.get(file, 0) + 1
            if self._driven[file] == 1:
                self._loop.add_reader(file, _drive, context)

    def remove(self, socket: Socket) -> None:
        context = socket.context
        self._sockets -= 1
        if self._sockets == 0:
            self._loop.remove_reader(self._waker.fileno())
        if context.io_threads == 0 and not context.closed:
            with contextlib.suppress(Error):
                file = context.fileno()
                self._driven[file] -= 1
                if self._driven[file] == 0:
                    self._loop.remove_reader(file)

    def _on_ready(self) -> None:
        for socket in self._waker.take():
            socket._on_change()  # type: ignore[attr-defined]


def _drive(context: Context) -> None:
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


def _wake_next(waiters: _Waiters) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
            return


def _wake_all(waiters: _Waiters) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)


class Socket(CommonSocket):
    """A socket whose calls are awaited. Its subclasses are the patterns."""

    def __init__(self, context: Context | None = None) -> None:
        super().__init__(context)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receiving: _Waiters = collections.deque()
        self._sending: _Waiters = collections.deque()
        self._polling: _Waiters = collections.deque()
        self._drainer: threading.Thread | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the socket. Tasks that wait get Closed; messages that were sent are still written."""
        if self._end_waiting_drain():
            super().close()
        else:
            self._close_when_drained()
        loop, self._loop = self._loop, None
        if loop is None or loop.is_closed():
            return
        if loop is _running_loop():
            self._leave(loop)
        else:  # Context.term() of another thread.
            loop.call_soon_threadsafe(self._leave, loop)

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        _waker_of(loop).remove(self)
        for waiter in (*self._receiving, *self._sending, *self._polling):
            if not waiter.done():
                name = type(self).__name__
                waiter.set_exception(
                    Closed(errno.ENOTSOCK, f"{name}: the socket was closed during the call")
                )

    async def poll(self, events: Poll = Poll.IN, timeout: float | None = None) -> Poll:
        """Waits until one of `events` would not wait, at most `timeout` seconds; returns which."""

        def ready() -> Poll | None:
            return Poll(self._events()) & events or None

        try:
            return await asyncio.wait_for(self._until(ready, self._polling), timeout)
        except (TimeoutError, asyncio.TimeoutError):
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
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def complete(error: Exception | None) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(None)
            elif self.closed:
                done.set_exception(Closed(errno.ENOTSOCK, f"{name}: the socket was closed during the call"))
            else:
                done.set_exception(error)

        def wait() -> None:
            raised = None
            try:
                self._drain(timeout)
            except Exception as error:
                raised = error
            with contextlib.suppress(RuntimeError):  # The event loop is closed.
                loop.call_soon_threadsafe(complete, raised)

        # One of the event loop's executor would be waited for at the end of asyncio.run().
        self._drainer = threading.Thread(target=wait, name=f"{name}.drain", daemon=True)
        self._drainer.start()
        try:
            await done
        finally:
            self._end_waiting_drain()
            self._drainer = None
            self._on_change()

    def _end_waiting_drain(self) -> bool:
        """Ends what drain() waits for; returns False if that is impossible."""
        if self._drainer is None:
            return True
        for _ in range(_DRAIN_ATTEMPTS):
            self._end_drain()
            self._drainer.join(0.001)
            if not self._drainer.is_alive():
                return True
        return False

    def monitor(self, events: Event = Event.ALL) -> Monitor:
        """Reports the socket's connections: see Monitor."""
        return Monitor(self, events)

    def _attach(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._loop is not None:
                if not self._loop.is_closed():
                    raise RuntimeError(f"the {type(self).__name__} belongs to another event loop")
                for waiters in (self._receiving, self._sending, self._polling):
                    waiters.clear()
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
            _wake_next(self._receiving)
        if events & Poll.OUT:
            self._wake_senders()
        _wake_all(self._polling)

    def _wake_senders(self) -> None:
        _wake_next(self._sending)

    async def _until(self, attempt: Callable[[], T | None], waiters: _Waiters) -> T:
        """Makes attempts until one has a result, each time that the socket may be ready."""
        if self._is_tired():
            await asyncio.sleep(0)
        is_first = True
        try:
            while True:
                loop = self._attach()
                # Reading the events allows the next notification. A change that came before is found now.
                self._events()
                result = attempt()
                if result is not None:
                    return result
                waiter: asyncio.Future[None] = loop.create_future()
                if is_first:
                    waiters.append(waiter)
                else:
                    waiters.appendleft(waiter)  # It waits longest.
                is_first = False
                try:
                    await waiter
                finally:
                    with contextlib.suppress(ValueError):
                        waiters.remove(waiter)
        finally:
            # Of messages that the socket has reported before, there is no further notification.
            if waiters and not self.closed:
                _wake_next(waiters)


class _Sending(Socket):
    """Of sockets that send."""

    async def send(self, data: Buffer, *, more: bool = False) -> None:
        """Sends a frame, waiting until a peer has room. With `more` further frames follow."""
        if not self._try_send(data, more):
            await self._until(lambda: self._try_send(data, more) or None, self._sending)

    async def send_multipart(self, frames: Iterable[Buffer]) -> None:
        """Sends a message of several frames, which arrives whole or not at all."""
        parts = frames if isinstance(frames, (list, tuple, str, bytes)) else list(frames)
        if not self._try_send_multipart(parts):
            await self._until(lambda: self._try_send_multipart(parts) or None, self._sending)


class _Receiving(Socket):
    """Of sockets that receive."""

    async def recv(self) -> bytes:
        """Receives a frame; `more` says whether further frames of its message follow."""
        frame = self._try_recv()
        return frame if frame is not None else await self._until(self._try_recv, self._receiving)

    async def recv_multipart(self) -> list[bytes]:
        """Receives a message, as a list of its frames."""
        frames = self._try_recv_multipart()
        if frames is not None:
            return frames
        return await self._until(self._try_recv_multipart, self._receiving)

    async def recv_into(self, buffer: Buffer) -> int:
        """Receives a frame into `buffer` and returns the frame's size."""
        return await self._until(lambda: self._try_recv_into(buffer), self._receiving)

    async def recv_frame(self) -> _zlink.Frame:
        """Receives a frame without copying it, and with the properties of its connection."""
        return await self._until(self._try_recv_frame, self._receiving)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Receives until the socket is closed or the context is shut down."""
        try:
            while True:
                yield await self.recv()
        except (Closed, ContextTerminated):
            return


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
    _options.Subscribing,
    _zlink.Core,
):
    """Receives the topics that it subscribed to."""

    pattern = Pattern.SUB


class XPub(
    _Sending,
    _Receiving,
    _options.SecurityOptions,
    _options.PublisherOptions,
    _options.Subscribing,
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


class Stream(CommonStream, Socket, _zlink.StreamCore):
    """Exchanges messages with browsers and game clients, and answers HTTP requests.

    Unlike those of zlink.Stream, the messages of a batch are copies, valid without limit: while a
    task waits, other calls of the socket are made.
    """

    async def recv(self) -> StreamEvent:
        """Receives a message, or what happened to a peer."""
        event = self._try_recv_event()
        return event if event is not None else await self._until(self._try_recv_event, self._receiving)

    async def recv_batch(self, count: int = 256) -> _zlink.Batch:
        """Receives up to `count` messages and events that are there; waits for the first one only."""
        batch = self._try_recv_batch(count)
        if batch is not None:
            return batch
        return await self._until(lambda: self._try_recv_batch(count), self._receiving)

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
            await self._until(lambda: self._try_send_to(peer, data, text) or None, self._sending)

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
            await self._until(rest, self._sending)
        return sent

    async def send_file(
        self, peer: int, file: File, *, offset: int = 0, length: int | None = None
    ) -> None:
        """Sends a region of a file to a peer, as one binary message. `length` None: up to its end."""
        with opened(file) as descriptor:
            await self._until(
                lambda: self._send_file(peer, descriptor, offset, length, 0) or None, self._sending
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
                lambda: self._reply(peer, status, lines, content, more, 0) or None, self._sending
            )

    async def reply_part(self, peer: int, content: Buffer | str, *, more: bool = True) -> None:
        """Sends a further part of an answer that was begun with `more`; the last one without it."""
        if not self._reply_part(peer, content, more, 0):
            await self._until(lambda: self._reply_part(peer, content, more, 0) or None, self._sending)

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
        with opened(file) as descriptor:
            await self._until(
                lambda: self._reply_file(peer, status, lines, descriptor, offset, length, 0) or None,
                self._sending,
            )

    def _wake_senders(self) -> None:
        # Whether there is room depends on the peer, which only an attempt finds out.
        _wake_all(self._sending)


async def _asynchronous(parts: AsyncIterable[T] | Iterable[T]) -> AsyncIterator[T]:
    if hasattr(parts, "__aiter__"):
        async for part in parts:
            yield part
    else:
        for part in parts:
            yield part


class Monitor:
    """Receives the connection events of a socket. Ends with it, or by close()."""

    def __init__(self, socket: Socket, events: Event = Event.ALL) -> None:
        self._socket = socket
        endpoint = socket._start_monitor(events)
        self._pair = Pair(socket.context)
        self._pair.linger = 0
        self._pair.connect(endpoint)

    async def recv(self) -> MonitorEvent:
        """Receives the next event."""
        return monitor_event(await self._pair.recv_multipart())

    async def __aiter__(self) -> AsyncIterator[MonitorEvent]:
        """Receives until the monitored socket is closed."""
        while True:
            event = await self.recv()
            if event.event == Event.MONITOR_STOPPED:
                return
            yield event

    def close(self) -> None:
        """Ends the monitor."""
        if not self._socket.closed and not self._pair.closed:
            self._socket._monitor(None, 0)
        self._pair.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
