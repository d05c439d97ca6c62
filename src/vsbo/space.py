"""Names and units on the user's side, the unit cube [0, 1]^D inside; the only place that knows both.

A point is known in three forms: `params`, what the user calls it ({"layers": 3, "activation": "relu"}); x (D,), the
same as numbers (a choice as its index); u (D,) in the cube. Whole numbers and choices own equal parts of their axis
(on its scale), and inside they stand at the middle of their part: `to_unit(from_unit(u))` is where u belongs.
"""

import json
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from vsbo.arrays import Array, as_floats, as_value, frozen
from vsbo.errors import InputError

#: Whole numbers up to here come back exactly from the cube, on a logarithmic axis, too (there the error is 2^-47).
LARGEST_WHOLE = 2**40
#: Values of a whole number or an ordered choice up to which they are taken one by one. With more it is searched as a
#: real variable and rounded: its places are close together, and there are too many changes to look at.
MOST_PLACES = 12
#: What a choice or a fixed variable may be: what JSON can say, since studies are kept as JSON.
PLAIN = (str, bool, int, float, type(None))


@dataclass(frozen=True)
class Real:
    """A real variable in [low, high]; with `log`, equal factors are equal steps (low > 0 then)."""

    low: float
    high: float
    log: bool = False
    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        low, high = as_value("low", self.low) + 0.0, as_value("high", self.high) + 0.0  # -0.0 is 0.0
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if not (np.isfinite(low) and np.isfinite(high) and np.isfinite(high - low)):
            raise InputError(f"bounds must be finite, and so their difference; got low={low}, high={high}")
        _check_order(low, high, self.log, low)
        if self.log and not np.log(low) < np.log(high):
            raise InputError(f"low and high are too near each other for log=True; got low={low}, high={high}")

    def value(self, x: float) -> float:
        """What the user calls x."""
        return float(x)

    def number(self, name: str, value: Any) -> float:
        """x for what the user calls `value`."""
        number = as_value(name, value)
        if not self.low <= number <= self.high:
            raise InputError(f"{name} must be in [{self.low}, {self.high}]; got {number}")
        return number


@dataclass(frozen=True)
class Integer:
    """A whole number from low to high, both included; with `log`, equal factors are equal steps (low >= 1 then)."""

    low: int
    high: int
    log: bool = False
    whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        _check_order(self.low, self.high, self.log, self.low)

    def value(self, x: float) -> int:
        """What the user calls x."""
        return int(x)

    def number(self, name: str, value: Any) -> float:
        """x for what the user calls `value`."""
        number = _whole(name, value)
        if not self.low <= number <= self.high:
            raise InputError(f"{name} must be in {self.low}..{self.high}; got {number}")
        return float(number)


@dataclass(frozen=True)
class Choice:
    """One of several values: strings, numbers, booleans or None. As a number it is its index in `values`.

    ordered: neighbours are alike (small, medium, large).
    """

    values: tuple[Any, ...]
    ordered: bool = False
    log: ClassVar[bool] = False
    whole: ClassVar[bool] = True
    low: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if isinstance(self.values, (str, bytes)) or not isinstance(self.values, Iterable):
            raise InputError(f"values must be several values, as a list; got {self.values!r}")
        if isinstance(self.values, Set):  # its order differs from process to process
            raise InputError(f"values must be in an order, as a list; got a set, {self.values!r}")
        values = tuple(_plain("values", value) for value in self.values)
        object.__setattr__(self, "values", values)
        if len(values) < 2:
            raise InputError(f"values must be two or more; got {list(values)!r}: a single one is Fixed(value)")
        if len({(type(value), value) for value in values}) < len(values):
            raise InputError(f"values must differ from each other; got {list(values)!r}")

    @property
    def high(self) -> int:
        """The last index."""
        return len(self.values) - 1

    def value(self, x: float) -> Any:
        """What the user calls x."""
        return self.values[int(x)]

    def number(self, name: str, value: Any) -> float:
        """x for what the user calls `value`."""
        value = _plain(name, value)
        same = [i for i, known in enumerate(self.values) if type(known) is type(value) and known == value]
        equal = [i for i, known in enumerate(self.values) if known == value]  # 1 for 1.0, as files and shells write it
        if not same and not equal:
            raise InputError(f"{name} must be one of {list(self.values)!r}; got {value!r}")
        return float((same or equal)[0])


