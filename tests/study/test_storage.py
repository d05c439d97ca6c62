"""The file: what is written comes back to the last bit, and what is not a study's file is refused and left alone."""

import os
import shutil
import sqlite3
import tempfile
import time
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.study.common import BOX, CONFIG, PAPER, SMALL, files, output, read, sphere, trajectory
from vsbo import Config, InputError, Optimizer, State, StorageError, Study
from vsbo.gp import Hyperparameters
from vsbo.selection import Step
from vsbo.state import Adapted, Added, Asked, Failed, Fell, Fitted, Selected, Told
from vsbo.storage import APPLICATION_ID, SCHEMA, SNAPSHOT_EVERY, Storage

TINY, HUGE = 5e-324, 1.7976931348623157e308
THETA = Hyperparameters(np.array([0.1, TINY, HUGE, 1 / 3]), 0.1 + 0.2, 1e-4)
NASTY = "it's \"quoted\"\n{floats} \x00 \ud800 é \U0001f600 '); DROP TABLE events; --"
STEPS = (Step("forward", 0, np.nan, None, True, NASTY), Step("forward", 3, np.inf, -np.inf, False, ""))
EVENTS = [
    Asked(0, np.array([0.0, 1.0, 0.1 + 0.2, TINY]), "design"),
    Asked(1, np.array([-0.0, 1 / 3, 0.5, np.nextafter(1.0, 0.0)]), "model", 0.25),
    Told(0, -HUGE),
    Failed(1, NASTY),
    Added(2, np.full(4, 1 / 7), np.nan, "the value is -inf"),
    Added(3, np.full(4, 1 / 3), TINY),
    Adapted((0, 1, 2, 3)),
    Selected(4, "first", (0, 3), np.array([np.nan, np.inf, -np.inf, TINY]), np.inf, STEPS, THETA, THETA, 1.5),
    Selected(4, "kept", (), np.empty(0), np.nan, (), None, None),
    Fitted(THETA, np.nan, "constant", 0, 4, 0.5),
    Fell("fit", "the previous hyper-parameters", NASTY),
]


def same(a, b):
    """Whether two events are equal to the last bit and of the same types."""
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (repr(a) == repr(b))


