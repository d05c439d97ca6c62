"""Which variables a search chose, and when: from its log alone.

Where the search selects (Algorithms 2-5), each selection is a choice. The default models all variables and selects
none; but in each fit of its model a few have a main effect of their own: that is its choice. They are those with the
shortest length-scales when cold starts last took part, every 15 % more evaluations.
"""

from dataclasses import dataclass

from vsbo.arrays import Array
from vsbo.state import Added, Failed, Fitted, Selected, State, Told


@dataclass(frozen=True, eq=False)
class Chosen:
    """A choice. event: the selection or the fit; n: finished evaluations then; variables: their indices.

    scales (p,): the length-scales of the active variables by which a fit's main effects were chosen: those before the
    last one with cold starts; None of a selection, which has scores of its own.
    """

    event: Selected | Fitted
    n: int
    variables: tuple[int, ...]
    scales: Array | None = None


def choices_of(state: State) -> tuple[Chosen, ...]:
    """All choices, in order. A search without selections and main effects, as plain Bayesian optimization, has none."""
    if state.config.selection != "fixed":
        return tuple(Chosen(event, event.n, event.active) for event in state.selections)
    found: list[Chosen] = []
    scales: Array | None = None  # of the fit before
    reason: Array | None = None  # of the one before the choice
    n = 0
    for event in state.log:
        match event:
            case Told() | Failed() | Added():
                n += 1
            case Fitted(of="model"):  # the others, which take turns with it, choose nothing
                if reason is None or event.cold_at:
                    reason = scales
                # Length-scales that are all equal, as where all values are, tell no variable from another.
                if reason is not None and event.theta.main and (reason != reason[0]).any():
                    variables = tuple(state.active[column] for column in event.theta.main)
                    found.append(Chosen(event, n, variables, reason))
                scales = event.theta.lengthscales
    return tuple(found)
