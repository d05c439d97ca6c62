"""Runs: budgets, failures of every kind, workers and executors, stopping, Ctrl-C, and whose trial it is."""

import os
import signal
import sqlite3
import sys
import threading
import time
import types
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

from tests.study.common import (
    BOX,
    CONFIG,
    PAPER,
    SMALL,
    ended,
    ends_its_process,
    eventually,
    output,
    python,
    read,
    sphere,
    trajectory,
    troubled,
)
from vsbo import (
    Config,
    InputError,
    NegligibleGain,
    ObjectiveError,
    Optimizer,
    Patience,
    Real,
    Space,
    Study,
    Target,
    WallClock,
    runner,
    workers,
)

SPAWN = workers.CONTEXT
DESIGN = Config(**{**SMALL, "n_initial": 100, "center": False})  # no model: what is tested is who evaluates


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


@pytest.fixture
def study(path):
    with Study.open(path, BOX, seed=0, config=DESIGN) as study:
        yield study


def statuses(study):
    return [trial.status for trial in study.trials]


# ------------------------------------------------------------------------------------------------------ budget


def test_the_budget_counts_what_is_there(study, tmp_path):
    for x in np.random.default_rng(0).random((2, 4)):
        study.add(x, 1.0)
    study.fail(study.ask(), "by hand")
    first = study.run(sphere, 6)
    assert (first.reason, first.evaluations) == ("the budget of 6 evaluations is spent", 3)
    assert study.run(sphere, 6).evaluations == 0
    assert study.run(sphere, 4).evaluations == 0
    assert study.run(sphere, 8).evaluations == 2
    assert len(study.trials) == 8


def test_a_pending_trial_of_somebody_elses_is_left_alone(study):
    mine = study.ask()
    study.run(sphere, 5)
    assert statuses(study) == ["pending"] + ["done"] * 5
    study.tell(mine, 0.0)


def test_running_the_same_line_in_pieces_is_the_same_run(tmp_path):
    whole, pieces = tmp_path / "whole.db", tmp_path / "pieces.db"
    with Study.open(whole, BOX, seed=4, config=PAPER) as study:
        study.run(sphere, 20)
    for budget in (1, 3, 4, 11, 20):
        with Study.open(pieces, BOX, seed=4, config=PAPER) as study:
            study.run(sphere, budget)
    assert read(pieces) == read(whole)


def test_progress_tells_what_happens(study):
    seen = []
    study.run(lambda x: math_domain_error() if len(seen) == 1 else sphere(x), 5, callback=seen.append)
    assert [(p.done, p.failed, p.evaluated, p.running, p.budget) for p in seen] == [
        (1, 0, 1, 0, 5), (1, 1, 2, 0, 5), (2, 1, 3, 0, 5), (3, 1, 4, 0, 5), (4, 1, 5, 0, 5),
    ]  # fmt: skip
    assert seen[-1].best == study.best.y
    assert 0 < seen[-1].overhead < seen[-1].seconds
    assert seen[-1].remaining == 0


def math_domain_error():
    raise ValueError("math domain error")


# ---------------------------------------------------------------------------------------------------- failures


def test_failures_of_every_kind_have_their_reason(study):
    answers = iter([ZeroDivisionError("by zero"), "2.0", None, np.nan, -np.inf, [1.0, 2.0], 1j, 3, np.array([4.0])])

    def f(x):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    study.add([0.5] * 4, 1.0)
    outcome = study.run(f, 10)
    assert (outcome.evaluations, outcome.failed) == (9, 7)
    assert [trial.reason for trial in study.trials[1:]] == [
        "ZeroDivisionError: by zero",
        "the value of f must be a number; got '2.0'",
        "the value of f must be a number; got None",
        "the value is nan",
        "the value is -inf",
        "the value of f must be a single real number; got [1.0, 2.0]",
        "the value of f must be a single real number; got 1j",
        "",
        "",
    ]
    assert [trial.y for trial in study.trials[-2:]] == [3.0, 4.0]


