"""Expected improvement over `best`, and its logarithm; each with its derivatives in mu and sigma.

EI = sigma g(z),  z = (mu - best) / sigma,  g(z) = phi(z) + z Phi(z)            (paper, appendix B)
dEI/dmu = Phi(z),  dEI/dsigma = phi(z)
d log EI / dmu = r / sigma,  d log EI / dsigma = (1 - z r) / sigma,  r = Phi(z) / g(z)
"""

import numpy as np
from scipy.special import erfcx, ndtr

from vsbo.arrays import Array

#: Beyond this z^2 overflows; EI is zero and its logarithm astronomically small long before.
LARGEST_Z = 1e150


def expected_improvement(mu: Array, sigma: Array, best: float) -> tuple[Array, Array, Array]:
    """EI, dEI/dmu, dEI/dsigma, each (k,)."""
    z = np.clip((mu - best) / sigma, -LARGEST_Z, LARGEST_Z)
    phi, Phi = _density(z), ndtr(z)
    return sigma * np.maximum(phi + z * Phi, 0.0), Phi, phi


def log_expected_improvement(mu: Array, sigma: Array, best: float) -> tuple[Array, Array, Array]:
    """log EI, dlogEI/dmu, dlogEI/dsigma, each (k,); finite and increasing in mu wherever mu, sigma are finite."""
    z = np.clip((mu - best) / sigma, -LARGEST_Z, LARGEST_Z)
    value, ratio = _log_g(z)
    return np.log(sigma) + value, ratio / sigma, (1.0 - z * ratio) / sigma


def _density(z: Array) -> Array:
    density: Array = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return density


def _log_g(z: Array) -> tuple[Array, Array]:
    """log(phi + z Phi) and Phi / (phi + z Phi), without cancellation.

    z > -1: as written. -50 < z <= -1: with t = Phi / phi = sqrt(pi/2) erfcx(-z / sqrt 2), g = phi (1 + z t), where
    1 + z t loses at most z^2 = 2500 units of rounding. Below: the asymptotic series 1 + z t = z^-2 (1 - 3 z^-2 + ...).
    """
    value, ratio = np.empty_like(z), np.empty_like(z)
    near, far = z > -1.0, z <= -50.0
    middle = ~(near | far)

    w = z[near]
    Phi = ndtr(w)
    g = _density(w) + w * Phi
    value[near], ratio[near] = np.log(g), Phi / g

    w = z[middle]
    t = np.sqrt(0.5 * np.pi) * erfcx(-w / np.sqrt(2.0))
    rest = 1.0 + w * t
    value[middle] = -0.5 * w**2 - 0.5 * np.log(2.0 * np.pi) + np.log(rest)
    ratio[middle] = t / rest

    w = z[far]
    v = 1.0 / w**2
    g_series = 1.0 + v * (-3.0 + v * (15.0 + v * (-105.0 + v * 945.0)))  # z^2 (1 + z t)
    t_series = 1.0 + v * (-1.0 + v * (3.0 + v * (-15.0 + v * 105.0)))  # -z t
    value[far] = -0.5 * w**2 - 0.5 * np.log(2.0 * np.pi) - 2.0 * np.log(-w) + np.log(g_series)
    ratio[far] = -w * t_series / g_series
    return value, ratio
