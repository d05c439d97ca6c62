"""Runs an objective over the trials of a study: a free worker gets the next point at once.

Whatever happens to an evaluation, its trial gets a value, or a failure with its reason, or is left pending to be given
out again; whatever happens to this process, what was told is in the file.
"""

import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vsbo.errors import InputError, ObjectiveError, StorageError
from vsbo.executors import DaskExecutor, Executor, capacity, is_dask
from vsbo.optimizer import Trial
from vsbo.stopping import Progress, Rule, first_reason
from vsbo.workers import NotStarted, TimedOut, Workers, call, describe

#: Seconds between two heartbeats, and the silence of another machine after which its trials are given out again.
HEARTBEAT, SILENCE = 15.0, 300.0
#: Failures in a row, from the first point on, after which the objective is taken to be broken.
LEAST_PATIENCE = 5
#: Seconds between two looks at the clock while evaluations run.
POLL = 0.5


class Source(Protocol):
    """What a study offers its runner."""

    def take(self, budget: int) -> Trial | None:
        """The next trial to evaluate, for this run: one whose process died, or a new one; None if enough run."""
        ...

    def give_back(self) -> None:
        """This run works on nothing any more; what it has taken and not settled stays pending, for the next run."""
        ...

    def settle(self, trial: Trial, value: Any, reason: str | None) -> None:
        """The trial's value, or why there is none."""
        ...

    def beat(self) -> None:
        """This run is alive."""
        ...

    def progress(self) -> Progress:
        """Of the study; the times are the runner's to fill in."""
        ...

    def argument(self, trial: Trial) -> Any:
        """What the objective gets."""
        ...


@dataclass(frozen=True)
class Outcome:
    """How a run ended: why; how many evaluations it did, and how many of them failed; seconds of wall clock."""

    reason: str
    evaluations: int
    failed: int
    seconds: float
    interrupted: bool = False


