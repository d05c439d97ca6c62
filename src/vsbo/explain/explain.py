"""`importance_of(state)`: what a search knows of its variables."""

import time
from collections.abc import Sequence

import numpy as np

from vsbo.arrays import Array, frozen
from vsbo.data import standardize
from vsbo.explain.chain import walk
from vsbo.explain.choices import Chosen, choices_of
from vsbo.explain.features import Basis, bases_of, feature_matrix, moments_in
from vsbo.explain.importance import CALLED, LEVEL, Effect, Importance, Trend, VariableImportance
from vsbo.explain.shares import Draws, Posterior, draw_posterior, quantile
from vsbo.explain.sparse import Groups, rotate
from vsbo.explain.words import plural
from vsbo.linalg import single_thread
from vsbo.rng import Purpose, stream
from vsbo.space import Choice
from vsbo.state import State

#: Half the side of the box around the best point, as a part of each range.
REACH = 0.1
#: Variables whose main effect is given.
LEADING = 20
#: Fewer evaluations than this say nothing.
LEAST = 4
#: Jumps: before anything counts, and then.
BURN_IN, STEPS = 16, 64
#: Functions of a variable that the walk looks at.
COARSE = 4
#: Of more evaluations so many are used: the best quarter of it, and others at random.
MOST = 1000


class Remembered:
    """`importance_of`, remembered until the next evaluation or selection: it takes some tenths of a second."""

    def __init__(self) -> None:
        self._known: tuple[tuple[int, int], Importance] | None = None

    def __call__(self, state: State) -> Importance:
        """The importance in this state."""
        key = len(state.finished), len(state.selections)
        if self._known is None or self._known[0] != key:
            self._known = key, importance_of(state)
        return self._known[1]


