"""A program as an objective: run once a trial, in a folder of its own, its value read from what it prints.

    runs/0007/params.json       what it gets, whatever else it gets
    runs/0007/stdout.log, stderr.log

A value is an argument, an environment variable, or text in a file: never a program. A program is the leader of a
process group, which ends with it; a child that leaves the group (setsid) is out of reach.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from vsbo.errors import InputError, ObjectiveError
from vsbo.interfaces.template import Template, as_text
from vsbo.optimizer import Trial

Keep = Literal["failed", "all", "none"]

#: Seconds between two looks at a program: its time, the size of what it printed, whether the run is over.
POLL = 0.1
#: Seconds between the polite signal (SIGTERM) and the last one (SIGKILL).
GRACE = 2.0
#: Bytes of output in which the value is looked for, and which are kept of a log: its end.
TAIL = 1_000_000
#: Bytes of output above which a program is ended, unless the study's file says otherwise.
OUTPUT_LIMIT = 100_000_000
#: Lines and characters of a program's complaint that a failure's reason repeats.
COMPLAINT_LINES, COMPLAINT_CHARACTERS = 5, 500

PARAMS, STDOUT, STDERR, PID = "params.json", "stdout.log", "stderr.log", ".vsbo-pid"
#: In a folder of runs: which study it belongs to.
OWNER = "study"
#: What can be put in besides the variables: the trial's number, the folder of the study's file, this Python.
RESERVED = ("trial", "here", "python")


# ------------------------------------------------------------------------------------------- where the value is


class Reader(Protocol):
    """Finds the value in what a program printed; an ObjectiveError if there is none."""

    def __call__(self, text: str, /) -> float:
        """The value."""
        ...


@dataclass(frozen=True)
class LastLine:
    """The last line that is not empty is the number."""

    def __call__(self, text: str, /) -> float:
        """The value."""
        return _number(_last_line(text), "the last line of its standard output")


@dataclass(frozen=True)
class Match:
    """What the group of a regular expression matched, the last time."""

    pattern: str

    def __call__(self, text: str, /) -> float:
        """The value."""
        found = re.findall(self.pattern, text, re.MULTILINE)
        if not found:
            raise ObjectiveError(f"its standard output does not match {self.pattern!r}")
        return _number(found[-1], f"what {self.pattern!r} matched")


@dataclass(frozen=True)
class JsonField:
    """A field of the JSON that was printed, as a whole or in the last line: "loss", "test.loss", "folds.0.loss"."""

    path: str

    def __call__(self, text: str, /) -> float:
        """The value."""
        value = self._parsed(text)
        for step in self.path.split("."):
            try:
                value = value[int(step)] if isinstance(value, list) else value[step]
            except (KeyError, IndexError, ValueError, TypeError):
                raise ObjectiveError(f"the JSON it printed has no field {self.path!r} ({step!r} is missing)") from None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ObjectiveError(f"the field {self.path!r} must be a number; it is {_short(json.dumps(value))}")
        return _number(str(value), f"the field {self.path!r}")

    @staticmethod
    def _parsed(text: str) -> Any:
        for part in (text, _last_line(text)):
            with contextlib.suppress(ValueError, RecursionError):
                return json.loads(part)
        raise ObjectiveError(f"it printed no JSON; the last line is {_short(repr(_last_line(text)))}")


def _last_line(text: str) -> str:
    lines = text.rstrip().rsplit("\n", 1)
    return lines[-1].strip()


def _number(text: str, where: str) -> float:
    if not text.strip():
        raise ObjectiveError(f"{where} is empty, and should be a number")
    try:
        value = float(text.replace("_", "?"))  # Python's 1_000 is no number anywhere else
    except ValueError:
        raise ObjectiveError(f"{where} must be a number; it is {_short(repr(text.strip()))}") from None
    if not isfinite(value):
        raise ObjectiveError(f"{where} must be a finite number; it is {value}")
    return value


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


# ------------------------------------------------------------------------------------------------- the objective


class _Stop:
    """An event that does not travel: in another process nothing has been stopped."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def __reduce__(self) -> tuple[type["_Stop"], tuple[()]]:
        return _Stop, ()