class Inline:
    """The simplest executor: evaluates at once, here."""

    def submit(self, fn: Callable[..., Any], /, *arguments: Any) -> "Future[Any]":
        """A future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass
class _Running:
    trial: Trial
    began: float


def run(
    source: Source,
    f: Callable[[Any], Any],
    budget: int,
    workers: int | None,
    executor: Any,
    timeout: float | None,
    rules: tuple[Rule, ...],
    callback: Callable[[Progress], Any] | None,
) -> Outcome:
    """Evaluate until the study has `budget` finished evaluations, a rule or the callback says stop, or Ctrl-C.

    workers: evaluations at a time; None: as many as the executor can do, one without an executor.
    """
    at_once = capacity(executor) if workers is None else lambda: workers
    with _heart(source), _executor(f, at_once(), executor, timeout) as (pool, foreign):
        return _Run(source, f, budget, at_once, pool, timeout if foreign else None, rules, callback).go()


class _Run:
    def __init__(
        self,
        source: Source,
        f: Callable[[Any], Any],
        budget: int,
        at_once: Callable[[], int],
        pool: Executor,
        timeout: float | None,
        rules: tuple[Rule, ...],
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self.source, self.f, self.budget, self.at_once = source, f, budget, at_once
        self.workers = at_once()
        self.pool, self.timeout, self.rules, self.callback = pool, timeout, rules, callback
        self.running: dict[Future[Any], _Running] = {}
        # Given up, but an executor cannot be told to kill: each holds a worker until it ends.
        self.hanging: set[Future[Any]] = set()
        # Not concurrent.futures.wait: futures of other libraries (Dask's) are not its own, but all of them call back.
        self.news: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self.began = time.monotonic()
        self.evaluated = self.failed = 0
        self.evaluating = self.overhead = 0.0
        self.last_reason = ""

    def go(self) -> Outcome:
        """Until it ends, in whatever way."""
        interrupted = False
        try:
            reason = self._until_done()
        except KeyboardInterrupt:
            reason, interrupted = "interrupted", True
        finally:
            self._end()
        return Outcome(reason, self.evaluated, self.failed, time.monotonic() - self.began, interrupted)

    def _until_done(self) -> str:
        reason = first_reason(self.rules, self._progress())
        while True:
            if reason is None:
                self._fill()
            if self.running:
                found = self._collect()
                reason = reason or found
            elif reason is not None:
                return reason
            elif (left := self._left()) <= 0:
                return f"the budget of {self.budget} evaluations is spent"
            elif len(self.hanging) < self.workers:
                return f"the last {left} of the budget of {self.budget} evaluations are in the hands of other processes"
            else:
                self._wait_for_worker()

    def _left(self) -> int:
        progress = self.source.progress()
        return self.budget - progress.done - progress.failed

    def _fill(self) -> None:
        """Give every free worker a trial."""
        self.workers = self.at_once()
        while len(self.running) + len(self.hanging) < self.workers:
            asked = time.monotonic()
            trial = self.source.take(self.budget)
            began = time.monotonic()
            self.overhead += began - asked
            if trial is None:
                return
            try:
                # An objective that is more than a function of the point may ask for the trial: its number, its names.
                given = trial if getattr(self.f, "takes_trial", False) else self.source.argument(trial)
                future = self.pool.submit(call, self.f, given)
            except BrokenExecutor as error:
                raise _broken(error) from error
            self.running[future] = _Running(trial, began)
            future.add_done_callback(self.news.put)

    def _collect(self) -> str | None:
        """Wait until something has ended, and tell all that has; the reason to stop if there is one now."""
        reason = None
        for future in self._late() or self._ended():
            found = self._finish(future)
            reason = reason or found
        return reason

    def _finish(self, future: "Future[Any]") -> str | None:
        """Tell one that has ended, or is late; the reason to stop if there is one now."""
        self._tell(future)
        progress = self._progress()
        self._check_objective(progress)
        ended = self.callback is not None and self.callback(progress)
        return "the callback ended the run" if ended else first_reason(self.rules, progress)

    def _tell(self, future: "Future[Any]") -> None:
        running = self.running[future]
        value, reason = self._answer(future)
        self.evaluating += time.monotonic() - running.began
        told = time.monotonic()
        self.source.settle(running.trial, value, reason)
        self.overhead += time.monotonic() - told
        del self.running[future]
        self.evaluated += 1
        self.failed += reason is not None
        self.last_reason = reason or self.last_reason

    def _ended(self) -> "list[Future[Any]]":
        """At least one if there is one within POLL seconds. What was given up before does not count."""
        try:
            found = [self.news.get(timeout=POLL)]
            while not self.news.empty():
                found.append(self.news.get())
        except queue.Empty:
            return []
        self.hanging.difference_update(found)
        return [future for future in found if future in self.running]

    def _late(self) -> "list[Future[Any]]":
        """Those of a foreign executor that have run out of time."""
        if self.timeout is None:
            return []
        now = time.monotonic()
        for future, one in self.running.items():
            if hasattr(future, "running") and not future.running() and not future.done():
                one.began = now  # it waits for a free worker
        return [f for f, one in self.running.items() if now - one.began > self.timeout and not f.done()]

    def _wait_for_worker(self) -> None:
        """All workers hang: one may come back within another timeout."""
        end = time.monotonic() + (self.timeout or 0.0)
        while len(self.hanging) >= self.workers:
            if time.monotonic() > end:
                raise ObjectiveError(
                    f"executor: evaluations of more than {self.timeout:g} s hold all its {self.workers} workers, "
                    "and it cannot be told to kill them; workers=... without an executor can"
                )
            self._ended()

    def _answer(self, future: "Future[Any]") -> tuple[Any, str | None]:
        """The value, or the reason why there is none. Raises if that has nothing to do with the point."""
        if not future.done():
            if not future.cancel():
                self.hanging.add(future)
            return None, f"no value after {self.timeout:g} s"
        try:
            error = future.exception()
        except CancelledError as lost:
            raise _broken(lost) from lost
        if isinstance(error, NotStarted):
            raise error
        if isinstance(error, BrokenExecutor) and len(self.running) > 1:
            raise _broken(error) from error  # one of them broke it; nobody knows which
        if isinstance(error, (ObjectiveError, TimedOut)):
            return None, str(error)
        if error is not None:
            return None, describe(error)
        value = future.result()
        return (value, None) if math.isfinite(value) else (None, f"the value is {value}")

    def _end(self) -> None:
        """Tell what has ended meanwhile; the rest is for the next run."""
        try:
            for future in tuple(self.running):
                if not future.done():
                    future.cancel()
                else:
                    with suppress(NotStarted, BrokenExecutor, ObjectiveError, CancelledError):
                        self._tell(future)
        finally:
            self.source.give_back()

    def _check_objective(self, progress: Progress) -> None:
        patience = min(max(progress.state.config.n_initial, LEAST_PATIENCE), self.budget)
        if progress.done == 0 and progress.failed >= patience:
            raise ObjectiveError(
                f"f failed at each of the first {progress.failed} points; the last time: {self.last_reason}"
            )

    def _progress(self) -> Progress:
        return replace(
            self.source.progress(),
            running=len(self.running),
            budget=self.budget,
            seconds=time.monotonic() - self.began,
            evaluated=self.evaluated,
            evaluating=self.evaluating,
            overhead=self.overhead,
            workers=self.workers,
        )


def _broken(error: BaseException) -> ObjectiveError:
    if isinstance(error, CancelledError):
        return ObjectiveError(
            f"executor lost an evaluation that nobody has cancelled here: {error or 'no reason given'}"
        )
    return ObjectiveError(
        f"executor broke down, as when an evaluation ends its process: {error} workers=... without an executor goes on"
    )


@contextmanager
def _executor(
    f: Callable[[Any], Any], workers: int, executor: Any, timeout: float | None
) -> Iterator[tuple[Executor, bool]]:
    """Where f is evaluated, and whether that is the user's executor, which cannot be told to kill."""
    if executor is not None:
        if not callable(getattr(executor, "submit", None)):
            raise InputError(f"executor must have submit(fn, *arguments) -> future; got {type(executor).__name__}")
        if not is_dask(executor):
            yield executor, True
            return
        cluster = DaskExecutor(executor)
        try:
            yield cluster, True
        finally:
            cluster.close()
    elif workers == 1 and timeout is None:
        yield Inline(), False
    else:
        pool = Workers(f, workers, timeout)
        try:
            yield pool, False
        finally:
            pool.close()


@contextmanager
def _heart(source: Source) -> Iterator[None]:
    """Beats while the run goes on."""
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(HEARTBEAT):
            with suppress(StorageError):  # a full disk, a file held for long: the next beat may come through
                source.beat()

    thread = threading.Thread(target=beat, name="vsbo-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
