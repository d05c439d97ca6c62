"""Problems whose variables take few values; each seed has an instance of its own. All are maximized.

Where only some variables matter, or some matter together, the seed says which, so that no order helps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vsbo import Choice, Integer, Real, Space

Params = dict[str, Any]


@dataclass(frozen=True)
class Discrete:
    """An instance: f takes a dict with the names of the space."""

    space: Space
    f: Callable[[Params], float]


def _bits(n: int) -> Space:
    return Space({f"x{i}": Choice((0, 1)) for i in range(n)})


def _array(params: Params) -> Any:
    return np.array(list(params.values()))


def labs50(seed: int) -> Discrete:
    """Low-autocorrelation binary sequence: the merit factor n^2 / 2E of 50 signs; every sign meets every other. There
    are no instances: seeds differ in their first points alone. Best known: 8.2 (Packebusch and Mertens 2016).
    """

    def f(params: Params) -> float:
        s = 2.0 * _array(params) - 1.0
        energy = sum(float(s[:-k] @ s[k:]) ** 2 for k in range(1, 50))
        return 50**2 / (2.0 * energy)

    return Discrete(_bits(50), f)


def contamination25(seed: int) -> Discrete:
    """Contamination control of a food chain of 25 stages (after Hu et al. 2010): where to prevent, at a cost of 1 each;
    each stage costs the part of 100 random chains that are contaminated above 0.1 there, less 0.05.
    """
    rng = np.random.default_rng([seed, 1])
    first, spread = rng.beta(1.0, 30.0, 100), rng.beta(1.0, 17.0 / 3.0, (25, 100))
    cured = rng.beta(1.0, 3.0 / 7.0, (25, 100))

    def f(params: Params) -> float:
        z, cost = first, 0.0
        for i, prevented in enumerate(params.values()):
            z = spread[i] * (1 - prevented) * (1.0 - z) + (1.0 - cured[i] * prevented) * z
            cost += prevented + float(np.mean(z > 0.1)) - 0.05
        return -cost

    return Discrete(_bits(25), f)


def sparse_bits60(seed: int) -> Discrete:
    """Eight of sixty bits matter, alone and in pairs."""
    rng = np.random.default_rng([seed, 2])
    at, alone, pairs = rng.choice(60, 8, replace=False), rng.normal(size=8), 0.25 * rng.normal(size=(8, 8))

    def f(params: Params) -> float:
        s = 2.0 * _array(params)[at] - 1.0
        return float(alone @ s + s @ pairs @ s)

    return Discrete(_bits(60), f)


def max_cut40(seed: int) -> Discrete:
    """A random graph of 40 nodes in two parts: the weight of the edges between them."""
    rng = np.random.default_rng([seed, 3])
    edges = np.triu(rng.random((40, 40)) < 0.15, 1) * rng.random((40, 40))

    def f(params: Params) -> float:
        s = _array(params)
        return float((edges * (s[:, None] != s)).sum())

    return Discrete(_bits(40), f)


def menu25(seed: int) -> Discrete:
    """25 choices of five values without order; each value has its worth, and so have those of twenty pairs."""
    rng = np.random.default_rng([seed, 4])
    worth = rng.normal(size=(25, 5))
    pairs = [(*rng.choice(25, 2, replace=False), rng.normal(size=(5, 5))) for _ in range(20)]
    names = "abcde"

    def f(params: Params) -> float:
        picked = [names.index(value) for value in params.values()]
        alone = sum(worth[i, k] for i, k in enumerate(picked))
        return float(alone + sum(table[picked[i], picked[j]] for i, j, table in pairs))

    return Discrete(Space({f"x{i}": Choice(tuple(names)) for i in range(25)}), f)


def _mixed(seed: int, reals: int, wholes: int, choices: int, important: tuple[int, int, int]) -> Discrete:
    """A bowl along reals, a distance along whole numbers of 1 to 10, the worth of choices of five, and a table of two
    of these; of each kind so many are important, the others count a hundredth of that.
    """
    rng = np.random.default_rng([seed, 5])
    centers, targets = rng.uniform(0.1, 0.9, reals), rng.integers(1, 11, wholes)
    weights = [
        np.where(rng.permutation(count) < several, 1.0, 0.01)
        for count, several in zip((reals, wholes, choices), important, strict=True)
    ]
    worth, table = rng.normal(size=(choices, 5)), rng.normal(size=(5, 5))
    two = np.argsort(-weights[2], kind="stable")[:2]
    names = "abcde"
    space = Space(
        {f"r{i}": Real(0.0, 1.0) for i in range(reals)}
        | {f"n{i}": Integer(1, 10) for i in range(wholes)}
        | {f"c{i}": Choice(tuple(names)) for i in range(choices)}
    )

    def f(params: Params) -> float:
        x = np.array([params[f"r{i}"] for i in range(reals)])
        n = np.array([params[f"n{i}"] for i in range(wholes)])
        picked = [names.index(params[f"c{i}"]) for i in range(choices)]
        bowl = -10.0 * float(weights[0] @ (x - centers) ** 2)
        steps = -0.3 * float(weights[1] @ np.abs(n - targets))
        return (
            bowl
            + steps
            + float(weights[2] @ worth[range(choices), picked])
            + float(table[picked[two[0]], picked[two[1]]])
        )

    return Discrete(space, f)


def mixed40(seed: int) -> Discrete:
    """20 real variables, 10 whole numbers and 10 choices; 6, 3 and 4 of them matter."""
    return _mixed(seed, 20, 10, 10, (6, 3, 4))


def mixed120(seed: int) -> Discrete:
    """60 real variables, 30 whole numbers and 30 choices; 4, 3 and 3 of them matter."""
    return _mixed(seed, 60, 30, 30, (4, 3, 3))


PROBLEMS: dict[str, Callable[[int], Discrete]] = {
    "LABS50": labs50,
    "Contamination25": contamination25,
    "SparseBits60": sparse_bits60,
    "MaxCut40": max_cut40,
    "Menu25": menu25,
    "Mixed40": mixed40,
    "Mixed120": mixed120,
}
