"""Each step of the recorded searches, from the recorded history: the same point again.

The history is always the recorded one, so that rounding on another processor cannot grow from step to step. A change of
the method shows here; if it is meant, `python -m tests.golden.trajectories` records the new one.
"""

import numpy as np
import pytest

from tests.golden.trajectories import CASES, load
from vsbo import Optimizer
from vsbo.linalg import single_thread
from vsbo.propose import propose
from vsbo.state import Asked, Selected, State, Told, extend

#: Another processor may round its way into another of two equal maxima; a change of the method moves nearly all points.
LEAST_SHARE = 0.95


@pytest.mark.parametrize("name", CASES)
def test_every_step_is_the_recorded_one(name):
    recorded = load(name)
    assert recorded.config == CASES[name][1], "the configuration changed: record the trajectories anew"
    state = State.new(recorded.space, recorded.direction, recorded.seed, recorded.config)
    same, kept = [], []
    for event in recorded.log:
        kept.append(event)
        if isinstance(event, Told):
            state, kept = extend(state, kept), []
        elif isinstance(event, Asked):
            with single_thread():
                events = propose(state).log[len(state.log) :]
            same.append(np.allclose(events[-1].x, event.x, atol=1e-3))
            for ours, theirs in zip(events, kept, strict=True):
                assert type(ours) is type(theirs)
                if isinstance(ours, Selected):
                    assert ours.active == theirs.active
                    assert ours.case == theirs.case
    assert np.mean(same) >= LEAST_SHARE


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_search_goes_on(name):
    optimizer = Optimizer.from_state(load(name))
    best = optimizer.best.y
    trial = optimizer.ask()
    optimizer.tell(trial, CASES[name][0].f(trial.x))
    assert optimizer.best.y >= best
