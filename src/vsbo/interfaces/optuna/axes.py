"""Optuna's distributions as our variables: one axis of the unit cube each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)

from vsbo.arrays import Array, frozen
from vsbo.errors import InputError
from vsbo.space import LARGEST_WHOLE, Choice, Integer, Real, Space


@dataclass(frozen=True)
class Axis:
    """One distribution: `number` is what our variable calls a value of Optuna's.

    A step counts: its numbers are 0, 1, 2, ... So do choices. Whole numbers too large for an Integer are rounded reals.
    """

    distribution: BaseDistribution
    variable: Real | Integer | Choice

    @classmethod
    def of(cls, name: str, distribution: BaseDistribution) -> "Axis":
        """The axis of a distribution that has more than one value."""
        match distribution:
            case CategoricalDistribution():
                return cls(distribution, Choice(tuple(range(len(distribution.choices)))))
            case IntDistribution(low=least, high=most, log=True) if most <= LARGEST_WHOLE:
                return cls(distribution, Integer(least, most, log=True))
            case FloatDistribution(step=None) | IntDistribution(log=True):
                return cls(distribution, Real(distribution.low, distribution.high, log=distribution.log))
            case FloatDistribution() | IntDistribution():
                last = round((distribution.high - distribution.low) / (distribution.step or 1))
                return cls(distribution, Integer(0, last) if last <= LARGEST_WHOLE else Real(0, last))
        raise InputError(f"search_space[{name!r}] must be a float, int or categorical distribution; got {distribution}")

    def value(self, number: float) -> Any:
        """Optuna's value for a number, of the type that Optuna wants."""
        match self.distribution:
            case CategoricalDistribution(choices=choices):
                return choices[int(number)]
            case FloatDistribution(step=None):
                return float(number)
            case IntDistribution(log=True):
                return round(number)
            case FloatDistribution(low=low, high=high, step=step):
                return float(min(low + round(number) * (step or 1), high))
            case IntDistribution(low=low, step=step):
                return int(low + round(number) * step)
        raise InputError(f"unknown distribution {self.distribution}")

    def number(self, value: Any) -> float | None:
        """Our number for a value of Optuna's; None if the distribution does not have it."""
        try:
            inside = self.distribution.to_internal_repr(value)
        except (ValueError, TypeError):
            return None
        match self.distribution:
            case CategoricalDistribution():
                return float(inside)
            case FloatDistribution(step=None, low=low, high=high) | IntDistribution(log=True, low=low, high=high):
                return float(inside) if low <= inside <= high else None
            case FloatDistribution(low=low, high=high, step=step) | IntDistribution(low=low, high=high, step=step):
                return float(round((inside - low) / (step or 1))) if low <= inside <= high else None
        return None


class Axes:
    """Several distributions, by name; in the order of names, so that every worker has the same."""

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.axes = {name: Axis.of(name, distributions[name]) for name in sorted(distributions)}
        self.space = Space({name: axis.variable for name, axis in self.axes.items()})

    def to_plain(self) -> dict[str, Any]:
        """What it is, as JSON-able values."""
        return {name: json.loads(distribution_to_json(axis.distribution)) for name, axis in self.axes.items()}

    def params(self, u: Array) -> dict[str, Any]:
        """Optuna's values of a point u (D,) in the cube."""
        numbers = self.space.from_unit(u)
        return {name: axis.value(number) for (name, axis), number in zip(self.axes.items(), numbers, strict=True)}

    def unit(self, params: Mapping[str, Any]) -> Array | None:
        """The point u (D,) of Optuna's values; None if one is missing or outside of its distribution."""
        numbers = [axis.number(params[name]) if name in params else None for name, axis in self.axes.items()]
        if None in numbers:
            return None
        return frozen(self.space.to_unit(np.array(numbers, dtype=np.float64)))

    def same(self, name: str, one: Any, other: Any) -> bool:
        """Whether two values of a variable are one."""
        return self.axes[name].number(one) == self.axes[name].number(other)
