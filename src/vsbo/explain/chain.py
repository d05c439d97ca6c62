"""Which groups belong to the model: a walk among the models that fit, each visited as long as it is probable.

A jump process (Zanella 2020, locally informed proposals in continuous time): from a model z to each neighbour z' with
the rate t / (1 + t), t = p(z' | y) / p(z | y), so that p(z | y) is what it is stationary under. A neighbour has one
group more, one fewer, another lambda for one group, or another s or v. All rates come from A and b of all groups
at once, and z counts with the time it is stayed in, 1 / (sum of rates): no proposal is ever rejected.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vsbo.arrays import Array
from vsbo.explain.sparse import GRID, NOISES, SPREADS, Key, Model, Rotated, Workbench, log_factors

#: Prior odds of a pair of two variables in the model, and, times D, of a pair with one of them.
STRONG, WEAK = 0.1, 0.5
#: Rates of changes of s and v, as a part of the others': each costs more than the others.
HYPER_RATE = 0.1
#: Beta(1, 1 + D / RARE): the prior of how many variables are in: ten or fewer, where D is large.
RARE = 10.0
#: Weak pairs that are looked at: the best of those screened once.
MOST_WEAK = 30


@dataclass(frozen=True, eq=False)
class Visit:
    """A model and how long it was stayed in.

    factors (D, G): log BF of every variable's main effect against the model without it; log_odds (D,): its prior odds;
    A (D, R, R), b (D, R): as in `sparse`, without it.
    """

    model: Model
    weight: float
    factors: Array
    log_odds: Array
    A: Array
    b: Array


def walk(data: Rotated, burn_in: int, steps: int, rng: np.random.Generator) -> list[Visit]:
    """Visits after the burn-in."""
    bench = Workbench(data)
    on: dict[Key, int] = {}
    noise, spread = len(NOISES) - 4, len(SPREADS) - 4
    weak: list[Key] = []
    visits: list[Visit] = []
    for step in range(burn_in + steps):
        model = Model(bench, on, noise, spread)
        if step == burn_in // 2:
            weak = screen(model)
        here = _look(model, weak)
        if step >= burn_in:
            visits.append(Visit(model, 1.0 / here.total, here.factors, here.log_odds, here.A, here.b))
        on, noise, spread = here.jump(rng)
    return visits


@dataclass(frozen=True, eq=False)
class _Neighbours:
    model: Model
    factors: Array
    log_odds: Array
    A: Array
    b: Array
    keys: Sequence[Key]
    logs: Array
    hyper: list[tuple[int, int]]
    hyper_rates: Array

    @property
    def rates(self) -> Array:
        rates: Array = 1.0 / (1.0 + np.exp(-np.clip(self.logs, -700, 700)))
        return rates

    @property
    def total(self) -> float:
        return float(self.rates.sum() + self.hyper_rates.sum())

    def jump(self, rng: np.random.Generator) -> tuple[dict[Key, int], int, int]:
        rates = np.concatenate([self.rates.ravel(), self.hyper_rates])
        cumulative = np.cumsum(rates)
        i = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        i = min(i, len(rates) - 1)
        model = self.model
        if i >= self.logs.size:
            return dict(model.on), *self.hyper[i - self.logs.size]
        row, g = divmod(i, self.logs.shape[1])
        on = dict(model.on)
        if g == len(GRID):
            del on[self.keys[row]]
        else:
            on[self.keys[row]] = g
        return on, model.noise, model.spread


def _look(model: Model, weak: Sequence[Key]) -> _Neighbours:
    data = model.bench.data
    D, G = data.D, len(GRID)
    A, b = model.variables()
    factors = log_factors(A, b, data.lambdas)
    mains = [key[0] for key in model.on if len(key) == 1]
    on_pairs = [key for key in model.on if len(key) == 2]
    p = len(mains)
    inside = np.zeros(D, dtype=bool)
    inside[mains] = True
    # Prior of the number of variables: Beta-binomial.
    odds_in = np.log((p + 1.0) / (D - p - 1.0 + 1.0 + D / RARE)) if p < D else -np.inf
    odds_out = np.log(p / (D - p + 1.0 + D / RARE)) if p else -np.inf
    own = np.full(D, odds_in)
    own[mains] = odds_out
    lift = np.log(STRONG) - np.log(WEAK / D)
    blocked = np.zeros(D, dtype=bool)
    for j, k in on_pairs:
        for one, other in ((j, k), (k, j)):
            if inside[other]:
                own[one] += lift  # with this variable in, the pair is one of two variables that are in
            else:
                blocked[one] = True  # the pair's only parent cannot go
    logs = np.full((D, G + 1), -np.inf)
    logs[:, :G] = factors + (own - np.log(G))[:, None]
    for j in mains:
        now = logs[j, model.on[(j,)]]
        logs[j] -= now
        logs[j, G] = -np.inf if blocked[j] else -now
        logs[j, model.on[(j,)]] = -np.inf
    keys: list[Key] = [(j,) for j in range(D)]
    ranked = sorted(mains)
    pairs = [(j, k) for i, j in enumerate(ranked) for k in ranked[i + 1 :]]
    pairs += [key for key in weak if inside[key[0]] != inside[key[1]]]
    pairs += [key for key in on_pairs if key not in pairs]
    if pairs:
        pA, pb, lambdas = model.pairs(pairs)
        both = np.array([inside[j] and inside[k] for j, k in pairs])
        prior = np.where(both, np.log(STRONG), np.log(WEAK / D)) - np.log(G)
        more = np.full((len(pairs), G + 1), -np.inf)
        more[:, :G] = log_factors(pA, pb, lambdas) + prior[:, None]
        for i, key in enumerate(pairs):
            if key in model.on:
                now = more[i, model.on[key]]
                more[i] -= now
                more[i, G] = -now
                more[i, model.on[key]] = -np.inf
        logs = np.vstack([logs, more])
        keys += pairs
    hyper, hyper_rates = _hyper(model)
    return _Neighbours(model, factors, own, A, b, keys, logs, hyper, hyper_rates)


def _hyper(model: Model) -> tuple[list[tuple[int, int]], Array]:
    steps = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))
    near = [(model.noise + a, model.spread + b) for a, b in steps]
    near = [(a, b) for a, b in near if 0 <= a < len(NOISES) and 0 <= b < len(SPREADS)]
    logs = np.array([model.solved(*one)[2] for one in near]) - model.evidence
    return near, HYPER_RATE / (1.0 + np.exp(-np.clip(logs, -700, 700)))


def screen(model: Model) -> list[Key]:
    """The pairs of a variable in the model and any other that promise most."""
    data = model.bench.data
    found: list[tuple[float, Key]] = []
    for j, *rest in model.on:
        if rest:
            continue
        keys: list[Key] = [(min(j, k), max(j, k)) for k in range(data.D) if k != j]
        A, b, lambdas = model.pairs(keys)
        gains = log_factors(A, b, lambdas).max(axis=1)
        found += [(float(gains[i]), keys[i]) for i in np.argsort(-gains)[:MOST_WEAK]]
    best = sorted(set(found), reverse=True)[:MOST_WEAK]
    return [key for _, key in best]
