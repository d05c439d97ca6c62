"""The sampler, with Optuna's own storages."""

import logging
import math
import pickle
import subprocess
import sys
import warnings
from collections import Counter

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import vsbo
from tests.doors.optuna.common import MIXED, REALS, SMALL, mixed, params, reals, storage, study
from vsbo import Config, InputError
from vsbo.interfaces.optuna import VSBOSampler
from vsbo.interfaces.optuna.axes import Axes
from vsbo.interfaces.optuna.record import LONGEST, Record
from vsbo.state import Adapted, Selected


@pytest.fixture(autouse=True, scope="module")
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def sampler(space=REALS, seed=0, **more):
    return VSBOSampler(space, seed=seed, config=SMALL, **more)


def state_of(of_study, space=REALS):
    """What a fresh worker knows of a study: its sampler's state before the next proposal."""
    fresh = sampler(space)
    trial = optuna.trial.create_trial(state=TrialState.RUNNING)
    trial.number = 10**6
    return fresh._caught_up(of_study, trial, dict(space)).state


# ------------------------------------------------------------------------------------------------- the same search


@pytest.mark.parametrize(("objective", "space"), [(reals, REALS), (mixed, MIXED)])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_it_is_the_search_of_an_optimizer(objective, space, direction):
    """Point for point, to the last bit: an Optimizer that is driven by hand is the oracle."""
    sign = 1 if direction == "minimize" else -1
    of_study = study(sampler=sampler(space), direction=direction)
    of_study.optimize(lambda trial: sign * objective(trial), n_trials=24)
    axes = Axes(space)
    optimizer = vsbo.Optimizer(axes.space, direction=direction, seed=0, config=SMALL)
    for trial in of_study.trials:
        asked = optimizer.ask()
        assert axes.params(optimizer.state.evaluations[-1].x) == trial.params
        optimizer.tell(asked, trial.value)
    assert optimizer.state.selections


