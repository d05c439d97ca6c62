"""Priors on the logarithms of the hyper-parameters: independent normals, so that their gradient is a division."""

from dataclasses import dataclass

import numpy as np

from vsbo.arrays import Array, frozen
from vsbo.config import PriorName


@dataclass(frozen=True, eq=False)
class Prior:
    """log theta_i ~ N(center_i, deviation_i^2); theta = (l_1 ... l_d, a, s). A deviation of inf is no prior."""

    center: Array
    deviation: Array

    def negative_log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Without its constant: value, gradient (d + 2,)."""
        z = (log_theta - self.center) / self.deviation
        return 0.5 * float(z @ z), z / self.deviation


def prior_for(name: PriorName, d: int) -> Prior | None:
    """The named prior for d variables."""
    if name == "none":
        return None
    # Length-scales: Hvarfner et al. 2024, LogNormal(sqrt 2 + log(d) / 2, sqrt 3): distances in the cube grow as sqrt d,
    # and with them the length-scale at which a function of d variables has the same complexity.
    # Noise: LogNormal(-4, 1), with which BoTorch ships it. Output scale: y is standardized, so within a factor e of 1.
    center = np.r_[np.full(d, np.sqrt(2.0) + 0.5 * np.log(d)), 0.0, -4.0]
    deviation = np.r_[np.full(d, np.sqrt(3.0)), 1.0, 1.0]
    return Prior(frozen(center), frozen(deviation))