@pytest.mark.parametrize("value", [np.nan, "text"])
def test_an_objective_that_never_works_is_given_up(path, value):
    with Study.open(path, BOX, seed=0, config=CONFIG) as study:
        with pytest.raises(ObjectiveError, match="f failed at each of the first 5 points; the last time: the value"):
            study.run(lambda x: value, 100)
        assert statuses(study) == ["failed"] * 5
        with pytest.raises(ObjectiveError, match="first 6 points"):  # at once, if it still does not
            study.run(lambda x: value, 100)
        assert study.run(sphere, 10).reason == "the budget of 10 evaluations is spent"


@pytest.mark.parametrize(("target", "most_failures"), [(0.3, 4), (1.0, 14)], ids=["inside", "beyond the edge"])
def test_the_search_avoids_where_evaluations_fail(path, target, most_failures):
    """Half of the box fails. Where the best point is inside, hardly anything fails; where values get better up to the
    edge, the search finds the edge, and there half of what it tries is on the other side.
    """

    def f(x):
        if x[0] > 0.5:
            raise RuntimeError("diverged")
        return (float(x[0]) - target) ** 2 + 0.1 * float(x[1])

    with Study.open(path, Space.box(3), seed=1, config=CONFIG) as study:
        study.run(f, 40)
        late = study.trials[20:]
        assert sum(trial.status == "failed" for trial in late) <= most_failures
        assert study.best.x[0] == pytest.approx(min(target, 0.5), abs=0.02)


# --------------------------------------------------------------------------------- workers: processes of its own


@pytest.mark.slow
def test_evaluations_that_hang_or_take_their_process_down_are_failures_and_the_run_goes_on(path):
    """Ten points of the design: each kind of trouble is among them, one hangs."""
    kinds = ["it exits", "it kills itself", "it raises", "it hangs", "done"]
    others = set(SPAWN.active_children())  # joblib keeps idle workers of earlier tests for five minutes
    with Study.open(path, BOX, seed=41, config=DESIGN) as study:
        outcome = study.run(troubled, 10, workers=2, timeout=4.0)
        trials = study.trials
    expected = {
        "it exits": "its process ended with code 3",
        "it kills itself": "its process ended by SIGKILL",
        "it raises": "ArithmeticError: no value {here}\n",
        "it hangs": "no value after 4 s; its process was killed",
        "done": "",
    }
    assert [trial.reason for trial in trials] == [expected[kinds[int(5 * trial.x[0])]] for trial in trials]
    assert all(trial.y == sphere(trial.x) for trial in trials if trial.status == "done")
    assert {kinds[int(5 * trial.x[0])] for trial in trials} == set(kinds)
    assert (outcome.evaluations, outcome.failed) == (10, sum(trial.status == "failed" for trial in trials))
    assert set(SPAWN.active_children()) <= others


def test_a_function_that_cannot_go_to_another_process_is_refused_before_anything_is_asked(study):
    with pytest.raises(InputError, match="f must be a function of a module to run in processes of its own.*executor="):
        study.run(lambda x: 1.0, 5, workers=2)
    assert study.trials == ()


