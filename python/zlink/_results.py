# SPDX-License-Identifier: MPL-2.0
"""Results of the calls of zlink.aio that do not wait.

They have happened when they return, so that `await` is not needed; with it, they give the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._sockets import PeerInfo

if TYPE_CHECKING:
    from collections.abc import Generator


class Done:
    """No result. As None it counts as false."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "<done>"


#: The only one.
DONE = Done()


class Text(str):
    """A str."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, str]:
        return str(self)
        yield


class Count(int):
    """An int."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, int]:
        return int(self)
        yield


class Outcomes(dict[int, int]):
    """A dict of peers."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, dict[int, int]]:
        return dict(self)
        yield


class Peers(list[PeerInfo]):
    """A list of peers."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, list[PeerInfo]]:
        return list(self)
        yield


class FoundPeer(PeerInfo):
    """A peer."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, PeerInfo]:
        return PeerInfo(*self)
        yield
