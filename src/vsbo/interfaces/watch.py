"""What the live page shows of a study that others write, kept up to date.

What is read from the log alone is there at once; importance, story and the model's pictures take seconds in a large
study, and are computed beside it, by one thread for all who look. A view is made when the file has changed, and kept.
"""

import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from vsbo.errors import VsboError
from vsbo.interfaces.display import duration
from vsbo.interfaces.page_data import Explained, as_json, explained, page_data
from vsbo.study import Study

#: Variables in the table of the page: the report has all.
MOST = 50
#: Seconds between two looks at importance are at least so many times those that it takes: the workers need the machine.
REST = 4.0


class Watch:
    """One study. `latest(seen)` is the view if it is newer than version `seen`."""

    def __init__(self, path: Path, name: str) -> None:
        self._study = Study.open(path, name=name)
        self._lock = threading.Lock()
        self._explained: Explained | None = None
        self._explained_for = -1  # events
        self._shown: tuple[tuple[int, int], str] | None = None
        self._thread: threading.Thread | None = None
        self._not_before = 0.0
        self.trouble = ""

    def close(self) -> None:
        """Wait for what is being computed, and give the file back."""
        if self._thread is not None:
            self._thread.join()
        self._study.close()

    def latest(self, seen: tuple[int, int] | None, names: tuple[str, ...]) -> tuple[tuple[int, int], str] | None:
        """The version (events, events explained) and the view as JSON; None if that is the one seen."""
        events = len(self._study.state.log)
        with self._lock:
            self._explain(events)
            version = events, self._explained_for
            if version == seen:
                return None
            if self._shown is None or self._shown[0] != version:
                self._shown = version, self._view(names)
            return self._shown

    def _view(self, names: tuple[str, ...]) -> str:
        data = page_data(self._study, self._explained, MOST)
        now = datetime.now(UTC).strftime("%H:%M:%S UTC")
        behind = ""
        if self._explained is not None:
            importance = self._explained.importance
            behind = f"; importance after {importance.n} values, {duration(importance.seconds)}"
        return as_json({**data, "studies": list(names), "status": f"Live; last change seen at {now}{behind}."})

    def _explain(self, events: int) -> None:
        """See to it that what takes long is being computed, unless they are those of this state."""
        busy = self._thread is not None and self._thread.is_alive()
        if self._explained_for == events or busy or time.monotonic() < self._not_before:
            return
        self._thread = threading.Thread(target=self._compute, args=(events,), name="vsbo-explain", daemon=True)
        self._thread.start()

    def _compute(self, events: int) -> None:
        began = time.monotonic()
        try:
            found = explained(self._study)
        except VsboError as error:
            self.trouble = str(error)
            return
        with self._lock:
            self._explained, self._explained_for, self.trouble = found, events, ""
            self._not_before = time.monotonic() + REST * (time.monotonic() - began)


def message(event: str, data: str) -> str:
    """A server-sent event. data: JSON, which has no line break."""
    return f"event: {event}\ndata: {data}\n\n"


def trouble_message(text: str) -> str:
    """That something is wrong, for the page's status line."""
    return message("trouble", json.dumps(text))