@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_a_study_that_is_loaded_again_for_every_trial_is_the_same_study(kind, tmp_path, monkeypatch):
    """And nothing of the past is fitted again: there are as many fits as without a stop."""
    fits = []
    from vsbo import models

    whole_fit = models.gp.fit
    monkeypatch.setattr(models.gp, "fit", lambda *a, **k: fits.append(1) or whole_fit(*a, **k))
    uninterrupted = study(sampler=sampler())
    uninterrupted.optimize(reals, n_trials=24)
    expected, fits[:] = len(fits), []

    where = storage(kind, tmp_path)
    at_a_time = 8 if kind == "sqlite" else 1  # it takes a second to open
    for _ in range(24 // at_a_time):
        where = where if kind == "memory" else storage(kind, tmp_path)
        study(where, sampler()).optimize(reals, n_trials=at_a_time)
    again = study(where)
    assert params(again.trials) == params(uninterrupted.trials)
    assert len(fits) == expected > 20
    kinds = Counter(type(event) for t in again.trials for event in Record.from_attributes(t.system_attrs).events)
    assert kinds[Selected] == 3
    assert kinds[Adapted] == 4


def test_a_study_without_a_seed_draws_one_and_keeps_it():
    of_study = study(sampler=sampler(seed=None))
    of_study.optimize(reals, n_trials=3)
    of_study.sampler = sampler(seed=None)
    of_study.optimize(reals, n_trials=3)
    assert len({Record.from_attributes(t.system_attrs).seed for t in of_study.trials}) == 1
    other = study(sampler=sampler(seed=None))
    other.optimize(reals, n_trials=2)  # the first is the middle of the ranges
    assert params(other.trials) != params(of_study.trials[:2])


def test_it_finds_the_minimum():
    of_study = study(sampler=sampler())
    of_study.optimize(reals, n_trials=45)
    assert of_study.best_value < 0.05


def test_trials_of_another_sampler_are_learned_from():
    of_study = study(sampler=optuna.samplers.RandomSampler(seed=1))
    of_study.optimize(reals, n_trials=12)
    of_study.sampler = sampler(None)
    of_study.optimize(reals, n_trials=8)
    mine = [Record.from_attributes(t.system_attrs) for t in of_study.trials[12:]]
    assert mine[0].told == tuple(range(12))
    origins = [record.events[-1].origin for record in mine]
    assert origins[0] == "design"  # the middle of the ranges, which the other sampler has not tried
    assert set(origins[1:]) <= set(Config().searches)
    assert of_study.best_trial.number >= 12


def test_another_configuration_reads_points_and_no_models():
    of_study = study(sampler=sampler())
    of_study.optimize(reals, n_trials=12)
    of_study.sampler = VSBOSampler(
        REALS, seed=0, config=Config(selection="momentum", n_initial=4, select_every=5, n_raw=64)
    )
    of_study.optimize(reals, n_trials=1)
    record = Record.from_attributes(of_study.trials[-1].system_attrs)
    assert record.told == tuple(range(12))
    assert any(isinstance(event, Selected) for event in record.events)


# -------------------------------------------------------------------------------------------------- distributions


def test_every_distribution_gives_its_own_values():
    of_study = study(sampler=sampler(MIXED))
    of_study.optimize(mixed, n_trials=25)
    for name, distribution in MIXED.items():
        for trial in of_study.trials:
            assert trial.distributions[name] == distribution
            assert distribution._contains(distribution.to_internal_repr(trial.params[name]))
    assert len(of_study.trials) == 25
    assert {type(trial.params["layers"]) for trial in of_study.trials} == {int}
    assert {type(trial.params["half"]) for trial in of_study.trials} == {float}


@pytest.mark.parametrize(
    "distribution",
    [
        IntDistribution(-(2**60), 2**60),
        IntDistribution(1, 2**60, log=True),
        IntDistribution(2**50, 2**50 + 3),
        FloatDistribution(0, 1e13, step=0.5),
        FloatDistribution(-10.2, 10.2, step=0.1),
        CategoricalDistribution([math.nan, 1.0, "1", None]),
        CategoricalDistribution([1, True, 1.0, "x"]),
        FloatDistribution(1e-300, 1e300, log=True),
        FloatDistribution(5e-324, 1e-320),
    ],
)
def test_extreme_distributions(distribution):
    axes = Axes({"a": distribution, "b": FloatDistribution(0, 1)})
    rng = np.random.default_rng(0)
    for u in [np.zeros(2), np.ones(2), *rng.random((200, 2))]:
        value = axes.params(u)["a"]
        assert distribution._contains(distribution.to_internal_repr(value))
        again = axes.unit({"a": value, "b": 0.5})
        assert again is not None
        back = axes.params(again)["a"]
        rounded = isinstance(distribution, FloatDistribution) and distribution.log
        assert back == pytest.approx(value, rel=1e-11) if rounded else axes.same("a", back, value)


def test_the_ends_of_a_range_are_reached():
    axes = Axes(MIXED)
    assert axes.params(np.zeros(6)) == {
        "even": -4, "half": -1.0, "kind": "relu", "layers": 2, "lr": 1e-5, "units": 1
    }  # fmt: skip
    assert axes.params(np.ones(6)) == {
        "even": 10, "half": 2.25, "kind": True, "layers": 12, "lr": 1.0, "units": 4096
    }  # fmt: skip


def test_single_values_and_no_space_at_all():
    space = {"a": FloatDistribution(1, 1), "b": CategoricalDistribution(["only"]), "c": FloatDistribution(0, 1)}
    of_study = study(sampler=sampler(space))
    of_study.optimize(
        lambda t: t.suggest_float("a", 1, 1) + t.suggest_float("c", 0, 1) * (t.suggest_categorical("b", ["only"]) != 1),
        n_trials=8,
    )
    assert {trial.params["b"] for trial in of_study.trials} == {"only"}
    empty = study(sampler=sampler(None))
    empty.optimize(lambda trial: 1.0, n_trials=3)
    assert len(empty.trials) == 3


# ---------------------------------------------------------------------------------------------- pending and failed


def test_running_trials_are_pending_whoever_runs_them(tmp_path):
    """One of this process, one of another that we proposed, one of another sampler with all its values."""
    where = storage("sqlite", tmp_path)
    mine = study(where, sampler())
    mine.optimize(reals, n_trials=8)
    first = mine.ask(REALS)
    theirs = study(storage("sqlite", tmp_path), sampler())
    second = theirs.ask()
    theirs.sampler.sample_relative(theirs, mine.trials[-1], REALS)  # proposed, and not yet asked for by the objective
    foreign = study(storage("sqlite", tmp_path), optuna.samplers.RandomSampler(seed=3)).ask(REALS)
    state = state_of(mine)
    assert [evaluation.status for evaluation in state.evaluations].count("pending") == 3
    axes = Axes(REALS)
    pending = [axes.params(e.x) for e in state.evaluations if e.status == "pending"]
    assert first.params in pending
    assert foreign.params in [{n: pytest.approx(v) for n, v in one.items()} for one in pending]
    assert second.number == 9
    third = mine.ask(REALS)
    assert all(max(abs(third.params[name] - one[name]) for name in REALS) > 1e-3 for one in pending)  # they repel


def test_failed_and_nan_trials_are_learned_from_and_avoided():
    def objective(trial):
        value = reals(trial)
        if trial.params["x0"] > 0.9:
            raise RuntimeError("diverged")
        return math.nan if trial.params["x1"] > 1.2 else math.inf if trial.params["x2"] > 1.6 else value

    of_study = study(sampler=sampler())
    of_study.optimize(objective, n_trials=45, catch=(RuntimeError,))
    state = state_of(of_study)
    statuses = Counter(evaluation.status for evaluation in state.evaluations)
    bad = [t for t in of_study.trials if t.state == TrialState.FAIL or not math.isfinite(t.value)]
    assert statuses["failed"] == len(bad) > 0
    late = [t for t in of_study.trials[-15:] if t in bad]
    assert len(late) <= 5  # of uniform points more than half would fail
    assert of_study.best_value < 0.5


def test_a_trial_that_fails_before_it_asks_for_all_is_a_failure_where_it_was_proposed():
    def objective(trial):
        trial.suggest_float("x0", -1.0, 2.0)
        raise RuntimeError("early")

    of_study = study(sampler=sampler())
    of_study.optimize(objective, n_trials=2, catch=(RuntimeError,))
    assert [e.status for e in state_of(of_study).evaluations] == ["failed", "failed"]


def test_a_pruned_trial_has_the_value_it_reported_last():
    def objective(trial):
        value = reals(trial)
        if trial.number == 2:
            trial.report(7.5, step=1)
            raise optuna.TrialPruned
        if trial.number == 3:
            raise optuna.TrialPruned
        return value

    of_study = study(sampler=sampler())
    of_study.optimize(objective, n_trials=6)
    evaluations = state_of(of_study).evaluations
    assert -evaluations[2].y == 7.5
    assert evaluations[3].status == "failed"


def test_constraints_are_recorded_and_violations_avoided():
    def objective(trial):
        value = reals(trial)
        trial.set_constraint("c", trial.params["x0"])  # the unconstrained minimum, 0.3, is forbidden
        return value

    of_study = study(sampler=sampler())
    of_study.optimize(objective, n_trials=30)
    evaluations = state_of(of_study).evaluations
    violated = [t.number for t in of_study.trials if t.constraints["c"] > 0]
    assert [e.number for e in evaluations if e.status == "failed"] == violated
    assert "constraints must be <= 0; got {'c': " in evaluations[violated[0]].reason
    assert sum(t.constraints["c"] <= 0 for t in of_study.trials[-10:]) >= 6


# --------------------------------------------------------------------------------------------- users' other wishes


def test_enqueued_trials_are_where_the_user_wants_them():
    of_study = study(sampler=sampler())
    whole = dict.fromkeys(REALS, 0.3)
    of_study.enqueue_trial(whole)
    of_study.enqueue_trial({"x0": 1.5, "x3": -0.5})
    of_study.optimize(reals, n_trials=8)
    assert of_study.trials[0].params == whole
    assert of_study.trials[1].params["x0"] == 1.5
    state, axes = state_of(of_study), Axes(REALS)
    for trial, evaluation in zip(of_study.trials, state.evaluations, strict=True):
        assert axes.params(evaluation.x) == pytest.approx(trial.params)
    assert "vsbo:0" not in of_study.trials[0].system_attrs  # nothing was left to propose
    assert "vsbo:0" in of_study.trials[1].system_attrs
    of_study.enqueue_trial(whole)
    of_study.optimize(lambda trial: trial.suggest_float("another", 0, 1) + reals(trial), n_trials=1)
    assert of_study.trials[8].params == {**whole, "another": of_study.trials[8].params["another"]}
    assert Record.from_attributes(of_study.trials[8].system_attrs).events[-1].origin == "given"


def test_some_parameters_may_be_fixed():
    of_study = study(sampler=sampler(None))
    of_study.optimize(reals, n_trials=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        of_study.sampler = optuna.samplers.PartialFixedSampler({"x1": 0.25}, of_study.sampler)
    of_study.optimize(reals, n_trials=6)
    assert {trial.params["x1"] for trial in of_study.trials[6:]} == {0.25}
    assert len(Record.from_attributes(of_study.trials[-1].system_attrs).events[-1].x) == 5


def test_an_objective_with_conditions_and_a_given_space():
    space = {"kind": CategoricalDistribution(["a", "b"]), "a": FloatDistribution(0, 1), "b": FloatDistribution(0, 1)}

    def objective(trial):
        kind = trial.suggest_categorical("kind", ["a", "b"])
        return trial.suggest_float(kind, 0, 1) + (kind == "b")

    of_study = study(sampler=sampler(space))
    of_study.optimize(objective, n_trials=25)
    state = state_of(of_study, space)
    assert [evaluation.status for evaluation in state.evaluations] == ["done"] * 25
    assert of_study.best_value < 0.2


def test_a_range_that_changes_while_a_trial_runs_is_noticed():
    """The objective asks for another range than the space has: the trial is known by what it got."""
    changed = {"x0": FloatDistribution(-1.0, 0.5)}

    def objective(trial):
        low = trial.suggest_float("x0", -1.0, 0.5 if trial.number % 2 else 2.0)
        return low + sum(trial.suggest_float(f"x{j}", -1.0, 2.0) for j in range(1, 6))

    of_study = study(sampler=sampler(warn_independent_sampling=False))
    of_study.optimize(objective, n_trials=14)
    axes = Axes(REALS)
    known = {tuple(round(v, 9) for v in axes.params(e.x).values()) for e in state_of(of_study).evaluations}
    assert known == {tuple(round(v, 9) for v in t.params.values()) for t in of_study.trials}
    assert any(trial.distributions["x0"] == changed["x0"] for trial in of_study.trials)


def test_a_sampler_may_serve_several_studies_and_go_through_pickle():
    one = sampler(None)
    first, second = optuna.create_study(sampler=one), optuna.create_study(sampler=one)
    for _ in range(6):
        first.optimize(reals, n_trials=1)
        second.optimize(lambda trial: trial.suggest_float("other", 0, 1), n_trials=1)
    assert set(second.best_params) == {"other"}
    first.sampler = pickle.loads(pickle.dumps(one))
    first.optimize(reals, n_trials=2)
    assert len(first.trials) == 8


def test_independent_sampling_warns_once_there_is_a_space(caplog):
    def objective(trial):
        return reals(trial) + (trial.suggest_float("late", 0, 1) if trial.number > 4 else 0.0)

    of_study = study(sampler=sampler(independent_sampler=optuna.samplers.RandomSampler(seed=5)))
    with caplog.at_level(logging.WARNING, "optuna.vsbo"):
        logging.getLogger("optuna").propagate = True
        try:
            of_study.optimize(objective, n_trials=6)
        finally:
            logging.getLogger("optuna").propagate = False
    assert {record.getMessage() for record in caplog.records if "'late'" in record.getMessage()} == {
        "Parameter 'late' of trial 5 is sampled by RandomSampler: it is not in the search space, which is the "
        "given one (warn_independent_sampling=False silences this)."
    }


def test_several_objectives_are_refused():
    of_study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler())
    with pytest.raises(ValueError, match="multi-objective.*VSBOSampler cannot be used"):
        of_study.optimize(lambda trial: (reals(trial), 0.0), n_trials=1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"search_space": [1]}, "search_space must be a mapping from name to distribution; got list"),
        ({"search_space": {"a": (0, 1)}}, "search_space must map names to Optuna's distributions; got 'a': tuple"),
        ({"n_startup_trials": 0}, "n_startup_trials must be a whole number >= 1; got 0"),
        ({"n_startup_trials": 2.5}, "n_startup_trials must be a whole number; got 2.5"),
        ({"seed": -1}, "seed"),
        ({"config": {}}, "config must be a vsbo.Config; got dict"),
    ],
)
def test_wrong_arguments(arguments, says):
    with pytest.raises(InputError, match=says):
        VSBOSampler(**arguments)