def importance_of(state: State) -> Importance:
    """The importance of all variables, from the finished evaluations of a state."""
    began = time.perf_counter()
    done = [state.evaluations[number] for number in state.finished if state.evaluations[number].status == "done"]
    y = np.array([one.y for one in done])
    z = standardize(y)
    if len(done) < LEAST:
        failed = len(state.finished) - len(done)
        also = f", and {plural(failed, 'failure')}" if failed else ""
        there = "is" if len(done) == 1 else "are"
        return _nothing(state, len(done), f"importance needs at least {LEAST} values; there {there} {len(done)}{also}")
    if not z.any():
        return _nothing(state, len(done), "all values are equal: nothing tells the variables apart")
    X = np.array([one.x for one in done])
    best = X[int(np.argmax(y))]
    rng = stream(state.seed, len(done), Purpose.IMPORTANCE)
    if len(y) > MOST:
        order = np.argsort(-y, kind="stable")
        rest = rng.choice(order[MOST // 4 :], MOST - MOST // 4, replace=False)
        kept = np.sort(np.concatenate([order[: MOST // 4], rest]))
        X, y = X[kept], y[kept]
        z = standardize(y)
    with single_thread(), np.errstate(all="ignore"):
        bases = bases_of(state.space, X)
        ordered = np.array([basis.ordered for basis in bases])
        # A choice without order has no first functions: the walk needs all of them.
        few = max([COARSE, *(basis.size for basis in bases if not basis.ordered)])
        features = feature_matrix(bases, X, few)
        groups = Groups(rotate(features, z), features, ordered, range(state.D))
        visits, doubts = walk(groups, BURN_IN, STEPS, rng)
        box = moments_in(bases, np.maximum(best - REACH, 0.0), np.minimum(best + REACH, 1.0))
        found = draw_posterior(visits, doubts, lambda j: (bases[j].at(X[:, j]), bases[j].kernels()), box, rng)
    size = float(np.max(np.abs(y)))  # values may be so large that their squares are not numbers
    scale = size * float(np.std(y / size, ddof=1)) * (1.0 if state.direction == "maximize" else -1.0)
    choices = choices_of(state)
    variables = _variables(state, found, bases, choices)
    leading = [one for one in sorted(variables, key=lambda one: one.rank)[:LEADING] if one.share > 0.0]
    inside, outside = found.whole.shares(found.is_in, doubting=False)
    seen = np.where(found.is_in, found.whole.main, 0.0).sum(axis=1) + found.whole.rest
    m = len(seen)
    return Importance(
        variables=variables,
        n=len(done),
        selections=len(choices),
        noise=float(found.noise.mean()),
        unseen=float((found.unseen / seen).mean()),
        draws=frozen(np.where(found.is_in, inside, outside)),
        weights=frozen(np.full(m, 1.0 / m)),
        effects=_effects(state, bases, [one.index for one in leading], found, scale),
        seconds=time.perf_counter() - began,
    )


def _variables(
    state: State, found: Posterior, bases: Sequence[Basis], choices: Sequence[Chosen]
) -> tuple[VariableImportance, ...]:
    whole, local = _summary(found, found.whole), _summary(found, found.local)
    p_in = _sigmoid(found.log_odds + found.log_factor)
    # In the model with its main effect, or by a pair.
    probability = np.where(found.whole.pair > 0.0, 1.0, p_in).mean(axis=0)
    by_pairs = np.mean(found.whole.shares(found.is_in, doubting=False)[1], axis=0)
    rank = np.empty(state.D, dtype=int)
    rank[np.argsort(-whole[0], kind="stable")] = np.arange(1, state.D + 1)
    sign = 1.0 if state.direction == "maximize" else -1.0
    chosen = _chosen_at(state, choices)
    now = set(state.selected)
    trends, variables = _trends(found.beta, p_in, sign), []
    for j, name in enumerate(state.space.names):
        variable = state.space.variables[name]
        trend, sure = trends[j]
        # Most of its share comes with others.
        if by_pairs[j] > 0.5 * whole[0][j] > 0.0:
            trend, sure = "interacts", float((found.whole.pair[:, j] > 0.0).mean())
        if isinstance(variable, Choice) and not bases[j].ordered:
            trend, sure = "levels", 1.0
        variables.append(
            VariableImportance(
                index=j, name=name, rank=int(rank[j]),
                share=float(whole[0][j]), low=float(whole[1][j]), high=float(whole[2][j]),
                probability=float(probability[j]), important=bool(probability[j] >= CALLED),
                local_share=float(local[0][j]), local_low=float(local[1][j]), local_high=float(local[2][j]),
                direction=trend, direction_probability=sure,
                selected=j in now, selected_at=chosen[j],
            )
        )  # fmt: skip
    return tuple(variables)


def _chosen_at(state: State, choices: Sequence[Chosen]) -> list[tuple[int, ...]]:
    """After how many evaluations each variable was chosen."""
    at: list[list[int]] = [[] for _ in range(state.D)]
    for choice in choices:
        for j in choice.variables:
            at[j].append(choice.n)
    return [tuple(one) for one in at]


def _summary(found: Posterior, draws: Draws) -> tuple[Array, Array, Array]:
    """Mean, low and high (D,) of a share. low doubts a variable as the prior does, for which most have no effect; high
    gives it, and its likeliest pair, even odds: what it may have at most is not to depend on how many others there are.
    """
    tail = 0.5 * (1.0 - LEVEL)
    inside, outside = draws.shares(found.is_in, doubting=False)
    p_in = _sigmoid(found.log_odds + found.log_factor)
    mean = (p_in * inside + (1.0 - p_in) * outside).mean(axis=0)
    low = quantile(np.vstack([inside, outside]), np.vstack([p_in, 1.0 - p_in]), tail)
    # With even odds for this variable alone the rest of a model weighs (1 + BF) / (1 + odds BF) as much.
    log_weight = np.logaddexp(0.0, found.log_factor) - np.logaddexp(0.0, found.log_odds + found.log_factor)
    weight, even = np.exp(log_weight - log_weight.max(axis=0)), _sigmoid(found.log_factor)
    weights = np.vstack([weight * even, weight * (1.0 - even)])
    high = quantile(np.vstack(draws.shares(found.is_in, doubting=True)), weights, 1.0 - tail)
    return mean, np.minimum(low, mean), np.maximum(high, mean)


def _sigmoid(x: Array) -> Array:
    value: Array = 0.5 * (1.0 + np.tanh(0.5 * x))
    return value


def _trends(beta: Array, p_in: Array, sign: float) -> list[tuple[Trend, float]]:
    """Of each variable, from draws of the coefficients (m, D, R) of its main effect."""
    total = p_in.sum(axis=0)
    weights = p_in / np.where(total > 0.0, total, 1.0)
    square = beta**2
    whole = square.sum(axis=2)
    straight = (weights * square[:, :, 0]).sum(axis=0) >= 0.5 * (weights * whole).sum(axis=0)
    bends = (weights * (square[:, :, 0] < 0.5 * whole)).sum(axis=0)
    rises = (weights * (sign * beta[:, :, 0] > 0.0)).sum(axis=0)
    trends: list[tuple[Trend, float]] = []
    for j in range(len(total)):
        if not total[j] > 0.0:
            trends.append(("unknown", 0.0))
        elif not straight[j]:
            trends.append(("bends", float(bends[j])))
        else:
            trends.append(("rises", float(rises[j])) if rises[j] >= 0.5 else ("falls", 1.0 - float(rises[j])))
    return trends


def _effects(
    state: State, bases: Sequence[Basis], leading: Sequence[int], found: Posterior, scale: float
) -> tuple[Effect, ...]:
    """The main effects as the draws' own models have them, in the user's units."""
    grids = [bases[j].grid for j in leading]
    ends = np.cumsum([0, *map(len, grids)])
    points = np.full((ends[-1], state.D), 0.5)
    for i, j in enumerate(leading):
        points[ends[i] : ends[i + 1], j] = grids[i]
    points = state.space.from_unit(points)
    effects = []
    for i, j in enumerate(leading):
        beta = np.where(found.is_in[:, j, None], found.beta[:, j, : bases[j].size], 0.0)
        curves = scale * beta @ bases[j].at(grids[i]).T
        last = len(curves) - 1
        tail = round(0.5 * (1.0 - LEVEL) * last)
        low, high = np.partition(curves, [tail, last - tail], axis=0)[[tail, last - tail]]
        variable = state.space.variables[state.space.names[j]]
        x = tuple(variable.value(number) for number in points[ends[i] : ends[i + 1], j])
        effects.append(Effect(j, frozen(grids[i]), x, frozen(curves.mean(axis=0)), frozen(low), frozen(high)))
    return tuple(effects)


def _nothing(state: State, n: int, note: str) -> Importance:
    """Before there is anything to learn from: any share is possible."""
    choices = choices_of(state)
    chosen = _chosen_at(state, choices)
    variables = tuple(
        VariableImportance(
            j, name, j + 1, 0.0, 0.0, 1.0, 0.0, False, 0.0, 0.0, 1.0, "unknown", 0.0, j in state.selected,
            chosen[j],
        )
        for j, name in enumerate(state.space.names)
    )  # fmt: skip
    draws = np.zeros((1, state.D))
    return Importance(variables, n, len(choices), 1.0, 1.0, frozen(draws), frozen([1.0]), (), note)
