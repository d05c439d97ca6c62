"""The CMA-ES distribution N(m, sigma^2 C) over all D variables: a frozen value, and the update to the next.

Equation numbers are those of Hansen's tutorial (arXiv 1604.00772), which the paper cites. Points come from elsewhere
(Bayesian optimization chose some of their variables), so each step is clipped before it is used (Hansen 2011,
injection of external solutions).
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from vsbo.arrays import Array, frozen

#: A smaller step makes no new point, a larger one is uniform in the cube; beyond, only overflow waits.
LEAST_SIGMA, LARGEST_SIGMA = 1e-12, 1e6


@dataclass(frozen=True)
class Rates:
    """The strategy's constants for D variables and a population of `population` (eqs. 49-58)."""

    weights: tuple[float, ...]
    mu: int
    mu_eff: float
    c1: float
    c_mu: float
    c_sigma: float
    d_sigma: float
    c_c: float
    chi: float
    longest: float


@lru_cache(maxsize=64)
def rates(D: int, population: int) -> Rates:
    """The default constants of Table 1."""
    mu = population // 2
    raw = np.log((population + 1) / 2) - np.log(np.arange(1, population + 1))  # eq. 49
    mu_eff = raw[:mu].sum() ** 2 / (raw[:mu] ** 2).sum()
    mu_eff_minus = raw[mu:].sum() ** 2 / (raw[mu:] ** 2).sum()
    c1 = 2.0 / ((D + 1.3) ** 2 + mu_eff)  # eq. 57
    c_mu = min(1.0 - c1, 2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((D + 2.0) ** 2 + mu_eff))  # eq. 58
    negative = min(
        1.0 + c1 / c_mu,  # eq. 50
        1.0 + 2.0 * mu_eff_minus / (mu_eff + 2.0),  # eq. 51
        (1.0 - c1 - c_mu) / (D * c_mu),  # eq. 52
    )
    weights = np.where(raw >= 0, raw / raw[raw > 0].sum(), negative * raw / np.abs(raw[raw < 0]).sum())  # eq. 53
    c_sigma = (mu_eff + 2.0) / (D + mu_eff + 5.0)  # eq. 55
    return Rates(
        weights=tuple(weights.tolist()),
        mu=mu,
        mu_eff=float(mu_eff),
        c1=float(c1),
        c_mu=float(c_mu),
        c_sigma=float(c_sigma),
        d_sigma=float(1.0 + 2.0 * max(0.0, np.sqrt((mu_eff - 1.0) / (D + 1.0)) - 1.0) + c_sigma),
        c_c=float((4.0 + mu_eff / D) / (D + 4.0 + 2.0 * mu_eff / D)),  # eq. 56
        chi=float(np.sqrt(D) * (1.0 - 1.0 / (4.0 * D) + 1.0 / (21.0 * D**2))),  # E |N(0, I)|
        longest=float(np.sqrt(D) + 2.0 * D / (D + 2.0)),  # Mahalanobis length to which foreign steps are clipped
    )


@dataclass(frozen=True, eq=False)
class Cma:
    """m (D,), sigma, C (D, D), the two evolution paths (D,), and how many generations were told."""

    mean: Array
    sigma: float
    C: Array
    path_sigma: Array
    path_c: Array
    generation: int

    @property
    def covariance(self) -> Array:
        """sigma^2 C (D, D)."""
        return self.sigma**2 * self.C


def cma_from_design(X: Array, y: Array, sigma: float) -> Cma:
    """Start (Algorithm 1, line 5): the weighted mean of the better half of X (n, D) by y (n,), maximized; C = I."""
    better = np.argsort(-y, kind="stable")[: max(1, (len(y) + 1) // 2)]
    # The weights of eq. 49, for as many parents as there are.
    weights = np.log(len(better) + 0.5) - np.log(np.arange(1, len(better) + 1))
    mean = weights @ X[better] / weights.sum()
    D = X.shape[1]
    return Cma(frozen(mean), sigma, frozen(np.eye(D)), frozen(np.zeros(D)), frozen(np.zeros(D)), 0)


def cma_update(state: Cma, X: Array, y: Array, *, foreign: bool = True) -> Cma:
    """The next distribution, given a generation X (population, D) and its values y, maximized (Algorithm 1, line 9).

    foreign: clip each step to the Mahalanobis length that a sample of the strategy's own rarely exceeds.
    """
    population, D = X.shape
    r = rates(D, population)
    weights = np.array(r.weights)
    order = np.argsort(-y, kind="stable")

    try:
        eigenvalues, B = np.linalg.eigh(state.C)
    except np.linalg.LinAlgError:  # a shape beyond repair begins anew
        eigenvalues, B = np.ones(D), np.eye(D)
    roots = np.sqrt(np.maximum(eigenvalues, np.finfo(np.float64).eps))
    inverse_root = (B / roots) @ B.T  # C^(-1/2)

    steps = (X[order] - state.mean) / state.sigma  # y_i, eq. 40
    lengths = np.linalg.norm(steps @ inverse_root, axis=1)
    if foreign:
        shrink = np.minimum(1.0, r.longest / np.maximum(lengths, np.finfo(np.float64).tiny))
        steps, lengths = steps * shrink[:, None], lengths * shrink

    step = weights[: r.mu] @ steps[: r.mu]  # <y>_w, eq. 41
    path_sigma = (1.0 - r.c_sigma) * state.path_sigma
    path_sigma = path_sigma + np.sqrt(r.c_sigma * (2.0 - r.c_sigma) * r.mu_eff) * (inverse_root @ step)  # eq. 43
    length = float(np.linalg.norm(path_sigma))
    sigma = state.sigma * float(np.exp(r.c_sigma / r.d_sigma * (length / r.chi - 1.0)))  # eq. 44

    generation = state.generation + 1
    stalled = length / np.sqrt(1.0 - (1.0 - r.c_sigma) ** (2 * (generation + 1))) >= (1.4 + 2.0 / (D + 1.0)) * r.chi
    h = 0.0 if stalled else 1.0
    path_c = (1.0 - r.c_c) * state.path_c + h * np.sqrt(r.c_c * (2.0 - r.c_c) * r.mu_eff) * step  # eq. 45
    signed = weights * np.where(weights >= 0, 1.0, D / (lengths**2 + np.finfo(np.float64).eps))  # eq. 46
    kept = 1.0 + r.c1 * (1.0 - h) * r.c_c * (2.0 - r.c_c) - r.c1 - r.c_mu * weights.sum()
    C = kept * state.C + r.c1 * np.outer(path_c, path_c) + r.c_mu * (steps.T * signed) @ steps  # eq. 47
    return replace(
        state,
        mean=frozen(state.mean + state.sigma * step),  # eq. 42
        sigma=min(max(sigma, LEAST_SIGMA), LARGEST_SIGMA),
        C=frozen(0.5 * (C + C.T)),
        path_sigma=frozen(path_sigma),
        path_c=frozen(path_c),
        generation=generation,
    )
