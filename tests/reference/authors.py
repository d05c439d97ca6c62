"""The recorded runs of the authors' program: points, values, fits, scores and selections (docs/differences.md).

A selection is made after evaluation `it`, so on n = it + 5 points. Losses in `trace` are NLL per point.
"""

import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.problems import branin50, hartmann6_50, styblinski_tang4_50

PROBLEMS = {"Hartmann6": hartmann6_50, "Branin": branin50, "StyblinskiTang4": styblinski_tang4_50}


@cache
def runs():
    with gzip.open(Path(__file__).with_name("authors_runs.json.gz"), "rt") as file:
        return json.load(file)


def problem_of(name):
    return PROBLEMS[name.rsplit("_", 1)[0]]()


def unit_points(name):
    """X (205, 50) in the unit cube, y (205,)."""
    run, bounds = runs()[name], problem_of(name).bounds
    return (np.array(run["X"]) - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0]), np.array(run["y"])


def selections():
    """(name, selection) for all forty."""
    return [(name, selection) for name, run in runs().items() for selection in run["selections"]]
