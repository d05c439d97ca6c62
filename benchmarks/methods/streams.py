"""Randomness of the methods: addressed by the run's seed and a name, so that no two uses of a seed share numbers."""

import numpy as np


def stream(seed: int, name: str, index: int = 0) -> np.random.Generator:
    """A generator of its own for (seed, name, index).

    The runner draws initial points and orders of variables with the same seed: a method that began at
    `default_rng(seed)` might ask for the very points it was told.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*name.encode(), index)))
