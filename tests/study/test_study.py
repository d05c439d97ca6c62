"""A study by hand: what is compared when it is opened, what two of them see of each other, times, exports."""

import csv
import json
import math
import sys
import threading
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tests.study.common import BOX, CONFIG, PAPER, SMALL, read, sphere, trajectory
from vsbo import (
    Choice,
    Config,
    Fixed,
    InputError,
    Integer,
    Optimizer,
    Real,
    Space,
    StorageError,
    Study,
    StudyError,
    TrialError,
)

NAMED = {
    "lr": Real(1e-4, 1, log=True),
    "n": Integer(1, 9),
    "kind": Choice(["a", 'b, "b"\n', None]),
    "k": Fixed(7),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


# ------------------------------------------------------------------------------------------- opened as another


def refusal(path, space=None, **wanted):
    with pytest.raises(StudyError) as raised:
        Study.open(path, space, **wanted)
    first, *lines = str(raised.value).splitlines()
    assert first == f"study 'study' in {path} is there already, and is another one:"
    return [line.removeprefix("  ") for line in lines]


def test_a_study_that_is_another_one_is_refused_with_what_differs(path):
    Study.open(path, NAMED, direction="maximize", seed=3, config=PAPER).close()
    before = path.read_bytes()
    assert refusal(path, direction="minimize") == ["direction: the study has maximize, wanted is minimize"]
    assert refusal(path, seed=4) == ["seed: the study has 3, wanted is 4"]
    assert refusal(path, config=Config.paper(**{**SMALL, "n_raw": 64}, beta=2.0)) == [
        "config.beta: the study has None, wanted is 2.0",
        "config.n_raw: the study has 32, wanted is 64",
    ]
    assert refusal(path, {**NAMED, "lr": Real(1e-3, 1)}) == [
        "variable 'lr': the study has low = 0.0001, log = True, wanted is low = 0.001, log = False"
    ]
    assert refusal(path, {**NAMED, "kind": Real(1, 9)}) == [
        "variable 'kind': the study has type = 'choice', values = ['a', 'b, \"b\"\\n', None], ordered = False, "
        "wanted is type = 'real', low = 1.0, high = 9.0, log = False"
    ]
    assert refusal(path, {**NAMED, "k": Fixed(8)}) == ["variable 'k': the study has value = 7, wanted is value = 8"]
    assert refusal(path, {**NAMED, "k": Fixed(7.0)}) == ["variable 'k': the study has value = 7, wanted is value = 7.0"]
    assert refusal(path, {"lr": NAMED["lr"], "n": NAMED["n"], "kind": NAMED["kind"], "q": Real(0, 1)}) == [
        "variable 'k': in the study, not wanted",
        "variable 'q': wanted, not in the study",
    ]
    assert refusal(path, dict(reversed(NAMED.items()))) == ["the variables are in another order"]
    assert refusal(path, {**NAMED, "n": Integer(1, 5)}, seed=1, direction="minimize") == [
        "variable 'n': the study has high = 9, wanted is high = 5",
        "direction: the study has maximize, wanted is minimize",
        "seed: the study has 3, wanted is 1",
    ]
    assert path.read_bytes() == before
    for wanted in ({}, {"space": NAMED}, {"seed": 3}, {"space": NAMED, "direction": "maximize", "config": PAPER}):
        Study.open(path, **wanted).close()


def test_names_count_and_so_do_types(path):
    Study.open(path, Space.box(2), seed=0).close()
    assert refusal(path, {"x0": Real(0, 1), "x1": Real(0, 1)}) == ["variables without names, wanted with"]
    with pytest.raises(StudyError, match="has no study 'other'; it has: 'study'. To create it, give its space"):
        Study.open(path, name="other")
    Study.open(path, {"on": Choice([0, 1])}, name="other").close()
    with pytest.raises(StudyError, match=r"values = \[0, 1\], wanted is values = \[False, True\]"):
        Study.open(path, {"on": Choice([False, True])}, name="other")


def test_without_a_seed_a_study_still_has_one(path, tmp_path):
    Study.open(path, BOX).close()
    Study.open(tmp_path / "other.db", BOX).close()
    seeds = [read(file, lambda study: study.state.seed) for file in (path, path, tmp_path / "other.db")]
    assert seeds[0] == seeds[1] != seeds[2]


# ------------------------------------------------------------------------------------------------------ by hand


def test_ask_tell_fail_add(path):
    with Study.open(path, NAMED, seed=0, config=CONFIG) as study:
        assert study.best is None
        assert study.trials == ()
        first, second, third = (study.ask() for _ in range(3))
        given = study.ask({"lr": 0.1, "n": 3, "kind": None})
        added = study.add({"lr": 0.01, "n": np.int64(9), "kind": "a", "k": 7}, np.float32(0.25))
        bad = study.add({"lr": 0.01, "n": 8, "kind": "a"}, math.nan)
        study.tell(first, 1.5)
        study.tell(second.number, np.array([0.5]))
        study.fail(third, "it's\nover")
        study.tell(given, math.inf)
        trials = study.trials
    assert [trial.status for trial in trials] == ["done", "done", "failed", "failed", "done", "failed"]
    assert [trial.y for trial in trials if trial.status == "done"] == [1.5, 0.5, 0.25]
    assert [trial.reason for trial in trials] == ["", "", "it's\nover", "the value is inf", "", "the value is nan"]
    assert [trial.origin for trial in trials] == ["design", "design", "design", "given", "added", "added"]
    assert trials[3].params == pytest.approx({"lr": 0.1, "n": 3, "kind": None, "k": 7})
    assert (added.number, bad.number) == (4, 5)
    with Study.open(path) as again:
        assert trajectory(again) == [
            (t.number, t.x.tobytes(), t.y if t.status == "done" else None, t.status) for t in trials
        ]
        assert again.best.number == 4
        assert again.space == Space(NAMED)
        assert again.direction == "minimize"
        assert again.path == path
        assert repr(again) == f"Study('{path}', name='study', 6 trials)"


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda study: study.tell(0, 2.0), TrialError, r"trial 0 was told already \(y = 1.0\)"),
        (lambda study: study.fail(0), TrialError, "trial 0 was told already"),
        (lambda study: study.tell(9, 2.0), TrialError, "trial 9 is unknown"),
        (lambda study: study.tell("1", 2.0), TrialError, "trial must be a Trial or its number; got '1'"),
        (lambda study: study.tell(1, "2.0"), InputError, "y must be a number; got '2.0'"),
        (lambda study: study.tell(1, None), InputError, "y must be a number; got None"),
        (lambda study: study.add([2] * 4, 1), InputError, "variable x0 must be in"),
        (lambda study: study.ask([1]), InputError, r"x must have shape \(4,\)"),
        (lambda study: study.run(sphere, 0), InputError, "budget must be a whole number >= 1; got 0"),
        (lambda study: study.run(sphere, 2.5), InputError, "budget must be a whole number; got 2.5"),
        (lambda study: study.run(sphere, 9, workers=0), InputError, "workers must be a whole number >= 1; got 0"),
        (lambda study: study.run(3, 9), InputError, "f must be callable; got int"),
        (lambda study: study.run(sphere, 9, timeout=0), InputError, "timeout must be seconds > 0, or None; got 0"),
        (lambda study: study.run(sphere, 9, timeout=math.inf), InputError, "timeout must be seconds > 0"),
        (lambda study: study.run(sphere, 9, timeout=math.nan), InputError, "timeout must be seconds > 0"),
        (lambda study: study.run(sphere, 9, stop=5), InputError, "stop must be a rule"),
        (lambda study: study.run(sphere, 9, executor=5), InputError, r"executor must have submit\(fn, \*arguments\)"),
    ],
)
def test_a_mistake_changes_nothing(path, act, error, says):
    with Study.open(path, BOX, seed=0, config=CONFIG) as study:
        study.tell(study.ask(), 1.0)
        study.ask()
        before = trajectory(study)
        with pytest.raises(error, match=says):
            act(study)
        assert trajectory(study) == before
        study.tell(1, 3.0)  # and it goes on
    assert len(read(path)) == 2


