"""Which groups belong to the model: a walk among the models that fit, each visited as long as it is probable.

A jump process (Zanella 2020, locally informed proposals in continuous time): from a model z to each neighbour z' with
the rate t / (1 + t), t = p(z' | y) / p(z | y), so that p(z | y) is what it is stationary under. A neighbour has one
group more, one fewer, or another lambda for one group. All rates come from A and b of all groups at once, and z counts
with the time it is stayed in, 1 / (sum of rates): no proposal is ever rejected. At a constant rate, s and v are drawn
anew, given the rest.

The prior: how many variables are in, Beta-binomial; a pair is in with odds that depend on how many of its two
variables are, and not at all if none is. Which pairs are looked at is decided by what was found so far: the most
promising of those with one or two variables that are likely in.
"""

from dataclasses import dataclass

import numpy as np

from vsbo.arrays import Array
from vsbo.explain.sparse import GRID, NOISES, SPREADS, Groups, Key, Model, log_factors

#: Prior odds of a pair of two variables in the model; with one of them, WEAK / D.
STRONG, WEAK = 0.1, 0.1
#: Rates of another lambda, as a part of the others', and of drawing s and v: which groups are in matters more.
LAMBDA_RATE, HYPER_RATE = 0.15, 0.3
#: Beta(FEW, 1 + D / RARE) is the prior of the part of the variables that is in: some ten, where D is large.
FEW, RARE = 2.0, 5.0
#: Pairs are looked at of so many variables, each in at least LIKELY of the models so far; so many pairs in all.
MOST_PARENTS, LIKELY, MOST_PAIRS = 8, 0.2, 20
#: The walk begins uphill, for so many steps at most; then s and v are drawn every few steps of the burn-in.
UPHILL, EVERY = 30, 5
#: Uphill so many variables are taken for granted, or the prior would keep the first out until there are others.
GRANTED = 5


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


@dataclass(frozen=True, eq=False)
class Doubts:
    """For each variable the likeliest pair that is not in: with which other (D,), roots (D, G, R), A, b, factors."""

    other: Array
    roots: Array
    A: Array
    b: Array
    factors: Array


def walk(groups: Groups, burn_in: int, steps: int, rng: np.random.Generator) -> tuple[list[Visit], Doubts | None]:
    """The visits after the burn-in, and what is known of pairs that are not in."""
    model = _uphill(groups, rng)
    _choose_pairs(model, np.array([(j,) in model.on for j in range(groups.k)], dtype=np.float64))
    model = Model(groups, model.on, model.noise, model.spread)  # with the pairs as groups
    doubts = None
    seen, visits = np.zeros(groups.k), []
    for step in range(burn_in + steps):
        if step == burn_in:
            doubts = _doubts(model, *_choose_pairs(model, seen))
            model = Model(groups, model.on, model.noise, model.spread)
        visit, rates, _ = _look(model)
        if step >= burn_in:
            visits.append(visit)
        seen[[key[0] for key in model.on if len(key) == 1]] += visit.weight
        model = _jump(model, rates, rng)
        if step < burn_in and step % EVERY == EVERY - 1:
            model = _draw_hyper(model, rng)
    return visits, doubts


def _uphill(groups: Groups, rng: np.random.Generator) -> Model:
    """A good model: the best change, and s and v drawn anew, again and again, until no change is better."""
    model = Model(groups, {}, len(NOISES) - 3, 1)
    for _ in range(UPHILL):
        _, _, logs = _look(model, GRANTED)
        best = int(np.argmax(logs))
        if logs.flat[best] <= 0.0:
            break
        model = _draw_hyper(_changed(model, best), rng)
    return model


def _look(model: Model, granted: int = 0) -> tuple[Visit, Array, Array]:
    """What is known at a model; the rates of all changes in one row, the last that of s and v; log t (N, G + 1).

    Columns of the latter: to lambda g of GRID; the last one: out.
    """
    groups = model.groups
    k, G = groups.k, len(GRID)
    A, b = model.moments()
    factors = log_factors_of(model, A, b)
    prior = _log_odds(model, granted)
    logs = np.full((len(groups.keys), G + 1), -np.inf)
    logs[:, :G] = factors + (prior - np.log(G))[:, None]
    scale = np.ones_like(logs)
    stuck = _only_parents(model)
    for key, g in model.on.items():
        i = groups.index[key]
        now = logs[i, g]
        logs[i, :G] -= now
        scale[i, :G] = LAMBDA_RATE
        logs[i, g] = -np.inf
        logs[i, G] = -np.inf if key in stuck else -now
    rates = scale * 0.5 * (1.0 + np.tanh(0.5 * logs))  # t / (1 + t)
    rates = np.append(rates.ravel(), HYPER_RATE)
    return Visit(model, 1.0 / float(rates.sum()), factors[:k], prior[:k], A[:k], b[:k]), rates, logs


