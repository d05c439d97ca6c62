"""Runs an objective over the trials of a study: a free worker gets the next point at once.

Whatever happens to an evaluation, its trial gets a value, or a failure with its reason, or is left pending to be given
out again; whatever happens to this process, what was told is in the file.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vsbo.arrays import as_value
from vsbo.errors import InputError, ObjectiveError
from vsbo.optimizer import Trial
from vsbo.stopping import Progress, Rule, first_reason
from vsbo.workers import TimedOut, Workers, call, describe

#: Seconds between two heartbeats, and the silence of another machine after which its trials are given out again.
HEARTBEAT, SILENCE = 15.0, 300.0
#: Failures in a row, from the first point on, after which the objective is taken to be broken.
LEAST_PATIENCE = 5
#: Seconds between two looks at the clock while evaluations run.
POLL = 0.5


class Source(Protocol):
    """What a study offers its runner."""

    def take(self, budget: int) -> Trial | None:
        """The next trial to evaluate, for this process: one whose process died, or a new one; None if enough run."""
        ...

    def give_back(self, trial: Trial) -> None:
        """This process does not work on it any more; it stays pending, for the next run."""
        ...

    def settle(self, trial: Trial, value: Any, reason: str | None) -> None:
        """The trial's value, or why there is none."""
        ...

    def beat(self) -> None:
        """This process is alive."""
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


class _Executor(Protocol):
    def submit(self, fn: Callable[..., Any], /, *arguments: Any) -> "Future[Any]": ...


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
    workers: int,
    executor: Any,
    timeout: float | None,
    rules: tuple[Rule, ...],
    callback: Callable[[Progress], Any] | None,
) -> Outcome:
    """Evaluate until the study has `budget` finished evaluations, a rule or the callback says stop, or Ctrl-C."""
    with _heart(source), _executor(f, workers, executor, timeout) as (pool, foreign):
        return _Run(source, f, budget, workers, pool, timeout if foreign else None, rules, callback).go()


class _Run:
    def __init__(
        self,
        source: Source,
        f: Callable[[Any], Any],
        budget: int,
        workers: int,
        pool: _Executor,
        timeout: float | None,
        rules: tuple[Rule, ...],
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self.source, self.f, self.budget, self.workers = source, f, budget, workers
        self.pool, self.timeout, self.rules, self.callback = pool, timeout, rules, callback
        self.running: dict[Future[Any], _Running] = {}
        # Not concurrent.futures.wait: futures of other libraries (Dask's) are not its own, but all of them call back.
        self.news: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self.began = time.monotonic()
        self.evaluated = self.failed = 0
        self.evaluating = self.overhead = 0.0
        self.last_reason = ""

    def go(self) -> Outcome:
        """Until it ends, in whatever way."""
        reason: str | None = None
        try:
            while True:
                if reason is None:
                    reason = self._fill()
                if not self.running:
                    return self._outcome(reason or f"the budget of {self.budget} evaluations is spent")
                reason = self._collect() or reason
        except KeyboardInterrupt:
            return self._outcome("interrupted", interrupted=True)
        finally:
            for running in self.running.values():
                self.source.give_back(running.trial)

    def _fill(self) -> str | None:
        """Give every free worker a trial; the reason to stop if there is one before."""
        while len(self.running) < self.workers:
            if (reason := first_reason(self.rules, self._progress())) is not None:
                return reason
            asked = time.monotonic()
            trial = self.source.take(self.budget)
            began = time.monotonic()
            self.overhead += began - asked
            if trial is None:
                return None
            entry = _Running(trial, began)
            try:
                future = self.pool.submit(call, self.f, self.source.argument(trial))
            except BaseException:
                self.source.give_back(trial)
                raise
            self.running[future] = entry
            future.add_done_callback(self.news.put)
        return None

    def _collect(self) -> str | None:
        """Wait until something has ended, and tell it; the reason to stop if it was the last."""
        late = self._late()
        ended = [] if late else self._ended()
        for future in [*ended, *late]:
            running = self.running[future]
            self.evaluating += time.monotonic() - running.began
            value, reason = self._answer(future, future in late)
            told = time.monotonic()
            self.source.settle(running.trial, value, reason)
            self.overhead += time.monotonic() - told
            del self.running[future]
            self.evaluated += 1
            self.failed += reason is not None
            self.last_reason = reason or self.last_reason
            progress = self._progress()
            self._check_objective(progress)
            if self.callback is not None and self.callback(progress):
                return "the callback ended the run"
            if (stop := first_reason(self.rules, progress)) is not None:
                return stop
        return None

    def _ended(self) -> "list[Future[Any]]":
        """At least one if there is one within POLL seconds. What was given up before does not count."""
        try:
            found = [self.news.get(timeout=POLL)]
            while not self.news.empty():
                found.append(self.news.get())
        except queue.Empty:
            return []
        return [future for future in found if future in self.running]

    def _late(self) -> "list[Future[Any]]":
        """Those of a foreign executor that have run out of time."""
        if self.timeout is None:
            return []
        now = time.monotonic()
        return [f for f, one in self.running.items() if now - one.began > self.timeout and not f.done()]

    def _answer(self, future: "Future[Any]", late: bool) -> tuple[Any, str | None]:
        """The value, or the reason why there is none."""
        if late:
            future.cancel()
            return None, f"no value after {self.timeout:g} s"
        error = future.exception()
        if isinstance(error, (ObjectiveError, TimedOut)):
            return None, str(error)
        if error is not None:
            return None, describe(error)
        try:
            return as_value("the value of f", future.result()), None
        except InputError as wrong:
            return None, str(wrong)

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

    def _outcome(self, reason: str, interrupted: bool = False) -> Outcome:
        return Outcome(reason, self.evaluated, self.failed, time.monotonic() - self.began, interrupted)


@contextmanager
def _executor(
    f: Callable[[Any], Any], workers: int, executor: Any, timeout: float | None
) -> Iterator[tuple[_Executor, bool]]:
    """Where f is evaluated, and whether that is the user's executor, which cannot be told to kill."""
    if executor is not None:
        if not callable(getattr(executor, "submit", None)):
            raise InputError(f"executor must have submit(fn, *arguments) -> future; got {type(executor).__name__}")
        yield executor, True
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
            source.beat()

    thread = threading.Thread(target=beat, name="vsbo-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
