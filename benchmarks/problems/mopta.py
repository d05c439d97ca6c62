"""MOPTA08: a car's mass under 68 constraints, 124 variables (Jones 2008); F = -(f + 10 sum max(0, g)), as in the paper.

Nobody has stated a license for it, so this repository does not contain it. It is computed from a file of its
coefficients or by the official executable: `mopta08` says where they are looked for.
"""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import BenchError
from benchmarks.problems.best_points import best_point
from benchmarks.problems.mopta_executable import run
from benchmarks.problems.mopta_models import load
from benchmarks.problems.problem import Array, Problem

PENALTY = 10.0
FILE, EXECUTABLE = "VSBO_MOPTA08", "VSBO_MOPTA08_EXECUTABLE"
DEFAULT_FILE = Path(__file__).parents[3] / "shared" / "data" / "mopta08.npz"


def mopta08() -> Problem:
    """From the coefficients that VSBO_MOPTA08 names, else by the program that VSBO_MOPTA08_EXECUTABLE names, else from
    ../shared/data/mopta08.npz beside the repository.

    Its best point is infeasible: a weight of 10 is too small for an exact penalty.
    """
    argmax, best = best_point("MOPTA08")
    bounds = np.tile([0.0, 1.0], (len(argmax), 1))
    file, executable = os.environ.get(FILE), os.environ.get(EXECUTABLE)
    if executable and not file:
        program = Path(executable)
        return Problem("MOPTA08", lambda X: _penalized(run(program, np.asarray(X))), bounds, best, argmax=argmax)
    models = load(_coefficients(file))

    def around(x: Array, columns: NDArray[np.intp], U: Array) -> Array:
        return _penalized(models.around(x, columns)(U))

    return Problem("MOPTA08", lambda X: _penalized(models(np.asarray(X))), bounds, best, argmax=argmax, around=around)


def _coefficients(file: str | None) -> Path:
    path = Path(file) if file else DEFAULT_FILE
    if path.is_file():
        return path
    raise BenchError(
        f"MOPTA08 is not part of this repository: {FILE} must name the file of its coefficients or {EXECUTABLE} the "
        f"official executable; {FILE} is {file!r}, {EXECUTABLE} is not set, and there is no file {path}"
    )


def _penalized(computed: tuple[Array, Array]) -> Array:
    """F (k,) of masses f (k,) and constraints g (k, 68), which are fulfilled where they are not positive."""
    f, g = computed
    values: Array = -(f + PENALTY * np.maximum(g, 0.0).sum(axis=1))
    return values
