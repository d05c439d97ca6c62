"""Priors on the logarithms of the hyper-parameters, each by itself: normal, or with the tails of Student's t."""

from dataclasses import dataclass

import numpy as np

from vsbo.arrays import Array, frozen
from vsbo.config import PriorName

#: Degrees of freedom of the tails: a variable whose length-scale is e^2 times too long or short costs 4 nats, not 8.
FREEDOM = 4.0


@dataclass(frozen=True, eq=False)
class Prior:
    """t_i ~ N(center_i, deviation_i^2), t = `Hyperparameters.to_log`. A deviation of inf is no prior. The first `heavy`
    of them have Student's t of FREEDOM instead of the normal.
    """

    center: Array
    deviation: Array
    heavy: int = 0

    def negative_log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Without its constant: value, gradient (d + 2,)."""
        z = (log_theta - self.center) / self.deviation
        tailed, normal = z[: self.heavy], z[self.heavy :]
        value = 0.5 * float(normal @ normal) + 0.5 * (FREEDOM + 1.0) * float(np.log1p(tailed**2 / FREEDOM).sum())
        tailed *= (FREEDOM + 1.0) / (FREEDOM + tailed**2)  # a part of z: what is left there is the slope
        return value, z / self.deviation


def prior_mode(name: PriorName, d: int) -> float:
    """The most probable log l under the named prior for d variables."""
    return float(0.5 * np.log(d / 6.0) if name == "alike" else np.sqrt(2.0) + 0.5 * np.log(d) - 3.0)


def prior_for(name: PriorName, d: int, main: bool = False, doubted: bool = False) -> Prior | None:
    """The named prior for d variables, with a place for b where there are main effects, and one for v where failures
    are doubted.
    """
    if name == "none":
        return None
    # Length-scales: Hvarfner et al. 2024, l ~ LogNormal(sqrt 2 + log(d) / 2, sqrt 3): distances in the cube grow as
    # sqrt d, and with them the length-scale at which a function of d variables has the same complexity. Noise:
    # LogNormal(-4, 1), with which BoTorch ships it. What they maximize is the density of l, whose mode is
    # exp(mu - sigma^2): as a function of log l the same is a normal about mu - sigma^2. (About mu, where our first
    # version had it, length-scales are 20 times as long, and nothing was found: docs/experiments.md.)
    # Output scale: none. The main effects' share: anything between a fiftieth and all but that, in log-odds. v, what is
    # doubted of failures: little, but a few values that say otherwise are enough. Several times less, or half the
    # deviation, made no difference beyond errors (docs/experiments.md, seventeenth round).
    # "alike": two random points of the cube are sqrt(d / 6) apart, and that is the length-scale of all variables, but
    # for a factor of e^0.5 or of much more for a few. Fifty length-scales fitted to fifty points follow chance.
    center = np.r_[np.full(d, prior_mode(name, d)), 0.0, -5.0, [0.0] * main, [-5.0] * doubted]
    deviation = np.r_[np.full(d, 0.5 if name == "alike" else np.sqrt(3.0)), np.inf, 1.0, [2.0] * main, [3.0] * doubted]
    return Prior(frozen(center), frozen(deviation), heavy=d if name == "alike" else 0)
