"""Every error that vsbo raises, in one tree.

VsboError
├── InputError (also a ValueError)   an argument is wrong; the message names it, what came and what would be right
├── TrialError (also a ValueError)   a trial is unknown, or was told already
├── StateError (also a ValueError)   a saved state cannot be read
├── StorageError                     a study's file cannot be opened, read or written
├── StudyError (also a ValueError)   a study is not what it was opened as: another space, direction, seed or config
├── ObjectiveError                   the objective failed at every point tried, so there is nothing to learn from
├── MissingExtraError (also an ImportError)   a door's library is not installed; the message says what to install
└── NumericalError                   a matrix or a fit is beyond repair; `ask` falls back, and never raises it
"""


class VsboError(Exception):
    """Root of vsbo's errors."""


class InputError(VsboError, ValueError):
    """An argument is wrong."""


class TrialError(VsboError, ValueError):
    """A trial is unknown, or was told already."""


class StateError(VsboError, ValueError):
    """A saved state cannot be read."""


class StorageError(VsboError):
    """A study's file cannot be opened, read or written."""


class StudyError(VsboError, ValueError):
    """A study is not what it was opened as."""


class ObjectiveError(VsboError):
    """The objective failed at every point tried."""


class MissingExtraError(VsboError, ImportError):
    """A library that a door leads to is not installed."""


class NumericalError(VsboError):
    """A factorization or a fit is beyond repair."""
