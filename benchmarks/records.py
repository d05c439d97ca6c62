"""The recorded runs: one (problem, method, seed) is one file of JSON lines, written as it goes.

RESULTS/PROBLEM/METHOD/SEED.jsonl while it runs, SEED.jsonl.gz once it has ended. The lines are
  {"run": {...}}   first: problem, method, seed, D, initial, evaluations (asked for after the initial ones), and more
  {"y": ..., ...}  one an evaluation, the shared initial points first
  {"end": {...}}   last: status "finished", "stopped" (out of time) or "failed" (with its error), number of evaluations
A running file has every x, so that the run can be resumed; an ended one only that of the best, rounded.
Variables are those of the problem before its permutation, so that runs of different seeds can be compared.
A value that is not finite is written as text ("nan", "inf"), for JSON has no such numbers; it never counts as best.
"""

import fcntl
import gzip
import json
import math
import os
import sys
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import BenchError

Array = NDArray[np.float64]

ENDED, RUNNING = ".jsonl.gz", ".jsonl"
STATUSES = ("finished", "stopped", "failed")
REQUIRED = {"problem": str, "method": str, "seed": int, "D": int, "initial": int, "evaluations": int}
DECIMALS = 6  # of a recorded point: far below what any problem here can tell apart
DIGITS = 4  # of recorded seconds: clocks on a shared machine are worse than that


class BrokenRecordError(BenchError):
    """A file is not a whole record; the message names it and says why."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """x (D,) in the unit cube, its value y, what the optimizer spent for it (seconds; peak MB); all as in Run."""

    x: Array | None
    y: float
    wall: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)
    selected: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded run of n evaluations, the first `initial` of them the points that all methods share.

    y, best (n,): the value; the largest finite value so far (-inf before the first).
    wall, cpu, memory (n,): seconds the optimizer spent for this evaluation (ask and tell, objective excluded, 0 for the
    initial points); its peak memory so far, in MB.
    phases: parts of `wall` by name, (n,), 0 where a phase did not run.
    selected: the variables worked on, 0-based, or None if the method does not select.
    best_point: x (D,) in the unit cube, where the best value was first seen; None if no value is finite.
    """

    problem: str
    method: str
    seed: int
    D: int
    initial: int
    header: dict[str, Any]
    status: str
    error: str | None
    y: Array
    best: Array
    wall: Array
    cpu: Array
    memory: Array
    phases: dict[str, Array]
    selected: tuple[tuple[int, ...] | None, ...]
    best_point: Array | None

    @property
    def evaluations(self) -> int:
        """How many evaluations the optimizer chose, the initial points not counted."""
        return max(0, len(self.y) - self.initial)


@dataclass(frozen=True, eq=False)
class Unfinished:
    """What a running file holds; size: bytes of its whole lines; cut: whether a broken line follows them."""

    header: dict[str, Any]
    evaluations: list[Evaluation]
    size: int
    cut: bool


def running_path(results: Path, problem: str, method: str, seed: int) -> Path:
    """Where a run is written while it goes."""
    return results / problem / method / f"{seed}{RUNNING}"


def ended_path(results: Path, problem: str, method: str, seed: int) -> Path:
    """Where a run is kept once it has ended."""
    return results / problem / method / f"{seed}{ENDED}"


