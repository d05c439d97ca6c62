"""A real cluster of two worker processes: studies run on it, from Python and from the command line."""

import contextlib
import importlib
import json
import os
import signal
import threading
import time
from collections import Counter

import dask
import distributed
import pytest

from tests.doors.dask import objectives
from vsbo import Config, InputError, ObjectiveError, Real, Space, Study
from vsbo.interfaces.cli import _main
from vsbo.interfaces.dask import connect

SPACE = Space({f"x{j}": Real(0, 1) for j in range(3)})
SMALL = Config(selection="momentum", n_initial=4, select_every=6, n_importance=50, n_raw=32, n_restarts=1)
#: Warnings of the cluster's own when its workers are killed, and of sockets that close with it.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    os.environ["VSBO_TEST_FOLDER"] = str(folder)
    settings = {"distributed.comm.timeouts.connect": "60s", "distributed.scheduler.allowed-failures": 1}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(folder)
        ) as cluster,
    ):
        cluster.folder = folder
        yield cluster


@pytest.fixture
def client(cluster):
    with connect(cluster.scheduler_address) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def study(tmp_path):
    with Study.open(tmp_path / "study.db", SPACE, seed=0, config=SMALL) as study:
        yield study


def pids(client):
    return sorted(client.run(os.getpid).values())


def test_a_study_runs_on_the_cluster_two_at_a_time(client, study):
    most = []
    outcome = study.run(objectives.sphere, 16, executor=client, callback=lambda progress: most.append(progress.workers))
    assert outcome.evaluations == 16
    assert outcome.failed == 0
    assert set(most) == {2}
    for trial in study.trials:
        assert trial.y == pytest.approx(sum((value - 0.3) ** 2 for value in trial.params.values()))


def test_a_function_that_nobody_can_import_goes_by_cloudpickle(client, study):
    shift = 0.25
    study.run(lambda params: params["x0"] - shift + os.getpid(), 6, executor=client)
    who = {round(trial.y - trial.params["x0"] + shift) for trial in study.trials}
    assert who <= set(pids(client))
    assert os.getpid() not in who


def test_a_point_that_comes_twice_is_evaluated_twice(client, study):
    """Dask would take equal arguments for one task."""
    calls = client.submit(time.time, pure=False).result()
    study.run(lambda params: time.time(), 6, executor=client, workers=1)
    assert len({trial.y for trial in study.trials}) == 6
    assert min(trial.y for trial in study.trials) > calls


def test_a_killed_worker_costs_nothing(client, cluster, study):
    """kill -9 in the middle: its evaluation is done again on the other worker, and all are told once."""
    log = cluster.folder / "calls"

    def kill_one():
        while not log.exists() or len(log.read_text().splitlines()) < 6:
            time.sleep(0.02)
        pid = int(log.read_text().splitlines()[-1].split()[0])
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    killed = []
    thread = threading.Thread(target=kill_one)
    thread.start()
    outcome = study.run(objectives.leaves_its_process_id, 16, executor=client)
    thread.join(30)
    assert killed
    assert outcome.evaluations == 16
    assert outcome.failed == 0
    assert [trial.status for trial in study.trials] == ["done"] * 16
    calls = Counter(line.split()[1] for line in log.read_text().splitlines())
    assert set(calls) == {repr(trial.params["x0"]) for trial in study.trials}
    assert sum(calls.values()) > 16  # the one that was cut short was begun again
    client.wait_for_workers(2, timeout=60)
    assert killed[0] not in pids(client)


def test_a_point_that_kills_every_worker_is_a_failure(client, study):
    outcome = study.run(objectives.kills_its_worker, 7, executor=client, workers=1)
    failed = [trial for trial in study.trials if trial.status == "failed"]
    assert outcome.evaluations == 7
    assert failed
    assert all(trial.params["x0"] > 0.7 for trial in failed)
    assert all("KilledWorker" in trial.reason for trial in failed)
    client.wait_for_workers(2, timeout=60)


def test_a_hanging_evaluation_costs_its_place_only(client, study, tmp_path):
    def hangs_once(params):
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            time.sleep(9)
        return params["x0"]

    folder = tmp_path / "hung"
    client.run(importlib.import_module, "vsbo.workers")  # what a fresh worker imports counts as its evaluation's time
    outcome = study.run(hangs_once, 8, executor=client, timeout=3)
    assert (outcome.evaluations, outcome.failed) == (8, 1)
    assert [trial.reason for trial in study.trials if trial.status == "failed"] == ["no value after 3 s"]


def test_a_cluster_that_goes_away_ends_the_run_and_blames_no_point(study, tmp_path, monkeypatch):
    """What was told is kept, what ran is pending; elsewhere the run goes on."""
    monkeypatch.setattr("vsbo.interfaces.dask.PATIENCE", 2)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, local_directory=str(tmp_path)
    ) as other:
        client = connect(other.scheduler_address)

        def close_after_three(progress):
            if progress.done == 3:
                other.close()

        with pytest.raises(ObjectiveError, match="executor (broke down|lost an evaluation)"):
            study.run(objectives.sphere, 20, executor=client, callback=close_after_three)
        client.close()
    statuses = Counter(trial.status for trial in study.trials)
    assert statuses["failed"] == 0
    assert statuses["done"] >= 3
    assert study.run(objectives.sphere, 8).reason == "the budget of 8 evaluations is spent"


# ------------------------------------------------------------------------------------------------ the command line


def write(folder, objective):
    (folder / "here.py").write_text("import os\ndef f(p):\n    return (p['x0'] - 0.3) ** 2\n")
    (folder / "study.toml").write_text(
        f'[study]\nseed = 0\nbudget = 9\n[variables]\n"x{{0..2}}" = {{real = [0, 1]}}\n[objective]\n{objective}\n'
    )
    return str(folder / "study.toml")


COMMAND = ["{python}", "-c", "import sys; print(float(sys.argv[1]) ** 2)", "{x0}", "{x1}", "{x2}"]


@pytest.mark.parametrize("objective", ['python = "here:f"', f"command = {json.dumps(COMMAND)}"])
def test_vsbo_run_on_a_cluster(cluster, tmp_path, capsys, objective):
    file = write(tmp_path, objective)
    assert _main(["run", file, "--dask", cluster.scheduler_address, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["done"] == 9
    assert data["run"]["reason"] == "the budget of 9 evaluations is spent"


def test_a_scheduler_file_is_an_address(cluster, client, tmp_path, capsys):
    address = tmp_path / "scheduler.json"
    plain = {"address": cluster.scheduler_address, "type": "Scheduler", "workers": {}}
    address.write_text(json.dumps(plain))
    assert _main(["run", write(tmp_path, 'python = "here:f"'), "--dask", str(address), "--budget", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] == 3


def test_an_objective_that_a_worker_cannot_import_ends_the_run_and_blames_no_point(client, study, tmp_path):
    from vsbo.interfaces.study_file import PythonFunction

    nowhere = PythonFunction("not_there:f", tmp_path)
    with pytest.raises(InputError, match="on the worker .*: objective.python: module 'not_there' could not be"):
        study.run(nowhere, 5, executor=client)
    assert not [trial for trial in study.trials if trial.status != "pending"]


def test_an_address_where_nobody_answers(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("vsbo.interfaces.dask.PATIENCE", 1)
    file = write(tmp_path, 'python = "here:f"')
    for address, says in (("tcp://127.0.0.1:9", "no scheduler answers"), ("nonsense://x", "no scheduler answers")):
        assert _main(["run", file, "--dask", address]) == 2
        assert says in capsys.readouterr().err
