# SPDX-License-Identifier: MPL-2.0
"""Threads that wait in place of an event loop."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def start(call: Callable[[], None], name: str, on_end: Callable[[Exception | None], None]) -> threading.Thread:
    """Makes a call in a new thread; the event loop that runs now then calls `on_end` with its error.

    Neither the end of the event loop nor that of the process waits for the thread, as they would for
    one of the event loop's executor.
    """
    import asyncio

    loop = asyncio.get_running_loop()

    def run() -> None:
        raised = None
        try:
            call()
        except Exception as error:
            raised = error
        with contextlib.suppress(RuntimeError):  # The event loop is closed.
            loop.call_soon_threadsafe(on_end, raised)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
