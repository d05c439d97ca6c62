"""Importance scores of a fitted Gaussian process: Grad-IS, and the KLD-based score it is compared with."""

import numpy as np

from vsbo.arrays import Array
from vsbo.gp import Posterior
from vsbo.gp.choices import APART

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

    p is the predictive distribution of an observation. The step turns inward at the upper face of the cube; of a choice
    without order it is to each other value, and the score the mean of theirs.
    """
    X, s = posterior.X, posterior.theta.noise
    mu, sigma = posterior.predict(X)
    variance = sigma**2 + s

    def score(j: int, moved: Array, length: float) -> float:
        Z = X.copy()
        Z[:, j] = moved
        mu_j, sigma_j = posterior.predict(Z)
        ratio = variance / (sigma_j**2 + s)
        # 2 KL = r - 1 - log r + (mu - mu_j)^2 / v_j; log1p keeps the first part exact near r = 1
        twice_kl = (ratio - 1.0) - np.log1p(ratio - 1.0) + (mu - mu_j) ** 2 / (sigma_j**2 + s)
        return float(np.mean(np.sqrt(np.maximum(twice_kl, 0.0)))) / length

    scores = np.empty(X.shape[1])
    for j, x in enumerate(X.T):
        k = posterior.levels[j] if posterior.levels else 0
        if k:
            scores[j] = np.mean([score(j, (x + shift / k) % 1.0, APART) for shift in range(1, k)])
        else:
            scores[j] = score(j, x + np.where(x + step <= 1.0, step, -step), step)
    return scores


def ranked(scores: Array) -> tuple[int, ...]:
    """Variables from the most to the least important; equal scores keep their order (note 8)."""
    return tuple(np.argsort(-scores, kind="stable").tolist())
