"""From the visited models to shares: draws of the coefficients, and what each says of each variable.

With orthonormal functions the variance of f is the sum of squares of all coefficients, and the total Sobol index of
variable j is the part of it that belongs to its effect and to its pairs. Within a box the functions are no longer
orthonormal: with m_j, C_j the mean and covariance of phi(x_j) there, and B_jk the coefficients of a pair,

    main effect  b_j = beta_j + sum_k B_jk m_k,   V_j = b_j' C_j b_j;      pair  V_jk = tr(B_jk' C_j B_jk C_k)

The walk among models sees few functions of each variable, for speed; here the groups of a model have all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vsbo.arrays import Array
from vsbo.explain.chain import Doubts, Visit
from vsbo.explain.refine import FINE_FIRST, Chain, Columns
from vsbo.explain.sparse import NOISES, PAIR, SPREAD

#: Models that are drawn from, and draws of coefficients from each.
MODELS, ROUNDS, DRAWS = 12, 2, 10
SETTLE, SETTLE_FIRST = 1, 6
#: With more functions less is left to s: steps down and up on its grid that are tried.
DOWN, UP = 5, 0


@dataclass(frozen=True, eq=False)
class Draws:
    """m draws. main, pair (m, D): variance of a variable's main effect if it is in, and of its pairs; without (m, D):
    of its main effect if it is out (which is 0 but in a box); rest (m,): of all pairs, and of
    what is unseen; doubt (m, D): of a pair that might be in.
    """

    main: Array
    without: Array
    pair: Array
    rest: Array
    doubt: Array

    def shares(self, is_in: Array, doubting: bool) -> tuple[Array, Array]:
        """Shares (m, D) of a variable if its main effect is in, and if it is out, all others as the model has them."""
        now = np.where(is_in, self.main, self.without)
        others = (now.sum(axis=1) + self.rest)[:, None] - now
        own = self.pair + self.doubt if doubting else self.pair
        total = others + self.doubt if doubting else others
        return (self.main + own) / (total + self.main), (self.without + own) / (total + self.without)


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the draws say. whole, local: over the cube, and in the box. is_in (m, D): whether the main effect is in the
    draw's model; log_odds, log_factor (m, D): prior odds and evidence for it; beta (m, D, R): its coefficients if in;
    noise (m,): s; unseen (m,): v.
    """

    whole: Draws
    local: Draws
    is_in: Array
    log_odds: Array
    log_factor: Array
    beta: Array
    noise: Array
    unseen: Array


def draw_posterior(
    visits: Sequence[Visit],
    doubts: Doubts | None,
    functions_of: Callable[[int], tuple[Array, Array]],
    box: tuple[Array, Array],
    rng: np.random.Generator,
) -> Posterior:
    """functions_of: values (n, r) and kernels (H, r, r) of all functions of a variable; box: means (D, R) and
    covariances (D, R, R) of the functions in the box.
    """
    weights = np.array([visit.weight for visit in visits])
    # Systematic resampling: each model as often as it deserves, up to one.
    at = (np.arange(MODELS) + rng.random()) / MODELS
    chosen, counts = np.unique(np.searchsorted(np.cumsum(weights) / weights.sum(), at), return_counts=True)
    picked = [visits[min(int(i), len(visits) - 1)] for i in chosen]
    keys = sorted({key for visit in picked for key in visit.model.on})
    functions = {j: functions_of(j) for j in {j for key in keys for j in key}}
    values, kernels = ({j: one[part] for j, one in functions.items()} for part in (0, 1))
    columns = Columns(visits[0].model.groups.rotation, values, kernels, keys)
    # Models with the same groups share a chain.
    order = sorted(range(len(picked)), key=lambda i: sorted(picked[i].model.on))
    chain, parts = Chain(columns, NOISES[picked[0].model.noise]), []
    for place, i in enumerate(order):
        visit, groups = picked[i], sorted(picked[i].model.on)
        if place == 0 or list(chain.keys) != groups:
            chain.turn_to(groups)
            for _ in range(SETTLE if place else SETTLE_FIRST):
                chain.round(visit.model.spread, rng)
        parts.append(_draw(visit, chain, int(counts[i]), box, rng))
    main, pair, rest, local_main, local_without, local_pair, local_rest, *others = (
        np.concatenate(arrays) for arrays in zip(*parts, strict=True)
    )
    doubt, local_doubt = _doubt(doubts, main.shape, box, rng)
    return Posterior(
        Draws(main, np.zeros_like(main), pair, rest, doubt),
        Draws(local_main, local_without, local_pair, local_rest, local_doubt),
        *others,
    )