class StoppedError(ObjectiveError):
    """The run is over: the evaluation was ended, and says nothing about the point."""


@dataclass(frozen=True)
class Command:
    """An objective that runs a program. Called with a Trial, it gives the value or raises an ObjectiveError.

    arguments: the program and its arguments; with `shell` the positional parameters of `script`.
    input: "arguments", "stdin", or the name of a file in the trial's folder that holds the variables as JSON.
    timeout in seconds; output_limit in bytes; keep: whose folders stay.
    """

    takes_trial: ClassVar[bool] = True

    arguments: tuple[Template, ...]
    runs: Path
    here: Path
    python: str
    script: str | None = None
    environment: Mapping[str, Template] = field(default_factory=dict)
    input: str = "arguments"
    value: Reader = field(default_factory=LastLine)
    timeout: float | None = None
    keep: Keep = "failed"
    output_limit: int = OUTPUT_LIMIT
    _stop: _Stop = field(default_factory=_Stop, compare=False, repr=False)

    def prepare(self, owner: str) -> None:
        """Make sure, before the first trial, that the program is there and the folder of runs is this study's."""
        program = None if self.script is not None else self.arguments[0].literal
        path = self.environment["PATH"].literal if "PATH" in self.environment else None
        if program is not None and shutil.which(program, path=path) is None:
            where = "is not an executable file" if os.sep in program else "is not found on the PATH"
            raise InputError(f"objective.command: the program {program!r} {where}")
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            with (self.runs / OWNER).open("x", encoding="utf-8") as file:
                file.write(owner)
        except FileExistsError:
            if not self.runs.is_dir():
                raise InputError(f"objective.runs: {self.runs} is a file; it should be a folder") from None
            other = (self.runs / OWNER).read_text(encoding="utf-8")
            if other != owner:
                raise InputError(
                    f"objective.runs: the folder {self.runs} holds the runs of {other}; this is {owner}. "
                    'Give it a folder of its own, as runs = "other-runs"'
                ) from None
        except OSError as error:
            raise InputError(f"objective.runs: {self.runs} cannot be written to: {error.strerror}") from None

    def stop(self) -> None:
        """End all programs that run, and start no further one. Returns at once; they have GRACE seconds."""
        self._stop.event.set()

    def __call__(self, trial: Trial) -> float:
        """The value at a trial's point."""
        place = self.runs / f"{trial.number:04d}"
        remove = self.keep != "all"
        try:
            _end_abandoned(place)
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True, exist_ok=True)
            return self._evaluate(trial, place)
        except StoppedError:
            raise
        except (ObjectiveError, OSError) as error:
            remove = self.keep == "none"
            raise ObjectiveError(str(error) if remove else f"{error}\nlogs: {place}") from None
        finally:
            if remove:
                shutil.rmtree(place, ignore_errors=True)
            else:
                for name in (STDOUT, STDERR):
                    _cut(place / name)

    def _evaluate(self, trial: Trial, place: Path) -> float:
        params = place / (PARAMS if self.input in ("arguments", "stdin") else self.input)
        params.write_text(json.dumps(trial.params, ensure_ascii=False), encoding="utf-8")
        process = self._execute(trial, place, params)
        left = _end_group_of(process.pid)
        complaint = _complaint(place) + ("\n(processes that it left behind were killed)" if left else "")
        if process.returncode:
            raise ObjectiveError(f"{_how(process.returncode)}{complaint}{self._hint()}")
        try:
            return self.value(_tail(place / STDOUT))
        except ObjectiveError as error:
            raise ObjectiveError(f"{error}{complaint}") from None

    def _execute(self, trial: Trial, place: Path, params: Path) -> "subprocess.Popen[bytes]":
        """Run the program to its end; an ObjectiveError if that is not its own."""
        values = {name: as_text(value) for name, value in trial.params.items()}
        values.update(zip(RESERVED, (str(trial.number), str(self.here), self.python), strict=True))
        arguments = [argument.fill(values) for argument in self.arguments]
        if self.script is not None:
            arguments = ["/bin/sh", "-c", self.script, "sh", *arguments]
        environment = {name: template.fill(values) for name, template in self.environment.items()}
        if self._stop.event.is_set():
            raise StoppedError("the run is over")
        with (
            (place / STDOUT).open("ab") as stdout,
            (place / STDERR).open("ab") as stderr,
            Path(params if self.input == "stdin" else os.devnull).open("rb") as stdin,
        ):
            try:
                process = subprocess.Popen(
                    arguments,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    cwd=place,
                    env={**os.environ, **environment, "VSBO_TRIAL": str(trial.number)},
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:  # ValueError: a NUL character in a value
                raise ObjectiveError(f"{arguments[0]!r} could not be started: {error}") from None
        why: ObjectiveError | None = StoppedError("the run is over")  # unless we come to know better
        try:
            with contextlib.suppress(FileNotFoundError):  # it may have removed its folder by now
                (place / PID).write_text(str(process.pid))
            why = self._watch(process, place)
        finally:
            if why is not None:
                _end(process)
        if why is not None:
            raise type(why)(f"{why}{_complaint(place)}")
        return process

    def _watch(self, process: "subprocess.Popen[bytes]", place: Path) -> ObjectiveError | None:
        """Wait for its end; why it must be ended, otherwise."""
        until = time.monotonic() + (inf if self.timeout is None else self.timeout)
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, min(POLL, until - time.monotonic())))
                return None
            if self._stop.event.is_set():
                return StoppedError("the run is over")
            if time.monotonic() >= until:
                return ObjectiveError(f"no value after {self.timeout:g} s; it was killed")
            if sum(_size(place / name) for name in (STDOUT, STDERR)) > self.output_limit:
                return ObjectiveError(f"it printed more than {self.output_limit / 1e6:g} MB; it was killed")

    def _hint(self) -> str:
        """For the most frequent slip: a file beside the study's file, named as if the program ran there."""
        for argument in self.arguments[1:]:
            name = argument.literal
            if name and not os.path.isabs(name) and (self.here / name).is_file():
                return f"\n(it ran in a folder of its own; for the file beside the study's, write {{here}}/{name})"
        return ""


