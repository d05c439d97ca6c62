"""Maximizing an acquisition over the cube: screen many starts in one batch, polish the best ones together.

The polish is L-BFGS with bounds for a batch: every start has its own curvature, step and end, but they are evaluated
in one call. SciPy's L-BFGS-B, a start at a time, reaches the same maxima but took four to five times as long when we
compared (it is the test's oracle); SciPy's on the sum of all starts is quick but lets the steepest one decide the step
of all. It climbs in units of the length-scales, in which every variable bends the acquisition about equally: half the
rounds, and twenty times closer to the maximum, on states of a run.
"""

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from vsbo.acquisition.lattice import Lattice
from vsbo.arrays import Array
from vsbo.errors import NumericalError
from vsbo.gp import Posterior

#: Value and derivatives in mu and sigma, each (k,), for mu, sigma (k,).
Utility = Callable[[Array, Array], tuple[Array, Array, Array]]
#: Value (k,) and gradient (k, d) at Z (k, d); where the second argument is false, values to rank points by, no more.
Acquisition = Callable[[Array, bool], tuple[Array, Array]]

#: Local starts: this many variables are moved on average, by this deviation; and how many, if it is known which matter.
MOVED, STEP = 5.0, 0.2
MOVED_BY_WEIGHT = 20.0
#: Leaps: how far one variable goes at least, or the largest EI would be next to the best point; and the places along
#: its range.
LEAP, PLACES = 0.2, 41
#: Of two variables that leap together: places drawn for each pair, of which eight variables have 28.
DRAWN = 100
#: Rows that climb along variables of few values: two reach what eight do to 0.003 of log-EI (at 64 states of each of
#: four problems), in less than half the time.
CLIMBERS = 2
#: Of the polish: rounds at most, relative gain that ends it, steps remembered, the first move's length in
#: length-scales, and the part of a step below which a row gives up. 1e-4 ends within 2e-4 of the maximum on average.
MOST_ROUNDS = 50
TOLERANCE = 1e-4
MEMORY = 4
FIRST_MOVE = 0.25
LEAST_LENGTH = 1e-4
#: From this round on, rows give up that are behind the best by more than so many times what their step promises: they
#: would be polished to be thrown away.
RACE, PROMISE = 4, 4.0
#: Length-scales beyond this many widths of the box are all alike: the acquisition is a straight line along them.
LONGEST_SCALE = 10.0
#: Slopes, and squared changes of the slope, below this are rounding of zero.
TINY = 1e-200
#: Share of the gain promised by the slope that a step must bring (Armijo).
SUFFICIENT = 1e-4


def over(posterior: Posterior, utility: Utility) -> Acquisition:
    """The utility of a posterior, as a function of the point."""
    rough = posterior.rough()

    def acquisition(Z: Array, with_gradient: bool) -> tuple[Array, Array]:
        if not with_gradient:
            return utility(*rough.predict(Z))[0], np.empty((0, Z.shape[1]))
        mu, sigma, slope_mu, slope_sigma = posterior.gradients(Z)
        value, d_mu, d_sigma = utility(mu, sigma)
        return value, d_mu[:, None] * slope_mu + d_sigma[:, None] * slope_sigma

    return acquisition


