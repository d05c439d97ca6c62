"""Processes that evaluate a Python function and can be killed: what `concurrent.futures` has no word for.

A thread stands for each process: it sends the argument down a pipe and waits for the answer, or for the timeout. So a
hanging evaluation, or one that takes its process down with it, costs that process and nothing else.
"""

import multiprocessing
import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from vsbo.errors import InputError, ObjectiveError

#: A fresh interpreter for each process: a fork of a program with threads and a BLAS library may hang.
CONTEXT = multiprocessing.get_context("spawn")


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
                f"{error}. Or give executor=concurrent.futures.ThreadPoolExecutor(...)"
            ) from None
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="vsbo-worker")
        self._mine = threading.local()
        self._processes: set[_Process] = set()

    def submit(self, call: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """A future of f(argument), whatever `call` is: the processes know f already."""
        return self._threads.submit(self._evaluate, arguments[-1])

    def _evaluate(self, argument: Any) -> Any:
        process: _Process | None = getattr(self._mine, "process", None)
        if process is None or not process.alive:
            process = self._mine.process = _Process(self._f)
            self._processes.add(process)
        try:
            return process.evaluate(argument, self._timeout)
        finally:
            if not process.alive:
                self._processes.discard(process)

    def close(self) -> None:
        """End every process, at once."""
        for process in tuple(self._processes):
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
        """f(argument); raises what f raised, TimedOut, or an ObjectiveError if the process ended."""
        try:
            if not self._told_ready:
                self._pipe.recv()  # starting and importing are not the evaluation's time
                self._told_ready = True
            self._pipe.send(argument)
            if not self._pipe.poll(timeout):
                self.kill()
                raise TimedOut(f"no value after {timeout:g} s; its process was killed")
            good, answer = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            raise ObjectiveError(f"its process ended {_how(self._process.exitcode)}") from None
        if not good:
            raise ObjectiveError(answer)
        return answer

    def kill(self) -> None:
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
    f = pickle.loads(pickled)  # our own parent's: `Workers` made it
    pipe.send(None)
    with suppress(EOFError, OSError):
        while True:
            argument = pipe.recv()
            try:
                pipe.send((True, f(argument)))
            except Exception as error:
                pipe.send((False, describe(error)))


def call(f: Callable[[Any], Any], argument: Any) -> Any:
    """What a foreign executor is given to do."""
    return f(argument)


def describe(error: BaseException) -> str:
    """An exception as a failure's reason."""
    return f"{type(error).__name__}: {error}"
