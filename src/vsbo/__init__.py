"""Bayesian optimization for tens to thousands of variables (VS-BO, Shen and Kingsford).

>>> import vsbo
>>> result = vsbo.minimize(f, bounds, budget=200, rng=0)
>>> result.x, result.fun, result.importance, result.selected
"""

from vsbo._version import __version__
from vsbo.config import Config, KnownKernel, Smoothness
from vsbo.errors import InputError, NumericalError, ObjectiveError, StateError, TrialError, VsboError
from vsbo.minimize import maximize, minimize
from vsbo.optimizer import Optimizer, Trial
from vsbo.space import Real, Space
from vsbo.state import State

__all__ = [
    "Config",
    "InputError",
    "KnownKernel",
    "NumericalError",
    "ObjectiveError",
    "Optimizer",
    "Real",
    "Smoothness",
    "Space",
    "State",
    "StateError",
    "Trial",
    "TrialError",
    "VsboError",
    "__version__",
    "maximize",
    "minimize",
]
