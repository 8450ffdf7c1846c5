# SPDX-License-Identifier: MPL-2.0
"""Messages between programs, browsers and game clients.

The classes here wait in their calls; those of zlink.aio are awaited. Times are seconds.
docs/guide/python.md has examples.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _errors, _signatures, _zlink  # _signatures before what takes functions from _zlink.
from ._constants import ContextOption, Event, Mechanism, Option, Pattern, Poll, ProtocolError
from ._context import Blocker, Context, Metric
from ._errors import (
    AddressInUse,
    Again,
    Closed,
    ContextTerminated,
    Error,
    InUse,
    InvalidValue,
    PeerUnreachable,
    Unsupported,
    WrongState,
)
from ._poller import Poller, proxy
from ._sockets import (
    Channel,
    Client,
    Dealer,
    Dgram,
    Dish,
    Gather,
    Monitor,
    MonitorEvent,
    Pair,
    Peer,
    PeerInfo,
    Pub,
    Pull,
    Push,
    Radio,
    RawStream,
    Rep,
    Req,
    Router,
    Scatter,
    Server,
    Socket,
    Sub,
    XPub,
    XSub,
)
from ._stream import Fields, File, Stream, StreamEvent
from ._zlink import (
    Batch,
    Connected,
    Disconnected,
    Frame,
    Message,
    MessageView,
    Request,
    curve_keypair,
    curve_public,
    has,
    strerror,
    z85_decode,
    z85_encode,
)

_zlink._set_errors(_errors.BY_NUMBER, _errors.Error)
Sequence.register(Batch)
if not TYPE_CHECKING:
    Batch.index, Batch.count = Sequence.index, Sequence.count
atexit.register(_zlink._stop_releasing)

#: The version of zlink.
version_info: tuple[int, int, int] = _zlink.library_version()
__version__: str = ".".join(map(str, version_info))

__all__ = [
    "AddressInUse",
    "Again",
    "Batch",
    "Blocker",
    "Channel",
    "Client",
    "Closed",
    "Connected",
    "Context",
    "ContextOption",
    "ContextTerminated",
    "Dealer",
    "Dgram",
    "Disconnected",
    "Dish",
    "Error",
    "Event",
    "Fields",
    "File",
    "Frame",
    "Gather",
    "InUse",
    "InvalidValue",
    "Mechanism",
    "Message",
    "MessageView",
    "Metric",
    "Monitor",
    "MonitorEvent",
    "Option",
    "Pair",
    "Pattern",
    "Peer",
    "PeerInfo",
    "PeerUnreachable",
    "Poll",
    "Poller",
    "ProtocolError",
    "Pub",
    "Pull",
    "Push",
    "Radio",
    "RawStream",
    "Rep",
    "Req",
    "Request",
    "Router",
    "Scatter",
    "Server",
    "Socket",
    "Stream",
    "StreamEvent",
    "Sub",
    "Unsupported",
    "WrongState",
    "XPub",
    "XSub",
    "curve_keypair",
    "curve_public",
    "has",
    "proxy",
    "strerror",
    "version_info",
    "z85_decode",
    "z85_encode",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # asyncio takes as long to import as the rest, so zlink.aio is imported when it is used.
        if name == "aio":
            import importlib

            return importlib.import_module("zlink.aio")
        raise AttributeError(f"module 'zlink' has no attribute {name!r}")
