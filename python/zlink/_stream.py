# SPDX-License-Identifier: MPL-2.0
"""Stream sockets: browsers, game clients and HTTP."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias, Union

from . import _options, _zlink
from ._constants import Pattern
from ._errors import Again, Closed, ContextTerminated, InvalidValue, PeerUnreachable
from ._sockets import CommonSocket, PeerInfo, Socket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    _StreamBase = _zlink.StreamCore
else:
    _StreamBase = object

_ROUTE_REQUESTS = 1
_ROUTE_PEERS = 2
_ROUTE_UPGRADES = 4


class HasFileno(Protocol):
    """An open file."""

    def fileno(self) -> int: ...


#: An event of a Stream.
StreamEvent: TypeAlias = Union[_zlink.Message, _zlink.Connected, _zlink.Disconnected, _zlink.Request]
#: Header fields of an answer.
Fields: TypeAlias = Union[Mapping[str, str], Iterable[tuple[str, str]]]
#: A path, an open file or a descriptor.
File: TypeAlias = Union[str, "os.PathLike[str]", HasFileno, int]


def field_lines(fields: Fields | None) -> str | None:
    """The fields as the C API takes them. Refuses line ends, which would begin another field."""
    if fields is None:
        return None
    pairs = fields.items() if isinstance(fields, Mapping) else fields
    lines = []
    for name, value in pairs:
        line = f"{name}: {value}"
        if "\n" in line or "\r" in line or "\0" in line:
            raise InvalidValue(errno.EINVAL, f"the field {name!r} has a line end or a zero byte")
        if ":" in name:
            raise InvalidValue(errno.EINVAL, f"the name of the field {name!r} has a colon")
        lines.append(line)
    return "\n".join(lines)


@contextlib.contextmanager
def opened(file: File, offset: int, length: int | None) -> Iterator[int]:
    """A descriptor of the file, of which a region is sent."""
    for name, value in (("offset", offset), ("length", 0 if length is None else length)):
        if not isinstance(value, int):
            raise TypeError(f"{name} is an int, not {type(value).__name__}")
        if not 0 <= value < 1 << 63:
            raise ValueError(f"{name} is 0 or more bytes, not {value}")
    if isinstance(file, int):
        yield file
    elif isinstance(file, (str, os.PathLike)):
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    elif hasattr(file, "fileno"):
        yield file.fileno()
    else:
        raise TypeError(f"a file is a path, an open file or a descriptor, not {type(file).__name__}")


class CommonStream(CommonSocket, _options.StreamOptions, _StreamBase):
    """The common part of Streams, whether or not their calls wait."""

    pattern = Pattern.STREAM

    def peer(self, peer: int) -> PeerInfo:
        """Looks a peer up, with the messages queued for it; raises PeerUnreachable if there is no such peer."""
        return PeerInfo(*self._peer(peer))

    def serve(
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
    ) -> None:
        """Serves the files of `folder` under the path `prefix`, at http and https endpoints bound later.

        `index` is the file that is sent for a folder, "index.html" if it is None, none if it is
        empty. `cache_control` gives values by name: "*.js: max-age=3600; *.html: no-cache". With
        `lists` a folder without an index is listed. Without `uncompressed`, "x.br" and "x.gz" are
        sent in place of "x". With `portable_etags`, servers with copies of the files that keep their
        times send the same entity tags.
        """
        self._serve(
            prefix, os.fspath(folder), index, cors_origin, cache_control, lists, uncompressed, portable_etags
        )

    def route(
        self, path: str, *, requests: bool = True, peers: bool = False, upgrades: bool = False
    ) -> None:
        """Decides what happens to HTTP requests for `path`, at endpoints bound later.

        With an asterisk at its end the path stands for all that begin so: "/api/*".

        :param requests: they are received, as Request
        :param peers: requests for an upgrade to WebSocket are accepted
        :param upgrades: requests for an upgrade are received, and answered by upgrade() or reply()
        """
        if peers and upgrades:
            raise ValueError("route takes peers and upgrades only one at a time")
        kinds = requests * _ROUTE_REQUESTS + peers * _ROUTE_PEERS + upgrades * _ROUTE_UPGRADES
        self._route(path, kinds)

    def upgrade(self, peer: int, *, subprotocol: str | None = None, fields: Fields | None = None) -> None:
        """Accepts a request for an upgrade to WebSocket. Connected follows, with the same peer.

        Raises WrongState if the peer has not sent one, which a Request tells by `is_upgrade`.
        """
        self._upgrade(peer, subprotocol, field_lines(fields))


class Stream(CommonStream, Socket, _zlink.BlockingStreamCore):
    """Exchanges messages with browsers and game clients, and answers HTTP requests.

    A peer is an int, which stands for one connection and is not used again.
    """

    def __iter__(self) -> Iterator[StreamEvent]:
        """Receives until the socket is closed or the context is shut down."""
        try:
            while True:
                yield self.recv()
        except (Closed, ContextTerminated):
            return

    def send_file(
        self,
        peer: int,
        file: File,
        *,
        offset: int = 0,
        length: int | None = None,
        timeout: float | None = None,
    ) -> None:
        """Sends a region of a file to a peer, as one binary message. `length` None: up to its end."""
        with opened(file, offset, length) as descriptor:
            self._must(self._send_file(peer, descriptor, offset, length, timeout), "send_file")

    def reply(
        self,
        peer: int,
        status: int = 200,
        content: Buffer | str = b"",
        *,
        fields: Fields | None = None,
        more: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Answers a request. With `more`, parts of the content follow: reply_part()."""
        self._must(self._reply(peer, status, field_lines(fields), content, more, timeout), "reply")

    def reply_part(
        self, peer: int, content: Buffer | str, *, more: bool = True, timeout: float | None = None
    ) -> None:
        """Sends a further part of an answer that was begun with `more`; the last one without it."""
        self._must(self._reply_part(peer, content, more, timeout), "reply_part")

    def reply_parts(
        self,
        peer: int,
        parts: Iterable[Buffer | str],
        status: int = 200,
        *,
        fields: Fields | None = None,
        timeout: float | None = None,
    ) -> None:
        """Answers a request with parts, each of which is sent at once.

        If taking a part raises an exception, the connection is ended, so that the client does not
        take the answer for complete.
        """
        self.reply(peer, status, fields=fields, more=True, timeout=timeout)
        try:
            for part in parts:
                self.reply_part(peer, part, timeout=timeout)
        except BaseException:
            with contextlib.suppress(PeerUnreachable):
                self.abort_peer(peer, 1011)
            raise
        self.reply_part(peer, b"", more=False, timeout=timeout)

    def reply_file(
        self,
        peer: int,
        file: File,
        status: int = 200,
        *,
        fields: Fields | None = None,
        offset: int = 0,
        length: int | None = None,
        timeout: float | None = None,
    ) -> None:
        """Answers a request with a region of a file. `length` None: up to its end."""
        with opened(file, offset, length) as descriptor:
            lines = field_lines(fields)
            self._must(
                self._reply_file(peer, status, lines, descriptor, offset, length, timeout), "reply_file"
            )

    def _must(self, is_done: bool, name: str) -> None:
        if not is_done:
            raise Again(errno.EAGAIN, f"{type(self).__name__}.{name}: the peer had no room in time")