def test_a_function_that_another_process_cannot_import_ends_the_run_and_no_point_is_blamed(study, monkeypatch):
    module = types.ModuleType("only_here")
    exec("def f(x): return 1.0", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", module)
    with pytest.raises(InputError, match="a process of its own can import; ModuleNotFoundError: No module named 'only"):
        study.run(module.f, 5, workers=2)
    assert set(statuses(study)) == {"pending"}
    n = len(study.trials)
    study.run(sphere, 5)
    assert statuses(study) == ["done"] * 5  # those, too, that had been given out
    assert n in (1, 2)


UNGUARDED = """
import sys
from tests.study.common import BOX, CONFIG, sphere
from vsbo import Study
Study.open(sys.argv[1], BOX, seed=0, config=CONFIG).run(sphere, 9, workers=2)
"""


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_told_so_and_the_study_is_not_harmed(path, tmp_path):
    """Each new process runs the script again, up to the point where it would start processes itself."""
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    process = python(script, path)
    told = process.communicate(timeout=300)[1]
    assert process.returncode == 1
    assert "if __name__ == '__main__':" in told
    assert {status for *_, status in read(path)} == {"pending"}
    with Study.open(path) as study:
        study.run(sphere, 9)
        assert statuses(study) == ["done"] * 9


# --------------------------------------------------------------------------------------------------- executors


def test_a_thread_pool(study):
    with ThreadPoolExecutor(3) as pool:
        outcome = study.run(sphere, 12, workers=3, executor=pool)
    assert outcome.evaluations == 12
    assert all(trial.y == sphere(trial.x) for trial in study.trials)


@pytest.mark.slow
def test_a_process_pool(study):
    with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
        outcome = study.run(sphere, 6, workers=2, executor=pool)
        assert outcome.evaluations == 6
        assert all(trial.y == sphere(trial.x) for trial in study.trials)
        with pytest.raises(ObjectiveError, match="executor broke down.*workers=... without an executor goes on"):
            study.run(ends_its_process, 12, workers=2, executor=pool)
    assert statuses(study).count("failed") <= 1  # nobody knows whose fault it was, unless it was alone


def test_anything_with_submit_is_an_executor(study):
    class Lazy:
        """Its futures are of no library's class."""

        def submit(self, fn, *arguments):
            future = Future()
            threading.Timer(0.01, lambda: future.set_result(fn(*arguments))).start()
            return future

    assert study.run(sphere, 5, workers=2, executor=Lazy()).evaluations == 5


def test_pending_points_are_respected(path):
    """Eight workers at once: no point twice, though nothing is known of those that run."""
    with Study.open(path, BOX, seed=0, config=CONFIG) as study, ThreadPoolExecutor(8) as pool:
        together = threading.Barrier(8, timeout=60)

        def f(x):
            together.wait()
            return sphere(x)

        study.run(f, 24, workers=8, executor=pool)
        assert len({trial.x.tobytes() for trial in study.trials}) == 24
        X = np.array([trial.x for trial in study.trials[8:16]])  # by the model, of eight values
        gaps = np.linalg.norm(X[:, None] - X[None, :], axis=2) + np.eye(8)
        # 0.0009 or more, by who finishes first; at most 0.0003 where the model does not know of pending points.
        assert gaps.min() > 5e-4


def test_a_free_worker_gets_the_next_point_at_once(study):
    """One evaluation takes as long as all the others together; these do not wait for it."""
    slow = threading.Event()

    def f(x):
        if x.tobytes() == first:
            assert slow.wait(60)
        return sphere(x)

    def told(progress):
        if progress.done == 9:
            slow.set()

    first = Optimizer(BOX, seed=0, config=DESIGN).ask().x.tobytes()
    with ThreadPoolExecutor(2) as pool:
        study.run(f, 10, workers=2, executor=pool, callback=told)
    assert study.state.finished[-1] == 0


def test_an_executor_whose_evaluation_hangs_loses_that_worker_and_no_other(study):
    release = threading.Event()
    seen = []

    def f(x):
        seen.append(x)
        if len(seen) == 2:
            assert release.wait(60)
        return sphere(x)

    with ThreadPoolExecutor(2) as pool:
        try:
            outcome = study.run(f, 6, workers=2, executor=pool, timeout=2)
        finally:
            release.set()
    assert (outcome.evaluations, outcome.failed) == (6, 1)
    assert [trial.reason for trial in study.trials if trial.status == "failed"] == ["no value after 2 s"]


def test_an_executor_all_of_whose_workers_hang_ends_the_run(study):
    release = threading.Event()

    def f(x):
        release.wait(60)
        return sphere(x)

    study.add([0.5] * 4, 1.0)
    with ThreadPoolExecutor(1) as pool:
        try:
            with pytest.raises(ObjectiveError, match="executor: evaluations of more than 0.2 s hold all its 1 workers"):
                study.run(f, 6, executor=pool, timeout=0.2)
        finally:
            release.set()
    assert statuses(study) == ["done", "failed"]


def test_waiting_for_a_free_worker_is_not_the_evaluations_time(study):
    """Four at a time on a pool of one: the last waits for three, and has its whole timeout then."""
    with ThreadPoolExecutor(1) as pool:
        outcome = study.run(lambda x: time.sleep(0.6) or sphere(x), 4, workers=4, executor=pool, timeout=2)
    assert outcome.failed == 0


# ------------------------------------------------------------------------------------------ callback and rules


def test_a_callback_ends_the_run_and_all_that_ended_with_it_is_told(study):
    """Three evaluations end while the callback is busy with a fourth; at the first of them it says stop."""
    first, go, outcomes = threading.Event(), threading.Event(), []

    def f(x):
        if first.is_set():
            assert go.wait(60)
        first.set()
        return sphere(x)

    def callback(progress):
        if progress.done > 1:
            return True
        go.set()
        return not eventually(lambda: all(future.done() for future in given))

    class Pool(ThreadPoolExecutor):
        def submit(self, *arguments):
            given.append(super().submit(*arguments))
            return given[-1]

    given = []
    with Pool(4) as pool:
        run = threading.Thread(
            target=lambda: outcomes.append(study.run(f, 30, workers=4, executor=pool, callback=callback)), daemon=True
        )
        run.start()
        run.join(60)
        assert not run.is_alive(), "it waits for evaluations that it was told of already"
    assert outcomes[0].reason == "the callback ended the run"
    assert set(statuses(study)) == {"done"}
    assert len(study.trials) >= 4


def test_an_exception_of_the_callback_comes_through_and_nothing_is_lost(study):
    together = threading.Barrier(3, timeout=60)

    def f(x):
        together.wait()
        return sphere(x)

    def callback(progress):
        time.sleep(0.2)  # by now the two others have ended, too
        raise LookupError("mine")

    with ThreadPoolExecutor(3) as pool, pytest.raises(LookupError, match="mine"):
        study.run(f, 30, workers=3, executor=pool, callback=callback)
    assert statuses(study) == ["done"] * 3
    study.run(sphere, 5)
    assert statuses(study) == ["done"] * 5


def test_target(path):
    with Study.open(path, BOX, direction="maximize", seed=0, config=DESIGN) as study:
        values = iter([1.0, 5.0, 2.0])
        outcome = study.run(lambda x: next(values), 10, stop=Target(4.5))
        assert (outcome.reason, outcome.evaluations) == ("the target of 4.5 is reached", 2)
        assert study.run(sphere, 10, stop=[Target(4.5)]).evaluations == 0  # it is known before anything is asked


def test_wall_clock(study):
    began = time.monotonic()
    outcome = study.run(lambda x: time.sleep(0.05) or sphere(x), 10**6, stop=WallClock(0.5))
    assert outcome.reason == "0.5 s have passed"
    assert outcome.evaluations >= 1
    assert time.monotonic() - began >= 0.5


def test_patience(study):
    values = iter([3.0, 2.0, 2.5, 2.0, 9.0, 9.0])
    outcome = study.run(lambda x: next(values), 100, stop=Patience(3))
    assert (outcome.reason, outcome.evaluations) == ("3 evaluations brought nothing better", 5)


def test_negligible_gain(path):
    """A parabola is soon known; a target out of reach does not stop it, the model does."""
    with Study.open(path, Space.box(2), seed=0, config=CONFIG) as study:
        outcome = study.run(sphere, 100, stop=[Target(-1), NegligibleGain(least=10, every=2)])
        assert "of what was gained so far" in outcome.reason
        assert 10 <= outcome.evaluations < 100
        assert outcome.evaluations % 2 == 0
        assert study.best.y < 0.01


def test_a_rule_of_the_users_own_may_answer_with_a_boolean(study):
    assert study.run(sphere, 5, stop=lambda progress: False).evaluations == 5
    outcome = study.run(sphere, 9, stop=lambda progress: progress.done >= 7)
    assert outcome.evaluations == 2
    assert "ended the run" in outcome.reason
    assert study.run(sphere, 9, stop=lambda progress: "enough").reason == "enough"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Target("a"), "value must be a number; got 'a'"),
        (lambda: WallClock(0), "seconds must be > 0; got 0"),
        (lambda: Patience(0), "evaluations must be a whole number >= 1; got 0"),
        (lambda: NegligibleGain(part=-1), "part must be > 0; got -1"),
        (lambda: NegligibleGain(every=0), "every must be a whole number >= 1; got 0"),
        (lambda: NegligibleGain(least=1.5), "least must be a whole number; got 1.5"),
    ],
)
def test_wrong_rules(make, says):
    with pytest.raises(InputError, match=says):
        make()