def test_two_studies_of_one_file_see_each_other(path, tmp_path):
    """Asked and told in turn, they make the search that one alone would have made."""
    one = Study.open(path, BOX, seed=1, config=PAPER)
    two = Study.open(path, BOX, seed=1, config=PAPER)
    trials = []
    for i in range(16):
        asking, telling = (one, two) if i % 3 else (two, one)
        trial = asking.ask()
        trials.append(trial)
        assert trajectory(telling)[-1][0] == trial.number
        telling.tell(trial, sphere(trial.x))
        assert asking.trials[-1].status == "done"
    with pytest.raises(TrialError, match="told already"):
        one.tell(trials[0], 1.0)
    assert trajectory(one) == trajectory(two)
    assert one.best.x.tobytes() == two.best.x.tobytes()
    with Study.open(tmp_path / "alone.db", BOX, seed=1, config=PAPER) as alone:
        alone.run(sphere, 16)
        assert trajectory(alone) == trajectory(one)
    one.close()
    two.close()


def test_threads_may_share_a_study(path):
    with Study.open(path, BOX, seed=1, config=Config(**{**SMALL, "n_initial": 40})) as study:
        told, wrong = [], []

        def work():
            try:
                for _ in range(10):
                    trial = study.ask()
                    study.tell(trial, sphere(trial.x))
                    told.append(trial.number)
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert sorted(told) == list(range(40))
        assert sorted(study.state.finished) == list(range(40))
        assert all(trial.y == sphere(trial.x) for trial in study.trials)


