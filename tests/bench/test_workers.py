"""Methods with several workers: values come late, and only those of points that were asked for."""

import numpy as np
import pytest

from benchmarks.methods import method
from benchmarks.methods.method import Report
from benchmarks.methods.workers import EIGHT, Workers


class Recorder:
    def __init__(self, *, D, seed, budget):
        self.told, self.asked = [], 0

    def ask(self):
        self.asked += 1
        return np.full(2, self.asked / 100)

    def tell(self, x, y):
        self.told.append(y)

    def report(self):
        return Report((1,), {"fit": 2.0})


def test_each_value_is_told_when_seven_more_points_are_pending():
    workers = Workers(Recorder, EIGHT, D=2, seed=0, budget=30)
    recorder = workers._method
    for y in (-1.0, -2.0):
        workers.tell(np.zeros(2), y)
    assert recorder.told == [-1.0, -2.0]  # what all methods share is no evaluation
    for i in range(30):
        x = workers.ask()
        assert recorder.told == [-1.0, -2.0, *range(max(0, i - 7))]
        workers.tell(x, i)
    assert workers.report() == Report((1,), {"fit": 2.0})


@pytest.mark.parametrize("name", ["vsbo-8-workers", "vanilla-8-workers", "turbo-8-workers"])
def test_methods_know_their_late_values(name):
    """Points differ, stay in the cube, and the same run is the same run."""

    def run():
        search = method(name)(D=6, seed=3, budget=25)
        rng, asked = np.random.default_rng(0), []
        for x in rng.random((5, 6)):
            search.tell(x, -float(np.sum((x - 0.3) ** 2)))
        for _ in range(25):
            x = search.ask()
            asked.append(x)
            search.tell(x, -float(np.sum((x - 0.3) ** 2)))
        return np.array(asked)

    asked = run()
    assert ((asked >= 0) & (asked <= 1)).all()
    assert len(np.unique(asked, axis=0)) == 25
    np.testing.assert_array_equal(run(), asked)


def test_turbo_forgets_what_comes_late_from_a_region_that_has_collapsed():
    search = method("turbo-8-workers")(D=2, seed=0, budget=120)
    turbo = search._method
    opened, begun = [], turbo._open

    def open_and_remember():
        begun()
        opened.append(len(asked))

    turbo._open = open_and_remember
    asked = []
    for x in np.random.default_rng(0).random((5, 2)):
        search.tell(x, -float(np.sum((x - 0.3) ** 2)))
    for _ in range(90):
        x = search.ask()
        asked.append(x)
        search.tell(x, -float(np.sum((x - 0.3) ** 2)))
    assert opened
    known = {tuple(x) for x in turbo._X}
    assert not known & {tuple(x) for x in asked[: opened[-1]]}


def test_vsbo_counts_late_values_as_its_own():
    search = method("vsbo-8-workers")(D=4, seed=0, budget=20)
    for x in np.random.default_rng(0).random((5, 4)):
        search.tell(x, -float(np.sum(x)))
    for _ in range(20):
        x = search.ask()
        search.tell(x, -float(np.sum(x)))
    trials = search._method.optimizer.trials
    assert len(trials) == 25
    assert [trial.status for trial in trials].count("pending") == 7
    assert [trial.origin for trial in trials].count("added") == 5
