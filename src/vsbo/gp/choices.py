"""Choices without order: their values are the corners of a simplex, so that all are equally far from each other.

levels (d,): of each variable how many values it has, if they have no order, and 0 otherwise; () if none is like that.
In the cube the values of such a variable stand side by side, as those of any other; what a model sees of it are columns
of their own, one a value, that share its length-scale:  |u_j - v_j|^2 = APART^2 / l_j^2 where they differ, else 0.
"""

from typing import Any

import numpy as np

from vsbo.arrays import Array

#: How far two values are apart: as far as the two of a binary variable, which stand at 1/4 and 3/4. Two random values
#: of such a variable are then about as far apart as two random places along a real one.
APART = 0.5


def owners(levels: tuple[int, ...]) -> Any:
    """The variable (d',) of each column that `spread` makes."""
    return np.r_[np.arange(len(levels)), np.repeat(np.arange(len(levels)), levels)]


def corners(levels: tuple[int, ...]) -> dict[int, slice]:
    """Where the columns of each choice are."""
    ends = len(levels) + np.cumsum(levels)
    return {j: slice(int(end) - k, int(end)) for j, (k, end) in enumerate(zip(levels, ends, strict=True)) if k}


def spread(X: Array, levels: tuple[int, ...]) -> Array:
    """X (n, d) with its choices at 0, and their corners in columns behind it: (n, d + sum of levels)."""
    if not levels:
        return X
    columns = np.zeros((len(X), len(levels) + sum(levels)), X.dtype)
    columns[:, : len(levels)] = np.where(np.array(levels) > 0, 0.0, X)
    for j, own in corners(levels).items():
        at = np.minimum((X[:, j] * levels[j]).astype(np.intp), levels[j] - 1)
        columns[np.arange(len(X)), own.start + at] = APART / np.sqrt(2.0)
    return columns


def gather(slopes: Array, levels: tuple[int, ...]) -> Array:
    """Slopes (k, d') along the columns as slopes (k, d) along the variables: of a choice its steepness alone, since
    from one of its values to another there is no direction.
    """
    gathered = slopes[:, : len(levels)].copy()
    for j, own in corners(levels).items():
        gathered[:, j] = np.linalg.norm(slopes[:, own], axis=1)
    return gathered
