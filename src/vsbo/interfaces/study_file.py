"""`study.toml`: what is searched, how long, and what is run. Read whole and checked; an error names the key.

    [study]                                           all of it may be left out but the budget, for `vsbo run`
    name = "study"                                    in the file, which may hold several
    file = "study.db"                                 default: as this file, with .db
    direction = "minimize"
    budget = 200                                      evaluations, failures and those of earlier runs included
    workers = 4                                       at a time
    seed = 0
    timeout = "10 min"                                of one evaluation; seconds, or with s, min, h, d
    stop = {target = 0.1, wall_clock = "8 h", patience = 50, negligible_gain = true}
    config = {paper = true, n_initial = 10}           settings of vsbo.Config

    [variables]
    lr = {real = [1e-5, 1.0], log = true}
    layers = {integer = [1, 12]}                      also log = true
    activation = {choice = ["relu", "gelu"]}          also ordered = true: neighbours are alike
    batch = {fixed = 32}
    "x{0..49}" = {real = [0, 1]}                      x0 ... x49; "x{00..49}": x00 ... x49; a brace itself: {{
    flags = {names = ["a", "b{1..3}"], choice = [false, true]}      a, b1, b2, b3, all alike

    [objective]                                       a function, or a command
    python = "module:function"                        from the folder of this file; gets a dict
    command = ["prog", "--lr", "{lr}"]                also {trial}, {here} (the folder of this file), {python}
    input = "arguments"                               or "stdin", or "NAME.json": the variables as JSON
    value = "last line"                               or {regex = "loss=(.*)"}, or {json = "test.loss"}
    environment = {OMP_NUM_THREADS = "1", LR = "{lr}"}
    shell = false                                     true: command is one string, for /bin/sh
    runs = "runs"                                     the trials' folders, in which a command runs: runs/0007
    keep = "failed"                                   or "all", or "none": whose folders stay
    output_limit = 100                                MB that a command may print

With `shell = true` a `{name}` is one word, whatever is in the value, which the shell never reads as a program; do not
put quotes around it. (`eval`, `sh -c "... {name}"` and, in some shells, `$((...))` read a value as a program: yours to
avoid.)
"""

import difflib
import importlib
import json
import os
import platform
import re
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, get_args
from urllib.parse import quote

from vsbo.config import Config
from vsbo.errors import InputError
from vsbo.interfaces.command import OUTPUT_LIMIT, RESERVED, Command, JsonField, Keep, LastLine, Match, Reader
from vsbo.interfaces.template import Template, expand, for_shell, parse
from vsbo.space import Choice, Fixed, Integer, Real, Space, Variable
from vsbo.state import Direction
from vsbo.stopping import NegligibleGain, Patience, Rule, Target, WallClock
from vsbo.study import DEFAULT_NAME, Study
from vsbo.workers import NotStarted

T = TypeVar("T")
Check = Callable[[str, Any], T]


@dataclass(frozen=True)
class PythonFunction:
    """An objective by name: "module:function", importable from `folder`."""

    name: str
    folder: Path

    def __call__(self, argument: Any) -> Any:
        """Import it where it is to be evaluated, and evaluate: how it reaches the workers of a cluster."""
        try:
            f = self.load()
        except InputError as error:
            raise NotStarted(f"on the worker {platform.node()}: {error}") from None
        return f(argument)

    def load(self) -> Callable[[Any], Any]:
        """Import it. The folder stays on the path: processes that evaluate look there, too."""
        module, _, attribute = self.name.partition(":")
        if str(self.folder) not in sys.path:
            sys.path.insert(0, str(self.folder))
        try:
            found: Any = importlib.import_module(module)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = "" if "importlib" in frame.filename else f" ({frame.filename}, line {frame.lineno})"
            raise InputError(
                f"objective.python: module {module!r} could not be imported from {self.folder}: "
                f"{type(error).__name__}: {error}{where}"
            ) from error
        for name in attribute.split("."):
            if not hasattr(found, name):
                near = _near(name, [known for known in vars(found) if not known.startswith("_")])
                raise InputError(f"objective.python: {module!r} has no {attribute!r}{near}")
            found = getattr(found, name)
        if not callable(found):
            raise InputError(f"objective.python: {self.name!r} must be a function; it is {found!r}")
        result: Callable[[Any], Any] = found
        return result


@dataclass(frozen=True)
class StudyFile:
    """What a study.toml says. Times in seconds; `config`, `seed`, `budget` and the objective may be missing."""

    path: Path
    space: Space
    name: str
    file: Path
    direction: Direction
    budget: int | None
    workers: int
    seed: int | None
    timeout: float | None
    stop: tuple[Rule, ...]
    config: Config | None
    objective: PythonFunction | Command | None

    def named(self, name: str | None) -> "StudyFile":
        """The same under another name, with a folder of runs of its own."""
        if name is None or name == self.name:
            return self
        objective = self.objective
        if isinstance(objective, Command):
            objective = replace(objective, runs=objective.runs / f"name={quote(name, safe='')}")
        return replace(self, name=name, objective=objective)

    def open(self) -> Study:
        """Create the study, or resume it."""
        return Study.open(
            self.file, self.space, direction=self.direction, seed=self.seed, config=self.config, name=self.name
        )


