"""Turns a program that calls the objective itself into ask and tell, by running it in a thread."""

import queue
import threading
from collections.abc import Callable

from . import Array


class InsideOut:
    """run: called once, in a thread, with the objective; the objective takes a point and gives its value.

    The thread works inside `ask` only (a told value is handed over by the next ask), so an ask's time is all of it.
    """

    def __init__(self, run: Callable[[Callable[[Array], float]], None]) -> None:
        self._run = run
        self._points: queue.SimpleQueue[Array | BaseException] = queue.SimpleQueue()
        self._values: queue.SimpleQueue[float] = queue.SimpleQueue()
        self._value: float | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def ask(self) -> Array:
        """The point at which the program wants the objective next."""
        if self._value is not None:
            self._values.put(self._value)
            self._value = None
        if self._thread.ident is None:
            self._thread.start()
        point = self._points.get()
        if isinstance(point, BaseException):
            raise RuntimeError("the optimization loop has ended") from point
        return point

    def tell(self, y: float) -> None:
        """The value at the point last asked for."""
        self._value = y

    def _objective(self, x: Array) -> float:
        self._points.put(x)
        return self._values.get()

    def _work(self) -> None:
        try:
            self._run(self._objective)
            self._points.put(StopIteration("it had its number of evaluations"))
        except BaseException as error:
            self._points.put(error)
