"""The tables of an experiment: from recorded runs to numbers, and from numbers to Markdown and CSV.

A number of evaluations always means those after the initial points; the best value includes the initial ones. Values
are shown in the sign of the literature; differences are such that a positive one is good for the reference method.
A run with fewer evaluations than asked for counts with what it had, and is marked: 3.36 @71; in a paired comparison
both count with what the shorter one had. A failed run that made at least one evaluation of its own counts like that.
"""

import csv
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from io import StringIO
from pathlib import Path

import numpy as np

from benchmarks.experiment import Experiment
from benchmarks.records import Run
from benchmarks.speed.report import table
from benchmarks.statistics import (
    average_ranks,
    best_at,
    bootstrap_interval,
    evaluations_to,
    median_reached,
    paired,
)

#: Targets where the experiment names none: this part of the way from the initial points to the best value known.
PARTS = (0.5, 0.9, 0.99)

#: Runs by problem and method.
Groups = dict[tuple[str, str], list[Run]]
#: Numbers by quantity, problem, method and `at`.
By = Mapping[tuple[str, str, str, float], "Number"]


@dataclass(frozen=True)
class Number:
    """One number of the tables.

    quantity: "best", "cpu seconds", "difference" (to the reference method), "rank" (average), "evaluations to target",
    "cpu seconds to target". at: evaluations, or the target. n: runs, pairs or problems behind it. low, high: the 95 %
    interval of a mean. p: of the paired test. count: positive differences, or runs that reached the target. had: the
    fewest evaluations of a run behind it.
    """

    quantity: str
    problem: str
    method: str
    at: float
    n: int
    value: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    count: int | None = None
    had: int | None = None


@dataclass(frozen=True)
class Tables:
    """Of one experiment: its numbers, and what is needed to draw them."""

    experiment: Experiment
    at: tuple[int, ...]
    against: str
    numbers: list[Number]
    seeds: dict[tuple[str, str], str]
    notes: list[str]

    @cached_property
    def by(self) -> By:
        """The numbers by what they are of."""
        return {(number.quantity, number.problem, number.method, number.at): number for number in self.numbers}

    @property
    def ranked(self) -> list[str]:
        """The methods that have runs, by their average rank after the last number of evaluations."""
        last = max(self.at)
        there = [method for method in self.experiment.methods if ("rank", "", method, last) in self.by]
        return sorted(there, key=lambda method: self.by["rank", "", method, last].value)


