"""Exact, independent samples of N(mean, covariance) inside the unit cube: minimax tilting (Botev 2017).

Plain rejection dies in many dimensions (with 44 variables a few in 1e5 samples fall inside), and Gibbs sampling is
slow and only right in the limit. Here, with covariance = L L', x = mean + L z is drawn one variable after the
other, each inside the interval that the variables before it leave:

    z_k ~ N(mu_k, 1) truncated to [lower_k(z), upper_k(z)],
    lower_k = (0 - mean_k - sum_{j<k} L_kj z_j) / L_kk,  upper_k alike with 1.

A sample is accepted with probability exp(psi(z, mu) - psi*), which makes it exact; the tilt mu is the saddle point
that makes psi* = max_z psi(z, mu) least:

    psi(z, mu) = sum_k  mu_k^2 / 2 - mu_k z_k + log(Phi(upper_k - mu_k) - Phi(lower_k - mu_k)).
"""

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from vsbo.arrays import Array
from vsbo.linalg import cholesky

#: Steps to the saddle point. Weakly correlated variables need about ten plain ones; the others a few of Newton's.
MOST_PLAIN_STEPS = 40
MOST_NEWTON_STEPS = 60
TILT_TOLERANCE = 1e-9
#: Newton's method solves a system of 2 d equations: above this d it costs more than it saves.
MOST_NEWTON_VARIABLES = 250
#: Batches of proposals before the rest is left to Gibbs sampling. Weakly correlated variables need one or two.
MOST_ROUNDS = 50
GIBBS_SWEEPS = 200

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)


def sample_in_box(mean: Array, covariance: Array, k: int, rng: np.random.Generator) -> Array:
    """`k` samples (k, d) of N(mean (d,), covariance (d, d)) given that they are in [0, 1]^d."""
    L, _ = cholesky(covariance)
    scale = np.diagonal(L).copy()
    lower, upper = -mean / scale, (1.0 - mean) / scale
    T = np.tril(L, -1) / scale[:, None]  # the pull of earlier variables, in units of the later one's deviation
    accepted: list[Array] = []
    missing = k
    tilt = _saddle(T, lower, upper)
    if tilt is not None:
        mu, top = tilt
        for _ in range(MOST_ROUNDS):
            size = missing + missing // 4 + 2  # a few more, so that one batch mostly does
            z, psi = _propose(T, lower, upper, mu, size, rng)
            taken = z[-rng.exponential(size=size) < psi - top][:missing]
            accepted.append(taken)
            missing -= len(taken)
            if not missing:
                break
    if missing:
        accepted.append(_gibbs(T, lower, upper, missing, rng))
    return np.clip(mean + np.vstack(accepted) @ L.T, 0.0, 1.0)


def _saddle(T: Array, lower: Array, upper: Array) -> tuple[Array, float] | None:
    """The tilt mu (d,) and psi* = max_z psi(z, mu); None if it is not found.

    Both gradients of psi vanish where, with e_k the mean of N(0, 1) in [lower_k - s_k, upper_k - s_k], s = T z + mu:
        mu - T' e = 0  (stationary in z)    and    z - mu - e = 0  (stationary in mu).
    As a fixed point this contracts where T is small; otherwise Newton's method, with de/ds = v - 1 for the variance v.
    """
    d = len(lower)
    with np.errstate(over="ignore", invalid="ignore"):
        z, mu = np.zeros(d), np.zeros(d)
        for _ in range(MOST_PLAIN_STEPS):
            e = _moments(lower, upper, T @ z + mu)[0]
            change = np.r_[mu - T.T @ e, z - T.T @ e - e]
            mu = T.T @ e
            z = mu + e
            if np.max(np.abs(change)) < TILT_TOLERANCE:
                return _top(T, lower, upper, z, mu)
        if d > MOST_NEWTON_VARIABLES:
            return None
        x, identity = np.zeros(2 * d), np.eye(d)
        for _ in range(MOST_NEWTON_STEPS):
            residual, slope = _residual(T, lower, upper, x)
            size = float(np.max(np.abs(residual)))
            if size < TILT_TOLERANCE:
                return _top(T, lower, upper, x[d:], x[:d])
            VT = slope[:, None] * T
            jacobian = np.block([[identity - VT.T, -T.T @ VT], [-identity - np.diag(slope), identity - VT]])
            try:
                step = np.linalg.solve(jacobian, residual)
            except np.linalg.LinAlgError:
                return None
            for halvings in range(30):
                trial = x - 0.5**halvings * step
                if np.max(np.abs(_residual(T, lower, upper, trial)[0])) < size:
                    break
            else:
                return None
            x = trial
    return None


