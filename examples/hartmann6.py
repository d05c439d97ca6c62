"""Hartmann's function of six variables, hidden among 50: `vsbo run hartmann6.toml`. Its maximum is 3.688.

f = h(six variables) + h(six others) / 10 + h(six more) / 100; where they are is drawn once, with a fixed seed.
"""

from collections.abc import Mapping

import numpy as np

WEIGHT = np.array([1.0, 1.2, 3.0, 3.2])
SHAPE = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
CENTER = np.array(
    [
        [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
        [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
        [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
        [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
    ]
)
PLACES = [f"x{j}" for j in np.random.default_rng(0).permutation(50)]


def f(params: Mapping[str, float]) -> float:
    """The value at a point: a number for each of x0 ... x49."""
    blocks = np.array([params[name] for name in PLACES[:18]]).reshape(3, 1, 6)
    heights = np.exp(-np.sum(SHAPE * (blocks - CENTER) ** 2, axis=-1)) @ WEIGHT
    return float(heights @ [1.0, 0.1, 0.01])


if __name__ == "__main__":
    print("truly, these six decide:", ", ".join(sorted(PLACES[:6], key=lambda name: int(name[1:]))))
