"""Priors on the logarithms of the hyper-parameters: independent normals, so that their gradient is a division."""

from dataclasses import dataclass

import numpy as np

from vsbo.arrays import Array, frozen
from vsbo.config import PriorName


@dataclass(frozen=True, eq=False)
class Prior:
    """t_i ~ N(center_i, deviation_i^2), t = `Hyperparameters.to_log`. A deviation of inf is no prior."""

    center: Array
    deviation: Array

    def negative_log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Without its constant: value, gradient (d + 2,)."""
        z = (log_theta - self.center) / self.deviation
        return 0.5 * float(z @ z), z / self.deviation


def prior_mode(d: int) -> float:
    """The most probable log l under the dimension-scaled prior for d variables."""
    return float(np.sqrt(2.0) + 0.5 * np.log(d) - 3.0)


def prior_for(name: PriorName, d: int, main: bool = False) -> Prior | None:
    """The named prior for d variables, with a place for b where there are main effects."""
    if name == "none":
        return None
    # Length-scales: Hvarfner et al. 2024, l ~ LogNormal(sqrt 2 + log(d) / 2, sqrt 3): distances in the cube grow as
    # sqrt d, and with them the length-scale at which a function of d variables has the same complexity. Noise:
    # LogNormal(-4, 1), with which BoTorch ships it. What they maximize is the density of l, whose mode is
    # exp(mu - sigma^2): as a function of log l the same is a normal about mu - sigma^2. (About mu, where our first
    # version had it, length-scales are 20 times as long, and nothing was found: docs/experiments.md.)
    # Output scale: none. The main effects' share: anything between a fiftieth and all but that, in log-odds.
    center = np.r_[np.full(d, prior_mode(d)), 0.0, -5.0, [0.0] * main]
    deviation = np.r_[np.full(d, np.sqrt(3.0)), np.inf, 1.0, [2.0] * main]
    return Prior(frozen(center), frozen(deviation))