@dataclass(frozen=True)
class Fixed:
    """A value that the objective gets and the search does not touch."""

    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _plain("value", self.value))


Variable = Real | Integer | Choice


def _whole_between(low: float, high: float) -> Integer:
    """The whole numbers in [low, high]."""
    Real(low, high)  # says what is wrong with the bounds as they came
    if np.ceil(low) > np.floor(high):
        raise InputError(f"there is no whole number in [{low}, {high}]")
    return Integer(int(np.ceil(low)), int(np.floor(high)))


def _check_order(low: float, high: float, log: bool, least: float) -> None:
    if low == high:
        raise InputError(f"low must be below high; both are {low}: a fixed variable is Fixed({low})")
    if low > high:
        raise InputError(f"low must be below high; got low={low}, high={high} (reversed?)")
    if log and least <= 0:
        raise InputError(f"log=True needs low > 0; got low={low}")


def _whole(name: str, value: Any) -> int:
    number = as_value(name, value)
    if not number.is_integer() or abs(number) > LARGEST_WHOLE:
        raise InputError(f"{name} must be a whole number, at most 2^40 in size; got {value!r}")
    return int(number)


def _plain(name: str, value: Any) -> Any:
    """`value` as one of PLAIN; NumPy's scalars become Python's."""
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) not in PLAIN:  # no subclass, as an enumeration: it would come back from a file as its base
        raise InputError(f"{name} must be strings, numbers, booleans or None; got {value!r}")
    if isinstance(value, float) and not np.isfinite(value):
        raise InputError(f"{name} must be finite; got {value!r}")
    return value


