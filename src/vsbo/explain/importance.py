"""Which variables matter, how much, and how sure that is: the records that `importance` returns.

The share of a variable is its total Sobol index: the part of the variation of f that would remain if all other
variables were known, main effect and interactions together, E[Var(f | x_-j)] / Var(f).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from vsbo.arrays import Array
from vsbo.config import as_whole
from vsbo.errors import InputError

#: How the value, in the user's sign, goes with the variable. "levels": a choice without order has no direction.
Trend = Literal["rises", "falls", "bends", "interacts", "levels", "unknown"]

#: A variable is called important if the probability that it has an effect is at least this (the median model).
CALLED = 0.5
#: Of the intervals.
LEVEL = 0.9


@dataclass(frozen=True)
class VariableImportance:
    """What is known of one variable.

    index, name: which; rank: 1 is the most important. share: posterior mean of its total Sobol index over the whole
    space; low, high: 90 % interval. probability: that it has any effect; important: whether that is at least 0.5.
    local_share, local_low, local_high: the same within a tenth of each range of the best point.
    direction: of its main effect on the user's value, and its probability.
    selected: whether it is picked out now (`State.selected`); selected_at: after how many evaluations it was chosen, in
    `Importance.selections` choices in all. A choice is a selection; where there are none, as with the default, a fit
    that gives main effects to a few variables.
    """

    index: int
    name: str
    rank: int
    share: float
    low: float
    high: float
    probability: float
    important: bool
    local_share: float
    local_low: float
    local_high: float
    direction: Trend
    direction_probability: float
    selected: bool
    selected_at: tuple[int, ...]

    @property
    def times_selected(self) -> int:
        """How often it was chosen."""
        return len(self.selected_at)


@dataclass(frozen=True, eq=False)
class Effect:
    """The main effect of a variable: f averaged over all others, as a function of this one, less its mean.

    variable: its index. unit (g,): positions in the cube; x: the same in the user's units (g,), or the values of a
    choice; mean, low, high (g,): posterior mean and 90 % band, in the user's units and sign.
    """

    variable: int
    unit: Array
    x: tuple[Any, ...]
    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Importance:
    """The importance of all variables.

    variables: in the space's order. n: evaluations it rests on (failures excluded). selections: how many choices
    of variables there were.
    noise: posterior mean of the part of the variation of y that no variable explains (noise, and what the model
    misses); unseen: the part of the variation of f that is thought to belong to variables not found yet.
    draws (m, D), weights (m,): joint posterior draws of the shares, zero where a variable is not in the model.
    effects: main effects of the leading variables. note: why nothing is known, or empty. seconds: what it cost.
    """

    variables: tuple[VariableImportance, ...]
    n: int
    selections: int
    noise: float
    unseen: float
    draws: Array = field(repr=False)
    weights: Array = field(repr=False)
    effects: tuple[Effect, ...] = field(repr=False)
    note: str = ""
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.variables)

    def __iter__(self) -> Iterator[VariableImportance]:
        """The variables, the most important first."""
        return iter(self.ranked)

    def __getitem__(self, which: int | str) -> VariableImportance:
        """By index or by name."""
        if isinstance(which, str):
            for one in self.variables:
                if one.name == which:
                    return one
            raise InputError(f"there is no variable {which!r}; there are {', '.join(v.name for v in self.variables)}")
        return self.variables[which]

    @property
    def ranked(self) -> tuple[VariableImportance, ...]:
        """The variables, the most important first."""
        return tuple(sorted(self.variables, key=lambda one: one.rank))

    @property
    def shares(self) -> Array:
        """(D,) in the space's order."""
        return np.array([one.share for one in self.variables])

    @property
    def important(self) -> tuple[VariableImportance, ...]:
        """Those that are called important, the most important first."""
        return tuple(one for one in self.ranked if one.important)

    def top(self, k: int) -> Array:
        """(D,): the probability that a variable has an effect and is among the k with the largest shares."""
        if not 1 <= as_whole("k", k) <= len(self.variables):
            raise InputError(f"k must be a whole number in 1..{len(self.variables)}; got {k!r}")
        # The k-th largest of each draw; a variable without effect is among no k most important.
        least = -np.partition(-self.draws, k - 1, axis=1)[:, k - 1]
        among = (self.draws > 0.0) & (self.draws >= least[:, None])
        probability: Array = self.weights @ among
        return probability

    def records(self) -> list[dict[str, Any]]:
        """One dict a variable, the most important first; JSON-able."""
        return [{"variable": one.name, **asdict(one), "times_selected": one.times_selected} for one in self.ranked]

    def to_dataframe(self) -> Any:
        """The records as a pandas DataFrame; needs pandas."""
        return dataframe(self.records())


def dataframe(records: list[dict[str, Any]]) -> Any:
    """Records as a pandas DataFrame; an InputError if pandas is not there."""
    try:
        import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise InputError("to_dataframe needs pandas, which is not installed; records() does not") from None
    return pandas.DataFrame(records)