def _draw(
    visit: Visit, chain: Chain, rounds: int, box: tuple[Array, Array], rng: np.random.Generator
) -> tuple[Array, ...]:
    means, covariances = box
    (D, R), F = means.shape, FINE_FIRST
    rounds *= ROUNDS
    count = rounds * DRAWS
    noise, drawn = np.empty(count), []
    for i in range(rounds):
        chain.round(visit.model.spread, rng)
        noise[i * DRAWS : (i + 1) * DRAWS] = chain.noise
        drawn.append(chain.draw(visit.model.spread, DRAWS, rng))
    coefficients = np.concatenate(drawn)
    slabs = slab(visit.factors, visit.A, visit.b, visit.model.groups.roots[:D], count, rng)
    r = slabs.shape[2]
    main, local_main = np.einsum("cdr,cdr->cd", slabs, slabs), _in_box(slabs, covariances[:, :r, :r])
    local_without, pair, local_pair = np.zeros((count, D)), np.zeros((count, D)), np.zeros((count, D))
    rest, local_rest = np.zeros(count), np.zeros(count)
    is_in = np.zeros((count, D), dtype=bool)
    beta = np.zeros((count, D, R))
    beta[:, :, :r] = slabs
    shift = {j: np.zeros((count, R)) for key in chain.keys for j in key}
    for i, key in enumerate(chain.keys):
        own, which = coefficients[:, chain.part[i]], chain.columns.functions[key]
        if len(key) == 1:
            beta[:, key[0]], is_in[:, key[0]] = 0.0, True
            beta[:, key[0], which[:, 0]] = own
            continue
        j, k = key
        B = np.zeros((count, F, F))
        B[:, which[:, 0], which[:, 1]] = own
        shift[j][:, :F] += B @ means[k, :F]
        shift[k][:, :F] += np.einsum("a,cab->cb", means[j, :F], B)
        square = np.einsum("cr,cr->c", own, own)
        local = _pair_in_box(B, covariances[j], covariances[k])
        rest += square
        local_rest += local
        for one in key:
            pair[:, one] += square
            local_pair[:, one] += local
    for j, moved in shift.items():
        main[:, j] = np.einsum("cr,cr->c", beta[:, j], beta[:, j])
        local_main[:, j] = _quadratic(beta[:, j] + moved, covariances[j])
        local_without[:, j] = _quadratic(moved, covariances[j])
    v = noise * chain.columns.rotation.ratio(visit.model.spread)
    # Unseen effects are lines and bends of any variable, and shrink in the box as these do.
    shrink = float((covariances[:, [0, 1], [0, 1]] @ np.array(SPREAD)).mean())
    factor = np.logaddexp.reduce(visit.factors, axis=1) - np.log(visit.factors.shape[1])
    return (
        main,
        pair,
        rest + v,
        local_main,
        local_without,
        local_pair,
        local_rest + v * shrink,
        is_in,
        np.broadcast_to(visit.log_odds, (count, D)),
        np.broadcast_to(factor, (count, D)),
        beta,
        noise,
        v,
    )