# --------------------------------------------------------------------------------------- Ctrl-C and dead processes


def test_ctrl_c_within_an_evaluation_and_the_next_run_evaluates_it_first(tmp_path):
    with Study.open(tmp_path / "whole.db", BOX, seed=4, config=PAPER) as study:
        study.run(sphere, 12)
        whole = trajectory(study)
    seen = []

    def interrupted(x):
        seen.append(x.tobytes())
        if len(seen) % 4 == 0:
            raise KeyboardInterrupt
        return sphere(x)

    with Study.open(tmp_path / "study.db", BOX, seed=4, config=PAPER) as study:  # one process, as in a notebook
        outcome = study.run(interrupted, 12)
        assert (outcome.reason, outcome.interrupted, outcome.evaluations) == ("interrupted", True, 3)
        assert study.run(interrupted, 12).interrupted
        assert seen[3] == seen[4]
        while study.run(interrupted, 12).interrupted:
            pass
        assert trajectory(study) == whole


GOES_ON = """
import sys
from tests.study.common import sphere
from vsbo import Study
with Study.open(sys.argv[1]) as study:
    print(study.run(sphere, 3).evaluations)
"""


def test_what_an_interrupted_run_gives_back_another_process_takes(study, path):
    """Though the process that was interrupted is still there, as a notebook is."""

    def interrupted(x):
        raise KeyboardInterrupt

    study.run(interrupted, 3)
    assert output(GOES_ON, path) == "3\n"
    assert statuses(study) == ["done"] * 3


