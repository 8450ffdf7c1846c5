# SPDX-License-Identifier: MPL-2.0
"""Lets pyzmq run on zlink in this process: imported before zmq.

    import zlink.compat
    import zmq

Loads the libzmq.so.5 of this package, which is zlink, so that pyzmq's module finds its functions
before those of its own libzmq. `python -m zlink run program.py` does the same for a program that
is not changed. Raises ImportError if pyzmq would not run on zlink.
"""

from __future__ import annotations

import ctypes
import pathlib
import sys

#: The library that takes the place of libzmq.
LIBRARY = pathlib.Path(__file__).with_name("libzmq.so.5")


def is_active() -> bool:
    """Whether pyzmq runs on zlink in this process. Imports zmq."""
    import zmq

    return bool(zmq.has("zlink"))


def _load() -> None:
    if "zmq" in sys.modules:
        if is_active():
            return
        raise ImportError("zlink.compat: import it before zmq, which has loaded its own libzmq already")
    try:
        loaded = ctypes.CDLL(str(LIBRARY), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise ImportError(f"zlink.compat: {LIBRARY} cannot be loaded: {error}") from error
    if loaded.zmq_has(b"zlink") != 1:
        raise ImportError(f"zlink.compat: {LIBRARY} is not zlink")


_load()