def _residual(T: Array, lower: Array, upper: Array, x: Array) -> tuple[Array, Array]:
    """Both gradients (2 d,) at x = (mu, z), up to sign, and de/ds (d,)."""
    mu, z = np.split(x, 2)
    e, variance = _moments(lower, upper, T @ z + mu)
    return np.r_[mu - T.T @ e, z - mu - e], variance - 1.0


def _top(T: Array, lower: Array, upper: Array, z: Array, mu: Array) -> tuple[Array, float]:
    """psi is concave in z, so a stationary point is its maximum; the margin covers what is left of the iteration."""
    shift = T @ z + mu
    return mu, float(np.sum(0.5 * mu**2 - mu * z + _log_mass(lower - shift, upper - shift))) + 1e-6


def _propose(T: Array, lower: Array, upper: Array, mu: Array, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """`k` proposals z (k, d) and their psi (k,)."""
    d = len(lower)
    z, psi = np.zeros((d, k)), np.full(k, 0.5 * float(mu @ mu))
    uniforms = rng.random((d, k))
    for j in range(d):
        shift = T[j, :j] @ z[:j] + mu[j]
        draw, log_mass = _truncated_normal(lower[j] - shift, upper[j] - shift, uniforms[j])
        z[j] = mu[j] + draw
        psi += log_mass
    return z.T, psi - mu @ z


def _gibbs(T: Array, lower: Array, upper: Array, k: int, rng: np.random.Generator) -> Array:
    """`k` chains z (k, d) of exact one-variable draws, for strongly correlated variables that tilting does not reach.

    The z are independent but for the box lower <= (I + T) z <= upper.
    """
    d = len(lower)
    A = np.eye(d) + T
    z, _ = _propose(T, lower, upper, np.zeros(d), k, rng)  # a start inside the box
    w = z @ A.T
    for _ in range(GIBBS_SWEEPS):
        for j in range(d):
            # z_j moves every w_i with i >= j; each of them leaves z_j an interval.
            column = A[j:, j]
            rest = w[:, j:] - np.outer(z[:, j], column)
            with np.errstate(divide="ignore", invalid="ignore"):
                one, two = (lower[j:] - rest) / column, (upper[j:] - rest) / column
            low = np.where(column > 0, one, np.where(column < 0, two, -np.inf)).max(axis=1)
            high = np.where(column > 0, two, np.where(column < 0, one, np.inf)).min(axis=1)
            fresh, _ = _truncated_normal(low, np.maximum(high, low), rng.random(k))
            w[:, j:] += np.outer(fresh - z[:, j], column)
            z[:, j] = fresh
    return z


def _truncated_normal(low: Array, high: Array, uniform: Array) -> tuple[Array, Array]:
    """N(0, 1) in [low, high] by inversion of log Phi, and log(Phi(high) - Phi(low)); exact in both tails."""
    # Intervals in the right tail are mirrored to the left, where log Phi resolves.
    flip = low > 0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    log_b = log_ndtr(b)
    r = np.exp(np.minimum(log_ndtr(a) - log_b, 0.0))  # Phi(a) / Phi(b)
    with np.errstate(divide="ignore"):
        z = ndtri_exp(log_b + np.log(r + uniform * (1.0 - r)))
        log_mass = log_b + np.log1p(-r)
    z = np.minimum(np.maximum(z, a), b)
    return np.where(flip, -z, z), log_mass


def _log_mass(low: Array, high: Array) -> Array:
    return _truncated_normal(low, high, np.zeros_like(low))[1]


def _moments(lower: Array, upper: Array, shift: Array) -> tuple[Array, Array]:
    """Mean and variance (d,) of N(0, 1) in [lower - shift, upper - shift]."""
    low, high = lower - shift, upper - shift
    mass = _log_mass(low, high)
    at_low = np.exp(-0.5 * low**2 - _HALF_LOG_2PI - mass)
    at_high = np.exp(-0.5 * high**2 - _HALF_LOG_2PI - mass)
    mean = at_low - at_high
    return mean, np.clip(1.0 + low * at_low - high * at_high - mean**2, 0.0, 1.0)
