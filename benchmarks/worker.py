"""One run, in a process of its own: `python -m benchmarks.worker PROBLEM METHOD SEED --evaluations 200 ...`.

The points that all methods share are evaluated first, and told; then ask, evaluate and tell alternate. A method sees
the unit cube, with its variables in an order that the seed hides; the record has the problem's own order.

A run that was killed goes on: the method is made anew with the same seed and told the recorded values instead of new
ones, as long as it asks for the recorded points; their recorded seconds are kept. If it asks for others, the run starts
over.

A value that is not finite is a failed evaluation, and recorded as it is. A method that `takes_failures` is told NaN;
any other the worst finite value so far, which every method can live with, or nothing while there is none.

Seconds and memory are those of this process or, for a method that has `spent`, of the one it tells of. The time of
telling the initial points counts with the first point asked for; making the method and its imports do not count.
"""

import argparse
import contextlib
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from threadpoolctl import threadpool_info

from benchmarks import records
from benchmarks.errors import BenchError
from benchmarks.experiment import Job, find_method, find_problem
from benchmarks.methods.method import Array, Factory, Method, Spent
from benchmarks.problems.problem import Problem, permuted
from benchmarks.records import Evaluation, Unfinished, Writer
from benchmarks.speed.machine import environment
from benchmarks.speed.memory import peak_megabytes

T = TypeVar("T")

ROOT = Path(__file__).parents[1]
MODULE = "benchmarks.worker"
SAME = 1e-6  # a resumed method asks for the recorded point if no variable differs by more
NOT_RUN = 2  # exit code: nothing was recorded, and the last line for the user says why
MARK = "benchmarks: "  # begins the lines that are for the user; a method may write others

