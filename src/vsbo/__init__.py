"""Bayesian optimization for tens to thousands of variables (VS-BO, Shen and Kingsford).

>>> import vsbo
>>> result = vsbo.minimize(f, bounds, budget=200, rng=0)
>>> result.x, result.fun, result.importance, result.selected
"""

from vsbo._version import __version__
from vsbo.config import Config, KnownKernel, Smoothness
from vsbo.errors import (
    InputError,
    MissingExtraError,
    NumericalError,
    ObjectiveError,
    StateError,
    StorageError,
    StudyError,
    TrialError,
    VsboError,
)
from vsbo.minimize import maximize, minimize
from vsbo.optimizer import Optimizer, Trial
from vsbo.space import Choice, Fixed, Integer, Real, Space
from vsbo.state import State
from vsbo.stopping import NegligibleGain, Patience, Progress, Target, WallClock
from vsbo.study import Study

__all__ = [
    "Choice",
    "Config",
    "Fixed",
    "InputError",
    "Integer",
    "KnownKernel",
    "MissingExtraError",
    "NegligibleGain",
    "NumericalError",
    "ObjectiveError",
    "Optimizer",
    "Patience",
    "Progress",
    "Real",
    "Smoothness",
    "Space",
    "State",
    "StateError",
    "StorageError",
    "Study",
    "StudyError",
    "Target",
    "Trial",
    "TrialError",
    "VsboError",
    "WallClock",
    "__version__",
    "maximize",
    "minimize",
]
