"""An experiment: a TOML file that says which methods run on which problems, with which seeds and how long.

    problems = ["Branin50", "Hartmann6-50"]
    methods = ["vsbo", "random"]
    seeds = "0:20"              # or a list
    evaluations = 200           # after the initial ones
    initial = 5                 # points that all methods share
    [limits."*"]                # of every method; a table with a method's name goes before it
    seeds = "0:10"              # only those of the above
    evaluations = 100           # not more than that
    seconds = 600               # stop a run once the optimizer has spent so many on the CPU
    problems = ["Branin50"]     # only those of the above
    [targets]                   # for the table of evaluations to a target, in the sign of the literature
    Branin50 = [-1.0, -0.5]

A name with a colon, `module:attribute`, is a problem or a method (a Factory) of one's own.
"""

import importlib
import tomllib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchError
from benchmarks.methods import METHODS, method
from benchmarks.methods.method import Factory
from benchmarks.problems import PROBLEMS, problem
from benchmarks.problems.problem import Problem

HERE = Path(__file__).parent
FOLDER = HERE / "experiments"


@dataclass(frozen=True)
class Job:
    """One run. evaluations: after the `initial` ones; seconds: of the optimizer, on the CPU; None: no limit."""

    problem: str
    method: str
    seed: int
    evaluations: int
    initial: int
    seconds: float | None = None

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.problem}/{self.method}/{self.seed}"


@dataclass(frozen=True)
class Limit:
    """What a method is held to; None: to nothing."""

    seeds: tuple[int, ...] | None = None
    evaluations: int | None = None
    seconds: float | None = None
    problems: tuple[str, ...] | None = None

    def over(self, other: "Limit") -> "Limit":
        """This one, with the other's where this says nothing."""
        return replace(other, **{key: value for key, value in vars(self).items() if value is not None})


@dataclass(frozen=True)
class Experiment:
    """As in its file, checked."""

    name: str
    problems: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    evaluations: int = 200
    initial: int = 5
    limits: dict[str, Limit] = field(default_factory=dict)
    targets: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def limit(self, method: str) -> Limit:
        """The method's own table, over the one for all."""
        return self.limits.get(method, Limit()).over(self.limits.get("*", Limit()))

    def jobs(self) -> list[Job]:
        """All runs, seed by seed, so that every method has its first seeds early."""
        return [
            Job(problem, method, seed, limit.evaluations or self.evaluations, self.initial, limit.seconds)
            for seed in self.seeds
            for problem in self.problems
            for method in self.methods
            for limit in (self.limit(method),)
            if (limit.seeds is None or seed in limit.seeds) and (limit.problems is None or problem in limit.problems)
        ]

    def including(self, *methods: str) -> "Experiment":
        """With these methods before its own."""
        more = [_checked(name, METHODS, "method") for name in dict.fromkeys(methods) if name not in self.methods]
        return replace(self, methods=(*more, *self.methods))

    def only(
        self,
        problems: Collection[str] | None = None,
        methods: Collection[str] | None = None,
        seeds: Sequence[int] | None = None,
    ) -> "Experiment":
        """Some of its problems and methods, and other seeds (limits still hold); None: as it is."""
        for kind, wanted, there in (("problem", problems, self.problems), ("method", methods, self.methods)):
            for name in wanted or ():
                if name not in there:
                    raise BenchError(f"{kind} {name!r} is not in experiment {self.name!r}, which has {_list(there)}")
        return replace(
            self,
            problems=tuple(name for name in self.problems if problems is None or name in problems),
            methods=tuple(name for name in self.methods if methods is None or name in methods),
            seeds=self.seeds if seeds is None else tuple(seeds),
        )


def find(given: str) -> Path:
    """The file of an experiment: a path as given or from benchmarks/, or the name of one in benchmarks/experiments/."""
    for path in (Path(given), HERE / given, FOLDER / f"{given}.toml"):
        if path.is_file():
            return path
    raise BenchError(f"unknown experiment {given!r}; known: {_list(known())}, or the path of a TOML file")


def known() -> list[str]:
    """The experiments in benchmarks/experiments/."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read(path: Path) -> Experiment:
    """The experiment in a file; what is wrong in it is named."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise BenchError(f"{path} cannot be read: {cause}") from cause
    try:
        return _experiment(path.stem, told)
    except BenchError as wrong:
        raise BenchError(f"{path}: {wrong}") from None


