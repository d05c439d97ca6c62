"""Normal numbers that are a function of a seed and a point, so that a resumed run meets the same noise."""

import hashlib

import numpy as np
from scipy.special import ndtri

from benchmarks.problems.problem import Array


def normals(X: Array, seed: int, k: int = 1) -> Array:
    """k independent standard normal numbers for each row of X (n, D): (n, k).

    They depend on the seed and the row's bytes only, not on how often or in which order points are evaluated. The same
    point therefore has the same noise twice: repeating an evaluation does not average it out.
    """
    # + 0.0 turns -0.0 into 0.0: equal points are to have equal bytes.
    rows = np.ascontiguousarray(X, dtype="<f8") + 0.0
    start = hashlib.shake_128(int(seed).to_bytes(8, "little", signed=True))
    digests = bytearray()
    for row in rows:
        point = start.copy()
        point.update(row.tobytes())
        digests += point.digest(8 * k)
    integers = np.frombuffer(digests, dtype="<u8").reshape(len(rows), k)
    # The 53 upper bits, in the middle of their interval: never 0 or 1, where the quantile is infinite.
    values: Array = ndtri(((integers >> 11) + 0.5) * 2.0**-53)
    return values