def sql(path, statement):
    """What SQLite itself answers."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return db.execute(statement).fetchall()
    finally:
        db.close()


def empty(config=CONFIG):
    return State.new(BOX, "minimize", 0, config)


def test_every_event_comes_back_to_the_last_bit(tmp_path):
    storage = Storage(tmp_path / "study.db")
    with storage.write():
        study = storage.create("study", empty())
        written = storage.append(study, 0, EVENTS[:4]) + storage.append(study, 4, EVENTS[4:])
    for reader in (storage, Storage(tmp_path / "study.db")):
        found = reader.read(study, 0)
        assert [one.seq for one in found] == list(range(1, len(EVENTS) + 1))
        assert [one.time for one in found] == [one.time for one in written]
        for event, back in zip(EVENTS, found, strict=True):
            assert same(event, back.event), event
        assert [one.seq for one in reader.read(study, 7)] == [8, 9, 10, 11]
        reader.close()
    assert {type(event) for event in EVENTS} == {Asked, Added, Told, Failed, Selected, Adapted, Fitted, Fell}


floats = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(floats, max_size=20), floats, st.text())
def test_any_numbers_and_any_text_come_back(numbers, loss, text):
    storage = Storage(":memory:")
    theta = Hyperparameters(np.array(numbers), 1.0, 0.5)
    step = Step("forward", 1, loss, loss, False, text)
    events = [Selected(1, text, (1,), np.array(numbers[::-1]), loss, (step,), theta, theta), Failed(0, text)]
    with storage.write():
        study = storage.create("study", empty())
        storage.append(study, 0, events)
    found = storage.read(study, 0)
    storage.close()
    assert all(same(event, back.event) for event, back in zip(events, found, strict=True))


def test_what_fails_within_a_transaction_did_not_happen(tmp_path):
    storage = Storage(tmp_path / "study.db")
    with storage.write():
        study = storage.create("study", empty())

    def interrupted():
        with storage.write():
            storage.append(study, 0, EVENTS[:2])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert storage.read(study, 0) == []
    with storage.write():  # and the file is free again
        storage.append(study, 0, EVENTS[:1])
    storage._db.execute("BEGIN IMMEDIATE")  # as if Ctrl-C had come just behind it
    with storage.write():
        storage.append(study, 1, EVENTS[1:2])
    assert len(storage.read(study, 0)) == 2
    storage.close()


def test_several_studies_in_a_file(tmp_path):
    path = tmp_path / "a file with spaces?#%.db"
    names = ["b", "it's {} a; DROP TABLE studies;", "日本"]
    studies = [Study.open(path, BOX, seed=i, config=CONFIG, name=name) for i, name in enumerate(names)]
    for i, study in enumerate(studies):
        study.run(sphere, 3 + i)
    assert studies[0]._storage.names() == tuple(names)
    for i, (name, study) in enumerate(zip(names, studies, strict=True)):
        with Study.open(tmp_path / f"{i}.db", BOX, seed=i, config=CONFIG) as alone:
            alone.run(sphere, 3 + i)
            assert read(path, name=name) == trajectory(alone)
        study.close()


# -------------------------------------------------------------------------------------- the strategy's snapshot


def test_a_reopened_study_has_the_very_state_that_a_replay_gives(tmp_path):
    """The snapshot of the evolution strategy saves time, and changes no bit."""
    config = Config.paper(**{**SMALL, "select_every": 4})
    with Study.open(tmp_path / "study.db", BOX, seed=0, config=config) as study:
        for x in np.random.default_rng(0).random((60, 4)):  # many generations are told at once
            study.add(x, sphere(x))
        study.run(sphere, 117)
        told = study.state
    reopened = read(tmp_path / "study.db", lambda study: study.state)
    replayed = State.from_json(told.to_json())
    for state in (reopened, replayed):
        assert same(state.strategy, told.strategy)
        for name in ("active", "finished", "selected_at", "adapted_at", "fitted_at", "cold_at", "theta", "theta_full"):
            assert same(getattr(state, name), getattr(told, name)), name
        assert all(map(same, state.evaluations, told.evaluations))
        assert all(map(same, state.log, told.log))
    storage = Storage(tmp_path / "study.db", create=False)
    kept, strategy = storage.strategy(1, 4)
    assert 0 < told.strategy.generation - strategy.generation < SNAPSHOT_EVERY
    assert kept <= told.adapted_at
    assert strategy.generation >= 20
    # What is kept is what is used: a snapshot that was tampered with shows.
    with storage.write():
        storage._db.execute("UPDATE strategies SET sigma = 0.125")
    assert not same(read(tmp_path / "study.db", lambda study: study.state.strategy), told.strategy)
    with storage.write():
        storage._db.execute("UPDATE strategies SET numbers = x'00'")
    storage.close()
    with pytest.raises(StorageError, match="the evolution strategy of study 1 is damaged"):
        Study.open(tmp_path / "study.db")


def test_a_study_and_an_optimizer_make_the_same_search(tmp_path):
    with Study.open(tmp_path / "study.db", BOX, seed=5, config=PAPER) as study:
        study.run(sphere, 20)
    optimizer = Optimizer(BOX, seed=5, config=PAPER)
    for _ in range(20):
        trial = optimizer.ask()
        optimizer.tell(trial, sphere(trial.x))
    assert read(tmp_path / "study.db") == trajectory(optimizer)


# ------------------------------------------------------------------------------------------- copies and machines


def half_done(path):
    """A study with nine values and a trial that nobody works on any more."""
    seen = []

    def interrupted(x):
        seen.append(x)
        if len(seen) == 10:
            raise KeyboardInterrupt
        return sphere(x)

    with Study.open(path, BOX, seed=2, config=CONFIG) as study:
        assert study.run(interrupted, 100).interrupted
        assert [trial.status for trial in study.trials] == ["done"] * 9 + ["pending"]
    return path


def whole(path, budget=14):
    with Study.open(path, BOX, seed=2, config=CONFIG) as study:
        study.run(sphere, budget)
        return trajectory(study)


def test_a_copy_goes_on_where_the_original_would(tmp_path):
    expected = whole(tmp_path / "uninterrupted.db")
    half_done(tmp_path / "study.db")
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "study.db", tmp_path / "elsewhere" / "copy.db")
    assert whole(tmp_path / "elsewhere" / "copy.db") == expected
    assert whole(tmp_path / "study.db") == expected


def test_a_backup_made_with_sqlite_goes_on_too(tmp_path):
    """Its copy has no write-ahead log; it gets one again."""
    expected = whole(tmp_path / "uninterrupted.db")
    half_done(tmp_path / "study.db")
    sql(tmp_path / "study.db", f"VACUUM INTO '{tmp_path / 'backup.db'}'")
    assert whole(tmp_path / "backup.db") == expected
    assert sql(tmp_path / "backup.db", "PRAGMA journal_mode") == [("wal",)]


@pytest.mark.parametrize(("silent", "given_out_again"), [(400.0, True), (10.0, False)])
def test_a_file_of_another_machine(tmp_path, silent, given_out_again):
    """Its trials are taken over once it was silent for long enough; until then they are its own, and count."""
    path = half_done(tmp_path / "study.db")
    sql(path, f"UPDATE leases SET owner = 'elsewhere 0-0 123 456 1', beat = {time.time() - silent}")
    with Study.open(path) as study:
        outcome = study.run(sphere, 12)
        assert study.trials[9].status == ("done" if given_out_again else "pending")
        assert outcome.evaluations == (3 if given_out_again else 2)
        if not given_out_again:
            assert outcome.reason == "the last 1 of the budget of 12 evaluations are in the hands of other processes"
            assert len(study.trials) == 12


# ------------------------------------------------------------------------------------- files that are no studies


def newer(path):
    whole(path, 2)
    sql(path, f"PRAGMA user_version = {SCHEMA + 1}")


def truncated(path, keep=0.6):
    whole(path, 12)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])


REFUSED = {
    "foreign database": (
        lambda path: sql(path, "CREATE TABLE precious (x)"),
        "is a database, but not one of vsbo's; nothing was changed in it",
    ),
    "empty foreign database": (
        lambda path: sql(path, "PRAGMA user_version = 3"),
        "is a database, but not one of vsbo's",
    ),
    "text": (lambda path: path.write_text("x, y\n1, 2\n" * 100), r"is not a study file \(nor any SQLite database\)"),
    "short text": (lambda path: path.write_text("hello"), "is not a study file"),
    "newer": (newer, f"has version {SCHEMA + 1} of the tables; this vsbo .* knows up to {SCHEMA}: use a newer vsbo"),
    "truncated": (truncated, "is damaged; copy it away and restore it from a backup"),
    "truncated within its first page": (lambda path: truncated(path, 0.001), "is damaged|is not a study file"),
    "folder": (lambda path: path.mkdir(), "is a folder; a study is kept in a file, as .*study.db.study.db"),
}


@pytest.mark.parametrize("space", [None, BOX], ids=["read", "create"])
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_study_is_refused_and_left_as_it_is(tmp_path, kind, space):
    make, says = REFUSED[kind]
    path = tmp_path / "study.db"
    make(path)
    before = files(tmp_path)
    with pytest.raises(StorageError, match=says) as raised:
        Study.open(path, space, name="another")
    assert str(path) in str(raised.value)
    assert files(tmp_path) == before


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(StorageError, match="nothing.db does not exist"):
        Study.open(tmp_path / "nothing.db")
    with pytest.raises(StorageError, match="the folder .*missing does not exist"):
        Study.open(tmp_path / "missing" / "study.db", BOX)
    (tmp_path / "empty.db").touch()
    with pytest.raises(StorageError, match=r"empty.db is empty: there is no study in it"):
        Study.open(tmp_path / "empty.db")
    assert files(tmp_path) == {"empty.db": b""}
    Study.open(tmp_path / "empty.db", BOX).close()  # an empty file is as good as none
    assert sql(tmp_path / "empty.db", "PRAGMA application_id") == [(APPLICATION_ID,)]


@pytest.mark.parametrize("path", [None, 3, b"study.db"])
def test_a_path_must_be_a_path(path):
    with pytest.raises(InputError, match="path must be a file's name, a string or a Path; got"):
        Study.open(path, BOX)


def test_wrong_arguments_leave_no_file_behind(tmp_path):
    for wrong in ({"direction": "up"}, {"seed": -1}, {"config": "paper"}, {"name": ""}, {"name": "a\nb"}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Study.open(tmp_path / "study.db", BOX, **wrong)
    with pytest.raises(InputError, match="0..3"):
        Study.open(tmp_path / "study.db", BOX, config=Config(selection="fixed", variables=(9,)))
    assert files(tmp_path) == {}


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        ("DELETE FROM events WHERE seq = 3", "event 3 of study 1 is missing"),
        ('UPDATE events SET event = \'{"event": "Told", "numb\' WHERE seq = 3', "event 3 of study 1 is damaged"),
        ("UPDATE events SET event = '[]' WHERE seq = 3", "event 3 of study 1 is damaged"),
        ("UPDATE events SET event = 'null' WHERE seq = 3", "event 3 of study 1 is damaged"),
        ('UPDATE events SET event = \'{"event": "Exploded"}\' WHERE seq = 3', "damaged: unknown event 'Exploded'"),
        ("UPDATE events SET numbers = x'' WHERE seq = 3", "damaged: it has 0 numbers and should have 4"),
        ("UPDATE events SET numbers = x'00' WHERE seq = 3", "event 3 of study 1 is damaged"),
        ("UPDATE events SET event = (SELECT event FROM events WHERE seq = 4) WHERE seq = 6", "contradict each other"),
        ("UPDATE studies SET header = '{}'", "the header of study 'study' cannot be read"),
        ("DROP TABLE events", "no such table"),
    ],
)
def test_a_damaged_log_is_an_error_not_another_search(tmp_path, harm, says):
    path = tmp_path / "study.db"
    whole(path, 4)
    sql(path, harm)
    with pytest.raises(StorageError, match=says):
        Study.open(path)


def test_a_closed_study_says_so(tmp_path):
    study = Study.open(tmp_path / "study.db", BOX, seed=0)
    study.close()
    with pytest.raises(StorageError, match="study.db is closed: open the study again"):
        study.ask()


# ---------------------------------------------------------------------------- permissions, full disks, forks

#: Root may write anywhere: the tests of permissions give up being root, once everything is imported.
WITHOUT_PRIVILEGES = """
import os, sys
from pathlib import Path
import numpy as np, scipy.linalg, scipy.optimize
from tests.study.common import BOX, CONFIG, sphere, trajectory
from vsbo import Study, StorageError
def refused(act):
    try:
        act()
    except StorageError as error:
        return str(error)
    raise AssertionError("it was not refused")
