"""The one array type inside vsbo, and the checks at its border."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vsbo.errors import InputError

Array = NDArray[np.float64]


def frozen(values: Any) -> Array:
    """A read-only float64 copy, fit to stand in a frozen value."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def as_floats(name: str, values: Any) -> Array:
    """`values` as float64 of any shape; an InputError that names the argument otherwise."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numbers; got {_shown(values)}") from error


def as_value(name: str, value: Any) -> float:
    """A single real number (NaN and infinities included); an InputError that names the argument otherwise."""
    if isinstance(value, (str, bytes)) or value is None:
        raise InputError(f"{name} must be a number; got {_shown(value)}")
    try:
        array = np.asarray(value)
        if array.size != 1 or np.iscomplexobj(array):
            raise TypeError
        return float(array.reshape(()))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a single real number; got {_shown(value)}") from error


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
