# SPDX-License-Identifier: MPL-2.0
"""Waiting for several sockets and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from . import _zlink
from ._constants import Poll
from ._sockets import CommonSocket, Socket

if TYPE_CHECKING:
    from typing import TypeAlias

    from ._stream import HasFileno

    Pollable: TypeAlias = Union[Socket, HasFileno, int]


class Poller:
    """Waits for sockets and files, such as those of the `socket` module, in one call."""

    def __init__(self) -> None:
        self._items: dict[Pollable, Poll] = {}

    def register(self, item: Pollable, events: Poll = Poll.IN) -> None:
        """Waits for `events` of a socket, a file or a descriptor from now on. Replaces former ones."""
        if not isinstance(item, (Socket, int)) and (
            isinstance(item, CommonSocket) or not hasattr(item, "fileno")
        ):
            raise TypeError(f"a Poller takes a Socket, a file or a descriptor, not {kind_name(item)}")
        self._items[item] = Poll(events)

    def unregister(self, item: Pollable) -> None:
        """Does not wait for it any more. Raises KeyError if it did not."""
        del self._items[item]

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __len__(self) -> int:
        return len(self._items)

    def poll(self, timeout: float | None = None) -> list[tuple[Pollable, Poll]]:
        """Waits until something is ready, at most `timeout` seconds; returns what, and its events."""
        items = [(item, int(events)) for item, events in self._items.items()]
        return [(item, Poll(events)) for item, events in _zlink.poll(items, timeout)]


def proxy(
    frontend: Socket, backend: Socket, capture: Socket | None = None, control: Socket | None = None
) -> None:
    """Forwards messages between two sockets until `control` receives b"TERMINATE".

    Raises ContextTerminated when the context is shut down. `capture` receives a copy of each
    message. `control` also takes b"PAUSE", b"RESUME" and b"STATISTICS".
    """
    for socket in (frontend, backend, capture, control):
        if not isinstance(socket, Socket) and (socket is not None or socket in (frontend, backend)):
            raise TypeError(f"a proxy takes sockets whose calls wait, not {kind_name(socket)}")
    _zlink.proxy(frontend, backend, capture, control)


def kind_name(of: object) -> str:
    """The name of an object's class; of a socket of zlink.aio with that in front."""
    return f"aio.{type(of).__name__}" if isinstance(of, CommonSocket) else type(of).__name__
