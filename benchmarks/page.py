"""The tables in the documentation, from the recorded runs: `python -m benchmarks page` writes them where they stand.

A table stands in a page between the lines `<!-- NAME -->` and `<!-- end -->`; NAME is one of `BLOCKS`.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks import experiment
from benchmarks.discrete import report
from benchmarks.errors import BenchError
from benchmarks.problems.coco import GROUPS, bbob_name
from benchmarks.problems.problem import Array
from benchmarks.records import Run
from benchmarks.speed.report import table
from benchmarks.statistics import average_ranks, best_at
from benchmarks.tables import Number, overview, ranks_of, seeds_of, sign_of, tabulate

PAGES = tuple(Path(__file__).parents[1] / "docs" / name for name in ("benchmarks.md", "experiments.md"))
MARKED = re.compile(r"(<!-- (?!end )([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

#: Evaluations after which methods are ranked.
AT = (50, 100, 200)
#: What a method's name does not say by itself.
SAID = {
    "vsbo": "vsbo, `Config()`",
    "vsbo-paper": "vsbo-paper, `Config.paper()`",
    "vanilla": "vanilla: BoTorch's priors on our engine",
    "vanilla-cold": "vanilla-cold: as the paper had it (no priors, EI), fits from scratch",
    "vanilla-paper": "vanilla-paper: as the paper had it (no priors, EI), warm starts",
    "turbo": "turbo, ours, as its authors' program",
}
#: The default without one of its parts.
WITHOUT = {
    "vsbo": "- (the default)",
    "vsbo-no-center": "the middle of the ranges",
    "vsbo-no-turns": "turns (the model alone)",
    "vsbo-no-plain": "the plain search",
    "vsbo-no-near": "the search near the best",
    "vsbo-no-main-effects": "main effects",
    "vsbo-no-squeeze": "squeezed values",
    "vsbo-free-variance": "the floor of the variance",
    "vsbo-high-floor": "the low noise floor (1e-4 instead)",
    "vsbo-no-thrift": "thrift",
    "vsbo-no-bare": "the bare model",
    "vsbo-no-leaps": "leaps",
    "vsbo-no-double-leaps": "leaps of two variables",
    "vsbo-even-starts": "starts by weight",
    "vsbo-every-fit": "waiting with fits (one at every point)",
}
#: Packages whose runs end before their evaluations do, or take many times as long as ours.
SLOW = (
    "botorch", "botorch-paper", "baxus", "optuna-gp", "ax", "smac", "hebo", "alebo", "saasbo", "map-saas", "dragonfly",
    "dragonfly-ml",
)  # fmt: skip


def fill(text: str, runs: Sequence[Run]) -> str:
    """The page with its tables made anew. An unknown name is a BenchError that lists the known ones."""

    def made(found: re.Match[str]) -> str:
        name = found[2]
        if name not in BLOCKS:
            raise BenchError(f"a page has a table {name!r}; known are {', '.join(BLOCKS)}")
        return f"{found[1]}{BLOCKS[name](runs)}\n{found[3]}"

    return MARKED.sub(made, text)


def comparison(name: str, timed: str, runs: Sequence[Run]) -> str:
    """Means with intervals, ranks, and CPU seconds on the problem `timed`; only problems that have runs."""
    whole = experiment.read(experiment.find(name))
    best_known = {run.problem: sign_of(run) * run.header["optimum"] for run in runs}
    chosen = whole.only([problem for problem in whole.problems if problem in best_known])
    tables = tabulate(chosen, runs, AT)
    lines = []
    for method in tables.ranked:
        bests = [tables.by.get(("best", problem, method, max(AT))) for problem in chosen.problems]
        cpu = tables.by.get(("cpu seconds", timed, method, max(AT)))
        said = f"{SAID.get(method, method)} ({seeds_of(bests)})"
        spent = "-" if cpu is None else _seconds(cpu.value)
        lines.append([said, *map(_mean, bests), *ranks_of(tables, method), spent])
    titles = [f"{problem} (best known {best_known[problem]:.4g})" for problem in chosen.problems]
    return table(["method (seeds)", *titles, *(f"rank at {n}" for n in AT), "CPU s"], lines)


def all_problems(name: str, runs: Sequence[Run]) -> str:
    """One line a method, one column a problem."""
    return overview(tabulate(experiment.read(experiment.find(name)), runs, AT), seeds=True)


def against_slow(runs: Sequence[Run]) -> str:
    """Each slow peer beside ours after as many evaluations: means, and in how many of the runs we are ahead."""
    ours = {(run.problem, run.seed): run for run in runs if run.method == "vsbo"}
    slow = [run for run in runs if run.method in SLOW and run.evaluations and (run.problem, run.seed) in ours]
    problems = [problem for problem in experiment.read(experiment.find("peers")).problems if _of(slow, problem=problem)]
    mine = {run: best_at(ours[run.problem, run.seed].best, run.initial, run.evaluations).value for run in slow}

    def ahead(theirs: Sequence[Run]) -> str:
        return f"{sum(mine[run] > run.best[-1] for run in theirs)} of {len(theirs)}"

    def cell(theirs: Sequence[Run]) -> str:
        if not theirs:
            return "-"
        values = ([run.best[-1] for run in theirs], [mine[run] for run in theirs])
        means = ", ".join(f"{sign_of(theirs[0]) * np.mean(each):.4g}" for each in values)
        return f"@{_range([run.evaluations for run in theirs], str)} {means} ({ahead(theirs)})"

    lines = []
    for method in (method for method in SLOW if _of(slow, method=method)):
        theirs = _of(slow, method=method)
        cells = [cell(_of(theirs, problem=problem)) for problem in problems]
        spent = (
            [run.cpu.sum() for run in theirs],
            [ours[run.problem, run.seed].cpu[: len(run.y)].sum() for run in theirs],
        )
        lines.append([method, *cells, ", ".join(_range(own, _seconds) for own in spent), ahead(theirs)])
    return table(["peer", *problems, "CPU s: its, ours", "we are ahead in"], lines)


def bbob(runs: Sequence[Run]) -> str:
    """24 problems are too many columns: average ranks by COCO's groups, over all, and on how many each is first."""
    tables = tabulate(experiment.read(experiment.find("bbob")), runs, AT)
    methods = tables.ranked

    def scores(functions: Iterable[int]) -> Array:
        found = [[tables.by.get(("best", bbob_name(i), method, max(AT))) for method in methods] for i in functions]
        return np.array([[math.nan if one is None else -one.value for one in row] for row in found])

    every = scores(chain.from_iterable(GROUPS.values()))
    groups = [average_ranks(scores(functions))[0] for functions in GROUPS.values()]
    first = np.sum(every == np.fmax.reduce(every, axis=1, keepdims=True), axis=0)
    lines = []
    for j, method in enumerate(methods):
        own = [run for run in _of(runs, method=method) if run.problem in tables.experiment.problems]
        seeds = seeds_of([tables.by.get(("best", name, method, max(AT))) for name in tables.experiment.problems])
        said = f"{SAID.get(method, method)} ({seeds})"
        ranks = ["-" if math.isnan(ranks[j]) else f"{ranks[j]:.2f}" for ranks in groups]
        cpu = _seconds(float(np.median([run.cpu.sum() for run in own])))
        lines.append([said, *ranks, *ranks_of(tables, method), str(first[j]), cpu])
    titles = [f"{name} ({len(functions)})" for name, functions in GROUPS.items()]
    return table(["method (seeds)", *titles, *(f"rank at {n}" for n in AT), "first on", "CPU s"], lines)


