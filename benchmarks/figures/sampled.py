"""The distribution of a problem's values when a few variables move and the others stay; kept on disk once computed."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc

from benchmarks.problems import problem as find
from benchmarks.records import Array

FOLDER = "sampled"
CHUNK = 2**14
BINS = 400


@dataclass(frozen=True)
class Sampled:
    """A histogram of the values: counts (BINS,) between edges (BINS + 1,); their mean and standard deviation."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    mean: float
    deviation: float

    @property
    def density(self) -> Array:
        """(BINS,): the counts as a probability density."""
        counts: Array = np.asarray(self.counts, dtype=np.float64)
        density: Array = counts / (counts.sum() * np.diff(self.edges))
        return density


def sampled(results: Path, problem: str, which: str, variables: Sequence[int], at: Array, points: int) -> Sampled:
    """Of `points` scrambled Sobol points in `variables`, the others being those of `at` (D,), in the unit cube.

    Kept as results/sampled/PROBLEM-WHICH.json, and computed again if anything asked for differs.
    """
    file = results / FOLDER / f"{problem}-{which}.json"
    asked: dict[str, Any] = {
        "variables": [int(j) for j in variables],
        "at": [round(float(v), 6) for v in at],
        "points": points,
    }
    kept = _kept(file)
    if kept is not None and kept["asked"] == asked:
        known = kept["histogram"]
        return Sampled(tuple(known["edges"]), tuple(known["counts"]), known["mean"], known["deviation"])
    histogram = _compute(problem, asked["variables"], np.array(asked["at"]), points)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"asked": asked, "histogram": asdict(histogram)}) + "\n", encoding="utf-8")
    os.replace(new, file)
    return histogram


def _kept(file: Path) -> dict[str, Any] | None:
    """What was computed before; a file that cannot be read is computed again."""
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return content if content.keys() >= {"asked", "histogram"} else None


def _compute(name: str, variables: list[int], at: Array, points: int) -> Sampled:
    problem = find(name)
    columns = np.array(variables, dtype=np.intp)
    low, high = problem.bounds[columns].T
    sobol = qmc.Sobol(len(columns), scramble=True, rng=np.random.default_rng(0))
    values = np.empty(points)
    for first in range(0, points, CHUNK):  # whole chunks are powers of two, as the sequence is balanced for
        U = sobol.random(CHUNK)[: points - first]
        values[first : first + CHUNK] = problem.values_around(problem.from_unit(at), columns, low + U * (high - low))
    counts, edges = np.histogram(values, BINS)
    return Sampled(tuple(edges.tolist()), tuple(counts.tolist()), float(values.mean()), float(values.std()))