class Space:
    """The variables, in order.

    `Space({"lr": Real(1e-5, 1, log=True), "layers": Integer(1, 12), ...})` is named: the objective gets a dict.
    `Space.box(D)` is not: the objective gets an array (D,), and its variables are called x0 ... x{D-1}.
    `variables` holds those that are searched, `fixed` the values of the others.
    """

    def __init__(self, variables: Mapping[str, Variable | Fixed]) -> None:
        if not isinstance(variables, Mapping):
            raise InputError(f"variables must be a mapping from name to variable; got {type(variables).__name__}")
        for name, variable in variables.items():
            if not isinstance(name, str):
                raise InputError(f"variables must have strings as names; got {name!r}")
            if not isinstance(variable, (Real, Integer, Choice, Fixed)):
                raise InputError(f"variables[{name!r}] must be a Real, Integer, Choice or Fixed; got {variable!r}")
        self._all = dict(variables)
        self.variables: dict[str, Variable] = {n: v for n, v in variables.items() if not isinstance(v, Fixed)}
        self.fixed: dict[str, Any] = {n: v.value for n, v in variables.items() if isinstance(v, Fixed)}
        self.named = True
        if not self.variables:
            raise InputError(
                "variables must not be empty" if not variables else "variables are all fixed: none is left"
            )

    @classmethod
    def box(cls, D: int, low: Any = 0.0, high: Any = 1.0) -> "Space":
        """`D` unnamed variables; `low` and `high` are one number for all, or one for each."""
        if isinstance(D, bool) or not isinstance(D, (int, np.integer)) or D < 1:
            raise InputError(f"D must be a whole number >= 1; got {D!r}")
        lows, highs = as_floats("low", low), as_floats("high", high)
        for name, values in (("low", lows), ("high", highs)):
            if values.shape not in ((), (1,), (D,)):
                raise InputError(f"{name} must be one number or have shape ({D},); got {values.shape}")
        return cls._unnamed(np.broadcast_to(lows, D), np.broadcast_to(highs, D))

    @classmethod
    def from_bounds(cls, bounds: Any, integrality: Any = None) -> "Space":
        """From a Space (returned as it is), a mapping, `scipy.optimize.Bounds`, or pairs (low, high), shape (D, 2).

        integrality: which variables of pairs or Bounds take whole numbers only; one boolean for all, or one for each.
        """
        if isinstance(bounds, (Space, Mapping)):
            if integrality is not None:
                raise InputError("integrality goes with pairs (low, high) or Bounds; a named variable is an Integer")
            return bounds if isinstance(bounds, Space) else cls(bounds)
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            lows, highs = np.broadcast_arrays(
                np.atleast_1d(as_floats("bounds.lb", bounds.lb)),
                np.atleast_1d(as_floats("bounds.ub", bounds.ub)),
            )
            return cls._unnamed(lows, highs, integrality)
        pairs = as_floats("bounds", bounds)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
            raise InputError(f"bounds must be pairs (low, high), shape (D, 2) with D >= 1; got shape {pairs.shape}")
        return cls._unnamed(pairs[:, 0], pairs[:, 1], integrality)

    @classmethod
    def _unnamed(cls, lows: Array, highs: Array, integrality: Any = None) -> "Space":
        whole = as_floats("integrality", False if integrality is None else integrality) != 0.0
        if whole.shape not in ((), (1,), lows.shape):
            raise InputError(f"integrality must be one boolean or have shape {lows.shape}; got {whole.shape}")
        variables: dict[str, Variable | Fixed] = {}
        for j, (low, high, only_whole) in enumerate(zip(lows, highs, np.broadcast_to(whole, lows.shape), strict=True)):
            try:
                variables[f"x{j}"] = _whole_between(low, high) if only_whole else Real(low, high)
            except InputError as error:
                raise InputError(f"bounds of variable {j}: {error}") from None
        space = cls(variables)
        space.named = False
        return space

    @property
    def D(self) -> int:
        """The number of variables that are searched."""
        return len(self.variables)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(self.variables)

    # ------------------------------------------------------------------------------------- x (D,) and the cube

    @cached_property
    def _log(self) -> Any:
        return np.array([v.log for v in self.variables.values()])

    @cached_property
    def whole(self) -> Any:
        """(D,): whether a variable takes whole numbers only (a choice: its index)."""
        return np.array([v.whole for v in self.variables.values()])

    @cached_property
    def places(self) -> tuple[Array | None, ...]:
        """Of each variable where its values stand in the cube (k,), ascending; None if it is real or has many values:
        more than MOST_PLACES that have an order.
        """
        return tuple(
            places_of(v) if not isinstance(v, Real) and (v.high - v.low < MOST_PLACES or _unordered(v)) else None
            for v in self.variables.values()
        )

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Of each variable how many values it has, if they have no order, and 0 otherwise; () if none is so."""
        levels = tuple(int(v.high) + 1 if _unordered(v) else 0 for v in self.variables.values())
        return levels if any(levels) else ()

    @cached_property
    def _limits(self) -> tuple[Array, Array]:
        """Lower and upper limits (D,) on the scale on which the cube is linear; a whole number owns +- 1/2."""
        least, most = self._bounds
        half = np.where(self.whole, 0.5, 0.0)
        return self._forward(least - half), self._forward(most + half)

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        """Lower and upper limits (D,) in the user's units."""
        variables = self.variables.values()
        lows, highs = [float(v.low) for v in variables], [float(v.high) for v in variables]
        return np.array(lows), np.array(highs)

    def _forward(self, x: Array) -> Array:
        return np.where(self._log, np.log(np.where(self._log, x, 1.0)), x)

    def to_unit(self, x: Array) -> Array:
        """From the user's units to the unit cube; x (..., D) inside the bounds."""
        low, high = self._limits
        return np.clip((self._forward(x) - low) / (high - low), 0.0, 1.0)

    def from_unit(self, u: Array) -> Array:
        """From the unit cube to the user's units, never beyond the bounds; u (..., D)."""
        low, high = self._limits
        x = low * (1.0 - u) + high * u
        x = np.where(self._log, np.exp(np.where(self._log, x, 0.0)), x)
        x = np.where(self.whole, np.floor(x + 0.5), x)
        least, most = self._bounds
        x = np.where(u <= 0.0, least, np.where(u >= 1.0, most, x))  # the corners are the user's own numbers
        return np.minimum(np.maximum(x, least), most)

    def snap(self, u: Array) -> Array:
        """u (..., D) with whole numbers and choices at the middle of their part: points that are one are equal."""
        if not self.whole.any():
            return u
        return np.where(self.whole, self.to_unit(self.from_unit(u)), u)

    # ----------------------------------------------------------------------------------- x (D,) and the user

    def point(self, x: Any, argument: str = "x") -> Array:
        """A user's point as x (D,): a mapping from every name to its value, or the numbers (D,) themselves.

        A mapping may, and need not, repeat the fixed values.
        """
        if isinstance(x, Mapping):
            unknown, missing = set(x) - set(self._all), set(self.names) - set(x)
            if unknown or missing:
                raise InputError(
                    f"{argument} must have the space's names; unknown: {sorted(map(str, unknown))}, "
                    f"missing: {sorted(missing)}"
                )
            for name, value in self.fixed.items():
                if name in x and x[name] != value:
                    raise InputError(f"{argument}[{name!r}] is fixed at {value!r}; got {x[name]!r}")
            return frozen([v.number(f"{argument}[{name!r}]", x[name]) for name, v in self.variables.items()])
        numbers = as_floats(argument, x)
        if numbers.shape != (self.D,):
            raise InputError(f"{argument} must have shape ({self.D},); got {numbers.shape}")
        least, most = self._bounds
        outside = ~((numbers >= least) & (numbers <= most)) | (self.whole & (numbers != np.floor(numbers)))
        for j in np.flatnonzero(outside)[:1]:
            whole = "a whole number " if self.whole[j] else ""
            raise InputError(
                f"{argument}: variable {self.names[j]} must be {whole}in [{least[j]}, {most[j]}]; got {numbers[j]}"
            )
        return frozen(numbers)

    def params(self, x: Array) -> dict[str, Any]:
        """A point in the user's units by name, fixed values included, in the order in which they were given."""
        values = {name: v.value(number) for (name, v), number in zip(self.variables.items(), x, strict=True)}
        return {name: values[name] if name in values else self.fixed[name] for name in self._all}

    def argument(self, x: Array) -> Any:
        """What the objective gets for this point: a dict if the space is named, otherwise a fresh array."""
        return self.params(x) if self.named else np.array(x)

    # ---------------------------------------------------------------------------------------------- as JSON

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able values."""
        return {"named": self.named, "variables": [_variable_to_plain(n, v) for n, v in self._all.items()]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Space":
        """The inverse of `to_plain`."""
        space = cls({variable["name"]: _variable_from_plain(variable) for variable in plain["variables"]})
        space.named = bool(plain["named"])
        return space

    def __eq__(self, other: object) -> bool:
        # As text: True == 1 == 1.0 in Python, but not to an objective.
        return isinstance(other, Space) and json.dumps(self.to_plain()) == json.dumps(other.to_plain())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {_shown(v)}" for name, v in list(self.variables.items())[:4])
        return f"Space({self.D} variables: {shown}{', ...' if self.D > 4 else ''})"


def _unordered(variable: Variable) -> bool:
    """Whether there are values in no order; two have none that matters."""
    return isinstance(variable, Choice) and not variable.ordered and len(variable.values) > 2


def places_of(variable: Integer | Choice) -> Array:
    """Where all its values stand in the cube (k,), ascending: each in the middle of its part."""
    return Space({"x": variable}).to_unit(np.arange(variable.low, variable.high + 1.0)[:, None])[:, 0]


def _shown(variable: Variable) -> str:
    match variable:
        case Choice(values):
            return f"one of {len(values)}"
        case Integer(low, high):
            return f"{low}..{high}"
        case Real(low, high):
            return f"[{low:g}, {high:g}]"


def _variable_to_plain(name: str, variable: Variable | Fixed) -> dict[str, Any]:
    match variable:
        case Real(low, high, log):
            return {"name": name, "type": "real", "low": low, "high": high, "log": log}
        case Integer(low, high, log):
            return {"name": name, "type": "integer", "low": low, "high": high, "log": log}
        case Choice(values, ordered):
            return {"name": name, "type": "choice", "values": list(values), "ordered": ordered}
        case Fixed(value):
            return {"name": name, "type": "fixed", "value": value}


def _variable_from_plain(plain: Mapping[str, Any]) -> Variable | Fixed:
    match plain["type"]:
        case "real":
            return Real(plain["low"], plain["high"], plain["log"])
        case "integer":
            return Integer(plain["low"], plain["high"], plain["log"])
        case "choice":
            return Choice(tuple(plain["values"]), plain["ordered"])
        case "fixed":
            return Fixed(plain["value"])
        case other:
            raise InputError(
                f"the type of variable {plain['name']!r} must be real, integer, choice or fixed; got {other!r}"
            )
