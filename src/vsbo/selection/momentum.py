"""Selection that remembers the last one (Algorithms 3, 4 and 5)."""

from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np

from vsbo.arrays import Array
from vsbo.selection.stepwise import Loss, Step, backward, forward


class Case(StrEnum):
    """Which branch of Algorithm 3 a selection takes."""

    FIRST = "first"
    ACCURATE = "accurate"
    INACCURATE = "inaccurate"


def case_of(before: Array, since: Array, previous: Sequence[int], D: int) -> Case:
    """Algorithm 3, lines 3-7. `before`, `since`: values up to the last selection, and those that came after it.

    The first selection, and one after a selection of all D variables, have nothing to remember. Accurate is strict:
    the maximum must have risen (note 9).
    """
    if len(previous) == D:
        return Case.FIRST
    risen = np.max(since, initial=-np.inf) > np.max(before, initial=-np.inf)
    return Case.ACCURATE if risen else Case.INACCURATE


def select(
    case: Case,
    order: Sequence[int],
    previous: Sequence[int],
    loss: Loss,
    order_within: Callable[[Sequence[int]], Sequence[int]],
) -> tuple[tuple[int, ...], tuple[Step, ...]]:
    """The selected variables, sorted, and the record of how they were found.

    order: all variables by importance in the full model; order_within: some variables by importance in the model of
    just those (the accurate case ranks the previous set by itself).
    """
    if case is Case.ACCURATE:  # Algorithm 5
        kept, kept_loss, gap, removed = backward(order_within(previous), loss)
        # A lone variable that was never tested has no threshold to offer: its first companion enters untested.
        untested = 1 if gap is None else 0
        chosen, added = forward(order, loss, kept=kept, free=untested, last_loss=kept_loss, last_drop=gap)
        return tuple(sorted(chosen)), removed + added
    # Algorithm 4 keeps the leading run of variables that were selected before; with none before it is Algorithm 2.
    leading: list[int] = []
    if case is Case.INACCURATE:
        for variable in order:
            if variable not in previous:
                break
            leading.append(variable)
    chosen, added = forward(order, loss, kept=leading)
    return tuple(sorted(chosen)), added
