"""Progress on standard error: a bar on a terminal, else a line every two seconds."""

import shutil
import sys
import time


class Progress:
    """Shows the progress of a transfer. update() may be called at any rate."""

    def __init__(self, label, bytes_total, files_total):
        self._label = label
        self._bytes_total = bytes_total
        self._files_total = files_total
        self._is_terminal = sys.stderr.isatty()
        self._interval = 0.1 if self._is_terminal else 2.0
        self._started = time.monotonic()
        self._shown_at = self._started

    def update(self, files, size, messages, is_last=False):
        now = time.monotonic()
        if now - self._shown_at < self._interval and not is_last:
            return
        self._shown_at = now
        seconds = max(now - self._started, 1e-9)
        share = size / self._bytes_total if self._bytes_total else 1.0
        figures = (
            f"{100 * share:3.0f} %  {files}/{self._files_total} files  {size / 1e6:.1f} MB"
            f"  {size / 1e6 / seconds:.0f} MB/s  {messages / seconds / 1e3:.0f} k messages/s"
        )
        if not self._is_terminal:
            print(f"{self._label}  {figures}", file=sys.stderr, flush=True)
            return
        columns = shutil.get_terminal_size().columns
        width = min(30, columns - len(self._label) - len(figures) - 7)
        filled = round(share * width)
        bar = f"[{'#' * filled}{'.' * (width - filled)}]  " if width >= 5 else ""
        line = f"{self._label}  {bar}{figures}"[: columns - 1]
        # ESC [ K clears the rest of a longer previous line.
        print(f"\r{line}\x1b[K", end="\n" if is_last else "", file=sys.stderr, flush=True)

    def interrupt(self):
        """Ends the bar's line, so that an error message starts at the margin."""
        if self._is_terminal:
            print(file=sys.stderr)
