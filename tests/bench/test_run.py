"""Runs for real: what they record, how they end, and how they go on after the worst."""

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks import experiment, records, run, tables
from benchmarks.__main__ import main
from benchmarks.errors import BenchError
from benchmarks.experiment import Experiment, Job, Limit
from benchmarks.methods import METHODS
from benchmarks.problems import PROBLEMS
from benchmarks.problems.problem import permuted
from benchmarks.progress import EVERY, Progress, duration
from benchmarks.worker import SETTINGS, arguments, describe, initial_points, work
from tests.bench import tiny

HERE = "tests.bench.tiny:"
JOB = Job(f"{HERE}bowl", f"{HERE}Walk", 2, evaluations=10, initial=3)


def only(results):
    (found,) = records.load(results)
    return found


def job(method, **changes):
    return replace(JOB, method=f"{HERE}{method}", **changes)


# --- one run ---


def test_a_run_is_recorded_in_the_problems_own_order(tmp_path):
    assert work(JOB, tmp_path) == "finished"
    found = only(tmp_path)
    assert (found.problem, found.method, found.seed, found.D) == (JOB.problem, JOB.method, 2, 4)
    assert (len(found.y), found.initial, found.evaluations, found.status) == (13, 3, 10, "finished")
    bowl = tiny.bowl()
    assert found.best[-1] == pytest.approx(bowl.f(10 * found.best_point), abs=1e-4)
    order = permuted(bowl, 2).order
    assert not np.array_equal(order, np.arange(4)), "else this test sees nothing"
    assert set(found.selected[3:]) == {tuple(sorted((order[0], order[2])))}
    assert found.selected[:3] == (None,) * 3
    began = permuted(bowl, 2).original(initial_points(JOB.problem, 4, 2, 3)[np.argmax(found.y[:3])])
    moved = np.flatnonzero(np.abs(found.best_point - began) > 1e-6)
    assert set(moved) == set(found.selected[-1]), "the method moves what it says it selects"
    np.testing.assert_array_equal(found.phases["fit"], [0] * 3 + [0.25] * 10)
    assert np.all(found.wall[:3] == 0)
    assert np.all(found.wall[3:] > 0)
    assert np.all(found.memory > 20)


def test_every_method_begins_with_the_same_points(tmp_path):
    """The definition, written out; and they are what is told before the first ask."""
    expected = np.random.default_rng([2, zlib.crc32(JOB.problem.encode())]).random((3, 4))
    np.testing.assert_array_equal(initial_points(JOB.problem, 4, 2, 3), expected)
    made = []

    def factory(**settings):
        made.append(tiny.Walk(**settings))
        return made[-1]

    work(JOB, tmp_path, factory)
    np.testing.assert_array_equal([x for x, _ in made[0].told[:3]], expected)
    problem = permuted(tiny.bowl(), 2)
    np.testing.assert_allclose([y for _, y in made[0].told[:3]], problem.values(10 * expected))
    work(job("Elsewhere"), tmp_path)
    runs = records.load(tmp_path)
    np.testing.assert_array_equal(runs[0].y[:3], runs[1].y[:3])
    assert not np.array_equal(initial_points(JOB.problem, 4, 3, 3), expected)
    assert not np.array_equal(initial_points("another", 4, 2, 3), expected)


def test_the_header_says_how_it_was_made(tmp_path):
    with threadpool_limits(1):  # a worker's environment sees to it
        work(job("Elsewhere", seconds=1e6), tmp_path)
    header = only(tmp_path).header
    versions = header["versions"]
    assert {"python", "numpy", "scipy", "vsbo", "vsbo source", "commit", "dirty"} <= versions.keys()
    assert versions["elsewhere"] == "1.2.3", "a method adds its own"
    assert {"cpu", "cores", "system"} == header["machine"].keys()
    assert (header["threads"], header["optimum"], header["minimized"], header["seconds"]) == (1, 0.0, True, 1e6)
    assert header["command"].startswith(
        "python -m benchmarks.worker tests.bench.tiny:bowl tests.bench.tiny:Elsewhere 2"
    )
    assert str(Path.cwd()) not in json.dumps(header)