def read_study_file(path: str | os.PathLike[str]) -> StudyFile:
    """Read a study.toml; an InputError names the file, the key, what came and what is allowed."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            plain = tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None
    try:
        return _study_file(path, plain)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


# -------------------------------------------------------------------------------------------------------- [study]


def _study_file(path: Path, plain: dict[str, Any]) -> StudyFile:
    top = _Table("", plain, ("study", "variables", "objective"))
    study = _Table(
        "study",
        top.values.get("study", {}),
        ("name", "file", "direction", "budget", "workers", "seed", "timeout", "stop", "config"),
    )
    space = _space(top.values.get("variables"))
    here = path.absolute().parent
    file = here / study.get("file", _text, path.with_suffix(".db").name)
    timeout = study.get("timeout", _seconds)
    return StudyFile(
        path=path,
        space=space,
        name=study.get("name", _text, DEFAULT_NAME),
        file=file,
        direction=study.get("direction", _one_of(*get_args(Direction)), "minimize"),
        budget=study.get("budget", _whole_from(1)),
        workers=study.get("workers", _whole_from(1), 1),
        seed=study.get("seed", _whole_from(0)),
        timeout=timeout,
        stop=study.get("stop", _rules, ()),
        config=study.get("config", lambda key, value: _config(key, value, space.D)),
        objective=_objective(top.values["objective"], here, file, space, timeout) if "objective" in plain else None,
    )


def _rules(key: str, value: Any) -> tuple[Rule, ...]:
    table = _Table(key, value, ("target", "wall_clock", "patience", "negligible_gain"))
    rules: list[Rule | None] = [
        table.get("target", lambda key, value: Target(_number(key, value))),
        table.get("wall_clock", lambda key, value: WallClock(_seconds(key, value))),
        table.get("patience", lambda key, value: Patience(_whole_from(1)(key, value))),
        table.get("negligible_gain", _negligible_gain),
    ]
    return tuple(rule for rule in rules if rule is not None)


def _negligible_gain(key: str, value: Any) -> NegligibleGain | None:
    if isinstance(value, bool):
        return NegligibleGain() if value else None
    part = _number(key, value)
    if not 0 < part < 1:
        raise InputError(f"{key} must be true, or a part of what was gained so far, in (0, 1); got {value!r}")
    return NegligibleGain(part)


def _config(key: str, value: Any, D: int) -> Config:
    table = _Table(key, value, ("paper", *(one.name for one in fields(Config))))
    paper = table.get("paper", _truth, False)
    settings = {name: setting for name, setting in table.values.items() if name != "paper"}
    try:
        config = Config.from_plain({**(Config.paper() if paper else Config()).to_plain(), **settings})
        config.check_dimension(D)
    except (InputError, TypeError) as error:  # TypeError: a key that a nested setting does not have
        raise InputError(f"{key}.{error}") from None
    return config


# ---------------------------------------------------------------------------------------------------- [variables]

_KINDS = ("real", "integer", "choice", "fixed")


def _space(plain: Any) -> Space:
    example = "lr = {real = [1e-5, 1.0], log = true}"
    if not plain:
        raise InputError(f"[variables] is missing, or empty; a line of it is, for example, {example}")
    if not isinstance(plain, dict):
        raise InputError(f"variables must be a table, [variables], with lines as {example}; got {plain!r}")
    variables: dict[str, Variable | Fixed] = {}
    origin: dict[str, str] = {}
    for pattern, value in plain.items():
        key = _joined("variables", pattern)
        if not isinstance(value, dict):
            raise InputError(f"{key} must be a table, as {{real = [0, 1]}}, or {{fixed = {value!r}}}; got {value!r}")
        patterns = _strings(f"{key}.names", value["names"]) if "names" in value else (pattern,)
        variable = _variable(key, value)
        for name in (name for one in patterns for name in expand(key, one)):
            if name in variables:
                raise InputError(f"{key}: the variable {name!r} is there already, from {origin[name]}")
            variables[name], origin[name] = variable, key
    return Space(variables)


def _variable(key: str, plain: dict[str, Any]) -> Variable | Fixed:
    kinds = [kind for kind in _KINDS if kind in plain]
    allowed = {"real": ("log",), "integer": ("log",), "choice": ("ordered",), "fixed": ()}
    if len(kinds) != 1:
        unknown = [name for name in plain if name not in (*_KINDS, "log", "ordered", "names")]
        near = _near(unknown[0], _KINDS) if unknown else ""
        raise InputError(
            f"{key} must have one of real = [low, high], integer = [low, high], choice = [...], fixed = value; "
            f"got {', '.join(plain) or 'nothing'}{near}"
        )
    kind = kinds[0]
    table = _Table(key, plain, (kind, *allowed[kind], "names"))
    value, log = table.values[kind], table.get("log", _truth, False)
    try:
        match kind:
            case "real":
                return Real(*_pair(f"{key}.real", value, _number), log=log)
            case "integer":
                return Integer(*_pair(f"{key}.integer", value, _whole), log=log)
            case "choice":
                return Choice(_list(f"{key}.choice", value), ordered=table.get("ordered", _truth, False))
            case _:
                return Fixed(value)
    except _KeyError:
        raise
    except InputError as error:
        raise InputError(f"{key}.{kind}: {error}") from None


def _pair(key: str, value: Any, check: Check[T]) -> tuple[T, T]:
    if not isinstance(value, list) or len(value) != 2:
        raise _KeyError(f"{key} must be [low, high]; got {value!r}")
    return check(f"{key}[0]", value[0]), check(f"{key}[1]", value[1])


# ---------------------------------------------------------------------------------------------------- [objective]

_COMMAND_KEYS = ("input", "value", "environment", "shell", "runs", "keep", "output_limit")


def _objective(plain: Any, here: Path, file: Path, space: Space, timeout: float | None) -> PythonFunction | Command:
    table = _Table("objective", plain, ("python", "command", *_COMMAND_KEYS))
    given = [key for key in ("python", "command") if key in table.values]
    if len(given) != 1:
        raise InputError(
            'objective must have either python = "module:function" or command = ["program", ...]; '
            f"it has {' and '.join(given) or 'neither'}"
        )
    if given == ["command"]:
        return _command(table, here, file, space, timeout)
    for key in _COMMAND_KEYS:
        if key in table.values:
            raise InputError(f"objective.{key} goes with objective.command only, not with objective.python")
    name = table.get("python", _text, "")
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", name):
        raise InputError(f'objective.python must be "module:function"; got {name!r}')
    return PythonFunction(name, here)


def _command(table: "_Table", here: Path, file: Path, space: Space, timeout: float | None) -> Command:
    shell = table.get("shell", _truth, False)
    arguments, script = (_shell_command if shell else _plain_command)(table, here)
    environment = table.get("environment", _environment, {})
    input_ = table.get("input", _input, "arguments")
    names = [*space.names, *space.fixed]
    for name in names:
        if name in RESERVED:
            raise InputError(f"{_joined('variables', name)}: for a command, {{{name}}} means something else already")
    used = set()
    for key, template in [
        *(("objective.command", argument) for argument in arguments),
        *((_joined("objective.environment", name), template) for name, template in environment.items()),
    ]:
        for name in template.names:
            if name not in names and name not in RESERVED:
                near = _near(name, [*names, *RESERVED]) or f"; there are {', '.join(names[:10])}, ..."
                raise InputError(f"{key}: there is no variable {{{name}}}{near}; a brace itself is {{{{")
            used.add(name)
    unused = [name for name in space.names if name not in used]
    if unused and input_ == "arguments":
        raise InputError(
            f"objective.command: the command does not get {', '.join(map(repr, unused[:5]))}"
            f"{', ...' if len(unused) > 5 else ''}; put {{{unused[0]}}} into command or environment, or set "
            'input = "stdin" or input = "params.json"'
        )
    return Command(
        arguments=arguments,
        script=script,
        runs=file.parent / table.get("runs", _text, "runs"),
        here=here,
        python=sys.executable,
        environment=environment,
        input=input_,
        value=table.get("value", _reader, LastLine()),
        timeout=timeout,
        keep=table.get("keep", _one_of(*get_args(Keep)), "failed"),
        output_limit=table.get("output_limit", _output_limit, OUTPUT_LIMIT),
    )


def _plain_command(table: "_Table", here: Path) -> tuple[tuple[Template, ...], None]:
    key = "objective.command"
    value = table.values["command"]
    if isinstance(value, str):
        raise InputError(
            f"{key} must be a list of a program and its arguments, as {json.dumps(value.split())}, "
            "or shell = true must be set; got one string"
        )
    arguments = _strings(key, value)
    templates = [parse(f"{key}[{i}]", argument) for i, argument in enumerate(arguments)]
    program = templates[0].literal
    if program is not None and os.sep in program:
        # It runs in a folder of its own, and a path is meant from here.
        templates[0] = Template(((False, str(here / program)),))
    return tuple(templates), None


def _shell_command(table: "_Table", here: Path) -> tuple[tuple[Template, ...], str | None]:
    key = "objective.command"
    if not isinstance(table.values["command"], str):
        raise InputError(f"{key} must be one string with shell = true; got {table.values['command']!r}")
    template = parse(key, _text(key, table.values["command"]))
    return tuple(Template(((True, name),)) for name in template.names), for_shell(key, template).literal


def _environment(key: str, value: Any) -> Mapping[str, Template]:
    if not isinstance(value, dict):
        raise InputError(f'{key} must be a table, as {{OMP_NUM_THREADS = "1"}}; got {value!r}')
    for name in value:
        if not name or "=" in name or "\0" in name:
            raise InputError(f"{key}: {name!r} cannot be the name of an environment variable")
    return {name: parse(_joined(key, name), _string(_joined(key, name), text)) for name, text in value.items()}


def _input(key: str, value: Any) -> str:
    name = _text(key, value)
    if name not in ("arguments", "stdin") and (not name.endswith(".json") or Path(name).name != name):
        raise InputError(
            f'{key} must be "arguments", "stdin", or the name of a file, as "params.json", which is made in the '
            f"trial's folder; got {name!r}"
        )
    return name


def _reader(key: str, value: Any) -> Reader:
    if value == "last line":
        return LastLine()
    if not isinstance(value, dict) or len(value) != 1:
        raise InputError(f'{key} must be "last line", {{regex = "..."}} or {{json = "..."}}; got {value!r}')
    table = _Table(key, value, ("regex", "json"))
    if "json" in value:
        return JsonField(table.get("json", _text, ""))
    pattern = table.get("regex", _text, "")
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise InputError(f"{key}.regex is no regular expression: {error}; got {pattern!r}") from None
    if groups != 1:
        raise InputError(f"{key}.regex must have one group (...), the number; it has {groups}: {pattern!r}")
    return Match(pattern)


def _output_limit(key: str, value: Any) -> int:
    megabytes = _number(key, value)
    if not megabytes > 0:
        raise InputError(f"{key} must be > 0, in MB; got {value!r}")
    return round(megabytes * 1e6)


# ---------------------------------------------------------------------------------------------------------- checks


class _KeyError(InputError):
    """An InputError that names its key already."""


class _Table:
    """A table of the file whose keys are known."""

    def __init__(self, key: str, values: Any, known: Iterable[str]) -> None:
        if not isinstance(values, dict):
            raise _KeyError(f"{key} must be a table, with keys of {', '.join(known)}; got {values!r}")
        known = tuple(known)
        for name in values:
            if name not in known:
                raise _KeyError(
                    f"{_joined(key, name)} is not known{_near(name, known)}; allowed here: {', '.join(known)}"
                )
        self.key, self.values = key, values

    def get(self, name: str, check: Check[T], default: Any = None) -> Any:
        """The value of a key, checked."""
        return check(_joined(self.key, name), self.values[name]) if name in self.values else default


def _joined(key: str, name: str) -> str:
    """A key as the file writes it."""
    bare = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
    return f"{key}.{bare}" if key else bare


def _near(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""


def _string(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _KeyError(f"{key} must be a string; got {value!r}")
    return value


def _text(key: str, value: Any) -> str:
    if not _string(key, value):
        raise _KeyError(f"{key} must be a string that is not empty; got {value!r}")
    return str(value)


def _truth(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _KeyError(f"{key} must be true or false; got {value!r}")
    return value


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise _KeyError(f"{key} must be a finite number; got {value!r}")
    return float(value)


def _whole(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _KeyError(f"{key} must be a whole number; got {value!r}")
    return value


def _whole_from(least: int) -> Check[int]:
    def check(key: str, value: Any) -> int:
        if _whole(key, value) < least:
            raise _KeyError(f"{key} must be a whole number >= {least}; got {value!r}")
        return int(value)

    return check


def _one_of(*allowed: str) -> Check[Any]:
    def check(key: str, value: Any) -> Any:
        if value not in allowed:
            raise _KeyError(f"{key} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
        return value

    return check


_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(key: str, value: Any) -> float:
    """A number of seconds, or a text as "90 s", "10 min", "8 h", "7 d"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d)\s*", value) if isinstance(value, str) else None
    if isinstance(value, str) and found is None:
        raise _KeyError(f'{key} must be seconds, or a text as "90 s", "10 min", "8 h", "7 d"; got {value!r}')
    seconds = _number(key, value) if found is None else float(found[1]) * _UNITS[found[2]]
    if not seconds > 0:
        raise _KeyError(f"{key} must be more than 0 seconds; got {value!r}")
    return seconds


def _list(key: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _KeyError(f"{key} must be a list; got {value!r}")
    return tuple(value)


def _strings(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise _KeyError(f"{key} must be a list of strings, not empty; got {value!r}")
    return tuple(value)