class Writer:
    """Writes one run, line by line; each line is in the file when the call returns.

    `header` needs problem, method, seed, D, initial and evaluations; anything else that JSON can hold may be added.
    With `after`, it goes on behind the whole lines of an unfinished file instead of starting a new one.
    The file is locked: two processes never write the same run.
    """

    def __init__(self, results: Path, header: Mapping[str, Any], after: Unfinished | None = None) -> None:
        _check_header(dict(header), "header")
        identity = (header["problem"], header["method"], header["seed"])
        self.path, self._ended = running_path(results, *identity), ended_path(results, *identity)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = open(self.path, "ab", buffering=0)  # noqa: SIM115 - closed by `end` or `close`
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as taken:
            self._file.close()
            raise BenchError(f"{self.path} is being written by another process; let that one end first") from taken
        self._file.truncate(after.size if after else 0)
        self._header = dict(header)
        self._evaluations: list[Evaluation] = []
        self._best = -math.inf
        if after is None:
            self._write({"run": self._header})
        else:
            for known in after.evaluations:
                self._remember(known)

    @property
    def count(self) -> int:
        """How many evaluations are written."""
        return len(self._evaluations)

    def add(self, evaluation: Evaluation) -> None:
        """One more evaluation; its x, of D variables, is needed."""
        D = self._header["D"]
        if evaluation.x is None or np.shape(evaluation.x) != (D,):
            raise BenchError(f"x must be ({D},) for evaluation {self.count} of {self.path}; got {evaluation.x!r}")
        self._remember(evaluation)
        self._write(_line(evaluation, self._best, x=evaluation.x))

    def end(self, status: str, error: str | None = None) -> Path:
        """The run is over: keep it compressed, in one step, and return where."""
        if status not in STATUSES:
            raise BenchError(f"status must be one of {', '.join(STATUSES)}; got {status!r}")
        closing = {"status": status, "error": error, "evaluations": self.count}
        self._write({"end": closing})
        text = "".join(_dump(line) for line in ({"run": self._header}, *self._rounded(), {"end": closing}))
        new = self._ended.with_name(self._ended.name + ".new")
        with open(new, "wb") as file:
            file.write(gzip.compress(text.encode(), mtime=0))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._ended)
        self.path.unlink()
        self.close()
        return self._ended

    def close(self) -> None:
        """Leave the file as it is, to be resumed."""
        self._file.close()

    def _remember(self, evaluation: Evaluation) -> None:
        self._evaluations.append(evaluation)
        self._best = _better(self._best, evaluation.y)

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(_dump(line).encode())

    def _rounded(self) -> Iterable[dict[str, Any]]:
        best, at = -math.inf, _best_index([evaluation.y for evaluation in self._evaluations])
        for i, evaluation in enumerate(self._evaluations):
            best = _better(best, evaluation.y)
            x = evaluation.x.round(DECIMALS) if i == at and evaluation.x is not None else None
            yield _line(evaluation, best, x)


def read(path: Path) -> Run:
    """The run in one file, ended (.jsonl.gz) or running (.jsonl, status "running"). A broken file raises."""
    content = _content(path)
    if content.cut:
        raise BrokenRecordError(f"{path} is broken: its last line is cut")
    header, evaluations, end = _parsed(path, content.lines)
    if path.name.endswith(ENDED) and end is None:
        raise BrokenRecordError(f"{path} is broken: it has no end line")
    return _run(header, evaluations, end)


def read_unfinished(path: Path) -> Unfinished | None:
    """What a running file holds, without a last line that was cut; None if there is no such file. Broken ones raise."""
    if not path.exists():
        return None
    content = _content(path)
    header, evaluations, end = _parsed(path, content.lines)
    # Killed between its end line and the compressed file: the end line is taken back, and comes again at once.
    size = content.size if end is None else content.size - len(content.lines[-1]) - 1
    if any(evaluation.x is None for evaluation in evaluations):
        raise BrokenRecordError(f"{path} is broken: an evaluation has no x")
    return Unfinished(header, evaluations, size, content.cut)


def load(
    results: Path,
    problems: Collection[str] | None = None,
    methods: Collection[str] | None = None,
    seeds: Collection[int] | None = None,
) -> list[Run]:
    """The ended runs under a folder, sorted by problem, method and seed; None takes all. Failed ones are among them.

    A broken file is named on stderr and left out; `python -m benchmarks run` runs it again.
    """
    runs = []
    for path in results.glob(f"*/*/*{ENDED}"):
        problem, method, seed = path.parts[-3], path.parts[-2], path.name.removesuffix(ENDED)
        if problems is not None and problem not in problems:
            continue
        if methods is not None and method not in methods:
            continue
        if seeds is not None and seed not in {str(s) for s in seeds}:
            continue
        try:
            runs.append(read(path))
        except BrokenRecordError as broken:
            print(f"{broken}; left out, to be run again", file=sys.stderr)
    return sorted(runs, key=lambda run: (run.problem, run.method, run.seed))


@dataclass(frozen=True)
class _Content:
    lines: list[bytes]
    size: int
    cut: bool


