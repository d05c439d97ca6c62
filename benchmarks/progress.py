"""How far a long command is: one line, updated in place on a terminal; elsewhere a plain line now and then."""

import shutil
import time
from collections.abc import Callable, Sequence
from typing import TextIO

WIDTH = 24
EVERY = 60.0  # seconds between two plain lines


class Progress:
    """Of `total` jobs. clock: seconds, from any zero."""

    def __init__(self, stream: TextIO, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._total, self._clock = stream, total, clock
        self._terminal = stream.isatty()
        self._drawn = ""
        self._last = -EVERY

    def update(self, done: int, running: Sequence[str], left: float | None) -> None:
        """Show it: `left` in seconds, None if nobody knows."""
        full = WIDTH * done // self._total
        text = f"[{'#' * full}{'.' * (WIDTH - full)}] {done}/{self._total}"
        text += "" if done == self._total else f", {'?' if left is None else duration(left)} left"
        text += f": {', '.join(running)}" if running else ""
        if self._terminal:
            text = text[: shutil.get_terminal_size().columns - 1]
            if text != self._drawn:
                self._stream.write(f"\r{text.ljust(len(self._drawn))}")
                self._stream.flush()
                self._drawn = text
        elif self._clock() - self._last >= EVERY or (done == self._total and text != self._drawn):
            self._last, self._drawn = self._clock(), text
            self._stream.write(text + "\n")
            self._stream.flush()

    def say(self, text: str) -> None:
        """A line of its own, above the bar."""
        self.leave()
        self._stream.write(text + "\n")
        self._stream.flush()

    def leave(self) -> None:
        """Leave the line; the next update draws a new one."""
        if self._terminal and self._drawn:
            self._stream.write("\r" + " " * len(self._drawn) + "\r")
            self._stream.flush()
            self._drawn = ""


def duration(seconds: float) -> str:
    """Two digits or so: 40 s, 12 min, 3 h 20 min."""
    minutes = round(seconds / 60)
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
