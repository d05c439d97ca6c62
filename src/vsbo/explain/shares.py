"""From the visited models to shares: draws of the coefficients, and what each says of each variable.

With orthonormal functions the variance of f is the sum of squares of all coefficients, and the total Sobol index of
variable j is the part of it that belongs to its effect and to its pairs. Within a box the functions are no longer
orthonormal: with m_j, C_j the mean and covariance of phi(x_j) there, and B_jk the coefficients of a pair,

    main effect  b_j = beta_j + sum_k B_jk m_k,   V_j = b_j' C_j b_j;      pair  V_jk = tr(B_jk' C_j B_jk C_k)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vsbo.arrays import Array
from vsbo.explain.chain import Visit
from vsbo.explain.sparse import PAIR, SPREAD, SPREADS

#: Models that are drawn from, and draws of coefficients from each.
MODELS, DRAWS = 64, 4


@dataclass(frozen=True, eq=False)
class Shares:
    """For each variable, with m draws; what is said of a variable "in" and "out" of the model.

    inside, outside (m, D): its share if its main effect is in the model, or out of it; p_in (m, D): the probability
    of the former in the draw's model; factor (m, D): the evidence for it. local_inside, local_outside (m, D): in the
    box. joint (m, D): shares in the draw's own model. beta (m, D, R): coefficients if in; is_in (m, D). unseen (m,).
    """

    inside: Array
    outside: Array
    p_in: Array
    even: Array
    local_inside: Array
    local_outside: Array
    joint: Array
    beta: Array
    is_in: Array
    unseen: Array


def draw_shares(visits: Sequence[Visit], means: Array, covariances: Array, rng: np.random.Generator) -> Shares:
    """means (D, R) and covariances (D, R, R): of the functions in the box around the best point."""
    weights = np.array([visit.weight for visit in visits])
    # Systematic resampling: each model as often as it deserves, up to one.
    at = (np.arange(MODELS) + rng.random()) / MODELS
    chosen, counts = np.unique(np.searchsorted(np.cumsum(weights) / weights.sum(), at), return_counts=True)
    parts = [
        _draw(visits[min(int(i), len(visits) - 1)], int(count) * DRAWS, means, covariances, rng)
        for i, count in zip(chosen, counts, strict=True)
    ]
    return Shares(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _draw(visit: Visit, count: int, means: Array, covariances: Array, rng: np.random.Generator) -> tuple[Array, ...]:
    model, data = visit.model, visit.model.bench.data
    D, R = data.D, data.R
    beta = _conditional(visit, count, rng)
    is_in = np.zeros((count, D), dtype=bool)
    pair, main_shift = np.zeros((count, D)), np.zeros((count, D, R))
    local_pair = np.zeros((count, D))
    pair_total, local_pair_total = np.zeros(count), np.zeros(count)
    coefficients = model.draw(count, rng)
    for i, key in enumerate(model.keys):
        own = coefficients[:, i * R : (i + 1) * R]
        if len(key) == 1:
            beta[:, key[0]], is_in[:, key[0]] = own, True
            continue
        j, k = key
        B = np.zeros((count, 3, 3))
        for column, (a, b) in enumerate(PAIR):
            B[:, a, b] = own[:, column]
        main_shift[:, j, :3] += B @ means[k, :3]
        main_shift[:, k, :3] += np.einsum("a,cab->cb", means[j, :3], B)
        square = np.einsum("cab,cab->c", B, B)
        local = np.einsum("cab,ad,cde,be->c", B, covariances[j, :3, :3], B, covariances[k, :3, :3], optimize=True)
        pair_total += square
        local_pair_total += local
        for one in key:
            pair[:, one] += square
            local_pair[:, one] += local
    spread = SPREADS[model.spread]
    main = np.einsum("cdr,cdr->cd", beta, beta)
    unseen = np.full(count, spread)
    inside, outside, joint = _parts(main, pair, np.zeros_like(main), is_in, pair_total + spread)
    local_with = _quadratic(beta + main_shift, covariances)
    local_without = _quadratic(main_shift, covariances)
    slope = covariances[:, :2, :2].diagonal(axis1=1, axis2=2) @ np.array(SPREAD)
    local_inside, local_outside, _ = _parts(
        local_with, local_pair, local_without, is_in, local_pair_total + spread * float(slope.mean())
    )
    factor = np.logaddexp.reduce(visit.factors, axis=1) - np.log(visit.factors.shape[1])
    p_in = np.broadcast_to(_sigmoid(factor + visit.log_odds), (count, D))
    # With even prior odds for this variable alone: the model without it weighs (1 + BF) / (1 + odds BF) as much.
    log_weight = np.logaddexp(0.0, factor) - np.logaddexp(0.0, factor + visit.log_odds)
    even = np.broadcast_to(np.stack([log_weight, factor], axis=1).T, (count, 2, D))
    total = np.sum(np.where(is_in, main, 0.0), axis=1) + pair_total + spread
    return inside, outside, p_in, even, local_inside, local_outside, joint, beta, is_in, unseen / total


def _parts(main: Array, pair: Array, without: Array, is_in: Array, rest: Array) -> tuple[Array, Array, Array]:
    """Shares (count, D) of a variable with its main effect, without it, and as the model has it.

    main, without: the variance of its main effect if it is in, and if not (which pairs bring in a box); pair: of its
    pairs; rest (count,): the variance of all pairs and of what is unseen.
    """
    now = np.where(is_in, main, without)
    total = (now.sum(axis=1) + rest)[:, None] - now
    inside, outside = (main + pair) / (total + main), (without + pair) / (total + without)
    return inside, outside, np.where(is_in, inside, outside)


def _quadratic(beta: Array, covariances: Array) -> Array:
    value: Array = np.einsum("cdr,cdr->cd", np.matmul(beta.transpose(1, 0, 2), covariances).transpose(1, 0, 2), beta)
    return np.maximum(value, 0.0)


def _conditional(visit: Visit, count: int, rng: np.random.Generator) -> Array:
    """Coefficients (count, D, R) of each variable's main effect, if it alone joined the model."""
    data = visit.model.bench.data
    D, R = data.D, data.R
    p = np.exp(visit.factors - visit.factors.max(axis=1, keepdims=True))
    cumulative = np.cumsum(p, axis=1)
    g = (rng.random((D, 1)) * cumulative[:, -1:] > cumulative).sum(axis=1)
    root = np.sqrt(data.lambdas[np.arange(D), g])
    S = visit.A * root[:, :, None] * root[:, None, :]
    S[:, np.arange(R), np.arange(R)] += 1.0
    L = np.linalg.cholesky(S)
    # (I + lAl)^-1 lb and a draw around it: L^-T (L^-1 l b + z)
    half = np.linalg.solve(L, (root * visit.b)[:, :, None]) + rng.standard_normal((D, R, count))
    beta = np.linalg.solve(L.transpose(0, 2, 1), half) * root[:, :, None]
    return beta.transpose(2, 0, 1).copy()


def _sigmoid(x: Array) -> Array:
    value: Array = 0.5 * (1.0 + np.tanh(0.5 * x))
    return value


def quantile(values: Array, weights: Array, q: float) -> Array:
    """Weighted quantiles (D,) of values (m, D) with weights (m, D)."""
    order = np.argsort(values, axis=0)
    sorted_weights = np.take_along_axis(weights, order, axis=0)
    cumulative = np.cumsum(sorted_weights, axis=0)
    at = (cumulative < q * cumulative[-1]).sum(axis=0)
    found: Array = np.take_along_axis(values, np.take_along_axis(order, at[None, :], axis=0), axis=0)[0]
    return found