def log_factors_of(model: Model, A: Array, b: Array) -> Array:
    """log BF (N, G) of all groups, from their moments."""
    return log_factors(A, b, model.groups.roots, model.groups.outer)


def _jump(model: Model, rates: Array, rng: np.random.Generator) -> Model:
    cumulative = np.cumsum(rates)
    i = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    return _draw_hyper(model, rng) if i >= len(rates) - 1 else _changed(model, i)


def _changed(model: Model, i: int) -> Model:
    """With the change of number i."""
    row, g = divmod(i, len(GRID) + 1)
    return model.changed(model.groups.keys[row], None if g == len(GRID) else g)


def _draw_hyper(model: Model, rng: np.random.Generator) -> Model:
    """s given v, then v given s."""
    noise = draw_index(model.evidences([(s, model.spread) for s in range(len(NOISES))]), rng)
    spread = draw_index(model.evidences([(noise, v) for v in range(len(SPREADS))]), rng)
    return Model(model.groups, model.on, noise, spread)


def draw_index(log_weights: Array, rng: np.random.Generator) -> int:
    """An index with probabilities in proportion to exp(log_weights)."""
    cumulative = np.cumsum(np.exp(log_weights - log_weights.max()))
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def _log_odds(model: Model, granted: int = 0) -> Array:
    """Prior odds (N,) of each group to be in, all others as they are, but at least so many variables."""
    groups, D = model.groups, model.groups.k
    inside = np.zeros(D, dtype=bool)
    inside[[key[0] for key in model.on if len(key) == 1]] = True
    others = np.maximum(inside.sum() - inside, min(granted, D - 1))  # variables in, besides this one
    odds = np.empty(len(groups.keys))
    odds[:D] = np.log((others + FEW) / (D - others + D / RARE))
    weak, strong = np.log(WEAK / D), np.log(STRONG)
    for i, (j, k) in enumerate(groups.keys[D:], D):
        odds[i] = strong if inside[j] and inside[k] else weak if inside[j] or inside[k] else -np.inf
        if (j, k) in model.on:  # with both its variables in, the pair was likelier
            odds[j] += (strong - weak) * inside[k]
            odds[k] += (strong - weak) * inside[j]
    return odds


def _only_parents(model: Model) -> set[Key]:
    """Variables that cannot leave: the only one in of a pair that is in."""
    stuck: set[Key] = set()
    for key in model.on:
        if len(key) == 2:
            parents = [(j,) for j in key if (j,) in model.on]
            stuck.update(parents if len(parents) == 1 else ())
    return stuck


def _choose_pairs(model: Model, seen: Array) -> tuple[list[int], Array]:
    """Decide which pairs are looked at from now on; seen (D,): how long a variable was in.

    Gives the variables whose pairs were looked at, and about the log BF (parents, D) of these.
    """
    groups, D = model.groups, model.groups.k
    often = np.flatnonzero(seen > LIKELY * seen.max())
    parents = sorted(int(j) for j in often[np.argsort(-seen[often], kind="stable")][:MOST_PARENTS])
    if not parents or D < 2:
        return [], np.empty((0, D))
    best = model.screened_pairs(parents)
    prior = np.full(best.shape, np.log(WEAK / D))
    prior[:, parents] = np.log(STRONG)
    score = {
        (min(j, k), max(j, k)): float(best[i, k] + prior[i, k])
        for i, j in enumerate(parents)
        for k in np.argsort(-(best[i] + prior[i]))[:MOST_PAIRS].tolist()
        if k != j
    }
    kept = [key for key in model.on if len(key) == 2]
    chosen = sorted((key for key in score if key not in kept), key=lambda key: -score[key])[:MOST_PAIRS]
    groups.set_pairs(kept + chosen)
    return parents, best


def _doubts(model: Model, parents: list[int], best: Array) -> Doubts | None:
    """Of what `_choose_pairs` gave."""
    if not parents:
        return None
    # Of pairs that are in nothing need be doubted.
    for i, j in enumerate(parents):
        for key in model.on:
            if len(key) == 2 and j in key:
                best[i, key[0] if key[1] == j else key[1]] = -np.inf
    other, rows = np.array(parents)[best.argmax(axis=0)], np.arange(best.shape[1])
    A, b, roots, factors = model.pairs(np.minimum(other, rows), np.maximum(other, rows))
    factors[best.max(axis=0) == -np.inf] = -np.inf
    return Doubts(other, roots, A, b, factors)
