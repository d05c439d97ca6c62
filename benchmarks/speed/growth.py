"""How the cost grows with evaluations n, variables D and selected variables p; the single steps against Prop. 4.1.

Proposition 4.1 of the paper: a quasi-Newton step costs O(p^2 + p n^2 + n^3) in the fit and O(p^2 + p n + n^2) in the
maximization of the acquisition. So the exponent of n is at most 3 and 2, that of p (below p^2's reach) at most 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from statistics import median

import numpy as np

from benchmarks.speed.datasets import EmbeddedHartmann, standardized
from benchmarks.speed.report import Row, table
from benchmarks.speed.timing import Array, alternate, cpu_seconds, exponents, medians
from vsbo import Config, Optimizer, Space, gp
from vsbo import acquisition as acq
from vsbo.gp.likelihood import Likelihood

PART = "growth"
NS = (50, 100, 200, 400, 700, 1000)
DS = (10, 30, 100, 300, 1000)
#: A cell that is predicted to take longer is left out, and the table says so.
MOST_SECONDS = 60.0
#: What a prediction assumes: a little more than what was seen to happen.
ASSUMED_N, ASSUMED_D = 2.5, 1.5
ASKS = 5
#: Exponents are fitted to sizes from here on, where arithmetic outweighs calls, and may exceed the limit by the slack:
#: a matrix that no longer fits in the cache costs more for each of its entries.
LARGE_N, LARGE_P = 200, 100
SLACK = 0.25
LARGE_D = 30
#: A measured ask is repeated until it has taken this long, three times at the most.
REPEAT_BELOW = 2.0
_TITLES = {
    "plain": "ask, ms",
    "selecting": "ask with a selection, ms",
    "first": "first ask, ms",
    "active": "variables selected",
}


@dataclass(frozen=True)
class Step:
    """Makes the step for n and p, and the exponent of n that Proposition 4.1 allows."""

    what: str
    make: Callable[[int, int], Callable[[], object]]
    most_n: float
    most_p: float = 1.0


def measure(quick: bool) -> list[Row]:
    """Rows for the single steps (with targets) and for `ask` (without)."""
    ns, ds = (NS[:4], DS[:3]) if quick else (NS, DS)
    steps = (
        Step("likelihood and gradient, one evaluation", likelihood_step, 3.0),
        Step("acquisition and gradient, one point", acquisition_step, 2.0),
    )
    return [*(_step_row(step, ns, ds, 5 if quick else 15) for step in steps), _ask_row(ns, ds)]


def _data(n: int, D: int) -> tuple[EmbeddedHartmann, Array]:
    return EmbeddedHartmann(D, 0), np.random.default_rng([n, D]).random((n, D))


# -------------------------------------------------------------------------------------------- a single step


def likelihood_step(n: int, p: int) -> Callable[[], object]:
    """What a step of the fit evaluates."""
    f, X = _data(n, p)
    return partial(Likelihood(X, standardized(f.values(X)), "matern52"), _theta(p).to_log())


def acquisition_step(n: int, p: int) -> Callable[[], object]:
    """What a step of the maximization evaluates, for one start."""
    f, X = _data(n, p)
    z = standardized(f.values(X))
    posterior = gp.condition(X, z, _theta(p), "matern52")
    best = float(z.max())
    acquisition = acq.over(posterior, lambda mu, sigma: acq.log_expected_improvement(mu, sigma, best))
    return partial(acquisition, np.random.default_rng(0).random((1, p)), True)


def _theta(p: int) -> gp.Hyperparameters:
    return gp.Hyperparameters(np.full(p, np.sqrt(p)), 1.0, 1e-2)


def _step_row(step: Step, ns: Sequence[int], ps: Sequence[int], repetitions: int) -> Row:
    sizes = [(n, p) for n in ns for p in ps]
    work = {f"n={n}, p={p}": step.make(n, p) for n, p in sizes}
    named = medians(alternate(work, repetitions))
    taken = {(n, p): named[f"n={n}, p={p}"] for n, p in sizes}
    # One size at a time, the other at its smallest and at its largest.
    large_n, large_p = _upper(ns, LARGE_N), _upper(ps, LARGE_P)
    of_n = {f"n, p={p}": exponents([(n,) for n in large_n], [taken[n, p] for n in large_n])[0] for p in (ps[0], ps[-1])}
    of_p = {f"p, n={n}": exponents([(p,) for p in large_p], [taken[n, p] for p in large_p])[0] for n in (ns[0], ns[-1])}
    whole = exponents(sizes, [taken[size] for size in sizes])
    limits = [(name, e, step.most_n) for name, e in of_n.items()] + [(name, e, step.most_p) for name, e in of_p.items()]
    times = table(("ms: n \\ p", *map(str, ps)), [(str(n), *(f"{1e3 * taken[n, p]:.3f}" for p in ps)) for n in ns])
    powers = table(
        ("exponent of", "measured", "at most (Prop. 4.1)"),
        [(name, f"{e:.2f}", f"{limit:g}") for name, e, limit in limits],
    )
    return Row(
        PART,
        f"growth of {step.what}",
        f"at most n^{step.most_n:g}, p^{step.most_p:g} (+{SLACK:g})",
        f"n^{max(of_n.values()):.2f}, p^{max(of_p.values()):.2f}",
        all(e <= limit + SLACK for _, e, limit in limits),
        f"{times}\n\n{powers}\n\nExponents over n = {large_n[0]} to {large_n[-1]}, p = {large_p[0]} to {large_p[-1]}; "
        f"over the whole table n^{whole[0]:.2f} p^{whole[1]:.2f}.",
        {"seconds": named, "exponents": of_n | of_p, "exponents over the whole table": whole},
    )


def _upper(sizes: Sequence[int], least: int) -> list[int]:
    """The sizes from `least` on, but two at the least."""
    upper = [size for size in sizes if size >= least]
    return upper if len(upper) >= 2 else list(sizes[-2:])


# --------------------------------------------------------------------------------------------- a whole ask


@dataclass(frozen=True)
class Cell:
    """Seconds of one `ask`: the first of a prepared search, one with a later selection, one without; selected."""

    first: float
    selecting: float
    plain: float
    active: int

    @property
    def total(self) -> float:
        """What the cell cost, near enough."""
        return self.first + self.selecting + ASKS * self.plain


def ask_seconds(n: int, D: int) -> Cell:
    """A search that knows n evaluations when it selects again; its first selection was N_vs evaluations earlier."""
    f, X = _data(n, D)
    config = Config.paper()
    optimizer = Optimizer(Space.box(D), direction="maximize", seed=0, config=config)

    def add(points: Array) -> None:
        for x in points:
            optimizer.add(x, f(x))

    def ask() -> float:
        state = optimizer.state
        seconds = [cpu_seconds(optimizer.ask)]
        while sum(seconds) < REPEAT_BELOW and len(seconds) < 3:  # a state always gives the same next point
            seconds.append(cpu_seconds(Optimizer.from_state(state).ask))
        trial = optimizer.trials[-1]
        optimizer.tell(trial, f(trial.x))
        return median(seconds)

    known = max(n - config.select_every, config.n_initial + config.select_every)
    add(X[:known])
    first = ask()
    add(X[known : known + config.select_every - 1])
    selecting = ask()
    plain = [ask() for _ in range(ASKS)]
    if [event.n for event in optimizer.state.selections] != [known, known + config.select_every]:
        raise RuntimeError(f"selections at {[event.n for event in optimizer.state.selections]}, not where expected")
    return Cell(first, selecting, median(plain), len(optimizer.selected))


def _ask_row(ns: Sequence[int], ds: Sequence[int]) -> Row:
    cells: dict[tuple[int, int], Cell] = {}
    left_out: dict[tuple[int, int], float] = {}
    for n, D in product(ns, ds):
        predicted = _predicted(n, D, {size: cell.total for size, cell in cells.items()} | left_out)
        if predicted > MOST_SECONDS:
            left_out[n, D] = predicted
        else:
            cells[n, D] = ask_seconds(n, D)

    def shown(name: str, scale: float) -> str:
        def text(n: int, D: int) -> str:
            return f"{scale * getattr(cells[n, D], name):.0f}" if (n, D) in cells else f"({left_out[n, D]:.0f} s)"

        return table((f"{_TITLES[name]}: n \\ D", *map(str, ds)), [(str(n), *(text(n, D) for D in ds)) for n in ns])

    large = [(n, D) for n, D in cells if n >= LARGE_N and D >= LARGE_D]
    powers = {name: exponents(large, [getattr(cells[size], name) for size in large]) for name in ("plain", "selecting")}
    text = {name: f"n^{power[0]:.2f} D^{power[1]:.2f}" for name, power in powers.items()}
    at = cells[200, 100]
    notes = [
        "The first ask of a search to which evaluations were added tells the evolution strategy all generations at "
        "once and fits from scratch; later asks go on from there.",
        *(shown(name, 1.0 if name == "active" else 1e3) for name in _TITLES),
        f"Exponents over n >= {LARGE_N}, D >= {LARGE_D}. In brackets: left out, because predicted to take that long "
        f"(more than {MOST_SECONDS:g} s).",
    ]
    return Row(
        PART,
        "growth of one ask; of one with a selection, Config.paper()",
        "-",
        f"{text['plain']}; {text['selecting']} (n=200, D=100: {1e3 * at.plain:.0f}; {1e3 * at.selecting:.0f} ms)",
        None,
        "\n\n".join(notes),
        {
            "cells": {f"n={n}, D={D}": asdict(cell) for (n, D), cell in cells.items()},
            "left out": {f"n={n}, D={D}": seconds for (n, D), seconds in left_out.items()},
            "exponents": powers,
        },
    )


def _predicted(n: int, D: int, known: Mapping[tuple[int, int], float]) -> float:
    """Seconds of a cell, from the largest smaller n and the largest smaller D that are known; the lower of both."""
    guesses = []
    for at, size, power in ((0, n, ASSUMED_N), (1, D, ASSUMED_D)):
        smaller = [cell for cell in known if cell[at] < size and cell[1 - at] == (n, D)[1 - at]]
        if smaller:
            nearest = max(smaller)
            guesses.append(known[nearest] * (size / nearest[at]) ** power)
    return min(guesses, default=0.0)
