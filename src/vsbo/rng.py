"""Randomness is addressed, never carried: a stream is named by (seed, trial, purpose).

There is no generator to save, to lose or to share: the same seed and the same history give the same next
point on any worker, in any process.
"""

import operator
from enum import IntEnum
from typing import Any

import numpy as np

from vsbo.errors import InputError


class Purpose(IntEnum):
    """What a stream is used for. The numbers are part of every saved run: append, never renumber."""

    DESIGN = 0
    IMPORTANCE = 1
    ACQUISITION = 2
    COMPLEMENT = 3
    FALLBACK = 4
    STOPPING = 5


def stream(seed: int, trial: int, purpose: Purpose) -> np.random.Generator:
    """The generator for one purpose of one trial."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(trial, int(purpose))))


def seed_from(rng: Any) -> int:
    """A whole number from what users pass as `rng` or `seed`: None, an int, or one of NumPy's: a Generator, a
    SeedSequence, a BitGenerator, a RandomState.
    """
    if rng is None:
        return int(np.random.SeedSequence().generate_state(2, np.uint64)[0])
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if isinstance(rng, np.random.SeedSequence):
        return int(rng.generate_state(1, np.uint64)[0])
    if isinstance(rng, np.random.BitGenerator):
        return int(np.random.Generator(rng).integers(2**63))
    if isinstance(rng, np.random.RandomState):
        return int(rng.randint(2**63, dtype=np.int64))
    try:
        seed = operator.index(rng)
    except TypeError:
        seed = -1
    if seed < 0 or isinstance(rng, bool):
        raise InputError(
            "seed (rng) must be None, a whole number >= 0, a numpy Generator, SeedSequence, BitGenerator or "
            f"RandomState; got {rng!r}"
        )
    return seed
