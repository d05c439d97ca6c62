"""The tables in the documentation, from the recorded runs: `python -m benchmarks page` writes them where they stand.

A table stands in a page between the lines `<!-- NAME -->` and `<!-- end -->`; NAME is one of `BLOCKS`.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import experiment, records
from benchmarks.errors import BenchError
from benchmarks.records import Run
from benchmarks.statistics import best_at
from benchmarks.tables import Number, sign_of, tabulate

PAGES = tuple(Path(__file__).parents[1] / "docs" / name for name in ("benchmarks.md", "experiments.md"))
MARKED = re.compile(r"(<!-- (?!end )([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

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
    "vsbo-free-variance": "the floor of the variance",
    "vsbo-high-floor": "the low noise floor (1e-4 instead)",
    "vsbo-even-starts": "starts by weight",
}
#: Packages whose runs end before their evaluations do, or take many times as long as ours.
SLOW = ("botorch", "baxus", "optuna-gp", "ax", "smac", "hebo", "alebo", "saasbo", "map-saas", "dragonfly-ml")

#: Numbers of a table by quantity, problem, method and evaluations.
By = dict[tuple[str, str, str, float], Number]


def fill(text: str, results: Path) -> str:
    """The page with its tables made anew. An unknown name is a BenchError that lists the known ones."""

    def made(found: re.Match[str]) -> str:
        name = found[2]
        if name not in BLOCKS:
            raise BenchError(f"a page has a table {name!r}; known are {', '.join(BLOCKS)}")
        return f"{found[1]}{BLOCKS[name](results)}\n{found[3]}"

    return MARKED.sub(made, text)


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """In Markdown, columns as wide as they are: these tables are read on a page."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _numbers(name: str, results: Path) -> tuple[experiment.Experiment, By, dict[str, Run]]:
    """An experiment, its numbers, and one run of each of its problems."""
    chosen = experiment.read(experiment.find(name))
    runs = records.load(results, chosen.problems, chosen.methods, chosen.seeds)
    tables = tabulate(chosen, runs, (50, 100, 200))
    by = {(number.quantity, number.problem, number.method, number.at): number for number in tables.numbers}
    return chosen, by, {run.problem: run for run in runs}


def _ranked(chosen: experiment.Experiment, by: By) -> list[str]:
    there = [method for method in chosen.methods if ("rank", "", method, 200) in by]
    return sorted(there, key=lambda method: by["rank", "", method, 200].value)


def _ranks(by: By, method: str, problems: int) -> str:
    numbers = [by["rank", "", method, n] for n in (50, 100, 200)]
    on = "" if numbers[-1].n == problems else f" ({numbers[-1].n} problem{'s' * (numbers[-1].n > 1)})"
    return ", ".join(f"{number.value:.1f}" for number in numbers) + on


def _seeds(numbers: Sequence[Number | None]) -> str:
    """Of a method on several problems: "10", or "2 to 10"."""
    counts = [number.n for number in numbers if number is not None]
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _mean(number: Number | None) -> str:
    if number is None:
        return "-"
    digits = 3 if abs(number.value) < 10 else 1
    interval = "" if number.low != number.low else f" [{number.low:.{digits}f}, {number.high:.{digits}f}]"
    return f"{number.value:.{digits}f}{interval}"


def comparison(name: str, timed: str, results: Path) -> str:
    """Means with intervals, ranks, and CPU seconds on the problem `timed`."""
    chosen, by, one = _numbers(name, results)
    known = [p for p in chosen.problems if p in one]
    lines = []
    for method in _ranked(chosen, by):
        bests = [by.get(("best", problem, method, 200)) for problem in known]
        cpu = by.get(("cpu seconds", timed, method, 200))
        said = f"{SAID.get(method, method)} ({_seeds(bests)})"
        spent = "-" if cpu is None else _seconds(cpu.value)
        lines.append([said, *map(_mean, bests), _ranks(by, method, len(known)), spent])
    titles = [
        f"{problem} (best known {sign_of(one[problem]) * one[problem].header['optimum']:.4g})" for problem in known
    ]
    return _table(["method (seeds)", *titles, "average rank at 50, 100, 200", "CPU s"], lines)


