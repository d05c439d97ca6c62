"""Nested models, one variable more or fewer at a time.

Both functions take an order and a loss (the NLL of the best model of a set of variables), and return what they kept
together with a record of every step, so that a dictionary of losses is all a test needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: The loss of the model of these variables (in this order).
Loss = Callable[[tuple[int, ...]], float]

#: A variable must bring at least this part of what the one before it brought (Algorithm 2, line 9).
LEAST_SHARE = 0.1
#: Nested fits of an irrelevant variable differ by the optimizer's tolerance: this part of |L| is a tie (note 7).
TIE = 1e-6


@dataclass(frozen=True)
class Step:
    """One model tried: which variable was added or taken away, the loss then, and how much that lowered it.

    `drop` is None where there is nothing to compare with. `kept` tells whether the variable is in the set afterwards.
    """

    action: str
    variable: int
    loss: float
    drop: float | None
    kept: bool
    reason: str


def forward(
    order: Sequence[int],
    loss: Loss,
    *,
    kept: Sequence[int] = (),
    free: int = 2,
    last_loss: float | None = None,
    last_drop: float | None = None,
) -> tuple[tuple[int, ...], tuple[Step, ...]]:
    """Stepwise forward selection (Algorithm 2; with `kept` the forward parts of Algorithms 4 and 5).

    Goes through `order`, skipping what is kept. The first `free` candidates enter untested. From then on it stops at
    the first one whose drop is <= 0 or below a tenth of the previous drop; a previous drop <= 0 sets no threshold
    (note 3). If none stops it, all are selected (note 1).
    """
    chosen, steps = list(kept), []
    for candidate in (variable for variable in order if variable not in kept):
        value = loss((*chosen, candidate))
        drop = None if last_loss is None else last_loss - value
        if free > 0:
            free, accepted, reason = free - 1, True, "first candidates enter untested"
        elif drop is None:
            accepted, reason = True, "nothing to compare with"
        elif drop <= 0:
            accepted, reason = False, "the loss does not fall"
        elif last_drop is not None and last_drop > 0 and drop < LEAST_SHARE * last_drop:
            accepted, reason = False, "the loss falls by less than a tenth of the previous fall"
        else:
            accepted, reason = True, "the loss falls"
        steps.append(Step("add", candidate, value, drop, accepted, reason))
        if not accepted:
            break
        chosen.append(candidate)
        last_loss, last_drop = value, drop
    return tuple(chosen), tuple(steps)


def backward(order: Sequence[int], loss: Loss) -> tuple[tuple[int, ...], float, float | None, tuple[Step, ...]]:
    """Recursive feature elimination (Algorithm 5, lines 6-17): prefixes of `order`, ever shorter, until the loss rises.

    Returns the kept prefix, its loss, and the gap: how much the rejected model was worse (None if one variable was
    left without a rejection). A tie eliminates (notes 5 and 7).
    """
    kept_loss, steps = loss(tuple(order)), []
    for m in range(len(order) - 1, 0, -1):
        value = loss(tuple(order[:m]))
        gap = value - kept_loss
        needed = gap > TIE * abs(kept_loss)
        reason = "the loss rises without it" if needed else "the loss does not rise without it"
        steps.append(Step("remove", order[m], value, -gap, needed, reason))
        if needed:
            return tuple(order[: m + 1]), kept_loss, gap, tuple(steps)
        kept_loss = value
    return tuple(order[:1]), kept_loss, None, tuple(steps)