def slab(factors: Array, A: Array, b: Array, roots: Array, count: int, rng: np.random.Generator) -> Array:
    """Coefficients (count, N, R) of groups, each as if it alone joined; lambda by its evidence, factors (N, G)."""
    N, R = b.shape
    cumulative = np.cumsum(np.exp(factors - factors.max(axis=1, keepdims=True)), axis=1)
    g = (rng.random((N, 1)) * cumulative[:, -1:] > cumulative).sum(axis=1)
    root = roots[np.arange(N), g]
    S = A * root[:, :, None] * root[:, None, :]
    S[:, np.arange(R), np.arange(R)] += 1.0
    L = np.linalg.cholesky(S)
    # (I + lAl)^-1 lb and a draw around it: L^-T (L^-1 l b + z)
    inverse = np.linalg.inv(L)
    half = np.matmul(inverse, (root * b)[:, :, None]) + rng.standard_normal((N, R, count))
    beta = np.matmul(inverse.transpose(0, 2, 1), half) * root[:, :, None]
    draws: Array = beta.transpose(2, 0, 1)
    return draws


def _doubt(
    doubts: Doubts | None, shape: tuple[int, ...], box: tuple[Array, Array], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Variance (m, D) of each variable's likeliest pair that is not in, over the cube and in the box; 0 in draws in
    which it is taken to be out. Even odds, as for main effects.
    """
    m, D = shape
    if doubts is None:
        return np.zeros((m, D)), np.zeros((m, D))
    means, covariances = box
    known: Any = np.isfinite(doubts.factors).all(axis=1)
    factors = np.where(known[:, None], doubts.factors, 0.0)
    beta = slab(factors, doubts.A, doubts.b, doubts.roots, m, rng)
    log_factor = np.logaddexp.reduce(factors, axis=1) - np.log(factors.shape[1])
    there = (rng.random((m, D)) < 1.0 / (1.0 + np.exp(-log_factor))) & known
    # Functions a of the earlier variable and b of the later one; by itself a pair has the variance, and moves the main
    # effect of this variable by, what its moments in the box say: beta' K beta, K = (C + m m')_other C_own.
    (D, R), rows = beta.shape[1:], np.arange(D)
    own_first = (rows < doubts.other)[:, None]
    a, b = np.array(PAIR[:R]).T
    own, of_other = np.where(own_first, a, b), np.where(own_first, b, a)  # (D, R)
    second = covariances + means[:, :, None] * means[:, None, :]
    K = second[doubts.other[:, None, None], of_other[:, :, None], of_other[:, None, :]]
    K = K * covariances[rows[:, None, None], own[:, :, None], own[:, None, :]]
    square = np.einsum("mdr,mdr->md", beta, beta)
    return np.where(there, square, 0.0), np.where(there, _in_box(beta, K), 0.0)


def _pair_in_box(B: Array, C_j: Array, C_k: Array) -> Array:
    """tr(B' C_j B C_k) (count,)."""
    F = B.shape[1]
    value: Array = np.einsum("cab,cab->c", C_j[:F, :F] @ B, B @ C_k[:F, :F])
    return np.maximum(value, 0.0)


def _in_box(beta: Array, covariances: Array) -> Array:
    """beta' C beta (count, D)."""
    value: Array = np.einsum("dcr,dcr->cd", np.matmul(beta.transpose(1, 0, 2), covariances), beta.transpose(1, 0, 2))
    return np.maximum(value, 0.0)


def _quadratic(beta: Array, C: Array) -> Array:
    """beta' C beta (count,)."""
    value: Array = np.einsum("cr,cr->c", beta @ C, beta)
    return np.maximum(value, 0.0)


def quantile(values: Array, weights: Array, q: float) -> Array:
    """Weighted quantiles (D,) of values (m, D) with weights (m, D)."""
    order = np.argsort(values, axis=0)
    cumulative = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    at = (cumulative < q * cumulative[-1]).sum(axis=0)
    found: Array = np.take_along_axis(values, np.take_along_axis(order, at[None, :], axis=0), axis=0)[0]
    return found