def test_startup_trials_are_the_design():
    of_study = study(sampler=VSBOSampler(REALS, 0, n_startup_trials=7))
    of_study.optimize(reals, n_trials=9)
    origins = [Record.from_attributes(trial.system_attrs).events[-1].origin for trial in of_study.trials]
    assert origins[:7] == ["design"] * 7
    assert set(origins[7:]) <= set(Config().searches)


def test_records_of_many_variables_fit_the_storages_attributes():
    space = {f"variable number {j}": FloatDistribution(0, 1) for j in range(300)}
    of_study = study(sampler=VSBOSampler(space, seed=0, config=SMALL))
    for _ in range(12):
        trial = of_study.ask(space)
        of_study.tell(trial, sum(trial.params.values()))
    attributes = [attrs for trial in of_study.trials for attrs in trial.system_attrs.values()]
    assert max(map(len, attributes)) <= LONGEST + 10
    assert max(len(trial.system_attrs) for trial in of_study.trials) > 3
    for trial in of_study.trials:
        kept = Record.from_attributes(trial.system_attrs)
        assert Axes(space).params(kept.events[-1].x) == trial.params


def test_a_record_that_cannot_be_read_is_a_point_like_any_other():
    whole = study(sampler=sampler())
    whole.optimize(reals, n_trials=6)
    damaged = ["3|{", "x", '1|{"version": 99}', "1|[]", 5, "2|" + whole.trials[5].system_attrs["vsbo:0"][2:]]
    of_study = study(sampler=sampler())
    for trial, text in zip(whole.trials, damaged, strict=True):
        assert Record.from_attributes(trial.system_attrs) is not None
        trial.system_attrs["vsbo:0"] = text
        assert Record.from_attributes(trial.system_attrs) is None
        of_study.add_trial(trial)
    assert [evaluation.origin for evaluation in state_of(of_study).evaluations] == ["added"] * 6
    of_study.optimize(reals, n_trials=1)
    assert len(of_study.trials) == 7