def start_points(
    centers: Array, n: int, rng: np.random.Generator, weights: Array | None = None, lattice: Lattice | None = None
) -> Array:
    """`n` points (n, d): half uniform in the cube, half a center (c, d) with a few of its variables moved.

    In many dimensions uniform points are all equally far from everything that is known; the moved ones are where
    improvement is found late in a run. weights (d,), summing to 1: how much a variable matters. lattice: variables that
    take few values; one that is moved has any other of them.
    """
    c, d = centers.shape
    uniform = rng.random((n - n // 2, d))
    local = centers[rng.integers(c, size=n // 2)]
    moved = rng.random(local.shape) < _chances(d, weights)
    local = np.clip(local + moved * rng.normal(0.0, STEP, local.shape), 0.0, 1.0)
    if lattice is not None:
        uniform, local = lattice.snap(uniform), lattice.redraw(lattice.snap(local), moved, rng)
    return np.vstack([uniform, local])


def points_within(
    center: Array,
    box: tuple[Array, Array],
    n: int,
    rng: np.random.Generator,
    weights: Array | None = None,
    lattice: Lattice | None = None,
) -> Array:
    """`n` points (n, d): the center (d,) with a few of its variables anywhere in the box, low (d,) to high (d,), or at
    other places of the lattice.
    """
    d, (low, high) = len(center), box
    moved = rng.random((n, d)) < _chances(d, weights)
    points = np.where(moved, low + (high - low) * rng.random((n, d)), center)
    if lattice is None:
        return points
    points[:, lattice.columns] = center[lattice.columns]
    return lattice.redraw(points, lattice.thinned(moved, rng), rng)


def leaps(center: Array, variables: Sequence[int], lattice: Lattice | None = None) -> Array:
    """The center (d,) with one of these variables moved by LEAP or more, to places that lie evenly, or to those of the
    lattice; to any other value of a choice without order: (k, d).
    """
    evenly = np.linspace(0.0, 1.0, PLACES)
    points = []
    for j in variables:
        if lattice is not None and lattice.places[j] is not None:
            far = lattice.far_from(center[j], j, LEAP)
        else:
            far = evenly[np.abs(evenly - center[j]) >= LEAP]
        points += [np.where(np.arange(len(center)) == j, place, center) for place in far]
    return np.array(points).reshape(-1, len(center))


def double_leaps(
    center: Array, variables: Sequence[int], rng: np.random.Generator, lattice: Lattice | None = None
) -> Array:
    """The center (d,) with two of these variables at places drawn for each pair, one of the two moved by LEAP or more:
    (k, d).
    """
    points = np.tile(center, (DRAWN * math.comb(len(variables), 2), 1))
    for i, pair in enumerate(combinations(variables, 2)):
        points[i * DRAWN : (i + 1) * DRAWN, list(pair)] = rng.random((DRAWN, 2))
    if lattice is not None:
        points = lattice.snap(points)
    far: Array = points[np.any(np.abs(points - center) >= LEAP, axis=1)]
    return far


def _chances(d: int, weights: Array | None) -> Array | float:
    """Of each variable (d,) to be moved: half of the moves go to those that matter, half are spread evenly."""
    if weights is None:
        return min(1.0, MOVED / d)
    chances: Array = np.minimum(1.0, MOVED_BY_WEIGHT * (0.5 * weights + 0.5 / d))
    return chances


def maximize(
    acquisition: Acquisition,
    starts: Array,
    always: Array,
    restarts: int,
    scales: Array | None = None,
    box: tuple[Array, Array] | None = None,
    lattice: Lattice | None = None,
) -> Array:
    """Local maxima, best first, polished from the `restarts` best of `starts` (s, d) and from all of `always`;

    then the starts as they are, for callers to whom every maximum is old news. scales (d,): how far one must go along
    a variable to see the acquisition change; a model's length-scales. box: low (d,) and high (d,), instead of the cube.
    lattice: variables that take few values, at one of which all starts have them. Raises NumericalError if the
    acquisition is nowhere finite.
    """
    values = _finite(acquisition(starts, False)[0])
    ordered = np.argsort(-values, kind="stable")
    if values[ordered[0]] == -np.inf:
        raise NumericalError("maximize: the acquisition is not finite at any start")
    Z = np.vstack([always, starts[ordered[:restarts]]])
    if lattice is None:
        Z, values = ascend(acquisition, Z, scales, box)
    else:
        Z, values = _ascend_and_climb(acquisition, Z, scales, box, lattice)
    return np.vstack([Z[np.argsort(-values, kind="stable")], starts[ordered]])


def _ascend_and_climb(
    acquisition: Acquisition,
    Z: Array,
    scales: Array | None,
    box: tuple[Array, Array] | None,
    lattice: Lattice,
) -> tuple[Array, Array]:
    """Every row of Z (r, d) moved uphill along the other variables, the best CLIMBERS along those of the lattice, too,
    and along the others again; and the values there (r,).
    """

    def others(Z: Array, with_gradient: bool) -> tuple[Array, Array]:
        values, slopes = acquisition(Z, with_gradient)
        if with_gradient:
            slopes[:, lattice.columns] = 0.0
        return values, slopes

    box = None if box is None else lattice.widened(box)

    def polish(Z: Array) -> tuple[Array, Array]:
        polished, values = ascend(others, Z, scales, box)
        polished[:, lattice.columns] = Z[:, lattice.columns]  # in other units and back they are off by rounding
        return polished, values

    Z, values = polish(Z)
    best = np.argsort(-values, kind="stable")[:CLIMBERS]
    for i in best:
        Z[i], values[i] = lattice.climb(lambda Z: _finite(acquisition(Z, False)[0]), Z[i], values[i])
    Z[best], values[best] = polish(Z[best])
    return Z, values


def thrifty(acquisition: Acquisition, x: Array, center: Array, price: float) -> Array:
    """x (d,) with as many variables as possible back where the center (d,) has them: those first that lose least by
    themselves, as long as the acquisition loses no more than `price` by all of them together.
    """
    moved = np.flatnonzero(x != center)
    if len(moved) < 2:
        return x
    alone = np.tile(x, (len(moved), 1))
    alone[np.arange(len(moved)), moved] = center[moved]
    order = moved[np.argsort(-_finite(acquisition(alone, False)[0]), kind="stable")]

    def back(count: int) -> Array:
        z = x.copy()
        z[order[:count]] = center[order[:count]]
        return z

    least = float(acquisition(x[None], True)[0][0]) - price
    kept, most = 0, len(order) - 1  # the center itself is old news
    while kept < most:
        count = (kept + most + 1) // 2
        if acquisition(back(count)[None], True)[0][0] >= least:
            kept = count
        else:
            most = count - 1
    return back(kept)


def ascend(
    acquisition: Acquisition, Z: Array, scales: Array | None = None, box: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """Every row of Z (r, d) moved uphill to a local maximum in the box, or the cube; and the values there (r,).

    One evaluation a round for all rows that still climb: a row whose step brought too little tries half of it next
    round, the others go on meanwhile. Inside, points are in units of scales (d,), and so are `low` and `high`.
    """
    d = Z.shape[1]
    lowest, highest = (np.zeros(d), np.ones(d)) if box is None else box
    scales = np.ones(d) if scales is None else np.minimum(scales, LONGEST_SCALE)
    low, high = lowest / scales, highest / scales

    def evaluate(V: Array) -> tuple[Array, Array]:
        values, slopes = acquisition(V * scales, True)
        return values, slopes * scales

    ended_Z, ended_values = Z.copy(), np.full(len(Z), -np.inf)
    rows, V = np.arange(len(Z)), Z / scales
    values, slopes = evaluate(V)
    ended_values[:] = _finite(values)
    lengths, gamma = np.ones((len(V), 1)), np.zeros(len(V))
    pairs: list[tuple[Array, Array, Array]] = []
    directions = _directions(V, low, high, slopes, pairs, gamma)
    stay = np.isfinite(values) & np.isfinite(slopes).all(axis=1) & directions.any(axis=1)
    for round_ in range(MOST_ROUNDS):
        if round_ >= RACE and len(rows) > 1:
            stay &= values + PROMISE * np.vecdot(slopes, directions) >= values.max()
        if not stay.all():
            ended_Z[rows], ended_values[rows] = V * scales, values
            rows, V, values, slopes = rows[stay], V[stay], values[stay], slopes[stay]
            lengths, gamma, directions = lengths[stay], gamma[stay], directions[stay]
            pairs = [(s[stay], y[stay], rho[stay]) for s, y, rho in pairs]
        if not len(rows):
            break
        trial = V + lengths * directions
        np.minimum(np.maximum(trial, low, out=trial), high, out=trial)  # np.clip is slower on few rows
        new_values, new_slopes = evaluate(trial)
        step, change, gained = trial - V, slopes - new_slopes, new_values - values
        curvature, square = np.vecdot(step, change), np.vecdot(change, change)
        # What is not finite makes `square` or the gain so.
        good = (gained >= SUFFICIENT * np.vecdot(slopes, step)) & np.isfinite(square + gained)
        bent = good & (curvature > 1e-10 * square) & (square > TINY)
        curvature[~bent] = np.inf
        pairs = [*pairs[1 - MEMORY :], (step, change, 1.0 / curvature)]
        np.divide(curvature, square, out=gamma, where=bent)
        if good.all():
            V, slopes, values = trial, new_slopes, new_values
            directions = _directions(V, low, high, slopes, pairs, gamma)
            lengths.fill(1.0)
        else:
            moved = good[:, None]
            V, slopes = np.where(moved, trial, V), np.where(moved, new_slopes, slopes)
            values = np.where(good, new_values, values)
            directions = np.where(moved, _directions(V, low, high, slopes, pairs, gamma), directions)
            lengths = np.where(moved, 1.0, 0.5 * lengths)
        # Relative for small positive values too (an EI of 1e-8), absolute for logarithms near zero.
        size = np.where(values > 0.0, values, np.maximum(-values, 1.0))
        stay = np.where(good, gained > TOLERANCE * size, lengths[:, 0] > LEAST_LENGTH) & directions.any(axis=1)
    ended_Z[rows], ended_values[rows] = V * scales, values
    return np.minimum(np.maximum(ended_Z, lowest), highest), ended_values


def _directions(
    V: Array, low: Array, high: Array, slopes: Array, pairs: list[tuple[Array, Array, Array]], gamma: Array
) -> Array:
    """Quasi-Newton directions (r, d) by the two-loop recursion, for all rows at once.

    pairs: steps (r, d), changes of the slope (r, d) and 1 / (step . change) (r,), oldest first; 0 where a row does not
    use the pair. gamma (r,): the newest step . change / |change|^2, 0 where a row has none yet.
    A variable at its bound stays there while the slope points outward. Where nothing is remembered, or the recursion
    does not point uphill, the direction is the slope, scaled to move FIRST_MOVE at the most.
    """
    held = ((low >= V) & (slopes < 0.0)) | ((high <= V) & (slopes > 0.0))
    slopes = np.where(held, 0.0, slopes)
    steepest = np.abs(slopes).max(axis=1)
    plain = slopes * (FIRST_MOVE / np.where(steepest > TINY, steepest, 1.0))[:, None]
    if not gamma.any():
        return plain
    q, shares = slopes.copy(), []
    for s, y, rho in reversed(pairs):
        shares.append(rho * np.vecdot(s, q))
        q -= shares[-1][:, None] * y
    q *= gamma[:, None]
    for s, y, rho in pairs:
        q += (shares.pop() - rho * np.vecdot(y, q))[:, None] * s
    q[held] = 0.0
    usable = (gamma > 0.0) & (np.vecdot(q, slopes) > 0.0)
    return np.where(usable[:, None], q, plain)


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, -np.inf)
