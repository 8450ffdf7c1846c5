# SPDX-License-Identifier: MPL-2.0
"""Contexts."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from . import _threads, _zlink
from ._constants import ContextOption, Pattern

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_default: Context | None = None
_lock = threading.Lock()


class Blocker(NamedTuple):
    """A socket or connection that Context.term waits for."""

    is_open: bool  #: An open socket; else a connection of a closed one.
    pattern: Pattern
    endpoint: str
    linger: float | None  #: Seconds that it may still take. None: no limit.
    messages: int  #: That were not passed to the system yet.
    bytes: int


class Metric(NamedTuple):
    """A value of a metric; docs/guide/metrics.md lists them."""

    name: str
    family: str  #: The name without the ending of a part of a histogram.
    help: str
    kind: str  #: "counter", "gauge" or "histogram".
    labels: dict[str, str]
    value: float


_KINDS = {1: "counter", 2: "gauge", 3: "histogram"}


class Context(_zlink.ContextCore):
    """Owns the I/O threads and the sockets. A program usually has one; any thread may use it.

    With io_threads=0 there is no thread: calls that wait do the I/O.

    At the end of a `with` block the context's sockets are closed, and what was sent is written, for
    as long as the sockets' linger allows. In a coroutine `async with` waits without blocking the
    event loop.
    """

    def __init__(self, io_threads: int = 1) -> None:
        super().__init__(io_threads)

    @staticmethod
    def default() -> Context:
        """The context of sockets that are opened without one. A child process gets its own.

        Nothing waits for it at the end of the process: messages that were not written are lost, unless
        term() is called.
        """
        global _default
        with _lock:
            if _default is None or _default.closed:
                _default = Context()
            return _default

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.term()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        import asyncio

        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def complete(error: Exception | None) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

        # If this task is cancelled, the thread waits on.
        _threads.start(self.term, "Context.term", complete)
        await done

    def blockers(self) -> list[Blocker]:
        """Lists the sockets and connections that term() waits for, or would wait for.

        May be called while it waits in another thread.
        """
        return [
            Blocker(is_open, Pattern(kind), endpoint, None if linger < 0 else linger / 1000, messages, size)
            for is_open, kind, endpoint, linger, messages, size in self._blockers()
        ]

    def metrics(self, peers: bool = False) -> list[Metric]:
        """Everything that is counted, values of a family behind each other.

        peers: also of each peer, which may be many.
        """
        return [
            Metric(name, family, text, _KINDS[kind], labels, value)
            for name, family, text, kind, labels, value in self._metrics(peers)
        ]

    def metrics_text(self, peers: bool = False) -> str:
        """The same in Prometheus' text format 0.0.4."""
        return self._metrics_text(peers)

    @property
    def metrics_endpoint(self) -> str | None:
        """Where the metrics are served: "http://host:port", or "local" for `zlink top`. None: nowhere.

        Setting it starts the I/O threads.
        """
        return self._get_text(ContextOption.METRICS_ENDPOINT) or None

    @metrics_endpoint.setter
    def metrics_endpoint(self, value: str | None) -> None:
        self._set_text(ContextOption.METRICS_ENDPOINT, value or "")

    def get_option(self, option: ContextOption) -> int:
        """Reads an option."""
        return self._get(int(option))

    def set_option(self, option: ContextOption, value: int) -> None:
        """Sets an option."""
        self._set(int(option), int(value))

    @property
    def max_sockets(self) -> int:
        """Largest number of open sockets."""
        return self._get(ContextOption.MAX_SOCKETS)

    @max_sockets.setter
    def max_sockets(self, value: int) -> None:
        self._set(ContextOption.MAX_SOCKETS, value)

    @property
    def busy_poll(self) -> float:
        """Seconds for which a waiting thread spins before it sleeps. Set before the first socket."""
        return self._get(ContextOption.BUSY_POLL) / 1_000_000

    @busy_poll.setter
    def busy_poll(self, value: float) -> None:
        self._set(ContextOption.BUSY_POLL, round(value * 1_000_000))

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle or copy a {type(self).__name__}")


def _forget_default() -> None:
    # The parent's cannot be used. The lock may have been held by a thread that the child lacks.
    global _default, _lock
    _default = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_default)