def seeds(given: object, name: str = "seeds") -> tuple[int, ...]:
    """From "0:20", "7" or a list."""
    if isinstance(given, str):
        first, colon, last = given.partition(":")
        try:
            chosen = tuple(range(int(first or 0), int(last))) if colon else (int(first),)
        except ValueError:
            chosen = ()
    else:
        chosen = tuple(given) if isinstance(given, list) else ()
    if not chosen or any(type(seed) is not int or seed < 0 for seed in chosen) or len(set(chosen)) < len(chosen):
        raise BenchError(f'{name} must be like "0:20" or [0, 1, 2], each once; got {given!r}')
    return chosen


def find_problem(name: str) -> Problem:
    """The problem of that name; of one's own, `module:attribute` is a function that makes it."""
    if ":" not in name:
        return problem(name)
    make: Callable[[], Problem] = _own(name)
    # A run is recorded under the name it was asked for by.
    return replace(make(), name=name)


def find_method(name: str) -> Factory:
    """The factory of that name; of one's own, `module:attribute` is the factory."""
    factory: Factory = _own(name) if ":" in name else method(name)
    return factory


def _own(name: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as cause:
        raise BenchError(f"{name!r} (module:attribute) cannot be imported: {cause}") from cause


def _checked(name: object, there: Collection[str], kind: str) -> str:
    if isinstance(name, str) and ":" in name:
        _own(name)
    elif name not in there:
        raise BenchError(f"unknown {kind} {name!r}; known: {_list(sorted(there))}")
    return str(name)


def _list(names: Collection[str]) -> str:
    return ", ".join(names) or "none"


def _experiment(name: str, told: dict[str, Any]) -> Experiment:
    _only_known(told, ("problems", "methods", "seeds", "evaluations", "initial", "limits", "targets"), "key")
    problems = _names(told.get("problems"), "problems", PROBLEMS, "problem")
    methods = _names(told.get("methods"), "methods", METHODS, "method")
    evaluations = _count(told.get("evaluations", 200), "evaluations")
    limits = _table(told.get("limits", {}), "limits")
    _only_known(limits, ("*", *methods), "limit of method")
    targets = _table(told.get("targets", {}), "targets")
    _only_known(targets, problems, "target of problem")
    return Experiment(
        name,
        problems,
        methods,
        seeds(told.get("seeds")),
        evaluations,
        _count(told.get("initial", 5), "initial"),
        {method: _limit(_table(given, method), method, problems, evaluations) for method, given in limits.items()},
        {problem: _numbers(given, f"targets.{problem}") for problem, given in targets.items()},
    )


def _limit(told: dict[str, Any], method: str, problems: tuple[str, ...], evaluations: int) -> Limit:
    where = f"limits.{method}"
    _only_known(told, ("seeds", "evaluations", "seconds", "problems"), f"key in {where}:")
    fewer = _count(told["evaluations"], f"{where}.evaluations") if "evaluations" in told else None
    if fewer is not None and fewer > evaluations:
        raise BenchError(f"{where}.evaluations must be at most evaluations = {evaluations}; got {fewer}")
    return Limit(
        seeds(told["seeds"], f"{where}.seeds") if "seeds" in told else None,
        fewer,
        _numbers([told["seconds"]], f"{where}.seconds")[0] if "seconds" in told else None,
        _names(told["problems"], f"{where}.problems", problems, "problem") if "problems" in told else None,
    )


def _only_known(told: Collection[str], there: Collection[str], kind: str) -> None:
    for key in told:
        if key not in there:
            raise BenchError(f"unknown {kind} {key!r}; known: {_list(there)}")


def _names(given: object, name: str, there: Collection[str], kind: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or len(set(map(str, given))) < len(given):
        raise BenchError(f"{name} must be a list of names, each once; got {given!r}; known: {_list(sorted(there))}")
    return tuple(_checked(each, there, kind) for each in given)


def _table(given: object, name: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BenchError(f"{name} must be a table; got {given!r}")
    return given


def _count(given: object, name: str) -> int:
    if type(given) is not int or given < 1:
        raise BenchError(f"{name} must be a whole number above 0; got {given!r}")
    return given


def _numbers(given: object, name: str) -> tuple[float, ...]:
    listed: list[Any] = given if isinstance(given, list) else [given]
    numbers = tuple(float(each) for each in listed if type(each) in (int, float))
    if not numbers or len(numbers) < len(listed):
        raise BenchError(f"{name} must be numbers; got {given!r}")
    return numbers
