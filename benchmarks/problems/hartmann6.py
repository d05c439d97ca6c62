"""Hartmann6 among many variables: plain, with irrelevant ones only, and in a subspace that no axis shows."""

from dataclasses import replace

import numpy as np
from scipy.stats import special_ortho_group

from benchmarks.problems.decorators import with_unrelated
from benchmarks.problems.problem import Array, Problem
from benchmarks.problems.synthetic import HARTMANN6_ARGMAX, hartmann6

BEST = float(hartmann6(HARTMANN6_ARGMAX))


def plain_hartmann6(D: int) -> Problem:
    """Six variables matter, the others do nothing. Published values are those of -f."""
    alone = Problem(
        "Hartmann6",
        hartmann6,
        np.tile([0.0, 1.0], (6, 1)),
        BEST,
        frozenset(range(6)),
        minimized=True,
        argmax=HARTMANN6_ARGMAX,
    )
    return replace(with_unrelated(alone, D), name=f"Hartmann6-{D}")


def rotated_hartmann6(seed: int = 100) -> Problem:
    """f(A[:6] x), x in [-1, 1]^100, A from the Haar distribution on SO(100) (paper, appendix D; Letham et al. 2020).

    The paper refers to Letham et al. for the rest: Hartmann6 is evaluated at (z + 1) / 2, z = A[:6] x, and where that
    leaves the unit cube nothing is clipped. Hartmann6 is no larger outside it: each of its four bumps falls with the
    distance from a centre inside. So the maximum is the usual one, attained e.g. at x = A[:6]' z*, as A[:6] A[:6]' = I.
    The matrix is scipy's for random_state = seed, which means NumPy's frozen RandomState stream.
    """
    A: Array = special_ortho_group.rvs(100, random_state=seed)[:6]
    return Problem(
        "Rotated-Hartmann6-100",
        lambda X: hartmann6((X @ A.T + 1) / 2),
        np.tile([-1.0, 1.0], (100, 1)),
        BEST,
        argmax=A.T @ (2 * HARTMANN6_ARGMAX - 1),
    )
