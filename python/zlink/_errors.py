# SPDX-License-Identifier: MPL-2.0
"""The exceptions of the package, by errno."""

from __future__ import annotations

import errno as _errno
from typing import TYPE_CHECKING

from ._signatures import ClassSignature

if TYPE_CHECKING:
    import inspect

# First number of the errors that errno.h lacks, as zlink.h has it.
_HAUSNUMERO = 156384712
EFSM = _HAUSNUMERO + 51
ENOCOMPATPROTO = _HAUSNUMERO + 52
ETERM = _HAUSNUMERO + 53


class Error(OSError):
    """A call of the library failed; `errno` says why in a number, `strerror` in words."""


class Again(Error):
    """Nothing arrived, or no peer had room, within the timeout."""


class ContextTerminated(Error):
    """The context was shut down, or belongs to the parent process."""


class Closed(Error):
    """The socket is closed."""


class InUse(Error):
    """Another thread is using the socket. One thread at a time may."""


class WrongState(Error):
    """It is not the socket's turn, or no request waits for this answer."""


class PeerUnreachable(Error):
    """The peer is unknown or has disconnected."""


class InvalidValue(Error, ValueError):
    """An endpoint, an option or another argument is invalid."""


class Unsupported(Error):
    """The socket, or its transport, cannot do this."""


class AddressInUse(Error):
    """The address is already in use."""


class _ErrorSignature(ClassSignature):
    """Of Error, whose constructor is OSError's."""

    def make(self) -> inspect.Signature:
        import inspect

        kind = inspect.Parameter.POSITIONAL_ONLY
        return inspect.Signature(
            [
                inspect.Parameter("errno", kind, annotation="int"),
                inspect.Parameter("strerror", kind, annotation="str"),
            ]
        )


Error.__signature__ = _ErrorSignature(Error)  # type: ignore[attr-defined]

#: The extension makes the exceptions. It runs no Python code for that, so the classes have no __init__.
BY_NUMBER: dict[int, type[Error]] = {
    _errno.EAGAIN: Again,
    ETERM: ContextTerminated,
    _errno.ENOTSOCK: Closed,
    _errno.EBUSY: InUse,
    EFSM: WrongState,
    _errno.EHOSTUNREACH: PeerUnreachable,
    _errno.EINVAL: InvalidValue,
    _errno.ENOTSUP: Unsupported,
    _errno.EPROTONOSUPPORT: Unsupported,
    ENOCOMPATPROTO: Unsupported,
    _errno.EADDRINUSE: AddressInUse,
}
