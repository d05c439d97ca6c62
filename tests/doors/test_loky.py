"""loky: pools whose functions go by cloudpickle, and which say so when a process dies."""

import os

import loky
import pytest

from vsbo import Config, ObjectiveError, Real, Space, Study

SMALL = Config(selection="momentum", n_initial=4, select_every=6, n_importance=50, n_raw=32, n_restarts=1)


@pytest.fixture
def study(tmp_path):
    with Study.open(tmp_path / "study.db", Space({"a": Real(0, 1), "b": Real(0, 1)}), seed=0, config=SMALL) as study:
        yield study


@pytest.fixture
def pool():
    with loky.ProcessPoolExecutor(max_workers=2) as pool:
        yield pool
        pool.shutdown(kill_workers=True)


def test_a_study_runs_on_a_loky_pool_as_many_at_a_time_as_it_has(study, pool):
    seen = []
    shift = 0.25
    outcome = study.run(
        lambda params: os.getpid() + params["a"] - shift,
        12,
        executor=pool,
        callback=lambda progress: seen.append(progress.workers),
    )
    assert outcome.evaluations == 12
    assert set(seen) == {2}
    who = {round(trial.y - trial.params["a"] + shift) for trial in study.trials}
    assert os.getpid() not in who
    assert 1 <= len(who) <= 2


def test_a_pool_whose_process_dies_ends_the_run_and_another_pool_goes_on(study, pool):
    with pytest.raises(ObjectiveError, match="executor broke down"):
        study.run(lambda params: os._exit(1), 8, executor=pool)
    with loky.ProcessPoolExecutor(max_workers=2) as other:
        outcome = study.run(lambda params: params["a"], 8, executor=other)
    assert outcome.reason == "the budget of 8 evaluations is spent"
    assert not [trial for trial in study.trials if trial.status == "pending"]