def test_importance_and_selected_are_known(path):
    with Study.open(path, {f"x{j}": Real(0, 1) for j in range(4)}, seed=0, config=CONFIG) as study:
        assert "at least" in study.importance().note
        study.run(lambda params: (params["x2"] - 0.3) ** 2, 20)
        importance = study.importance()
        assert importance.ranked[0].name == "x2"
        assert importance["x2"].important
        assert "x2" in study.selected
        assert study.importance() is importance
        assert read(path, lambda again: again.importance().records()) == importance.records()
        history = study.history()
        assert history.seconds.evaluation is not None
        assert read(path, lambda again: again.history().records()) == history.records()


# -------------------------------------------------------------------------------------------- times and exports


def filled(path):
    study = Study.open(path, NAMED, direction="maximize", seed=0, config=CONFIG)
    began = datetime.now(UTC)
    done, failed, _ = (study.ask() for _ in range(3))
    study.tell(done, 0.1 + 0.2)
    study.fail(failed, 'a "reason",\nof two lines')
    study.add({"lr": 0.5, "n": 2, "kind": 'b, "b"\n'}, -1e-300)
    return study, began


def test_times(path):
    study, began = filled(path)
    second = timedelta(seconds=1)  # what is written is when it was written: rounding and a coarse clock
    for trials in (study.trials, read(path, lambda again: again.trials)):
        done, failed, pending, added = trials
        for trial in (done, failed, added):
            assert began - second <= trial.began <= trial.ended <= datetime.now(UTC) + second
        assert pending.began.tzinfo is UTC
        assert pending.ended is None
    assert [t.began for t in study.trials] == [t.began for t in read(path, lambda again: again.trials)]
    assert study.best.ended == study.trials[0].ended
    study.close()


def test_exports(path, tmp_path):
    study, _ = filled(path)
    trials = study.trials
    study.to_csv(tmp_path / "out.csv")
    study.to_json_lines(tmp_path / "out.jsonl")
    study.close()
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert list(rows[0]) == [
        *("number", "status", "y", "reason", "origin", "began", "ended"),
        *("params.lr", "params.n", "params.kind", "params.k"),
    ]
    assert len(rows) == len(lines) == len(trials) == 4
    for trial, row, line in zip(trials, rows, lines, strict=True):
        assert line["params"] == trial.params
        assert (int(row["number"]), row["status"], row["reason"]) == (trial.number, trial.status, trial.reason)
        assert (line["number"], line["status"], line["reason"]) == (trial.number, trial.status, trial.reason)
        assert float(row["params.lr"]) == trial.params["lr"]
        assert row["params.kind"] == (trial.params["kind"] or "")
        assert row["params.k"] == "7"
        assert datetime.fromisoformat(row["began"]) == datetime.fromisoformat(line["began"]) == trial.began
    assert [line["y"] for line in lines] == [0.1 + 0.2, None, None, -1e-300]
    assert [row["y"] for row in rows] == ["0.30000000000000004", "", "", "-1e-300"]
    assert lines[2]["ended"] is None


def test_an_empty_study_has_a_header_to_export(path, tmp_path):
    with Study.open(path, Space.box(2), seed=0) as study:
        study.to_csv(tmp_path / "out.csv")
        study.to_json_lines(tmp_path / "out.jsonl")
        assert study.records() == []
    assert (tmp_path / "out.csv").read_text().strip() == "number,status,y,reason,origin,began,ended,params.x0,params.x1"
    assert (tmp_path / "out.jsonl").read_text() == ""


def test_a_data_frame(path):
    pandas = pytest.importorskip("pandas")
    study, _ = filled(path)
    frame = study.to_dataframe()
    study.close()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["y"].tolist()[0] == 0.1 + 0.2
    assert frame["params.n"].tolist()[3] == 2


def test_without_pandas_a_data_frame_is_refused(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # what an import finds where it is not installed
    study, _ = filled(path)
    with pytest.raises(InputError, match="to_dataframe needs pandas, which is not installed"):
        study.to_dataframe()
    study.close()


def test_a_study_in_memory_is_a_study_without_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Study.open(":memory:", BOX, seed=0, config=CONFIG) as study:
        study.run(sphere, 6)
        optimizer = Optimizer(BOX, seed=0, config=CONFIG)
        for _ in range(6):
            trial = optimizer.ask()
            optimizer.tell(trial, sphere(trial.x))
        assert trajectory(study) == trajectory(optimizer)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match="closed"):
        study.ask()
