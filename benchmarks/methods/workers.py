"""A method with several workers: so many of its points are always pending, as if all evaluations took equally long."""

from collections import deque

from benchmarks.methods.method import Array, Factory, Method, Report

#: Workers of the methods that are named for them.
EIGHT = 8


class Workers:
    """Tells the method each value only when `workers` - 1 more points have been asked for. The first points, which all
    methods share, are told at once. With this the runner's evaluations stay one at a time, and its records the same.
    """

    def __init__(self, make: Factory, workers: int, *, D: int, seed: int, budget: int) -> None:
        self._method: Method = make(D=D, seed=seed, budget=budget)
        self._late: deque[tuple[Array, float]] = deque()
        self._workers, self._began = workers, False

    def ask(self) -> Array:
        """The next point (D,), while `workers` - 1 others are pending."""
        self._began = True
        return self._method.ask()

    def tell(self, x: Array, y: float) -> None:
        """The value at x (D,), for later."""
        if not self._began:
            self._method.tell(x, y)
            return
        self._late.append((x, y))
        if len(self._late) >= self._workers:
            self._method.tell(*self._late.popleft())

    def report(self) -> Report:
        """The method's."""
        return self._method.report()