# --------------------------------------------------------------------------------------------------------- parallel


@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_four_threads(kind, tmp_path):
    of_study = study(storage(kind, tmp_path), sampler())
    of_study.optimize(reals, n_trials=24, n_jobs=4)
    assert [trial.state for trial in of_study.trials] == [TrialState.COMPLETE] * 24
    points = np.array([list(trial.params.values()) for trial in of_study.trials])
    assert len(np.unique(points, axis=0)) == 24
    state = state_of(of_study)
    assert len(state.finished) == 24
    assert state.selections


def test_workers_that_select_at_the_same_time_agree_on_one_selection(monkeypatch):
    """Neither sees the other's record before it has made its own; each goes on, and both with the earlier one."""
    one, two = sampler(), sampler()
    first = study(sampler=one)
    first.optimize(reals, n_trials=10)  # the first selection is due
    second = optuna.load_study(study_name="study", storage=first._storage, sampler=two)
    before = first.get_trials()
    a = first.ask(REALS)
    with monkeypatch.context() as stale:
        stale.setattr(second, "get_trials", lambda **_: before)
        b = second.ask(REALS)
    records = [Record.from_attributes(trial.system_attrs) for trial in first.get_trials()[-2:]]
    assert [sum(isinstance(event, Selected) for event in record.events) for record in records] == [1, 1]
    assert a.params != b.params  # two workers with one seed and one view differ by their trials' numbers
    for trial, of_study in ((b, second), (a, first)):
        of_study.tell(trial, sum((value - 0.3) ** 2 for value in trial.params.values()))
    for of_study in (second, first) * 8:
        of_study.optimize(reals, n_trials=1)
    states = [s._memories[first._storage][first._study_id].search.state for s in (one, two)]
    assert states[0].selections[0].active == states[1].selections[0].active
    bases = [Record.from_attributes(trial.system_attrs).base for trial in first.trials]
    assert bases[:12] == [-1] * 12
    assert set(bases[12:16]) == {a.number}
    assert len(state_of(first).finished) == 28