def overview(name: str, results: Path) -> str:
    """Means and ranks; @n: a run had only n evaluations."""
    chosen, by, _ = _numbers(name, results)
    lines = []
    for method in _ranked(chosen, by):
        bests = [by.get(("best", problem, method, 200)) for problem in chosen.problems]
        shown = ["-" if b is None else f"{b.value:.4g}" + ("" if b.had == b.at else f" @{b.had}") for b in bests]
        lines.append([f"{method} ({_seeds(bests)})", *shown, _ranks(by, method, len(chosen.problems))])
    return _table(["method (seeds)", *chosen.problems, "average rank at 50, 100, 200"], lines)


def against_slow(results: Path) -> str:
    """Each run of a slow peer beside ours after as many evaluations; a line below counts them."""
    chosen = experiment.read(experiment.find("peers"))
    runs = records.load(results, chosen.problems, [*SLOW, "vsbo"])
    ours = {(run.problem, run.seed): run for run in runs if run.method == "vsbo"}
    lines, ahead, behind = [], 0, []
    for method in SLOW:
        theirs = [run for run in runs if run.method == method and run.evaluations and (run.problem, run.seed) in ours]
        cells, spent = [], []
        for problem in chosen.problems:
            shown = []
            for run in (run for run in theirs if run.problem == problem):
                own, n = ours[run.problem, run.seed], len(run.y)
                sign = sign_of(run)
                mine = best_at(own.best, own.initial, run.evaluations).value
                shown.append(f"@{run.evaluations} {sign * run.best[-1]:.3g}, {sign * mine:.3g}")
                spent.append((float(run.cpu.sum()), float(own.cpu[:n].sum())))
                ahead += bool(mine > run.best[-1])
                if mine <= run.best[-1]:
                    behind.append(f"{method} on {problem}, seed {run.seed}")
            cells.append("; ".join(shown) or "-")
        if spent:
            told = ", ".join(f"{_seconds(min(own))} to {_seconds(max(own))}" for own in zip(*spent, strict=True))
            lines.append([method, *cells, told])
    shown_problems = [p for i, p in enumerate(chosen.problems) if any(line[i + 1] != "-" for line in lines)]
    kept = [0, *(i + 1 for i, p in enumerate(chosen.problems) if p in shown_problems), len(chosen.problems) + 1]
    table = _table(["peer", *shown_problems, "CPU s: its, ours"], [[line[i] for i in kept] for line in lines])
    return f"{table}\n\n`Config()` is ahead in {ahead} of {ahead + len(behind)}; behind {'; '.join(behind) or 'none'}."


def ablation(results: Path) -> str:
    """Means of the best values, and in how many seeds it was better than the default."""
    chosen = experiment.read(experiment.find("ablation"))
    runs = records.load(results, chosen.problems, chosen.methods, chosen.seeds)
    found = {(run.problem, run.method, run.seed): run for run in runs}
    lines = []
    seeds = {
        problem: [s for s in chosen.seeds if all((problem, method, s) in found for method in chosen.methods)]
        for problem in chosen.problems
    }
    for method in chosen.methods:
        cells = []
        for problem, shared in seeds.items():
            if not shared:
                cells.append("-")
                continue
            own = np.array([found[problem, method, s].best[-1] for s in shared])
            default = np.array([found[problem, "vsbo", s].best[-1] for s in shared])
            sign = sign_of(found[problem, method, shared[0]])
            better = "" if method == "vsbo" else f" ({int(np.sum(own > default))} of {len(shared)} better)"
            cells.append(f"{sign * own.mean():.4g}{better}")
        lines.append([WITHOUT[method], *cells])
    return _table(["without", *chosen.problems], lines)


BLOCKS: dict[str, Callable[[Path], str]] = {
    "synthetic": partial(comparison, "paper-synthetic", "Hartmann6-50"),
    "real": partial(comparison, "paper-real", "MOPTA08"),
    "many": partial(comparison, "many-variables", "Lasso300"),
    "verdict": partial(overview, "verdict"),
    "held-out": partial(overview, "held-out"),
    "slow": against_slow,
    "ablation": ablation,
}