def _content(path: Path) -> _Content:
    """The whole lines; a last one without its newline, or that is no JSON, is cut."""
    try:
        data = path.read_bytes()
        if path.name.endswith(ENDED):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as cause:
        raise BrokenRecordError(f"{path} is broken: {cause}") from cause
    size = data.rfind(b"\n") + 1
    lines = data[:size].split(b"\n")[:-1]
    cut = size < len(data)
    if lines and not cut and not _is_json(lines[-1]):
        cut, size = True, size - len(lines.pop()) - 1
    return _Content(lines, size, cut)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _parsed(path: Path, lines: list[bytes]) -> tuple[dict[str, Any], list[Evaluation], dict[str, Any] | None]:
    number = 1
    try:
        if not lines:
            raise ValueError("it has no header")
        header = json.loads(lines[0])["run"]
        _check_header(header, "header")
        identity = tuple(str(header[key]) for key in ("problem", "method", "seed"))
        if identity != (*path.parts[-3:-1], path.name.partition(".jsonl")[0]):
            raise ValueError(f"its header is that of {'/'.join(identity)}")
        evaluations: list[Evaluation] = []
        for number, line in enumerate(lines[1:], start=2):
            told = json.loads(line)
            if "end" in told:
                end: dict[str, Any] = told["end"]
                if number != len(lines) or end["evaluations"] != len(evaluations) or end["status"] not in STATUSES:
                    raise ValueError(f"its end line does not fit: {end}")
                return header, evaluations, end
            evaluations.append(_evaluation(told, header["D"]))
    except (ValueError, BenchError) as cause:
        raise BrokenRecordError(f"{path} is broken: {cause} (line {number})") from cause
    except (LookupError, TypeError, AttributeError) as cause:
        reason = f"not what a record has there: {type(cause).__name__} {cause}"
        raise BrokenRecordError(f"{path} is broken: {reason} (line {number})") from cause
    return header, evaluations, None


def _check_header(header: dict[str, Any], name: str) -> None:
    for key, kind in REQUIRED.items():
        if not isinstance(header.get(key), kind):
            raise BenchError(f"{name} must have {key} ({kind.__name__}); got {header.get(key)!r}")


def _run(header: dict[str, Any], evaluations: list[Evaluation], end: dict[str, Any] | None) -> Run:
    y = np.array([e.y for e in evaluations], dtype=np.float64)
    at = _best_index(y)
    names = dict.fromkeys(name for e in evaluations for name in e.phases)
    return Run(
        problem=header["problem"],
        method=header["method"],
        seed=header["seed"],
        D=header["D"],
        initial=header["initial"],
        header=header,
        status="running" if end is None else end["status"],
        error=None if end is None else end.get("error"),
        y=y,
        best=np.maximum.accumulate(np.where(np.isfinite(y), y, -np.inf)),
        wall=np.array([e.wall for e in evaluations], dtype=np.float64),
        cpu=np.array([e.cpu for e in evaluations], dtype=np.float64),
        memory=np.array([e.memory for e in evaluations], dtype=np.float64),
        phases={name: np.array([e.phases.get(name, 0.0) for e in evaluations]) for name in names},
        selected=tuple(e.selected for e in evaluations),
        best_point=None if at is None else evaluations[at].x,
    )


def _better(best: float, y: float) -> float:
    return y if math.isfinite(y) and y > best else best


def _best_index(y: Sequence[float] | Array) -> int | None:
    """Where the largest finite value comes first; None if there is none."""
    finite = [i for i, value in enumerate(y) if math.isfinite(value)]
    return max(finite, key=lambda i: y[i], default=None)


def _line(evaluation: Evaluation, best: float, x: Array | None) -> dict[str, Any]:
    line: dict[str, Any] = {"y": _number(evaluation.y), "best": _number(best)}
    line |= {"wall": _digits(evaluation.wall), "cpu": _digits(evaluation.cpu), "memory": round(evaluation.memory, 1)}
    if evaluation.phases:
        line["phases"] = {name: _digits(seconds) for name, seconds in evaluation.phases.items()}
    if evaluation.selected is not None:
        line["selected"] = [int(j) for j in evaluation.selected]
    if x is not None:
        line["x"] = [float(value) for value in x]
    return line


def _evaluation(line: dict[str, Any], D: int) -> Evaluation:
    x, selected = line.get("x"), line.get("selected")
    if x is not None and len(x) != D:
        raise ValueError(f"x has {len(x)} variables, not {D}")
    return Evaluation(
        x=None if x is None else np.array(x, dtype=np.float64),
        y=float(line["y"]),
        wall=float(line["wall"]),
        cpu=float(line["cpu"]),
        memory=float(line["memory"]),
        phases={name: float(seconds) for name, seconds in line.get("phases", {}).items()},
        selected=None if selected is None else tuple(int(j) for j in selected),
    )


def _number(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _dump(line: Mapping[str, Any]) -> str:
    return json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n"
