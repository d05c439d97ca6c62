"""The "mix" strategy of Spagnol et al., which the paper compares with (appendix D)."""

import numpy as np

from vsbo.arrays import Array


def mix(incumbent: Array, probability: float, rng: np.random.Generator) -> Array:
    """With `probability` uniform in the cube, otherwise the incumbent's values; incumbent (k,)."""
    fresh = rng.random(len(incumbent))
    return fresh if rng.random() < probability else incumbent.copy()
