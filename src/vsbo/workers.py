"""Processes that evaluate a Python function and can be killed: what `concurrent.futures` has no word for.

A thread stands for each process: it sends the argument down a pipe and waits for the answer, or for the timeout. So a
hanging evaluation, or one that takes its process down with it, costs that process and nothing else.
"""

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from vsbo.arrays import as_value
from vsbo.errors import InputError, ObjectiveError

#: A fresh interpreter for each process: a fork of a program with threads and a BLAS library may hang.
CONTEXT = multiprocessing.get_context("spawn")


#: Seconds for a process whose pipe is closed to end by itself, and the longest that a pipe can be waited for at once.
GRACE, LONGEST_WAIT = 5.0, 3600.0


class NotStarted(InputError):  # noqa: N818 - as TimedOut
    """A process ended before it could evaluate anything: that is no point's fault."""


class TimedOut(Exception):  # noqa: N818 - it is told as a failure's text, and reads as one
    """An evaluation took longer than it may."""


class Workers:
    """An executor of one function: `submit(_, argument)` gives a future of f(argument).

    timeout: seconds for one evaluation, after which its process is killed; None: it may take forever.
    """

    def __init__(self, f: Callable[[Any], Any], workers: int, timeout: float | None = None) -> None:
        try:
            self._f = pickle.dumps(f)
        except Exception as error:
            raise InputError(
                f"f must be a function of a module to run in processes of its own (workers > 1, or a timeout); "
                f"{error}. Or use threads: executor=concurrent.futures.ThreadPoolExecutor(...) in a study, "
                "workers=multiprocessing.pool.ThreadPool(...).map in minimize"
            ) from None
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="vsbo-worker")
        self._mine = threading.local()
        self._processes: set[_Process] = set()
        self._lock, self._closed = threading.Lock(), False

    def submit(self, call: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """A future of f(argument), whatever `call` is: the processes know f already."""
        return self._threads.submit(self._evaluate, arguments[-1])

    def _evaluate(self, argument: Any) -> Any:
        process: _Process | None = getattr(self._mine, "process", None)
        if process is None or not process.alive:
            process = self._mine.process = self._start()
        try:
            return process.evaluate(argument, self._timeout)
        finally:
            if not process.alive:
                with self._lock:
                    self._processes.discard(process)

    def _start(self) -> "_Process":
        try:
            process = _Process(self._f)
        except Exception as error:
            raise NotStarted(f"no process could be started for f: {describe(error)}") from error
        with self._lock:
            self._processes.add(process)
            closed = self._closed
        if closed:  # it came too late for `close` to see it
            process.kill()
        return process

    def close(self) -> None:
        """End every process, at once."""
        with self._lock:
            self._closed = True
            processes = tuple(self._processes)
        for process in processes:
            process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)


class _Process:
    def __init__(self, f: bytes) -> None:
        self._pipe, other = CONTEXT.Pipe()
        # Not a daemon: an evaluation may have children of its own.
        self._process = CONTEXT.Process(target=_serve, args=(other, f), name="vsbo-evaluation")
        self._process.start()
        other.close()
        self._told_ready = False

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def evaluate(self, argument: Any, timeout: float | None) -> Any:
        """f(argument). Raises TimedOut, NotStarted, or an ObjectiveError: what f raised, or how its process ended."""
        try:
            if not self._told_ready:
                self._get_ready()  # starting and importing are not the evaluation's time
            self._pipe.send(argument)
            if timeout is not None and not self._answers_within(timeout):
                self.kill()
                raise TimedOut(f"no value after {timeout:g} s; its process was killed")
            good, answer = self._pipe.recv()
        except (EOFError, OSError):
            raise ObjectiveError(f"its process ended {self._how_it_ended()}") from None
        if not good:
            raise ObjectiveError(answer)
        return answer

    def _get_ready(self) -> None:
        try:
            wrong = self._pipe.recv()
        except (EOFError, OSError):
            wrong = f"it ended {self._how_it_ended()} (a script must start its work under if __name__ == '__main__':)"
        if wrong is not None:
            self.kill()
            raise NotStarted(f"f must be a function that a process of its own can import; {wrong}")
        self._told_ready = True

    def _answers_within(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            if self._pipe.poll(min(left, LONGEST_WAIT)):
                return True
        return False

    def _how_it_ended(self) -> str:
        self._process.join(GRACE)
        self.kill()  # if it has only closed its pipe
        return _how(self._process.exitcode)

    def kill(self) -> None:
        """The process and its children."""
        if self._process.pid is not None and hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # it has not made its group yet, or has ended
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"by {signal.Signals(-code).name}"
    return f"with code {code}"


def _serve(pipe: Connection, pickled: bytes) -> None:
    """In the process: answer until the pipe is closed. Ctrl-C is for the process that asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        os.setsid()  # a group of its own, so that what an evaluation starts is killed with it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        f = pickle.loads(pickled)  # our own parent's: `Workers` made it
    except Exception as error:
        pipe.send(describe(error))
        return
    pipe.send(None)
    with suppress(EOFError, OSError):
        while True:
            argument = pipe.recv()
            try:
                answer: tuple[bool, float | str] = True, call(f, argument)
            except ObjectiveError as error:
                answer = False, str(error)
            pipe.send(answer)


def _end_with_parent() -> None:
    """If the process that asked is killed, nobody waits for the evaluation; the next run will do it again."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def call(f: Callable[[Any], Any], argument: Any) -> float:
    """What an executor is given to do: f(argument) as a number, or an ObjectiveError that says why there is none.

    Both survive the way between processes; what f returns or raises may not, and would take a pool down with it.
    """
    try:
        value = f(argument)
    except (ObjectiveError, NotStarted):
        raise  # their own words are meant for the user already
    except Exception as error:
        raise ObjectiveError(describe(error)) from None
    try:
        return as_value("the value of f", value)
    except InputError as wrong:
        raise ObjectiveError(str(wrong)) from None


def describe(error: BaseException) -> str:
    """An exception as a failure's reason."""
    return f"{type(error).__name__}: {error}"
