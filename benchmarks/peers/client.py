"""A peer as a method: its process, the pipe to it, and what its last call cost."""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from benchmarks.errors import BenchError
from benchmarks.methods.method import Array, Report, Spent
from benchmarks.worker import SETTINGS as ONE_THREAD

HERE = Path(__file__).parent

#: Seconds a peer may take for one answer.
TIMEOUT = 15 * 60.0

#: Outside the unit cube by no more than this is rounding (some peers compute in single precision), and is clipped.
ROUNDING = 1e-6

#: One thread a peer, as for every method; jax has settings of its own, and looks for graphics cards.
SETTINGS = {
    **ONE_THREAD,
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false --xla_cpu_parallel_codegen_split_count=1",
    "JAX_PLATFORMS": "cpu",
    "MPLBACKEND": "Agg",
}


class Peer:
    """A method (ask, tell, report) that runs in a process of its own; `close` ends it, as does the end of this one.

    python: the interpreter that has the peer installed. module: the adapter, imported from `folder`.
    timeout: seconds for one answer. versions: of its packages, for a run's record.
    """

    def __init__(
        self,
        name: str,
        *,
        python: Path,
        module: str,
        D: int,
        seed: int,
        budget: int,
        timeout: float = TIMEOUT,
        folder: Path = HERE,
        versions: dict[str, str] | None = None,
    ) -> None:
        self._name, self._D, self._timeout = name, D, timeout
        self.versions = dict(versions or {})
        self._spent = Spent(0.0, 0.0, 0.0)
        self._asked: Array | None = None
        self._began = False
        self._ended = ""
        # What a peer writes into its working directory goes with it.
        self._scratch = tempfile.TemporaryDirectory(prefix="vsbo-peer-", ignore_cleanup_errors=True)
        self._said = Path(self._scratch.name) / "stderr.txt"
        with self._said.open("wb") as said:
            # A session of its own: Ctrl-C is for the runner, and what the peer starts can be ended with it.
            self._process = subprocess.Popen(
                [str(python), "-s", "-P", str(HERE / "server.py"), str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                cwd=self._scratch.name,
                env=_environment(),
                start_new_session=True,
            )
        self._replies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(self._process.stdout, self._replies), daemon=True)
        reader.start()
        self._end = weakref.finalize(self, _end, self._process, reader, self._scratch)
        started = self._call("start", module=module, method=name, D=D, seed=seed, budget=budget)
        self.takes_failures = bool(started["takes_failures"])

    @property
    def spent(self) -> Spent:
        """By the peer's process, in the last ask or tell; before, nothing but the memory of what was imported."""
        return self._spent

    @property
    def pid(self) -> int:
        """Of the peer's process."""
        return self._process.pid

    def ask(self) -> Array:
        """The next point (D,), in [0, 1]."""
        if self._asked is not None:
            raise BenchError(f"{self._name}: asked again before the value of the last point was told")
        reply = self._call("ask")
        x = np.array(reply["x"], dtype=np.float64)
        if x.shape != (self._D,) or not np.all(np.abs(x - 0.5) <= 0.5 + ROUNDING):
            raise BenchError(f"{self._name}: proposed {x.tolist()}; a point ({self._D},) in [0, 1] is needed")
        self._asked, self._began = np.clip(x, 0.0, 1.0), True
        return self._asked.copy()

    def tell(self, x: Array, y: float) -> None:
        """The value y at x (D,), NaN if the peer takes failures and it failed: the point just asked for, or, before the
        first ask, any point.
        """
        x = np.asarray(x, dtype=np.float64)
        if x.shape != (self._D,):
            raise BenchError(f"{self._name}: x must be ({self._D},); got {x.shape}")
        if self._began and (self._asked is None or not np.array_equal(x, self._asked)):
            raise BenchError(f"{self._name}: told of a point it did not just ask for; ask and tell must alternate")
        self._call("tell", x=x.tolist(), y=float(y))
        self._asked = None

    def report(self) -> Report:
        """Nothing: no peer tells what it selected, or where its time went."""
        return Report()

    def close(self) -> None:
        """End the process."""
        self._ended = self._ended or "it was closed"
        self._end()

    def _call(self, do: str, **arguments: Any) -> dict[str, Any]:
        if self._ended:
            raise BenchError(f"{self._name}: cannot {do}, {self._ended}")
        try:
            line = self._exchange({"do": do, **arguments})
        except queue.Empty:
            self._give_up(do, f"no answer within {self._timeout:g} s")
        if line is None:
            code = self._process.wait()
            how = f"with code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
            self._give_up(do, f"its process ended {how}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            if do == "start":
                self._ended = "it did not start"
                self._end()
            raise BenchError(f"{self._name}: {do} failed in the peer:\n{reply['error'].rstrip()}")
        self._spent = Spent(reply["wall"], reply["cpu"], reply["memory"])
        return reply

    def _exchange(self, request: dict[str, Any]) -> bytes | None:
        """The answer's line; None when the process is gone."""
        stdin = self._process.stdin
        try:
            if stdin is not None:
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
        except BrokenPipeError:
            return None
        return self._replies.get(timeout=self._timeout)

    def _give_up(self, do: str, why: str) -> NoReturn:
        """End what is left of the process and say how it came to that."""
        last = "\n".join(self._said.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()[-20:])
        self._ended = why
        self._end()
        raise BenchError(f"{self._name}: {do}: {why}" + (f"; its last words:\n{last}" if last else ""))


def _environment() -> dict[str, str]:
    """Of the process: this one's, without paths to other packages, with one thread."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, **SETTINGS}


def _read(lines: Iterable[bytes], replies: "queue.SimpleQueue[bytes | None]") -> None:
    """In a thread, because reading a pipe knows no time limit; None marks its end."""
    for line in lines:
        replies.put(line)
    replies.put(None)


def _end(
    process: "subprocess.Popen[bytes]", reader: threading.Thread, scratch: "tempfile.TemporaryDirectory[str]"
) -> None:
    """Kill the process with all it started, and leave nothing open."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass
    process.wait()
    reader.join()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
    scratch.cleanup()
