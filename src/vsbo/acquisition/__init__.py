"""Where to look along the active variables: how promising a point is, and where that is largest."""

from vsbo.acquisition.confidence_bound import regret_bound, theorem_beta, upper_confidence_bound
from vsbo.acquisition.expected_improvement import expected_improvement, log_expected_improvement
from vsbo.acquisition.maximize import Acquisition, Utility, maximize, over, start_points

__all__ = [
    "Acquisition", "Utility", "expected_improvement", "log_expected_improvement", "maximize", "over", "regret_bound",
    "start_points", "theorem_beta", "upper_confidence_bound",
]  # fmt: skip
