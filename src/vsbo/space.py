"""Names and units on the user's side, the unit cube [0, 1]^D inside; the only place that knows both."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vsbo.arrays import Array, as_floats, as_value, frozen
from vsbo.errors import InputError


@dataclass(frozen=True)
class Real:
    """A real variable in [low, high]; with `log`, equal factors are equal steps (low > 0 then)."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        low, high = as_value("low", self.low), as_value("high", self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if not (np.isfinite(low) and np.isfinite(high) and np.isfinite(high - low)):
            raise InputError(f"bounds must be finite, and so their difference; got low={low}, high={high}")
        if low == high:
            raise InputError(f"low must be below high; both are {low}: leave a fixed variable out of the space")
        if low > high:
            raise InputError(f"low must be below high; got low={low}, high={high} (reversed?)")
        if self.log and low <= 0:
            raise InputError(f"log=True needs low > 0; got low={low}")
        if self.log and not np.log(low) < np.log(high):
            raise InputError(f"low and high are too near each other for log=True; got low={low}, high={high}")


class Space:
    """The variables, in order.

    `Space({"lr": Real(1e-5, 1, log=True), ...})` is named: the objective gets a dict.
    `Space.box(D)` is not: the objective gets an array (D,), and its variables are called x0 ... x{D-1}.
    """

    def __init__(self, variables: Mapping[str, Real]) -> None:
        if not isinstance(variables, Mapping):
            raise InputError(f"variables must be a mapping from name to Real; got {type(variables).__name__}")
        if not variables:
            raise InputError("variables must not be empty")
        for name, variable in variables.items():
            if not isinstance(name, str):
                raise InputError(f"variables must have strings as names; got {name!r}")
            if not isinstance(variable, Real):
                raise InputError(f"variables[{name!r}] must be a Real; got {variable!r}")
        self.variables: dict[str, Real] = dict(variables)
        self.named = True

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
    def from_bounds(cls, bounds: Any) -> "Space":
        """From a Space (returned as it is), a mapping, `scipy.optimize.Bounds`, or pairs (low, high), shape (D, 2)."""
        if isinstance(bounds, Space):
            return bounds
        if isinstance(bounds, Mapping):
            return cls(bounds)
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            lows, highs = np.broadcast_arrays(
                np.atleast_1d(as_floats("bounds.lb", bounds.lb)),
                np.atleast_1d(as_floats("bounds.ub", bounds.ub)),
            )
            return cls._unnamed(lows, highs)
        pairs = as_floats("bounds", bounds)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
            raise InputError(f"bounds must be pairs (low, high), shape (D, 2) with D >= 1; got shape {pairs.shape}")
        return cls._unnamed(pairs[:, 0], pairs[:, 1])

    @classmethod
    def _unnamed(cls, lows: Array, highs: Array) -> "Space":
        variables = {}
        for j, (low, high) in enumerate(zip(lows, highs, strict=True)):
            try:
                variables[f"x{j}"] = Real(low, high)
            except InputError as error:
                raise InputError(f"bounds of variable {j}: {error}") from None
        space = cls(variables)
        space.named = False
        return space

    @property
    def D(self) -> int:
        """The number of variables."""
        return len(self.variables)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variables' names, in order."""
        return tuple(self.variables)

    @cached_property
    def _log(self) -> Any:
        return np.array([v.log for v in self.variables.values()])

    @cached_property
    def _limits(self) -> tuple[Array, Array]:
        """Lower and upper limits (D,) on the scale on which the cube is linear."""
        least, most = self._bounds
        return self._forward(least), self._forward(most)

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        """Lower and upper limits (D,) in the user's units."""
        variables = self.variables.values()
        return np.array([v.low for v in variables]), np.array([v.high for v in variables])

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
        least, most = self._bounds
        x = np.where(u <= 0.0, least, np.where(u >= 1.0, most, x))  # the corners are the user's own numbers
        return np.minimum(np.maximum(x, least), most)

    def point(self, x: Any, argument: str = "x") -> Array:
        """A user's point, array-like (D,) or mapping from every name to a value, as array (D,) in user's units."""
        if isinstance(x, Mapping):
            unknown, missing = set(x) - set(self.names), set(self.names) - set(x)
            if unknown or missing:
                raise InputError(
                    f"{argument} must have the space's names; unknown: {sorted(map(str, unknown))}, "
                    f"missing: {sorted(missing)}"
                )
            x = [as_value(f"{argument}[{name!r}]", x[name]) for name in self.names]
        values = as_floats(argument, x)
        if values.shape != (self.D,):
            raise InputError(f"{argument} must have shape ({self.D},); got {values.shape}")
        for name, variable, value in zip(self.names, self.variables.values(), values, strict=True):
            if not variable.low <= value <= variable.high:
                raise InputError(
                    f"{argument}: variable {name} must be in [{variable.low}, {variable.high}]; got {value}"
                )
        return frozen(values)

    def params(self, x: Array) -> dict[str, float]:
        """A point in the user's units as a dict."""
        return dict(zip(self.names, x.tolist(), strict=True))

    def argument(self, x: Array) -> Any:
        """What the objective gets for this point: a dict if the space is named, otherwise a fresh array."""
        return self.params(x) if self.named else np.array(x)

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able values."""
        variables = [
            {"name": name, "type": "real", "low": v.low, "high": v.high, "log": v.log}
            for name, v in self.variables.items()
        ]
        return {"named": self.named, "variables": variables}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Space":
        """The inverse of `to_plain`."""
        space = cls({v["name"]: Real(v["low"], v["high"], v["log"]) for v in plain["variables"]})
        space.named = bool(plain["named"])
        return space

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.to_plain() == other.to_plain()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: [{v.low:g}, {v.high:g}]" for name, v in list(self.variables.items())[:4])
        return f"Space({self.D} variables: {shown}{', ...' if self.D > 4 else ''})"
