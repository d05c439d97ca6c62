"""Where to look along the active variables: how promising a point is, and where that is largest."""

from vsbo.acquisition.confidence_bound import regret_bound, theorem_beta, upper_confidence_bound
from vsbo.acquisition.expected_improvement import expected_improvement, log_expected_improvement
from vsbo.acquisition.lattice import Lattice
from vsbo.acquisition.maximize import (
    LONGEST_SCALE,
    Acquisition,
    Utility,
    double_leaps,
    leaps,
    maximize,
    over,
    points_within,
    start_points,
    thrifty,
)

__all__ = [
    "LONGEST_SCALE", "Acquisition", "Lattice", "Utility", "double_leaps", "expected_improvement", "leaps",
    "log_expected_improvement", "maximize", "over", "points_within", "regret_bound", "start_points", "theorem_beta",
    "thrifty", "upper_confidence_bound",
]  # fmt: skip