def tabulate(
    experiment: Experiment, runs: Sequence[Run], at: Sequence[int] | None = None, against: str = "vsbo"
) -> Tables:
    """All numbers of the experiment's runs, at these numbers of evaluations (a quarter, a half and all by default)."""
    chosen = tuple(at or sorted({max(1, experiment.evaluations // part) for part in (4, 2, 1)}))
    asked = Counter((job.problem, job.method) for job in experiment.jobs())
    wanted = {(job.problem, job.method, job.seed) for job in experiment.jobs()}
    grouped: Groups = {}
    for run in runs:
        if (run.problem, run.method, run.seed) in wanted:
            grouped.setdefault((run.problem, run.method), []).append(run)
    # A run without an evaluation of its own says nothing about its method.
    usable = {key: [run for run in group if run.evaluations] for key, group in grouped.items()}
    usable = {key: group for key, group in usable.items() if group}
    numbers = [
        *_bests(usable, chosen),
        *_differences(usable, chosen, against),
        *_ranks(experiment, usable, chosen),
        *_targets(experiment, usable),
    ]
    seeds = {key: _of(len(usable.get(key, ())), n) for key, n in asked.items()}
    return Tables(experiment, chosen, against, numbers, seeds, list(_notes(grouped)))


def sign_of(run: Run) -> float:
    """By which a maximized value is one of the literature."""
    return -1.0 if run.header.get("minimized") else 1.0


def _values(group: Sequence[Run], at: int) -> dict[int, float]:
    """Best values by seed; maximized."""
    return {run.seed: best_at(run.best, run.initial, at).value for run in group}


def _bests(usable: Groups, at: Sequence[int]) -> Iterator[Number]:
    for (problem, method), group in usable.items():
        for n in at:
            values = sign_of(group[0]) * np.array(list(_values(group, n).values()))
            had = min(best_at(run.best, run.initial, n).evaluations for run in group)
            yield Number("best", problem, method, n, len(group), values.mean(), *bootstrap_interval(values), had=had)
        cpu = float(np.median([run.cpu.sum() for run in group]))
        fewest = min(run.evaluations for run in group)
        yield Number("cpu seconds", problem, method, max(at), len(group), cpu, had=fewest)


def _differences(usable: Groups, at: Sequence[int], against: str) -> Iterator[Number]:
    for (problem, method), group in usable.items():
        if method == against:
            continue
        reference = {run.seed: run for run in usable.get((problem, against), ())}
        pairs = [(reference[run.seed], run) for run in group if run.seed in reference]
        for n in at if pairs else ():
            # What the one with more evaluations found later would be no fair comparison.
            had = [min(n, first.evaluations, second.evaluations) for first, second in pairs]
            test = paired(
                *(
                    {run.seed: best_at(run.best, run.initial, k).value for run, k in zip(side, had, strict=True)}
                    for side in zip(*pairs, strict=True)
                )
            )
            if test is not None:
                numbers = (test.n, test.difference, *test.interval, test.p, test.positive, min(had))
                yield Number("difference", problem, method, n, *numbers)


def _ranks(experiment: Experiment, usable: Groups, at: Sequence[int]) -> Iterator[Number]:
    for n in at:
        scores = np.full((len(experiment.problems), len(experiment.methods)), np.nan)
        for (problem, method), group in usable.items():
            where = experiment.problems.index(problem), experiment.methods.index(method)
            scores[where] = np.mean(list(_values(group, n).values()))
        average, count = average_ranks(scores)
        for method, rank, problems in zip(experiment.methods, average, count, strict=True):
            if problems:
                yield Number("rank", "", method, n, int(problems), float(rank))


def _targets(experiment: Experiment, usable: Groups) -> Iterator[Number]:
    for problem in experiment.problems:
        there = [run for (name, _), group in usable.items() if name == problem for run in group]
        if not there:
            continue
        sign = sign_of(there[0])
        for target in experiment.targets.get(problem) or _default_targets(there):
            for method in experiment.methods:
                group = usable.get((problem, method), [])
                needed = [evaluations_to(run.best, run.initial, sign * target) for run in group]
                spent = [
                    None if k is None else float(run.cpu[: run.initial + k].sum())
                    for run, k in zip(group, needed, strict=True)
                ]
                reached = sum(k is not None for k in needed)
                if group:
                    common = (problem, method, target, len(group))
                    yield Number("evaluations to target", *common, median_reached(needed), count=reached)
                    yield Number("cpu seconds to target", *common, median_reached(spent), count=reached)


def _default_targets(runs: Sequence[Run]) -> tuple[float, ...]:
    """In the sign of the literature. The initial points are the same for all methods, so the targets depend on none."""
    optimum = runs[0].header.get("optimum")
    if optimum is None or not math.isfinite(optimum):
        return ()
    starts = np.array(list({run.seed: run.best[run.initial - 1] for run in runs}.values()))
    if not np.isfinite(starts).any():  # none of the initial points had a value
        return ()
    start = float(np.mean(starts[np.isfinite(starts)]))
    return tuple(sign_of(runs[0]) * float(f"{optimum - (1 - part) * (optimum - start):.4g}") for part in PARTS)


def _notes(grouped: Groups) -> Iterator[str]:
    for (problem, method), group in grouped.items():
        failed = [run for run in group if run.status == "failed"]
        if failed:
            seeds = ", ".join(str(run.seed) for run in failed)
            first = str(failed[0].error).partition("\n")[0]
            yield f"{method} failed on {problem} with seed {seeds}: {first}"


def _of(there: int, asked: int) -> str:
    return str(there) if there == asked else f"{there} of {asked}"


def markdown(tables: Tables) -> str:
    """The page; its tables also line up on a screen."""
    experiment, at, by = tables.experiment, tables.at, tables.by
    text = [
        f"# {experiment.name}",
        f"Mean of the best value after so many evaluations (besides the {experiment.initial} initial points), with its "
        "95 % bootstrap interval over the seeds; @n: a run had only n evaluations, and counts with its last value. "
        "Of fewer than five seeds the interval is about their range. CPU: median seconds that the optimizer spent in "
        'the whole run. A mean is "-" where a run had no success at all; such a run is the worst there is.',
        *_overview(tables),
    ]
    for problem in experiment.problems:
        methods = [method for method in experiment.methods if ("cpu seconds", problem, method, max(at)) in by]
        if not methods:
            text.append(f"## {problem}\n\nNo runs.")
            continue
        lines = [
            [
                method,
                tables.seeds.get((problem, method), "0"),
                *(_best(by["best", problem, method, n]) for n in at),
                _plain(by["cpu seconds", problem, method, max(at)].value),
            ]
            for method in methods
        ]
        text += [f"## {problem}", table(("method", "seeds", *map(str, at), "CPU s"), lines)]
        against = [method for method in methods if ("difference", problem, method, max(at)) in by]
        if against:
            lines = [[method, *(_difference(by["difference", problem, method, n]) for n in at)] for method in against]
            text.append(
                f"{tables.against} minus the other, paired by seed: mean difference (positive: {tables.against} is "
                "better), its 95 % interval, better in, Wilcoxon's p:"
            )
            text.append(table(("method", *map(str, at)), lines))
        targets = list(dict.fromkeys(n.at for n in tables.numbers if _is_target(n) and n.problem == problem))
        if targets:
            lines = [[method, *(_target(by, problem, method, target) for target in targets)] for method in methods]
            text.append(
                "Evaluations until a value is reached: median over seeds (reached in; median CPU s until then):"
            )
            text.append(table(("method", *map(_plain, targets)), lines))
    if tables.notes:
        text += ["## Failures", "\n".join(f"- {note}" for note in tables.notes)]
    return "\n\n".join(text) + "\n"


def _overview(tables: Tables) -> Iterator[str]:
    if not tables.ranked:
        return
    yield "## All problems"
    yield (
        f"The mean best value after {max(tables.at)} evaluations, and the average rank after so many: over the "
        "problems, by the mean; 1 is best. In parentheses: on how many problems a method was run, if not on all."
    )
    yield overview(tables)


def overview(tables: Tables, *, seeds: bool = False) -> str:
    """One line a method: its mean on every problem, and its average ranks, by which the lines are sorted.

    seeds: its name says of how many.
    """
    problems, last = tables.experiment.problems, max(tables.at)
    lines = []
    for method in tables.ranked:
        bests = [tables.by.get(("best", problem, method, last)) for problem in problems]
        values = ["-" if best is None else _plain(best.value) + _short(best) for best in bests]
        name = f"{method} ({seeds_of(bests)})" if seeds else method
        lines.append([name, *values, *ranks_of(tables, method)])
    return table(("method (seeds)" if seeds else "method", *problems, *(f"rank at {n}" for n in tables.at)), lines)


def seeds_of(numbers: Sequence[Number | None]) -> str:
    """Of a method on several problems: "10", or "2 to 10"."""
    counts = [number.n for number in numbers if number is not None]
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def ranks_of(tables: Tables, method: str) -> list[str]:
    """The average ranks of a method; in parentheses on how many problems, if not on all."""
    numbers = [tables.by["rank", "", method, n] for n in tables.at]
    problems = len(tables.experiment.problems)
    return [f"{number.value:.2f}" + ("" if number.n == problems else f" ({number.n})") for number in numbers]


def as_csv(tables: Tables) -> str:
    """One line a number; empty where it has no interval, p or count."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(field.name for field in fields(Number))
    for number in tables.numbers:
        writer.writerow("" if each is None or each != each else each for each in astuple(number))
    return out.getvalue()


def write(tables: Tables, folder: Path) -> list[Path]:
    """folder/NAME.csv and folder/NAME.md."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for ending, text in (("csv", as_csv(tables)), ("md", markdown(tables))):
        path = folder / f"{tables.experiment.name}.{ending}"
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _is_target(number: Number) -> bool:
    return number.quantity == "evaluations to target"


def _plain(value: float) -> str:
    return "-" if math.isinf(value) or math.isnan(value) else f"{value:.4g}"


def _interval(number: Number) -> str:
    return "" if math.isnan(number.low) else f" [{_plain(number.low)}, {_plain(number.high)}]"


def _short(number: Number) -> str:
    return "" if number.had == number.at else f" @{number.had}"


def _best(number: Number) -> str:
    return _plain(number.value) + _interval(number) + _short(number)


def _difference(number: Number) -> str:
    return f"{number.value:+.3g}{_interval(number)}{_short(number)}, {number.count}/{number.n}, p {number.p:.2g}"


def _target(by: By, problem: str, method: str, target: float) -> str:
    number = by["evaluations to target", problem, method, target]
    cpu = by["cpu seconds to target", problem, method, target].value
    seconds = "" if math.isinf(cpu) else f"; {_plain(cpu)} s"
    return f"{_plain(number.value)} ({number.count}/{number.n}{seconds})"