#: Ctrl-C at random instants of asking, evaluating, telling: wherever the main thread happens to be.
RAIN = """
import os, random, signal, sys, threading
from tests.study.common import BOX, PAPER, sphere, trajectory
from vsbo import Study
study = Study.open(sys.argv[1], BOX, seed=4, config=PAPER)
dice, hits, longest = random.Random(0), 0, 0.03
while True:
    timer = threading.Timer(dice.uniform(0.0, longest), lambda: os.kill(os.getpid(), signal.SIGINT))
    longest *= 1.1  # on a slow machine it must come to an end, too
    try:
        timer.start()
        outcome = study.run(sphere, 25)
        timer.cancel()
        timer.join()
        if not outcome.interrupted:
            break
    except KeyboardInterrupt:  # it came before the run had begun, or after it had ended
        pass
    hits += 1
print(hits)
with Study.open(":memory:", BOX, seed=4, config=PAPER) as whole:
    whole.run(sphere, 25)
    assert trajectory(whole) == trajectory(study)
"""


def test_ctrl_c_at_any_instant_leaves_a_study_that_goes_on(path):
    hits = int(output(RAIN, path))
    assert hits >= 3


CHILDREN = """
import os, subprocess, sys, time
from pathlib import Path
from tests.study.common import BOX, CONFIG
from vsbo import Study

def f(x):
    child = subprocess.Popen(["sleep", "1000"])
    with open(os.environ["VSBO_TEST_LIST"], "a") as file:
        file.write(f"{os.getpid()} {child.pid}\\n")
    time.sleep(1000)

if __name__ == "__main__":
    study = Study.open(sys.argv[1], BOX, seed=0, config=CONFIG)
    print(study.run(f, 10, workers=2).reason)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["Ctrl-C", "kill -9"])
def test_when_a_run_ends_its_processes_end_and_theirs(path, tmp_path, how, monkeypatch):
    listed = tmp_path / "list"
    listed.touch()
    monkeypatch.setenv("VSBO_TEST_LIST", str(listed))
    script = tmp_path / "script.py"
    script.write_text(CHILDREN)
    process = python(script, path)
    try:
        assert eventually(lambda: len(listed.read_text().splitlines()) == 2, 120)
        process.send_signal(signal.SIGINT if how == "Ctrl-C" else signal.SIGKILL)
        out, err = process.communicate(timeout=120)
        if how == "Ctrl-C":
            assert (out, err) == ("interrupted\n", "")
        pids = [int(pid) for pid in listed.read_text().split()]
        assert eventually(lambda: all(map(ended, pids)))
    finally:
        for pid in map(int, listed.read_text().split()):
            if not ended(pid):
                os.kill(pid, signal.SIGKILL)
        process.kill()
    with Study.open(path) as study:
        assert statuses(study) == ["pending"] * 2
        study.run(sphere, 2)
        assert statuses(study) == ["done"] * 2


DIES = """
import os, sys
from tests.study.common import BOX, CONFIG, sphere
from vsbo import Study
calls = []
def f(x):
    calls.append(x)
    if len(calls) == 4:
        os._exit(0)
    return sphere(x)
