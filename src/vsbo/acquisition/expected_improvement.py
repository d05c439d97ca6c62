"""Expected improvement over `best`, and its logarithm; each with its derivatives in mu and sigma.

EI = sigma g(z),  z = (mu - best) / sigma,  g(z) = phi(z) + z Phi(z)            (paper, appendix B)
dEI/dmu = Phi(z),  dEI/dsigma = phi(z)
d log EI / dmu = r / sigma,  d log EI / dsigma = (1 - z r) / sigma,  r = Phi(z) / g(z)
"""

import math

import numpy as np
from scipy.special import erfcx, ndtr

from vsbo.arrays import Array

#: Beyond this z^2 overflows; EI is zero and its logarithm astronomically small long before.
LARGEST_Z = 1e150

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
ROOT_HALF = math.sqrt(0.5)


def expected_improvement(mu: Array, sigma: Array, best: float) -> tuple[Array, Array, Array]:
    """EI, dEI/dmu, dEI/dsigma, each (k,)."""
    z = _standardized(mu, sigma, best)
    phi, Phi = _density(z), ndtr(z)
    return sigma * np.maximum(phi + z * Phi, 0.0), Phi, phi


def log_expected_improvement(mu: Array, sigma: Array, best: float) -> tuple[Array, Array, Array]:
    """log EI, dlogEI/dmu, dlogEI/dsigma, each (k,); finite and increasing in mu wherever mu, sigma are finite."""
    z = _standardized(mu, sigma, best)
    value, ratio = _log_g(z)
    return np.log(sigma) + value, ratio / sigma, (1.0 - z * ratio) / sigma


def _standardized(mu: Array, sigma: Array, best: float) -> Array:
    return np.minimum(np.maximum((mu - best) / sigma, -LARGEST_Z), LARGEST_Z)


def _density(z: Array) -> Array:
    density: Array = np.exp(-0.5 * z**2 - HALF_LOG_2PI)
    return density


def _log_g(z: Array) -> tuple[Array, Array]:
    """log(phi + z Phi) and Phi / (phi + z Phi), without cancellation.

    z > -1: as written. -50 < z <= -1: with t = Phi / phi = sqrt(pi/2) erfcx(-z / sqrt 2), g = phi (1 + z t), where
    1 + z t loses at most z^2 = 2500 units of rounding. Below: the asymptotic series 1 + z t = z^-2 (1 - 3 z^-2 + ...).
    """
    value, ratio = np.empty_like(z), np.empty_like(z)
    near, far = z > -1.0, z <= -50.0
    middle = ~(near | far)
    if near.any():
        w = z[near]
        Phi = ndtr(w)
        g = _density(w) + w * Phi
        value[near], ratio[near] = np.log(g), Phi / g
    if middle.any():
        w = z[middle]
        t = ROOT_HALF_PI * erfcx(w * -ROOT_HALF)
        rest = 1.0 + w * t
        value[middle], ratio[middle] = np.log(rest) - 0.5 * w**2 - HALF_LOG_2PI, t / rest
    if far.any():
        w = z[far]
        v = 1.0 / w**2
        g_series = 1.0 + v * (-3.0 + v * (15.0 + v * (-105.0 + v * 945.0)))  # z^2 (1 + z t)
        t_series = 1.0 + v * (-1.0 + v * (3.0 + v * (-15.0 + v * 105.0)))  # -z t
        value[far] = np.log(g_series) - 2.0 * np.log(-w) - 0.5 * w**2 - HALF_LOG_2PI
        ratio[far] = -w * t_series / g_series
    return value, ratio