def test_a_method_in_another_process_tells_its_own_costs_and_is_closed(tmp_path):
    closed = tiny.Elsewhere.closed
    work(job("Elsewhere"), tmp_path)
    found = only(tmp_path)
    # Telling the three initial points counts with the first ask: 3 x 1 + 10 + 1.
    np.testing.assert_array_equal(found.wall, [0] * 3 + [14.0] + [11.0] * 9)
    np.testing.assert_array_equal(found.cpu, [0] * 3 + [28.0] + [22.0] * 9)
    np.testing.assert_array_equal(found.memory, [7.0] * 3 + [123.0] * 10)
    assert tiny.Elsewhere.closed == closed + 1


def test_a_run_stops_once_the_optimizer_has_spent_its_seconds_of_cpu(tmp_path):
    assert work(job("Elsewhere", seconds=80.0), tmp_path) == "stopped"
    assert only(tmp_path).evaluations == 4, "28 + 22 + 22 = 72 is not yet 80"


def test_values_that_are_not_finite_are_recorded_and_told_as_the_worst(tmp_path):
    made = []

    def factory(**settings):
        made.append(tiny.Walk(**settings))
        return made[-1]

    assert work(replace(JOB, problem=f"{HERE}holey", initial=8, evaluations=40), tmp_path, factory) == "finished"
    found = only(tmp_path)
    told = np.array([y for _, y in made[0].told])
    finite = np.isfinite(found.y)
    assert np.isnan(found.y[:8]).any(), "the case is there"
    assert np.isinf(found.y).any(), "the case is there"
    np.testing.assert_array_equal(told[finite], found.y[finite])
    assert np.all(told[:8][~finite[:8]] == found.y[:8][finite[:8]].min())
    for i in np.flatnonzero(~finite[8:]) + 8:
        assert told[i] == found.y[: i + 1][finite[: i + 1]].min()
    assert np.isfinite(found.best[-1])


def test_who_takes_failures_is_told_of_them(tmp_path):
    made = []

    class Takes(tiny.Walk):
        takes_failures = True

        def tell(self, x, y):
            made.append(y)
            super().tell(x, -9.0 if np.isnan(y) else y)

    assert work(replace(JOB, problem=f"{HERE}holey", initial=8, evaluations=20), tmp_path, Takes) == "finished"
    found = only(tmp_path)
    np.testing.assert_array_equal(made, np.where(np.isfinite(found.y), found.y, np.nan))


def test_of_no_value_at_all_nothing_is_told(tmp_path):
    assert work(replace(JOB, problem=f"{HERE}nowhere", method="random"), tmp_path) == "finished"
    found = only(tmp_path)
    assert np.isnan(found.y).all()
    assert found.best_point is None


@pytest.mark.parametrize(
    ("method", "evaluations", "text"),
    [
        ("Failing", 2, "RuntimeError: no third point; see .../log.txt (tiny.py:"),
        ("Outside", 0, "ask must give (4,) in [0, 1]; got (4,)"),
        ("Unmakable", 0, "ValueError: D = 4 is not to my taste"),
    ],
)
def test_a_failing_method_is_recorded(tmp_path, method, evaluations, text):
    assert work(job(method), tmp_path) == "failed"
    found = only(tmp_path)
    assert (found.status, found.evaluations) == ("failed", evaluations)
    assert text in found.error


def test_what_is_missing_here_is_no_failure_of_the_method(tmp_path):
    with pytest.raises(BenchError, match="set it up first"):
        work(job("Absent"), tmp_path)
    assert not list(tmp_path.rglob("*.jsonl*"))


def test_errors_keep_no_folders_of_this_machine():
    with pytest.raises(OSError, match="data.csv") as raised:
        Path("/no/such/folder/data.csv").read_bytes()
    assert "'.../data.csv'" in describe(raised.value)
    assert "/no/" not in describe(raised.value)
    assert describe(BenchError("3/4 and/or 1/2, see a/b.c")) == "3/4 and/or 1/2, see a/b.c"


# --- going on ---


def killed(job, results, after, log=None):
    """Start the worker of a job, and kill it once it has recorded so many evaluations."""
    environment = {**os.environ, **SETTINGS, **({"TINY_LOG": str(log)} if log else {})}
    path = records.running_path(results, job.problem, job.method, job.seed)
    command = [sys.executable, "-m", "benchmarks.worker", *arguments(job), f"--results={results}"]
    with subprocess.Popen(command, env=environment) as process:
        while not path.exists() or path.read_bytes().count(b"\n") <= after:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    return path