Study.open(sys.argv[1], BOX, seed=0, config=CONFIG).run(f, 20)
"""


def test_trials_of_dead_processes_are_given_out_again_first_and_within_the_budget(path):
    output(DIES, path)
    with Study.open(path) as study:
        assert statuses(study) == ["done"] * 3 + ["pending"]
        assert study.run(sphere, 3).evaluations == 0  # nothing beyond the budget, not even these
        order = []
        study.run(lambda x: order.append(x.tobytes()) or sphere(x), 6)
        assert order[0] == study.trials[3].x.tobytes()
        assert statuses(study) == ["done"] * 6


def test_a_trial_that_another_process_told_meanwhile_is_not_told_twice(path):
    """Taken for dead, evaluated and told by another: equal values are one measurement, others are a second one."""
    with Study.open(path, BOX, seed=0, config=DESIGN) as study, Study.open(path) as other:

        def f(x):
            pending = other.trials[-1]
            other.tell(pending, sphere(x) + (pending.number == 1))
            return sphere(x)

        study.run(f, 3)
        assert [(t.number, t.origin, t.y == sphere(t.x)) for t in study.trials] == [
            (0, "design", True), (1, "design", False), (2, "added", True),
        ]  # fmt: skip
        assert study._storage.leased(1) == {}


def test_whoever_works_on_a_trial_is_heard_of(study, path, monkeypatch):
    monkeypatch.setattr(runner, "HEARTBEAT", 0.05)
    beats = []

    def f(x):
        with closing(sqlite3.connect(path)) as db:
            for _ in range(2):
                assert eventually(lambda: db.execute("SELECT beat FROM leases").fetchone() not in beats)
                beats.append(db.execute("SELECT beat FROM leases").fetchone())
        return sphere(x)

    study.run(f, 1)
    assert study.trials[0].status == "done", study.trials[0].reason
    assert beats[1] > beats[0]
    assert not any(thread.name == "vsbo-heartbeat" for thread in threading.enumerate())


def test_two_runs_of_one_process_do_not_take_each_others_trials(study, path):
    """Each run is an owner of its own: what a run that has ended still held is free, what another holds is not."""
    inside, go = threading.Event(), threading.Event()
    calls = Counter()

    def slow(x):
        calls[x.tobytes()] += 1
        inside.set()
        assert go.wait(60)
        return sphere(x)

    thread = threading.Thread(target=lambda: study.run(slow, 4))
    thread.start()
    assert inside.wait(60)
    with Study.open(path) as other:
        outcome = other.run(lambda x: calls.update([x.tobytes()]) or sphere(x), 4)
        assert (outcome.evaluations, other.trials[0].status) == (3, "pending")
    go.set()
    thread.join()
    assert statuses(study) == ["done"] * 4
    assert set(calls.values()) == {1}


def test_names_reach_the_objective_as_they_are(path):
    """Quotes, newlines and braces in names and values are only text."""
    name = 'it\'s "{x}"\n; DROP TABLE events'
    with Study.open(path, {name: Real(0, 1)}, seed=0, config=CONFIG, name="'; --") as study:
        study.run(lambda params: params[name], 5)
        assert [trial.y for trial in study.trials] == [trial.params[name] for trial in study.trials]