#: One thread for every method, and sets in the same order in every process, or a run could not be repeated.
SETTINGS = {
    **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA")},
    "VECLIB_MAXIMUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}


class _AnotherPointError(Exception):
    """A resumed method does not ask for the recorded point."""


def initial_points(problem: str, D: int, seed: int, initial: int) -> Array:
    """The points (initial, D) that all methods begin with, in the unit cube of the permuted problem."""
    return np.random.default_rng([seed, zlib.crc32(problem.encode())]).random((initial, D))


def say(text: str) -> None:
    """To the user, apart from whatever a method writes."""
    print(MARK + text.replace("\n", "\n" + MARK), file=sys.stderr, flush=True)


def work(job: Job, results: Path, factory: Factory | None = None) -> str:
    """Do or resume a run, and give its status. `factory` makes the method instead of the one of that name.

    A problem or a method that cannot be had here raises BenchError, and nothing is recorded.
    """
    problem = permuted(find_problem(job.problem), job.seed)
    make = factory or find_method(job.method)
    known = _resumable(job, problem.D, results)
    try:
        return _attempt(job, problem, make, results, known)
    except _AnotherPointError as another:
        path = records.running_path(results, job.problem, job.method, job.seed)
        say(f"{path} cannot be resumed: {another}; it starts over")
        return _attempt(job, problem, make, results, None)


def _attempt(job: Job, problem: Problem, make: Factory, results: Path, known: Unfinished | None) -> str:
    status, failure = "failed", None
    method: Method | None = None
    with contextlib.ExitStack() as at_last:
        try:
            method = make(D=problem.D, seed=job.seed, budget=job.evaluations)
        except BenchError:
            raise
        except Exception as error:
            failure = describe(error)
        at_last.callback(getattr(method, "close", lambda: None))
        writer = Writer(results, known.header if known else header(job, problem, method), known)
        at_last.callback(writer.close)
        if method is not None:
            try:
                status = _search(job, problem, Meter(method, problem.D), writer, known.evaluations if known else [])
            except _AnotherPointError:
                raise
            except Exception as error:
                failure = describe(error)
        writer.end(status, failure)
    return status


def _search(job: Job, problem: Problem, method: "Meter", writer: Writer, known: Sequence[Evaluation]) -> str:
    """Ask, evaluate, tell and record; where the record knows the value already, without evaluating."""
    values: list[float] = []

    def evaluate(x: Array) -> float:
        i = len(values)
        if i < len(known):
            _check_same(known[i], problem.original(x), i)
        values.append(known[i].y if i < len(known) else problem.f(problem.from_unit(x)))
        return values[-1]

    shared = initial_points(job.problem, problem.D, job.seed, job.initial)
    for x in shared:
        y = evaluate(x)
        if len(values) > len(known):
            writer.add(Evaluation(problem.original(x), y, memory=method.memory))
    for x, y in zip(shared, tuple(values), strict=True):
        method.tell(x, y, values)

    spent = 0.0
    for _ in range(job.evaluations):
        if job.seconds is not None and spent >= job.seconds:
            return "stopped"
        x = method.ask()
        y = evaluate(x)
        method.tell(x, y, values)
        cost = method.spent()
        if len(values) > len(known):
            phases, selected = method.report(problem)
            writer.add(Evaluation(problem.original(x), y, cost.wall, cost.cpu, cost.memory, phases, selected))
            spent += cost.cpu
        else:
            spent += known[len(values) - 1].cpu
    return "finished"


def _check_same(recorded: Evaluation, x: Array, i: int) -> None:
    difference = math.inf if recorded.x is None else float(np.max(np.abs(x - recorded.x)))
    if difference > SAME:
        raise _AnotherPointError(f"evaluation {i} is another point now, by {difference:.2g} in a variable")


class Meter:
    """A method of D variables, what it spends, and a check of what it asks for."""

    def __init__(self, method: Method, D: int) -> None:
        self._method, self._D = method, D
        self._wall = self._cpu = 0.0

    def ask(self) -> Array:
        """The next point (D,), in [0, 1]."""
        x = np.asarray(self._measured(self._method.ask), dtype=np.float64)
        if x.shape != (self._D,) or not np.all((x >= 0.0) & (x <= 1.0)):
            raise BenchError(f"ask must give ({self._D},) in [0, 1]; got {x.shape}: {np.array2string(x, threshold=10)}")
        return x

    def tell(self, x: Array, y: float, values: Sequence[float]) -> None:
        """The value y at x (D,), of all these so far."""
        if not math.isfinite(y):
            finite = [value for value in values if math.isfinite(value)]
            if getattr(self._method, "takes_failures", False):
                y = math.nan
            elif finite:
                y = min(finite)
            else:
                return
        self._measured(lambda: self._method.tell(x, y))

    def spent(self) -> Spent:
        """Since this was called last; the memory is the peak so far."""
        total = Spent(self._wall, self._cpu, self.memory)
        self._wall = self._cpu = 0.0
        return total

    @property
    def memory(self) -> float:
        """The peak so far, in MB."""
        own = self._own()
        return peak_megabytes() if own is None else own.memory

    def report(self, problem: Problem) -> tuple[dict[str, float], tuple[int, ...] | None]:
        """Of the last ask: seconds by phase, and the variables it worked on, in the problem's own order."""
        report = self._method.report()
        if report.selected is None or problem.order is None:
            return dict(report.phases), report.selected
        return dict(report.phases), tuple(sorted(int(problem.order[j]) for j in report.selected))

    def _measured(self, call: Callable[[], T]) -> T:
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        own = self._own()
        self._wall += wall if own is None else own.wall
        self._cpu += cpu if own is None else own.cpu
        return result

    def _own(self) -> Spent | None:
        own = getattr(self._method, "spent", None)
        return own if isinstance(own, Spent) else None


def _resumable(job: Job, D: int, results: Path) -> Unfinished | None:
    """What is there of this very run; if nothing can be made of it, the user is told why."""
    path = records.running_path(results, job.problem, job.method, job.seed)
    try:
        known = records.read_unfinished(path)
    except records.BrokenRecordError as broken:
        say(f"{broken}; it starts over")
        return None
    if known is None:
        return None
    asked = {"D": D, "initial": job.initial, "evaluations": job.evaluations, "seconds": job.seconds}
    for key, value in asked.items():
        if known.header.get(key) != value:
            say(f"{path} was begun with {key} = {known.header.get(key)}, now it is {value}; it starts over")
            return None
    if known.cut:
        say(f"{path} has a cut last line, which is dropped; it goes on after {len(known.evaluations)} evaluations")
    return known


def header(job: Job, problem: Problem, method: Method | None) -> dict[str, Any]:
    """What is to be known of a run besides its numbers."""
    where = environment()
    machine = {key: where.pop(key) for key in ("cpu", "cores", "system")}
    versions: dict[str, Any] = {key: value for key, value in where.items() if key not in ("date", "threads used")}
    return {
        "problem": job.problem,
        "method": job.method,
        "seed": job.seed,
        "D": problem.D,
        "initial": job.initial,
        "evaluations": job.evaluations,
        "seconds": job.seconds,
        "optimum": problem.best,
        "minimized": problem.minimized,
        "versions": {**versions, **_commit(), **(getattr(method, "versions", None) or {})},
        "machine": machine,
        "threads": max((pool["num_threads"] for pool in threadpool_info()), default=1),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", "-m", MODULE, *arguments(job)]),
    }


def _commit() -> dict[str, Any]:
    """The commit, and whether the sources differ from it; None where there is no git."""

    def git(*told: str) -> str:
        return subprocess.run(["git", *told], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src", "benchmarks", ":(exclude)benchmarks/results")
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(changed)}
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": None}


def describe(error: Exception) -> str:
    """An error in a line or a few, with the place it comes from."""
    text = str(error) if isinstance(error, BenchError) else "".join(traceback.format_exception_only(error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    if frames and not isinstance(error, BenchError):
        text += f" ({Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name})"
    return without_folders(text)


def without_folders(text: str) -> str:
    """Paths in it keep their last part only: records are published, and this machine's folders concern nobody."""
    return re.sub(r"(?<![\w./])(?:/[\w.+@-]+)+/(?=[\w.+@-])", ".../", text)


def arguments(job: Job) -> list[str]:
    """The job on the command line of this module."""
    line = [job.problem, job.method, str(job.seed), f"--evaluations={job.evaluations}", f"--initial={job.initial}"]
    return [*line, f"--seconds={job.seconds!r}"] if job.seconds is not None else line


def _stop(number: int, _: object) -> NoReturn:
    # An exception, so that the method is closed: a peer's process would go on computing otherwise.
    sys.exit(128 + number)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description="Do one run, or go on with it.")
    parser.add_argument("problem")
    parser.add_argument("method")
    parser.add_argument("seed", type=int)
    parser.add_argument("--evaluations", type=int, default=200, help="after the initial ones")
    parser.add_argument("--initial", type=int, default=5, help="points that all methods share")
    parser.add_argument("--seconds", type=float, help="stop once the optimizer has spent so many on the CPU")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results", help="default: %(default)s")
    told = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in SETTINGS.items()):
        # Too late for this process: libraries read them when they are loaded.
        os.execve(sys.executable, [sys.executable, "-m", MODULE, *sys.argv[1:]], {**os.environ, **SETTINGS})
    signal.signal(signal.SIGTERM, _stop)
    job = Job(told.problem, told.method, told.seed, told.evaluations, told.initial, told.seconds)
    try:
        work(job, told.results)
    except BenchError as error:
        say(describe(error))
        return NOT_RUN
    return 0


if __name__ == "__main__":
    sys.exit(main())