def test_a_killed_run_goes_on_as_if_nothing_had_been(tmp_path, monkeypatch, capsys):
    slow = job("Slow", evaluations=25)
    log = tmp_path / "log"
    path = killed(slow, tmp_path / "killed", after=8, log=log)
    known = records.read_unfinished(path).evaluations
    assert 8 <= len(known) < 28
    monkeypatch.setenv("TINY_LOG", str(log))
    assert work(slow, tmp_path / "killed") == "finished"
    # At most one evaluation was made and not yet recorded when the worker died.
    assert 28 <= len(log.read_text().splitlines()) <= 29
    monkeypatch.delenv("TINY_LOG")
    work(slow, tmp_path / "whole")
    resumed, whole = only(tmp_path / "killed"), only(tmp_path / "whole")
    np.testing.assert_array_equal(resumed.y, whole.y)
    assert resumed.selected == whole.selected
    np.testing.assert_array_equal(resumed.best_point, whole.best_point)
    np.testing.assert_array_equal(resumed.wall[: len(known)], [evaluation.wall for evaluation in known])
    assert "starts over" not in capsys.readouterr().err


def interrupted(job, results, count, factory=None):
    """A run that was broken off after so many evaluations, made from a whole one."""
    made = factory or experiment.find_method(job.method)
    asked = []

    class Stops:
        def __init__(self, **settings):
            self.inner = made(**settings)

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def ask(self):
            if len(asked) == count - job.initial:
                raise KeyboardInterrupt
            asked.append(1)
            return self.inner.ask()

    with pytest.raises(KeyboardInterrupt):
        work(job, results, Stops)
    return records.running_path(results, job.problem, job.method, job.seed)


def test_a_cut_last_line_is_dropped_and_named(tmp_path, capsys):
    path = interrupted(JOB, tmp_path, 8)
    path.write_bytes(path.read_bytes()[:-20])
    assert work(JOB, tmp_path) == "finished"
    assert f"{path} has a cut last line, which is dropped; it goes on after 7 evaluations" in capsys.readouterr().err
    work(JOB, tmp_path / "whole")
    np.testing.assert_array_equal(records.load(tmp_path)[0].y, only(tmp_path / "whole").y)


def test_a_method_that_asks_for_other_points_starts_over(tmp_path, capsys):
    unseeded = job("Unseeded", evaluations=4)
    path = interrupted(unseeded, tmp_path, 5)
    assert work(unseeded, tmp_path) == "finished"
    assert f"{path} cannot be resumed: evaluation 3 is another point now" in capsys.readouterr().err
    assert only(tmp_path).evaluations == 4


def test_a_time_limit_counts_what_was_spent_before(tmp_path):
    limited = job("Elsewhere", seconds=80.0)
    interrupted(limited, tmp_path, 5)
    assert work(limited, tmp_path) == "stopped"
    found = only(tmp_path)
    assert found.evaluations == 4
    np.testing.assert_array_equal(found.wall, [0] * 3 + [14.0] + [11.0] * 3)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: b"", "no header"),
        (lambda data: b"garbage\n" + data, "line 1"),
        (lambda data: data.replace(b'"seed":2', b'"seed":3', 1), "header is that of"),
        (lambda data: data.replace(b'"evaluations":10', b'"evaluations":11', 1), "evaluations = 11, now it is 10"),
        (lambda data: data.replace(b'"initial":3', b'"initial":2', 1), "initial = 2, now it is 3"),
        (lambda data: data.replace(b'"seconds":null', b'"seconds":9', 1), "seconds = 9, now it is None"),
    ],
)
def test_a_running_file_of_no_use_is_named_and_the_run_starts_over(tmp_path, capsys, spoil, why):
    path = interrupted(JOB, tmp_path, 6)
    path.write_bytes(spoil(path.read_bytes()))
    assert work(JOB, tmp_path) == "finished"
    said = capsys.readouterr().err
    assert str(path) in said
    assert why in said
    assert "starts over" in said
    assert only(tmp_path).header["evaluations"] == 10


# --- many runs ---


