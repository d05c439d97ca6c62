"""The event log in SQLite: several studies in a file, one row an event, JSON beside raw float64 numbers.

A write is one transaction that begins by reading what others have written since: processes that share a study see one
order of events. `synchronous=FULL`: what was acknowledged survives a power cut. Nothing is pickled: reading a foreign
file runs nothing that is in it.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vsbo._version import __version__
from vsbo.arrays import Array, frozen
from vsbo.complement import Cma
from vsbo.config import Config
from vsbo.errors import InputError, StorageError
from vsbo.owner import is_dead, is_foreign
from vsbo.space import Space
from vsbo.state import Event, State, event_from_plain, event_to_plain

#: "vsbo" in the file's header, so that `file` and we know it, and the version of the tables.
APPLICATION_ID = int.from_bytes(b"vsbo", "big")
SCHEMA = 1
#: Seconds to wait for another process's transaction. One `ask` holds the file while it computes: below a second
#: usually, some seconds with a thousand points.
PATIENCE = 300.0
#: Seconds of it at a time: while SQLite waits, Ctrl-C is not heard.
ATTEMPT = 1.0
#: The owner of a trial that was given back: whoever comes first may have it.
NOBODY = ""
#: Generations between two snapshots of the evolution strategy: it has D^2 numbers, so not every time; and replaying
#: a generation takes D^3 operations, so not never.
SNAPSHOT_EVERY = 5
#: Numbers are kept in this order of bytes on every machine.
FLOATS = np.dtype("<f8")

TABLES = """
CREATE TABLE studies (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, header TEXT NOT NULL, created REAL NOT NULL
) STRICT;
CREATE TABLE events (
    study INTEGER NOT NULL REFERENCES studies, seq INTEGER NOT NULL, time REAL NOT NULL,
    event TEXT NOT NULL, numbers BLOB NOT NULL, PRIMARY KEY (study, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE leases (
    study INTEGER NOT NULL REFERENCES studies, number INTEGER NOT NULL, owner TEXT NOT NULL, beat REAL NOT NULL,
    PRIMARY KEY (study, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE strategies (
    study INTEGER PRIMARY KEY REFERENCES studies, told INTEGER NOT NULL, sigma REAL NOT NULL,
    generation INTEGER NOT NULL, numbers BLOB NOT NULL
) STRICT;
"""


@dataclass(frozen=True)
class Recorded:
    """An event, where it stands in its study, and when it was written (seconds since 1970)."""

    seq: int
    time: float
    event: Event


class Storage:
    """A file of studies. One connection; its user sees to it that one thread at a time uses it."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(f"path must be a file's name, a string or a Path; got {path!r}")
        self.path = Path(path)
        self._process = os.getpid()
        _check_file(self.path, create)
        with _translated(self.path):
            self._db = _connect(self.path)
            try:
                self._prepare(create)
            except BaseException:
                self._db.close()
                raise

    def _prepare(self, create: bool) -> None:
        # Whose file it is comes first: nothing is written into a foreign one, nor into one that is only read.
        there = self._check_schema()
        if not there and not create:
            raise StorageError(f"{self.path} is empty: there is no study in it")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        if self._db.execute("PRAGMA journal_mode").fetchone() != ("wal",):  # a new file, or a copy made by a tool
            with suppress(sqlite3.OperationalError) if there else nullcontext():  # read-only: it can still be read
                self._patiently("PRAGMA journal_mode = WAL")
        if there:
            return
        with self.write():
            if not self._check_schema():
                for statement in TABLES.split(";")[:-1]:
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {SCHEMA}")

    def _check_schema(self) -> bool:
        """Whether the tables are there; False for an empty file."""
        with self._snapshot():  # another process may create them between two looks
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if application == APPLICATION_ID and version > SCHEMA:
            raise StorageError(
                f"{self.path} has version {version} of the tables; this vsbo {__version__} knows up to {SCHEMA}: "
                "use a newer vsbo"
            )
        if application != APPLICATION_ID and (tables or application or version):
            raise StorageError(f"{self.path} is a database, but not one of vsbo's; nothing was changed in it")
        return bool(application == APPLICATION_ID)

    def close(self) -> None:
        """Give the file back."""
        self._db.close()

    @contextmanager
    def write(self) -> Iterator[None]:
        """One transaction: what happens inside is in the file as a whole, or not at all."""
        self._check_process()
        with _translated(self.path):
            if self._db.in_transaction:  # Ctrl-C came between BEGIN and the block below, some time ago
                self._db.execute("ROLLBACK")
            try:
                self._patiently("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """What is read inside is of one instant."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("ROLLBACK")

    def _patiently(self, statement: str) -> None:
        """Execute it once the other processes let us."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._db.execute(statement)
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)  # SQLite has waited, but where waiting looks hopeless to it

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise StorageError(
                f"{self.path} was opened by another process, of which this one is a fork; open the study in this one"
            )

    # -------------------------------------------------------------------------------------------------- studies

    def names(self) -> tuple[str, ...]:
        """Of the studies, in the order in which they were created."""
        with _translated(self.path):
            return tuple(name for (name,) in self._db.execute("SELECT name FROM studies ORDER BY id"))

    def find(self, name: str) -> tuple[int, State] | None:
        """A study's id and its state before anything happened; None if there is none of this name."""
        with _translated(self.path):
            row = self._db.execute("SELECT id, header FROM studies WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        try:
            header = json.loads(row[1])
            space, config = Space.from_plain(header["space"]), Config.from_plain(header["config"])
            return int(row[0]), State.new(space, header["direction"], header["seed"], config)
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{self.path}: the header of study {name!r} cannot be read: {error}") from error

    def create(self, name: str, state: State) -> int:
        """A new study, within a transaction; its id."""
        header = json.dumps(
            {
                "vsbo": __version__,
                "space": state.space.to_plain(),
                "direction": state.direction,
                "seed": state.seed,
                "config": state.config.to_plain(),
            }
        )
        row = self._db.execute(
            "INSERT INTO studies (name, header, created) VALUES (?, ?, ?)", (name, header, time.time())
        )
        if row.lastrowid is None:  # for the type checker: an INSERT has one
            raise StorageError(f"{self.path}: study {name!r} could not be created")
        return row.lastrowid

    # --------------------------------------------------------------------------------------------------- events

    def read(self, study: int, after: int) -> list[Recorded]:
        """The events behind number `after`, in their order."""
        self._check_process()
        with _translated(self.path):
            rows = self._db.execute(
                "SELECT seq, time, event, numbers FROM events WHERE study = ? AND seq > ? ORDER BY seq", (study, after)
            ).fetchall()
        found: list[Recorded] = []
        for expected, (seq, when, text, numbers) in enumerate(rows, after + 1):
            if seq != expected:
                raise StorageError(f"{self.path}: event {expected} of study {study} is missing")
            try:
                found.append(Recorded(seq, when, decode_event(text, numbers)))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise StorageError(f"{self.path}: event {seq} of study {study} is damaged: {error}") from error
        return found

    def append(self, study: int, after: int, events: Sequence[Event]) -> list[Recorded]:
        """Write events behind number `after`, within a transaction."""
        now = time.time()
        recorded = [Recorded(after + i + 1, now, event) for i, event in enumerate(events)]
        rows = [(study, one.seq, one.time, *encode_event(one.event)) for one in recorded]
        self._db.executemany("INSERT INTO events (study, seq, time, event, numbers) VALUES (?, ?, ?, ?, ?)", rows)
        return recorded

    # ------------------------------------------------------------------------------- the evolution strategy, kept

    def keep_strategy(self, study: int, before: Cma | None, state: State) -> None:
        """Remember the strategy now and then, within a transaction, so that opening need not compute it again."""
        strategy = state.strategy
        if strategy is None:
            return
        last = 0 if before is None else before.generation  # the design's strategy costs nothing to compute again
        if strategy.generation // SNAPSHOT_EVERY == last // SNAPSHOT_EVERY:
            return
        numbers = np.concatenate([strategy.mean, strategy.path_sigma, strategy.path_c, strategy.C.ravel()])
        self._db.execute(
            "INSERT OR REPLACE INTO strategies (study, told, sigma, generation, numbers) VALUES (?, ?, ?, ?, ?)",
            (study, state.adapted_at, strategy.sigma, strategy.generation, numbers.astype(FLOATS).tobytes()),
        )

    def strategy(self, study: int, D: int) -> tuple[int, Cma] | None:
        """The remembered one, and how many evaluations it had been told."""
        with _translated(self.path):
            row = self._db.execute(
                "SELECT told, sigma, generation, numbers FROM strategies WHERE study = ?", (study,)
            ).fetchone()
        if row is None:
            return None
        told, sigma, generation, blob = row
        if len(blob) != FLOATS.itemsize * (3 * D + D * D):
            raise StorageError(f"{self.path}: the evolution strategy of study {study} is damaged")
        numbers = np.frombuffer(blob, FLOATS)
        mean, path_sigma, path_c, C = np.split(numbers, [D, 2 * D, 3 * D])
        return told, Cma(frozen(mean), sigma, frozen(C.reshape(D, D)), frozen(path_sigma), frozen(path_c), generation)

    # --------------------------------------------------------------------------------------------------- leases

    def lease(self, study: int, number: int, owner: str) -> None:
        """This owner works on a pending trial, within a transaction."""
        self._db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", (study, number, owner, time.time()))

    def release(self, study: int, number: int) -> None:
        """Nobody works on a trial any more, within a transaction."""
        self._db.execute("DELETE FROM leases WHERE study = ? AND number = ?", (study, number))

    def give_back(self, study: int, owner: str) -> None:
        """The owner works on nothing any more, within a transaction: whoever comes first may have its trials."""
        self._db.execute("UPDATE leases SET owner = ? WHERE study = ? AND owner = ?", (NOBODY, study, owner))

    def beat(self, study: int, owner: str) -> None:
        """The owner is alive."""
        with self.write():
            self._db.execute("UPDATE leases SET beat = ? WHERE study = ? AND owner = ?", (time.time(), study, owner))

    def abandoned(self, study: int, silence: float) -> list[int]:
        """Trials that were given back, or whose owner has died or, if it is on another machine, was silent for so many
        seconds; in order.
        """
        late = time.time() - silence
        with _translated(self.path):
            rows = self._db.execute(
                "SELECT number, owner, beat FROM leases WHERE study = ? ORDER BY number", (study,)
            ).fetchall()
        return [
            number
            for number, owner, beat in rows
            if owner == NOBODY or (beat < late if is_foreign(owner) else is_dead(owner))
        ]

    def leased(self, study: int) -> dict[int, str]:
        """Who works on which trial; those that nobody, or a dead process, works on included."""
        with _translated(self.path):
            return dict(self._db.execute("SELECT number, owner FROM leases WHERE study = ?", (study,)).fetchall())


# ------------------------------------------------------------------------------------------------ rows and events


def encode_event(event: Event) -> tuple[str, bytes]:
    """JSON, in which {"floats": [first, count]} stands for an array, and the numbers of all arrays."""
    arrays: list[Array] = []

    def elsewhere(array: Array) -> dict[str, list[int]]:
        first = sum(map(len, arrays))
        arrays.append(array)
        return {"floats": [first, len(array)]}

    text = json.dumps(event_to_plain(event, elsewhere), allow_nan=False)
    return text, np.concatenate([*arrays, np.empty(0)]).astype(FLOATS).tobytes()


def decode_event(text: str, blob: bytes) -> Event:
    """The inverse of `encode_event`."""
    numbers = np.frombuffer(blob, FLOATS)

    def back(plain: dict[str, Any]) -> Any:
        if plain.keys() != {"floats"}:
            return plain
        first, count = plain["floats"]
        if first + count > len(numbers):
            raise ValueError(f"it has {len(numbers)} numbers and should have {first + count}")
        return numbers[first : first + count]

    return event_from_plain(json.loads(text, object_hook=back))


# --------------------------------------------------------------------------------------------------------- errors


def _connect(path: Path) -> sqlite3.Connection:
    settings: dict[str, Any] = {"timeout": ATTEMPT, "isolation_level": None, "check_same_thread": False}
    db: sqlite3.Connection = sqlite3.connect(path, **settings)
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        # In a folder that cannot be written to SQLite cannot keep its notes beside the file. If there are none of
        # before, the file is all there is, and nobody changes it.
        unwritable = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
        if not unwritable or Path(f"{path}-wal").exists():
            raise
        db = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, **settings)
    except BaseException:
        db.close()
        raise
    return db


def _check_file(path: Path, create: bool) -> None:
    if path.is_dir():
        raise StorageError(f"{path} is a folder; a study is kept in a file, as {path / 'study.db'}")
    if not path.exists():
        if not create:
            raise StorageError(f"{path} does not exist")
        if not path.absolute().parent.is_dir():
            raise StorageError(f"the folder {path.absolute().parent} does not exist")
    elif path.stat().st_size and not os.access(path, os.R_OK):
        raise StorageError(f"{path} cannot be read: permission denied")


#: SQLite's words, and what they mean to a user of a study.
_MEANINGS = {
    "file is not a database": "is not a study file (nor any SQLite database); nothing was changed in it",
    "database disk image is malformed": "is damaged; copy it away and restore it from a backup",
    "attempt to write a readonly database": "cannot be written: it, or its folder, is read-only",
    "unable to open database file": "cannot be opened: is its folder there, and may it be written to?",
    "database or disk is full": "could not be written: the disk is full; nothing told before is lost",
    "disk I/O error": "could not be read or written: the disk is full or broken; nothing told before is lost",
    "closed database": "is closed: open the study again",
    "database is locked": f"is held by another process for more than {PATIENCE:g} s; is one of them stopped?",
}


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.Error as error:
        meaning = next((says for words, says in _MEANINGS.items() if words in str(error)), f"failed: {error}")
        raise StorageError(f"{path} {meaning}") from error
