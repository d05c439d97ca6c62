"""Executors that are not quite those of `concurrent.futures`, as the runner needs them; and how much each can do.

Known by what they offer, not by import: a `dask.distributed.Client` has `submit`, `nthreads` and `cancel`.
"""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import suppress
from typing import Any, Protocol


class Executor(Protocol):
    """Anything with submit(fn, *arguments) -> future."""

    def submit(self, fn: Callable[..., Any], /, *arguments: Any) -> Any:
        """A future of fn(*arguments)."""
        ...


def is_dask(executor: Any) -> bool:
    """Whether it is a client of a Dask cluster."""
    return all(callable(getattr(executor, name, None)) for name in ("submit", "nthreads", "cancel"))


def capacity(executor: Any) -> Callable[[], int]:
    """How many evaluations an executor can do at a time; asked again and again, since a cluster may grow and shrink.

    1 if it does not say.
    """
    if is_dask(executor):
        return _Threads(executor)
    # Pools of concurrent.futures and loky, and mpi4py's.
    for name in ("_max_workers", "num_workers"):
        size = getattr(executor, name, None)
        if isinstance(size, int) and size >= 1:
            return lambda: size
    return lambda: 1


class _Threads:
    """Of a Dask cluster; as many as there were last, while it does not answer."""

    def __init__(self, client: Any) -> None:
        self._client, self._last = client, 1

    def __call__(self) -> int:
        with suppress(OSError):
            self._last = max(1, sum(self._client.nthreads().values()))
        return self._last


class DaskExecutor:
    """A Dask client whose tasks are evaluations: none is taken for another, and none is forgotten while it runs."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._futures: set[Any] = set()

    def submit(self, fn: Callable[..., Any], /, *arguments: Any) -> "DaskFuture":
        """A future of fn(*arguments), which go to the cluster by cloudpickle, or by name if they are importable."""
        if self._client.status != "running":
            raise BrokenExecutor(f"the Dask client is {self._client.status}.")
        # Not pure: the same point twice is two evaluations.
        future = self._client.submit(fn, *arguments, pure=False)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return DaskFuture(future)

    def close(self) -> None:
        """Take what has not begun off the cluster's list; what runs there runs to its end, and nobody waits for it."""
        left = list(self._futures)
        if left:
            with suppress(Exception):  # the cluster may be gone
                self._client.cancel(left, force=True)


class DaskFuture:
    """A future of Dask's in the words of `concurrent.futures`."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def done(self) -> bool:
        """Whether it has ended."""
        return bool(self._future.done())

    def cancel(self) -> bool:
        """Never: the worker would go on with it, unseen, and its place would count as free."""
        return False

    def exception(self) -> BaseException | None:
        """What it raised. CancelledError is raised, not returned: the cluster has lost or dropped it."""
        if self._future.status in ("cancelled", "lost"):
            raise CancelledError(f"{self._future.key} was {self._future.status} by the cluster")
        error: BaseException | None = self._future.exception()
        return error

    def result(self) -> Any:
        """What it came to."""
        return self._future.result()

    def add_done_callback(self, fn: Callable[["DaskFuture"], Any]) -> None:
        """Call fn(this) once it has ended."""
        self._future.add_done_callback(lambda _: fn(self))