def test_failures_do_not_stop_the_rest_and_are_told_at_the_end(tmp_path):
    jobs = [job(name, evaluations=4) for name in ("Failing", "Walk", "Crashing", "Absent")]
    stream = io.StringIO()
    summary = run.run(jobs, tmp_path, workers=2, stream=stream)
    assert (summary.done, summary.skipped, summary.interrupted) == (1, 0, False)
    said = {failure.job.method.partition(":")[2]: failure.text for failure in summary.failures}
    assert said.keys() == {"Failing", "Crashing", "Absent"}
    assert "no third point" in said["Failing"]
    assert "SIGSEGV" in said["Crashing"]
    assert "about to crash" in said["Crashing"]
    assert "set it up first" in said["Absent"]
    assert all(text in str(summary) for text in said.values())
    recorded = {found.method.partition(":")[2]: found for found in records.load(tmp_path)}
    assert {name: found.status for name, found in recorded.items()} == {
        "Failing": "failed",
        "Crashing": "failed",
        "Walk": "finished",
    }
    assert recorded["Crashing"].evaluations == 2
    assert "SIGSEGV" in recorded["Crashing"].error
    assert "4/4" in stream.getvalue()

    jobs.pop()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.gz")}
    again = run.run(jobs, tmp_path, stream=io.StringIO())
    assert (again.done, again.skipped, len(again.failures)) == (0, 1, 2)
    assert all(path.read_bytes() == data for path, data in before.items()), "failed runs are left as they are"
    retried = run.run(jobs[:1], tmp_path, retry=True, stream=io.StringIO())
    assert [failure.text.startswith("RuntimeError") for failure in retried.failures] == [True], "it did run again"


def test_a_broken_result_is_named_and_run_again(tmp_path):
    work(JOB, tmp_path)
    path = records.ended_path(tmp_path, JOB.problem, JOB.method, JOB.seed)
    good = records.read(path)
    path.write_bytes(path.read_bytes()[:-30])
    stream = io.StringIO()
    summary = run.run([JOB], tmp_path, stream=stream)
    assert (summary.done, summary.failures) == (1, [])
    assert f"{path} is broken" in stream.getvalue()
    np.testing.assert_array_equal(records.read(path).y, good.y)


def recorded(results, job, status="finished", evaluations=10):
    work(replace(job, evaluations=evaluations), results)
    found = only(results)
    return replace(found, status=status)


def test_what_counts_as_done(tmp_path):
    found = recorded(tmp_path, JOB)
    assert run.is_done(JOB, found)
    assert run.is_done(replace(JOB, evaluations=7), found), "more than asked for"
    assert not run.is_done(replace(JOB, evaluations=11), found), "a longer budget is another run"
    assert not run.is_done(replace(JOB, initial=4), found)
    assert not run.is_done(JOB, replace(found, status="failed"))
    stopped = replace(found, status="stopped", header={**found.header, "evaluations": 20, "seconds": 60.0})
    longer = replace(JOB, evaluations=20)
    assert run.is_done(replace(longer, seconds=60.0), stopped)
    assert run.is_done(replace(longer, seconds=30.0), stopped)
    assert not run.is_done(replace(longer, seconds=90.0), stopped), "it has more time now"
    assert not run.is_done(longer, stopped)
    assert not run.is_done(replace(longer, evaluations=21, seconds=60.0), stopped)


