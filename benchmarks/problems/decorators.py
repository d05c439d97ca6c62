"""Decorators that make another problem of one: noisy, failing, with unrelated variables, shifted (permuted is in
problem.py).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from benchmarks.errors import BenchError
from benchmarks.problems.noise import normals
from benchmarks.problems.problem import Array, Problem

# How far `shifted` moves an optimum along each axis, in widths of the box: enough to leave a special place, little
# enough that most of the box is the problem's own and not its mirror image.
SHORTEST, FARTHEST = 0.05, 0.2
#: The middle of the box is on the plane of `crashing`, but for rounding, and is to be on its good side.
EDGE = 1e-9


def noisy(problem: Problem, sd: float, seed: int = 0) -> Problem:
    """The same problem, observed with normal noise of deviation sd; `best` stays the largest value without noise.

    The noise is a function of seed and point (see noise.normals): a resumed run is the same run.
    """
    if not (np.isfinite(sd) and sd >= 0):
        raise BenchError(f"sd must be a finite number, at least 0; got {sd!r}")
    return replace(
        problem,
        name=f"{problem.name}-noisy{sd:g}",
        values=lambda X: problem.values(X) + sd * normals(X, seed)[:, 0],
        around=None,
    )


def flaky(problem: Problem, share: float, seed: int = 0) -> Problem:
    """The same problem, of whose evaluations this share fails, wherever they are: NaN. As with noise, whether one does
    is a function of seed and point.
    """
    if not 0.0 <= share < 1.0:
        raise BenchError(f"share must be in [0, 1); got {share!r}")
    return replace(
        problem,
        name=f"{problem.name}-flaky",
        values=lambda X: np.where(ndtr(normals(X, seed)[:, 0]) < share, np.nan, problem.values(X)),
        around=None,
    )


def crashing(problem: Problem, seed: int = 0) -> Problem:
    """The same problem, of which a half of the box fails: NaN beyond a plane through its middle (which does not fail),
    whose normal has a direction drawn by the seed along all variables. `best` stays that of the whole box: nobody
    knows what the rest attains.
    """
    normal = np.random.default_rng(seed).normal(size=problem.D)
    low, high = problem.bounds.T

    def values(X: Array) -> Array:
        beyond = ((np.asarray(X) - low) / (high - low) - 0.5) @ normal > EDGE
        return np.where(beyond, np.nan, problem.values(X))

    return replace(problem, name=f"{problem.name}-crashing", values=values, argmax=None, around=None)


def with_unrelated(problem: Problem, D: int) -> Problem:
    """The problem with variables in [0, 1] appended that change nothing, D in all."""
    d = problem.D
    if d > D:
        raise BenchError(f"D must be at least {d}, the variables {problem.name} has; got {D}")
    extra = D - d
    return replace(
        problem,
        name=f"{problem.name}-in{D}",
        values=lambda X: problem.values(np.asarray(X)[:, :d]),
        bounds=np.vstack([problem.bounds, np.tile([0.0, 1.0], (extra, 1))]),
        order=None if problem.order is None else np.concatenate([problem.order, np.arange(d, D)]),
        argmax=None if problem.argmax is None else np.concatenate([problem.argmax, np.full(extra, 0.5)]),
        around=None,
    )


def shifted(problem: Problem, by: int | Array) -> Problem:
    """The problem moved along every axis within the same box: the value at x is the old value at x - shift.

    by: the shift (D,) in the problem's units, or a seed for one that takes the optimum 5 to 20 % of the box from its
    place. Where x - shift leaves the box it is mirrored back, so all values are old values, the function stays
    continuous, and `best` is still right: the optimum must stay in the box, so a point that attains it must be known.
    """
    if problem.argmax is None:
        raise BenchError(f"shifted needs a problem with a known argmax, to keep it in the box; {problem.name} has none")
    low, high = problem.bounds.T
    shift = (
        _draw(problem.argmax, problem.bounds, int(by))
        if isinstance(by, int | np.integer)
        else np.asarray(by, dtype=np.float64)
    )
    if shift.shape != low.shape:
        raise BenchError(f"by must be a seed or a shift of shape {low.shape}; got shape {shift.shape}")
    argmax = problem.argmax + shift
    outside = np.flatnonzero((argmax < low) | (argmax > high) | (np.abs(shift) > high - low))
    if len(outside):
        raise BenchError(f"by must keep the optimum in the box; it takes variables {outside.tolist()} out of it")

    def values(X: Array) -> Array:
        moved = np.asarray(X) - shift
        moved = np.where(moved < low, 2 * low - moved, moved)
        moved = np.where(moved > high, 2 * high - moved, moved)
        return problem.values(np.clip(moved, low, high))

    return replace(problem, name=f"{problem.name}-shifted", values=values, argmax=argmax, around=None)


def _draw(argmax: Array, bounds: Array, seed: int) -> Array:
    """A shift (D,) that keeps argmax in the box."""
    rng = np.random.default_rng(seed)
    low, high = bounds.T
    shift: NDArray[np.float64] = rng.uniform(SHORTEST, FARTHEST, len(argmax)) * (high - low)
    shift *= rng.choice([-1.0, 1.0], len(argmax))
    # At most a fifth of the box: if one direction leads out of it, the other does not.
    leaves = (argmax + shift < low) | (argmax + shift > high)
    return np.where(leaves, -shift, shift)
