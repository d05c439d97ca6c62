"""Importance scores of a fitted Gaussian process: Grad-IS, and the KLD-based score it is compared with."""

import numpy as np

from vsbo.arrays import Array
from vsbo.gp import Posterior

#: Paananen et al. 2019, section 3: the step of the finite difference, for inputs of unit scale.
KL_STEP = 1e-4


def gradient_importance(posterior: Posterior, n_points: int, rng: np.random.Generator) -> Array:
    """Grad-IS (d,): the mean of |grad mu(x)| / sigma(x) over n_points x, uniform in the cube (section 3.1).

    Absolute values, as in the authors' program: the signed mean of the text cancels wherever f goes up and down.
    """
    d = posterior.X.shape[1]
    total = np.zeros(d)
    for rows in posterior.batches(n_points):
        Z = rng.random((min(rows.stop, n_points) - rows.start, d))
        sigma, slope = posterior.deviation_and_slope(Z)
        total += (1.0 / sigma) @ np.abs(slope)
    return total / n_points


def kl_importance(posterior: Posterior, step: float = KL_STEP) -> Array:
    """KLD-based score (d,) of Paananen et al. 2019: sqrt(2 KL(p(y|x) || p(y|x + step e_j))) / step, mean over the data.

    p is the predictive distribution of an observation. The step turns inward at the upper face of the cube.
    """
    X, s = posterior.X, posterior.theta.noise
    mu, sigma = posterior.predict(X)
    variance = sigma**2 + s
    scores = np.empty(X.shape[1])
    for j in range(X.shape[1]):
        Z = X.copy()
        Z[:, j] += np.where(X[:, j] + step <= 1.0, step, -step)
        mu_j, sigma_j = posterior.predict(Z)
        ratio = variance / (sigma_j**2 + s)
        # 2 KL = r - 1 - log r + (mu - mu_j)^2 / v_j; log1p keeps the first part exact near r = 1
        twice_kl = (ratio - 1.0) - np.log1p(ratio - 1.0) + (mu - mu_j) ** 2 / (sigma_j**2 + s)
        scores[j] = np.mean(np.sqrt(np.maximum(twice_kl, 0.0))) / step
    return scores


def ranked(scores: Array) -> tuple[int, ...]:
    """Variables from the most to the least important; equal scores keep their order (note 8)."""
    return tuple(np.argsort(-scores, kind="stable").tolist())
