"""Several processes, one study: they create it together, ask and tell together, and nothing is lost or doubled."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest

from tests.study.common import output, python, read
from tests.study.together import CONFIGS
from vsbo.state import Asked, Told

PROCESSES = 4


def together(path, name, times):
    """What each of four processes told; none may complain of anything."""
    processes = [python("-m", "tests.study.together", path, name, times) for _ in range(PROCESSES)]
    answers = [process.communicate(timeout=900) for process in processes]
    for process, (_, complaint) in zip(processes, answers, strict=True):
        assert (process.returncode, complaint) == (0, "")
    return [json.loads(told) for told, _ in answers]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "times"), [("many", 125), ("whole", 25)])
def test_four_processes_ask_and_tell_one_study(tmp_path, name, times):
    path = tmp_path / "study.db"
    told = [tuple(map(tuple_of, one)) for one in together(path, name, times)]
    n = PROCESSES * times
    state = read(path, lambda study: study.state, name=name, config=CONFIGS[name], seed=3)
    asked = [event for event in state.log if isinstance(event, Asked)]
    values = {event.number: event.y for event in state.log if isinstance(event, Told)}
    # No event is lost, none is doubled.
    assert [event.number for event in asked] == list(range(n))
    assert Counter(type(event) for event in state.log)[Told] == n
    assert sorted(number for one in told for number, _, _ in one) == list(range(n))
    for number, x, y in (trial for one in told for trial in one):
        assert tuple(state.space.from_unit(asked[number].x)) == x
        assert -values[number] == y
    # No point was proposed twice.
    X = np.array([event.x for event in asked])
    assert len(np.unique(X, axis=0)) == n
    gaps = np.linalg.norm(X[:, None] - X[None, :], axis=2) + np.eye(n)
    assert gaps.min() > 1e-9
    # They really took turns.
    owners = [i for number in range(n) for i, one in enumerate(told) if number in {trial[0] for trial in one}]
    assert sum(a != b for a, b in pairwise(owners)) >= PROCESSES - 1
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("SELECT count(*) FROM studies").fetchone() == (1,)
        assert db.execute("SELECT count(*), max(seq) FROM events").fetchone() == (len(state.log), len(state.log))
    if name == "whole":
        assert state.selections
        assert state.strategy is not None


#: Processes that wait for each other and then open the same new file, again and again.
RACE = """
import multiprocessing, sys
from vsbo import Space, Study

def work(barrier, folder, rounds):
    for i in range(rounds):
        barrier.wait(60)
        with Study.open(f"{folder}/{i}.db", Space.box(2), seed=0) as study:
            study.ask()

if __name__ == "__main__":
    context, rounds = multiprocessing.get_context("fork"), 25
    barrier = context.Barrier(6)
    processes = [context.Process(target=work, args=(barrier, sys.argv[1], rounds)) for _ in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 6
    for i in range(rounds):
        with Study.open(f"{sys.argv[1]}/{i}.db") as study:
            assert [trial.number for trial in study.trials] == list(range(6))
    print("well")
"""


def test_six_processes_create_one_study(tmp_path):
    assert output(RACE, tmp_path) == "well\n"


def tuple_of(trial):
    number, x, y = trial
    return number, tuple(x), y