def ablation(runs: Sequence[Run]) -> str:
    """Means of the best values over the seeds that all variants have, and in how many a variant beats the default."""
    chosen = experiment.read(experiment.find("ablation"))
    found = {(run.problem, run.method, run.seed): run for run in runs}
    lines = []
    for method in chosen.methods:
        cells = []
        for problem in chosen.problems:
            shared = [s for s in chosen.seeds if all((problem, each, s) in found for each in chosen.methods)]
            if not shared:
                cells.append("-")
                continue
            own, default = (np.array([found[problem, m, s].best[-1] for s in shared]) for m in (method, "vsbo"))
            better = "" if method == "vsbo" else f" ({int(np.sum(own > default))} of {len(shared)} better)"
            cells.append(f"{sign_of(found[problem, method, shared[0]]) * own.mean():.4g}{better}")
        lines.append([WITHOUT[method], *cells])
    return table(["without", *chosen.problems], lines)


def _of(runs: Sequence[Run], *, problem: str | None = None, method: str | None = None) -> list[Run]:
    return [run for run in runs if problem in (None, run.problem) and method in (None, run.method)]


def _range(values: Sequence[float], said: Callable[[float], str]) -> str:
    low, high = said(min(values)), said(max(values))
    return low if low == high else f"{low} to {high}"


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _mean(number: Number | None) -> str:
    if number is None:
        return "-"
    digits = 3 if abs(number.value) < 10 else 1
    interval = "" if math.isnan(number.low) else f" [{number.low:.{digits}f}, {number.high:.{digits}f}]"
    return f"{number.value:.{digits}f}{interval}"


BLOCKS: dict[str, Callable[[Sequence[Run]], str]] = {
    "synthetic": partial(comparison, "paper-synthetic", "Hartmann6-50"),
    "real": partial(comparison, "paper-real", "MOPTA08"),
    "many": partial(comparison, "many-variables", "Lasso300"),
    "verdict": partial(all_problems, "verdict"),
    "held-out": partial(all_problems, "held-out"),
    "unseen": partial(all_problems, "unseen"),
    "bbob": bbob,
    "workers": partial(all_problems, "workers"),
    "failures": partial(all_problems, "failures"),
    "slow": against_slow,
    "ablation": ablation,
    "discrete": lambda _: report.overview(report.saved()),
}
