"""The upper confidence bound, the theorem's beta_t and its regret bound (paper, section 5 and appendix C)."""

import numpy as np

from vsbo.arrays import Array
from vsbo.config import Smoothness
from vsbo.errors import InputError


def upper_confidence_bound(mu: Array, sigma: Array, beta: float) -> tuple[Array, Array, Array]:
    """UCB = mu + sqrt(beta) sigma, and its derivatives in mu and sigma, each (k,)."""
    root = np.sqrt(beta)
    return mu + root * sigma, np.ones_like(mu), np.full_like(sigma, root)


def theorem_beta(t: int, D: int, d: int, smoothness: Smoothness) -> float:
    """beta_t of Theorem 1, for iteration t >= 1 and d of D variables:

    2 log(8 pi^2 t^2 / (3 delta)) + 2 (D - d) log(alpha D t^2 c + 1) + 2 d log(D t^2 c),
    c = b sqrt(log(8 D a / delta)).

    It can be negative where c is tiny; then it is 0: the theorem asks for no exploration.
    """
    if t < 1 or not 0 <= d <= D:
        raise InputError(f"theorem_beta needs t >= 1 and 0 <= d <= D; got t={t}, d={d}, D={D}")
    reach = D * t**2 * _slope(D, smoothness)
    beta = 2.0 * np.log(8.0 * np.pi**2 * t**2 / (3.0 * smoothness.delta))
    beta += 2.0 * (D - d) * np.log(smoothness.alpha * reach + 1.0)
    if d:
        beta += 2.0 * d * np.log(reach) if reach > 0.0 else -np.inf
    return max(float(beta), 0.0)


def regret_bound(N: int, D: int, d: int, smoothness: Smoothness, information_gain: float, noise: float) -> float:
    """Theorem 1's bound on the average regret R_N / N, which holds with probability >= 1 - delta:

    2 sqrt(C1 beta_N gamma_N / N) + pi^2 / (3 N) + alpha c (D - d),  C1 = 8 / log(1 + 1 / noise).

    information_gain: gamma_N, the largest mutual information of N observations and f; noise: sigma_0^2.
    """
    if N < 1 or information_gain < 0 or noise <= 0:
        raise InputError(
            f"regret_bound needs N >= 1, information_gain >= 0 and noise > 0; got N={N}, "
            f"information_gain={information_gain}, noise={noise}"
        )
    C1 = 8.0 / np.log1p(1.0 / noise)
    explored = 2.0 * np.sqrt(C1 * theorem_beta(N, D, d, smoothness) * information_gain / N)
    left_out = smoothness.alpha * _slope(D, smoothness) * (D - d)
    return float(explored + np.pi**2 / (3.0 * N) + left_out)


def _slope(D: int, smoothness: Smoothness) -> float:
    """c = b sqrt(log(8 D a / delta)): the slope that no important variable exceeds, with high probability."""
    # a < delta / (8 D): even slopes of zero are exceeded with a probability below delta; then c = 0.
    return float(smoothness.b * np.sqrt(max(np.log(8.0 * D * smoothness.a / smoothness.delta), 0.0)))