def children(pid):
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in tasks.read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_ctrl_c_ends_the_workers_and_keeps_their_files(tmp_path):
    toml = tmp_path / "slow.toml"
    toml.write_text(f'problems = ["{HERE}bowl"]\nmethods = ["{HERE}Slow"]\nseeds = "0:3"\nevaluations = 1000\n')
    results = tmp_path / "results"
    command = [sys.executable, "-m", "benchmarks", "run", str(toml), f"--results={results}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while sum(path.read_bytes().count(b"\n") > 6 for path in results.rglob("*.jsonl")) < 2:
            assert process.poll() is None
            time.sleep(0.01)
        workers = children(process.pid)
        assert len(workers) == 2
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "0 done" in out
    assert "the same command goes on from here" in out
    assert "Traceback" not in err
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    files = list(results.rglob("*.jsonl*"))
    assert len(files) == 2
    assert all(len(records.read_unfinished(path).evaluations) > 5 for path in files)


def test_seeds_come_one_after_another_and_quick_methods_first(tmp_path):
    names = ("Elsewhere", "Walk", "Slow")
    for seed, name in ((0, "Elsewhere"), (0, "Walk")):
        work(job(name, seed=seed), tmp_path)
    jobs = [job(name, seed=seed) for seed in (0, 2, 1) for name in names]
    plan = run._plan(jobs, tmp_path, False, Progress(io.StringIO(), 1))
    order = [(each.seed, each.method.partition(":")[2]) for each in plan.waiting]
    # Slow has not run yet: it is guessed from all others.
    assert order == [(0, "Slow"), *((seed, name) for seed in (2, 1) for name in ("Walk", "Slow", "Elsewhere"))]
    assert plan.skipped == 2
    assert plan.guess(job("Elsewhere")) == pytest.approx(14 + 9 * 11)
    assert plan.guess(replace(job("Elsewhere"), problem="another")) == pytest.approx(14 + 9 * 11)
    assert plan.guess(job("Slow")) == pytest.approx(113 / 2, abs=0.1)
    assert run.Plan().guess(JOB) is None


# --- experiments ---


def written(tmp_path, text, name="mine"):
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    return path


GOOD = 'problems = ["Branin50", "Hartmann6-50"]\nmethods = ["vsbo", "random"]\nseeds = "2:5"\n'


def test_an_experiment_becomes_jobs_seed_by_seed(tmp_path):
    path = written(
        tmp_path,
        GOOD + "evaluations = 30\ninitial = 4\n"
        '[limits."*"]\nseconds = 60\nseeds = [2, 3]\n'
        '[limits.random]\nevaluations = 10\nseeds = "2:9"\nproblems = ["Branin50"]\n'
        "[targets]\nBranin50 = [-1, -0.5]\n",
    )
    found = experiment.read(path)
    assert found.name == "mine"
    assert found.targets == {"Branin50": (-1.0, -0.5)}
    assert found.jobs() == [
        Job("Branin50", "vsbo", 2, 30, 4, 60.0),
        Job("Branin50", "random", 2, 10, 4, 60.0),
        Job("Hartmann6-50", "vsbo", 2, 30, 4, 60.0),
        Job("Branin50", "vsbo", 3, 30, 4, 60.0),
        Job("Branin50", "random", 3, 10, 4, 60.0),
        Job("Hartmann6-50", "vsbo", 3, 30, 4, 60.0),
        Job("Branin50", "random", 4, 10, 4, 60.0),
    ]
    some = found.only(problems=["Branin50"], methods=["random"], seeds=(1, 2))
    assert some.jobs() == [Job("Branin50", "random", 2, 10, 4, 60.0)], "limits still hold"
    assert experiment.read(written(tmp_path, GOOD)).jobs()[0] == Job("Branin50", "vsbo", 2, 200, 5, None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD.replace("Branin50", "Brainin"), f"unknown problem 'Brainin'; known: {', '.join(sorted(PROBLEMS))}"),
        (GOOD.replace("vsbo", "vbso"), f"unknown method 'vbso'; known: {', '.join(sorted(METHODS))}"),
        (GOOD.replace('"vsbo"', "7"), "unknown method 7"),
        (GOOD + "evaluation = 3\n", "unknown key 'evaluation'; known: problems, methods, seeds, evaluations"),
        (GOOD + "evaluations = 0\n", "evaluations must be a whole number above 0; got 0"),
        (GOOD + "initial = true\n", "initial must be a whole number above 0; got True"),
        (GOOD.replace('"2:5"', '"5:2"'), "seeds must be like"),
        (GOOD.replace('"2:5"', "[1, 1]"), "seeds must be like"),
        (GOOD.replace('"2:5"', "[-1]"), "seeds must be like"),
        (GOOD.replace('"2:5"', '"a:b"'), "seeds must be like"),
        ('methods = ["vsbo"]\nseeds = "0:2"', "problems must be a list of names"),
        (GOOD.replace('"random"', '"vsbo"'), "methods must be a list of names, each once"),
        (GOOD + "limits = 3", "limits must be a table"),
        (GOOD + "[limits.sobol]\nseconds = 3", "unknown limit of method 'sobol'; known: *, vsbo, random"),
        (
            GOOD + "[limits.vsbo]\nsecond = 3",
            "unknown key in limits.vsbo: 'second'; known: seeds, evaluations, seconds",
        ),
        (GOOD + '[limits.vsbo]\nseconds = "3"', "limits.vsbo.seconds must be numbers"),
        (
            GOOD + "[limits.vsbo]\nevaluations = 300",
            "limits.vsbo.evaluations must be at most evaluations = 200; got 300",
        ),
        (GOOD + '[limits.vsbo]\nproblems = ["Rover60"]', "unknown problem 'Rover60'; known: Branin50, Hartmann6-50"),
        (GOOD + "[targets]\nRover60 = 3", "unknown target of problem 'Rover60'"),
        (GOOD.replace("vsbo", "no.such:thing"), "'no.such:thing' (module:attribute) cannot be imported"),
        (GOOD.replace("vsbo", "tests.bench.tiny:Run"), "cannot be imported"),
        ("problems = [", "cannot be read"),
    ],
)
def test_what_is_wrong_in_an_experiment_is_named_in_one_line(tmp_path, capsys, text, complaint):
    path = written(tmp_path, text)
    assert main(["run", str(path), "--results", str(tmp_path / "results")]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert str(path) in said
    assert said.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_wrong_choices_on_the_command_line(tmp_path, capsys):
    path = str(written(tmp_path, GOOD))
    for choice, complaint in [
        (["run", "nothing"], f"unknown experiment 'nothing'; known: {', '.join(experiment.known())}"),
        (["run", path, "--methods", "sobol"], "method 'sobol' is not in experiment 'mine', which has vsbo, random"),
        (["run", path, "--problems", "Rover60"], "problem 'Rover60' is not in experiment 'mine'"),
        (["run", path, "--seeds", "x"], "--seeds must be like"),
        (["table", path, "--results", str(tmp_path)], "there are no runs of 'mine'"),
        (["figure", "nothing"], "'nothing'"),
        (["setup", "nothing"], "'nothing'"),
    ]:
        assert main(choice) == 2
        assert complaint in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", path, "--workers", "0"])
    assert "must be a whole number above 0; got '0'" in capsys.readouterr().err


def test_the_experiments_of_the_repository(monkeypatch):
    assert {"paper-synthetic", "paper-real", "many-variables", "peers", "smoke"} <= set(experiment.known())
    from benchmarks.peers import PEERS

    monkeypatch.setattr(experiment, "METHODS", {**PEERS, **METHODS})
    found = {name: experiment.read(experiment.find(name)) for name in experiment.known()}
    assert found["smoke"] == experiment.read(experiment.find("experiments/smoke.toml"))
    seeds = {}
    for each in found["paper-synthetic"].jobs():
        assert (each.evaluations, each.initial) == (200, 5)
        seeds.setdefault(each.method, set()).add(each.seed)
    twenty = {"vsbo", "vsbo-paper", "vsbo-mix", "vanilla", "vanilla-paper"}
    assert {method for method, chosen in seeds.items() if chosen == set(range(20))} == twenty
    assert all(chosen == set(range(10)) for method, chosen in seeds.items() if method not in twenty)
    assert all(each.seconds == 600 for each in found["peers"].jobs())
    limits = {(each.method, each.seconds) for each in found["peers"].jobs()}
    shared = {each.method for each in found["peers"].jobs()} - {"botorch-paper"}
    # The verdict's records are those of the peers: with other limits they would be made anew.
    assert {(m, s) for m, s in limits if m in shared} == {
        (each.method, each.seconds) for each in found["verdict"].jobs() if each.method in shared
    }


def test_list_shows_all_there_is(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out.split()
    assert {*PROBLEMS, *METHODS, *experiment.known(), "modern"} <= set(shown)


# --- tables ---


def made_run(results, method, seed, y, *, problem="P", status="finished", minimized=False, cpu=1.0, asked=4):
    header = {"problem": problem, "method": method, "seed": seed, "D": 1, "initial": 2, "evaluations": asked}
    writer = records.Writer(results, {**header, "optimum": 10.0, "minimized": minimized})
    for i, value in enumerate(y):
        writer.add(records.Evaluation(np.array([0.5]), value, cpu=cpu * (i >= 2)))
    writer.end(status, "it broke" if status == "failed" else None)


@pytest.fixture
def tabulated(tmp_path):
    for seed in range(3):
        start = [0.0, float(seed)]
        made_run(tmp_path, "a", seed, [*start, 5.0, 5.0, 9.0, 9.5 + seed])
        made_run(tmp_path, "b", seed, [*start, 4.0, 8.0, 8.0, 8.0 + seed], cpu=2.0)
        made_run(tmp_path, "c", seed, [*start, 6.0, 7.0][: 4 - (seed == 1)], status="stopped")
    made_run(tmp_path, "b", 7, [0.0, 0.0, 1.0], status="failed")
    made_run(tmp_path, "c", 7, [0.0, 0.0], status="failed")
    made_run(tmp_path, "unasked", 0, [0.0, 0.0, 9.0, 9.0, 9.0, 9.0])
    made_run(tmp_path, "a", 9, [0.0, 0.0, 9.0, 9.0, 9.0, 9.0])
    made_run(tmp_path, "a", 0, [-4.0, -5.0, -3.0, -3.0, -3.0, -2.0], problem="Q", minimized=True)
    chosen = Experiment(
        "mine", ("P", "Q"), ("a", "b", "c"), (0, 1, 2, 7), 4, 2, {"a": Limit(seeds=(0, 1, 2))}, {"P": (5.0, 9.0)}
    )
    return tmp_path, tables.tabulate(chosen, records.load(tmp_path), (1, 4), "a")


def test_numbers_of_the_tables(tabulated):
    _, made = tabulated
    by = {(number.quantity, number.problem, number.method, number.at): number for number in made.numbers}
    best = by["best", "P", "a", 4]
    assert (best.n, best.value, best.had) == (3, 10.5, 4)
    assert (best.low, best.high) == (9.5, 11.5)
    assert by["best", "P", "b", 4].value == (8 + 9 + 10 + 1) / 4, "a failed run counts with what it had"
    assert by["best", "P", "b", 4].had == 1
    assert (by["best", "P", "c", 4].value, by["best", "P", "c", 4].had) == (pytest.approx((7 + 6 + 7) / 3), 1)
    assert by["best", "P", "c", 4].n == 3, "a run that has nothing of its own does not count"
    assert (by["cpu seconds", "P", "b", 4].value, by["cpu seconds", "P", "a", 4].value) == (8.0, 4.0)
    assert by["best", "Q", "a", 4].value == 2.0, "minimized problems are shown as in the literature"
    difference = by["difference", "P", "b", 4]
    assert (difference.n, difference.value, difference.count, difference.had) == (3, 1.5, 3, 4)
    shorter = by["difference", "P", "c", 4]
    assert shorter.value == pytest.approx(((5 - 7) + (5 - 6) + (5 - 7)) / 3), "both after what the shorter one had"
    assert (shorter.had, shorter.count) == (1, 0)
    assert [by["rank", "", method, 4].value for method in "abc"] == [1.0, 2.0, 3.0]
    assert [by["rank", "", method, 1].value for method in "abc"] == [1.5, 3.0, 2.0 - 1.0]
    assert [by["rank", "", method, 1].n for method in "abc"] == [2, 1, 1]
    target = by["evaluations to target", "P", "a", 9.0]
    assert (target.value, target.count, target.n) == (3.0, 3, 3)
    assert by["cpu seconds to target", "P", "a", 9.0].value == 3.0
    assert by["evaluations to target", "P", "b", 9.0].value == np.inf
    assert by["evaluations to target", "P", "b", 9.0].count == 2
    # By default half, 90 % and 99 % of the way from the initial points (-4) to the best known (10); shown negated.
    default = {number.at for number in made.numbers if number.problem == "Q" and "target" in number.quantity}
    assert default == {-3.0, -8.6, -9.86}
    assert made.notes == ["b failed on P with seed 7: it broke", "c failed on P with seed 7: it broke"]


def test_tables_as_markdown_and_csv(tabulated):
    results, made = tabulated
    page = tables.markdown(made)
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    assert ["a", "3", "5 [5, 5]", "10.5 [9.5, 11.5]", "4"] in cells
    assert any(row[:2] == ["b", "4"] and row[3].endswith("@1") for row in cells)
    assert any(row[:2] == ["c", "3 of 4"] for row in cells)
    assert any(row[0] == "b" and row[-1] == "+1.5 [1.5, 1.5], 3/3, p 0.25" for row in cells)
    assert ["b", "2 (3/4; 4 s)", "- (2/4)"] in cells
    assert ["a", "10.5", "2", "1.50", "1.00"] in cells
    assert ["b", "7 @1", "-", "3.00 (1)", "2.00 (1)"] in cells
    assert "b failed on P with seed 7: it broke" in page
    widths = {len(line) for line in page.split("\n\n")[3].splitlines()}
    assert len(widths) == 1, "columns line up"
    paths = tables.write(made, results / "tables")
    assert [path.name for path in paths] == ["mine.csv", "mine.md"]
    with paths[0].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(made.numbers)
    row = next(r for r in rows if (r["quantity"], r["problem"], r["method"], r["at"]) == ("best", "P", "a", "4"))
    assert (float(row["value"]), float(row["low"]), row["p"]) == (10.5, 9.5, "")


def test_runs_in_which_much_or_all_fails(tmp_path):
    nan = np.nan
    for seed, first in enumerate((0.0, nan)):
        made_run(tmp_path, "a", seed, [first, nan, 5.0, 6.0])
        made_run(tmp_path, "b", seed, [first, nan, nan, nan])
    chosen = Experiment("failing", ("P",), ("a", "b"), (0, 1), 2, 2)
    made = tables.tabulate(chosen, records.load(tmp_path), (2,), "a")
    assert made.by["best", "P", "b", 2].value == -np.inf
    assert made.by["difference", "P", "b", 2].value == np.inf
    assert [made.by["rank", "", method, 2].value for method in "ab"] == [1.0, 2.0]
    # From 0, where the first points had a value at all, to 10.
    assert {number.at for number in made.numbers if "target" in number.quantity} == {5.0, 9.0, 9.9}
    assert "| b" in tables.markdown(made)


# --- the whole way, and how it looks ---


def test_the_whole_way_from_the_command_line(tmp_path, capsys):
    path = written(
        tmp_path, f'problems = ["{HERE}bowl"]\nmethods = ["random", "{HERE}Walk"]\nseeds = "0:2"\nevaluations = 6\n'
    )
    results = str(tmp_path / "results")
    assert main(["run", str(path), "--results", results, "--seeds", "0"]) == 0
    assert "2 done" in capsys.readouterr().out
    assert main(["run", str(path), "--results", results]) == 0
    out, err = capsys.readouterr()
    assert "2 done" in out
    assert "2 before, 0 failed" in out
    assert "[########################] 4/4" in err
    for file in Path(results).rglob("*.gz"):
        header = json.loads(gzip.decompress(file.read_bytes()).splitlines()[0])["run"]
        assert header["threads"] == 1
        assert str(tmp_path) not in json.dumps(header)
    assert main(["table", str(path), "--results", results, "--at", "3", "6", "--against", f"{HERE}Walk"]) == 0
    shown = capsys.readouterr().out
    assert "| random" in shown
    assert "| rank at 6" in shown
    assert (Path(results) / "tables" / "mine.md").read_text() in shown


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_on_a_terminal_is_one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    bar = Progress(stream, 4)
    bar.update(1, ["P/m/0", "P/m/1"], 200.0)
    bar.update(2, ["P/" + "long" * 30], None)
    bar.say("news")
    bar.update(4, [], 0.0)
    bar.leave()
    drawn = stream.getvalue()
    assert "[######..................] 1/4, 3 min left: P/m/0, P/m/1" in drawn
    assert "2/4, ? left" in drawn
    assert drawn.count("\n") == 1
    assert max(map(len, drawn.replace("\n", "\r").split("\r"))) < 60
    assert drawn.endswith(" " * 20 + "\r")


def test_elsewhere_it_is_a_line_now_and_then():
    now = [0.0]
    stream = io.StringIO()
    bar = Progress(stream, 100, clock=lambda: now[0])
    for done in range(100):
        now[0] = done * EVERY / 10
        bar.update(done, ["x"], 1.0)
    assert stream.getvalue().count("\n") == 10
    bar.update(100, [], 0.0)
    assert stream.getvalue().endswith("100/100\n")


def test_durations():
    assert [duration(s) for s in (0, 40.4, 99.6, 3600, 7200, 12000)] == [
        "0 s",
        "40 s",
        "2 min",
        "60 min",
        "2 h 0 min",
        "3 h 20 min",
    ]
