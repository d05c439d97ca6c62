"""MOPTA08 by its official program, which reads x from input.txt and writes f and the 68 constraints to output.txt."""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.errors import BenchError
from benchmarks.problems.problem import Array

CONSTRAINTS = 68
TIMEOUT = 60.0  # seconds; the program takes a fraction of one


def run(program: Path, x: Array) -> tuple[Array, Array]:
    """f (k,) and g (k, 68) at x (k, 124), one run a point, each in an empty directory of its own."""
    out = np.array([_one(program.absolute(), row) for row in x]).reshape(len(x), 1 + CONSTRAINTS)
    return out[:, 0], out[:, 1:]


def _one(program: Path, x: Array) -> Array:
    with tempfile.TemporaryDirectory() as folder:
        # repr: the shortest digits that give the same number back.
        (Path(folder) / "input.txt").write_text("".join(f"{float(value)!r}\n" for value in x))
        try:
            done = subprocess.run([program], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=True)
            values = np.array([float(word) for word in (Path(folder) / "output.txt").read_text().split()])
        except subprocess.CalledProcessError as cause:
            raise BenchError(f"{program} ended with code {cause.returncode}: {cause.stderr.strip()}") from cause
        except (OSError, ValueError, subprocess.TimeoutExpired) as cause:
            raise BenchError(f"{program} must read input.txt and write output.txt: {cause}") from cause
    if len(values) != 1 + CONSTRAINTS:
        raise BenchError(
            f"{program} must write {1 + CONSTRAINTS} numbers into output.txt; got {len(values)} {done.stderr.strip()}"
        )
    return values