path = Path(sys.argv[1])
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""

READ_ONLY = (
    WITHOUT_PRIVILEGES
    + """
before = path.read_bytes()
study = Study.open(path)
assert len(study.trials) == 12 and study.best is not None
for act in (study.ask, lambda: study.add([0.5] * 4, 1.0), lambda: study.run(sphere, 20),
            lambda: Study.open(path, BOX, name="new")):
    print(refused(act))
assert len(study.trials) == 12
study.to_csv(sys.argv[2])
assert path.read_bytes() == before
"""
)


@pytest.fixture
def shared():
    """A folder that others may enter; pytest's own they may not."""
    folder = Path(tempfile.mkdtemp(prefix="vsbo-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("what", ["file", "folder", "both"])
def test_a_read_only_study_can_be_read_and_says_why_it_cannot_be_written(shared, what):
    path = shared / "study.db"
    whole(path, 12)
    if what == "folder" and os.getuid() == 0:
        os.chown(path, 65534, 65534)
    os.chmod(path, 0o644 if what == "folder" else 0o444)
    os.chmod(shared, 0o777 if what == "file" else 0o555)
    told = output(READ_ONLY, path, os.devnull)
    assert told.splitlines() == [f"{path} cannot be written: it, or its folder, is read-only"] * 4


def test_a_file_that_may_not_be_read_and_a_folder_that_may_not_be_written_to(shared):
    whole(shared / "secret.db", 2)
    os.chmod(shared / "secret.db", 0o000)
    os.chmod(shared, 0o555)
    code = WITHOUT_PRIVILEGES + "print(refused(lambda: Study.open(path, BOX)))"
    assert "secret.db cannot be read: permission denied" in output(code, shared / "secret.db")
    told = output(code, shared / "new.db")
    assert f"{shared / 'new.db'} cannot be opened: is its folder there, and may it be written to?" in told


#: Fills the disk (a limit on the size of files, or a small file system), and goes on once there is room again.
FULL_DISK = """
import os, resource, signal, sys
from pathlib import Path
from tests.study.common import BOX, CONFIG, sphere, trajectory
from vsbo import Study, StorageError
folder, how = Path(sys.argv[1]), sys.argv[2]
if how == "limit":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
else:
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    CLONE_NEWNS, MS_PRIVATE, MS_REC = 0x20000, 0x40000, 0x4000
    if (libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
            or libc.mount(b"tmpfs", str(folder).encode(), b"tmpfs", 0, b"size=256k")):
        print("not permitted")
        sys.exit()
study = Study.open(folder / "study.db", BOX, seed=2, config=CONFIG)
if how == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
else:
    (folder / "ballast").write_bytes(bytes(110_000))
try:
    study.run(sphere, 1000)
except StorageError as error:
    print(error)
n = len(study.state.finished)
assert 0 < n < 1000, n
with Study.open(folder / "study.db") as other:
    assert trajectory(other) == trajectory(study)
if how == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
else:
    (folder / "ballast").unlink()
print(study.run(sphere, n + 3).evaluations)
with Study.open(":memory:", BOX, seed=2, config=CONFIG) as whole:
    whole.run(sphere, n + 3)
    assert trajectory(whole) == trajectory(study)
"""


@pytest.mark.parametrize("how", ["limit", "file system"])
def test_a_full_disk_loses_nothing_and_once_there_is_room_the_study_goes_on(tmp_path, how):
    told = output(FULL_DISK, tmp_path, how)
    if told == "not permitted\n":
        pytest.skip("a small file system can be mounted by root only")
    error, evaluations = told.splitlines()
    assert "study.db could not be" in error
    assert "the disk is full" in error
    assert evaluations == "3"


FORK = """
import os, sys
from tests.study.common import BOX, CONFIG
from vsbo import Study, StorageError
study = Study.open(sys.argv[1], BOX, seed=0, config=CONFIG)
if os.fork() == 0:
    for act in (study.ask, lambda: study.trials):
        try:
            act()
        except StorageError as error:
            print(error, flush=True)
    os._exit(0)
os.wait()
study.ask()
"""


def test_a_study_does_not_go_through_a_fork(tmp_path):
    """SQLite forbids it: two processes with one connection damage the file."""
    lines = output(FORK, tmp_path / "study.db").splitlines()
    assert len(lines) == 2
    assert all("of which this one is a fork; open the study in this one" in line for line in lines)
    assert len(read(tmp_path / "study.db")) == 1