def test_a_point_that_another_process_publishes_meanwhile_is_not_asked_twice(monkeypatch):
    """The other's record appears between our reading and our publishing; its point is ours, so we take another."""
    of_study = study(sampler=sampler())
    of_study.optimize(reals, n_trials=8)
    own = of_study.ask()
    theirs = of_study.ask()
    before = [trial for trial in of_study.get_trials() if trial.number not in (own.number, theirs.number)]
    search = of_study.sampler._caught_up(of_study, own._cached_frozen_trial, REALS)
    wanted, record = search.copy().propose(own._cached_frozen_trial)
    for key, piece in record.to_attributes().items():
        of_study._storage.set_trial_system_attr(theirs._trial_id, key, piece)
    reads = []

    def late(**_):
        reads.append(1)
        return before if len(reads) == 1 else optuna.study.Study.get_trials(of_study, deepcopy=False)

    with monkeypatch.context() as patch:
        patch.setattr(of_study, "get_trials", late)
        found = of_study.sampler.sample_relative(of_study, own._cached_frozen_trial, REALS)
    assert len(reads) >= 3
    assert max(abs(found[name] - wanted[name]) for name in REALS) > 1e-3
    kept = Record.from_attributes(of_study.trials[own.number].system_attrs)
    assert Axes(REALS).params(kept.events[-1].x) == found


def two_processes(url, trials=10):
    """Two workers of one study, each its own process; checks that nothing was lost and nothing asked twice."""
    optuna.create_study(storage=url, study_name="study")
    command = [sys.executable, "-m", "tests.doors.optuna.worker", url, str(trials)]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors
    of_study = optuna.load_study(storage=url, study_name="study", sampler=sampler())
    assert [trial.state for trial in of_study.trials] == [TrialState.COMPLETE] * 2 * trials
    points = np.array([list(trial.params.values()) for trial in of_study.trials])
    assert len(np.unique(points, axis=0)) == 2 * trials
    state = state_of(of_study)
    assert len(state.finished) == 2 * trials
    assert state.adapted_at > 0
    taken = [set(Record.from_attributes(trial.system_attrs).told) for trial in of_study.trials]
    assert set.union(*taken) >= set(range(2 * trials - 4))
    of_study.optimize(reals, n_trials=1)


def test_two_processes_on_one_sqlite_study(tmp_path):
    two_processes(f"sqlite:///{tmp_path / 'study.db'}")