# ---------------------------------------------------------------------------------------------- processes and logs


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    _end_group_of(process.pid)
    process.wait()


def _end_group_of(leader: int) -> bool:
    """Kill what is left of a group; whether there was anything."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # PermissionError: macOS, for a group of zombies
        return False
    return True


def _end_abandoned(place: Path) -> None:
    """End the program of a run that was killed (SIGKILL, out of memory), if it lives on; it is known by its folder.

    Where the system does not tell a process's folder it goes on, and its answer is not read.
    """
    with contextlib.suppress(OSError, ValueError):
        pid = int((place / PID).read_text())
        if os.path.samefile(f"/proc/{pid}/cwd", place):
            os.killpg(pid, signal.SIGKILL)


def _how(code: int) -> str:
    if code > 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _complaint(place: Path) -> str:
    """The last lines of standard error or, if there are none, of standard output, for a failure's reason."""
    for name in (STDERR, STDOUT):
        lines = [line.rstrip() for line in _tail(place / name).splitlines() if line.strip()]
        if lines:
            text = "\n".join(lines[-COMPLAINT_LINES:])
            cut = text if len(text) <= COMPLAINT_CHARACTERS else "..." + text[-COMPLAINT_CHARACTERS:]
            return f"; {name.removesuffix('.log')} ends:\n{cut}"
    return "; it printed nothing"


def _size(path: Path) -> int:
    """Bytes of a log; 0 if the program removed it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _tail(path: Path) -> str:
    """The end of a log as text; "" if the program removed it."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, _size(path) - TAIL))
            return file.read(TAIL).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _cut(path: Path) -> None:
    """Keep the end of a log only."""
    with contextlib.suppress(OSError):
        size = _size(path)
        if size > TAIL:
            kept = _tail(path)
            path.write_text(f"... ({size - TAIL} bytes before were cut)\n{kept}", encoding="utf-8")
