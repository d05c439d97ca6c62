"""study.toml: what can be written in it, and that every slip is answered with the key and what is allowed."""

import sys
from pathlib import Path

import pytest

from vsbo import (
    Choice,
    Config,
    Fixed,
    InputError,
    Integer,
    NegligibleGain,
    Patience,
    Real,
    Space,
    StudyError,
    Target,
    WallClock,
)  # fmt: skip
from vsbo.interfaces.command import Command, JsonField, LastLine, Match
from vsbo.interfaces.study_file import PythonFunction, StudyFile, read_study_file

VARIABLES = "[variables]\nlr = {real = [1e-5, 1.0], log = true}\n"


def read(folder: Path, text: str, name: str = "study.toml") -> StudyFile:
    (folder / name).write_text(text, encoding="utf-8")
    return read_study_file(folder / name)


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        read(folder, text)
    path, _, message = str(caught.value).partition("study.toml: ")
    assert path == f"{folder}/"
    return message


def objective(lines: str) -> str:
    return f"{VARIABLES}[objective]\n{lines}"


# ------------------------------------------------------------------------------------------------------- what is read


def test_all_of_it(tmp_path):
    file = read(
        tmp_path,
        """
        [study]
        name = "second"
        file = "data/x.db"
        direction = "maximize"
        budget = 300
        workers = 4
        seed = 7
        timeout = "10 min"
        stop = {target = -1, wall_clock = "1.5 h", patience = 40, negligible_gain = 0.01}
        config = {paper = true, n_initial = 10}

        [variables]
        lr = {real = [1e-5, 1], log = true}
        layers = {integer = [1, 12]}
        width = {integer = [8, 1024], log = true}
        "activation function" = {choice = ["relu", "gelu", 3, 0.5, true]}
        size = {choice = ["s", "m", "l"], ordered = true}
        batch = {fixed = 32}
        "x{0..2}" = {real = [0, 1]}
        flags = {names = ["a", "b{1..2}", "{{c}}"], choice = [false, true]}
        """,
    )
    flag = Choice((False, True))
    assert file.space == Space(
        {
            "lr": Real(1e-5, 1.0, log=True),
            "layers": Integer(1, 12),
            "width": Integer(8, 1024, log=True),
            "activation function": Choice(("relu", "gelu", 3, 0.5, True)),
            "size": Choice(("s", "m", "l"), ordered=True),
            "batch": Fixed(32),
            **{name: Real(0, 1) for name in ("x0", "x1", "x2")},
            **dict.fromkeys(("a", "b1", "b2", "{c}"), flag),
        }
    )
    assert (file.name, file.file, file.direction) == ("second", tmp_path / "data" / "x.db", "maximize")
    assert (file.budget, file.workers, file.seed, file.timeout) == (300, 4, 7, 600.0)
    assert file.stop == (Target(-1), WallClock(5400), Patience(40), NegligibleGain(0.01))
    assert file.config == Config.paper(n_initial=10)
    assert file.objective is None


def test_what_may_be_left_out(tmp_path):
    file = read(tmp_path, VARIABLES, "tuning.toml")
    assert (file.name, file.file, file.direction, file.workers) == ("study", tmp_path / "tuning.db", "minimize", 1)
    assert (file.budget, file.seed, file.timeout, file.stop, file.config) == (None, None, None, (), None)


def test_settings_of_the_config_with_parts(tmp_path):
    settings = 'selection = "fixed", variables = [0], fixed_value = [0.2], searches = ["model"]'
    kernel = "known_kernel = {lengthscale = [0.5]}"
    config = read(tmp_path, f"[study]\nconfig = {{{settings}, {kernel}}}\n{VARIABLES}").config
    assert config is not None
    assert (config.selection, config.variables, config.fixed_value) == ("fixed", (0,), (0.2,))
    assert config.known_kernel is not None
    assert config.known_kernel.lengthscale == (0.5,)


def test_stop_can_be_switched_off_and_on(tmp_path):
    assert read(tmp_path, f"[study]\nstop = {{negligible_gain = false}}\n{VARIABLES}").stop == ()
    assert read(tmp_path, f"[study]\nstop = {{negligible_gain = true}}\n{VARIABLES}").stop == (NegligibleGain(),)


@pytest.mark.parametrize(("text", "seconds"), [("30", 30.0), ('"90 s"', 90.0), ('"2min"', 120.0), ('"1 d"', 86400.0)])
def test_times(tmp_path, text, seconds):
    assert read(tmp_path, f"[study]\ntimeout = {text}\n{VARIABLES}").timeout == seconds


def test_the_study_is_made_and_resumed_and_another_is_refused(tmp_path):
    text = f'[study]\nseed = 3\nname = "a"\n{VARIABLES}'
    with read(tmp_path, text).open() as study:
        first = study.ask()
    with read(tmp_path, text).open() as study:
        assert study.trials[0].params == first.params
    with pytest.raises(StudyError, match="variable 'lr': the study has high = 1.0, wanted is high = 2.0"):
        read(tmp_path, text.replace("1.0]", "2.0]")).open()
    with pytest.raises(StudyError, match="direction: the study has minimize, wanted is maximize"):
        read(tmp_path, text.replace("[study]", '[study]\ndirection = "maximize"')).open()
    with read(tmp_path, text).named("b").open() as study:
        assert study.name == "b"


# --------------------------------------------------------------------------------------------------------- objectives


def test_a_function_is_found_beside_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_the_study.py").write_text(
        "def f(params):\n    return params['lr']\nclass A:\n    @staticmethod\n    def g(p):\n        return 2\nx = 3\n"
    )
    found = read(tmp_path, objective('python = "beside_the_study:f"')).objective
    assert isinstance(found, PythonFunction)
    assert found.load()({"lr": 0.5}) == 0.5
    assert PythonFunction("beside_the_study:A.g", tmp_path).load()({}) == 2
    with pytest.raises(InputError, match=r"objective.python: 'beside_the_study:x' must be a function; it is 3"):
        PythonFunction("beside_the_study:x", tmp_path).load()
    with pytest.raises(InputError, match=r"objective.python: 'beside_the_study' has no 'ff'; did you mean f\?"):
        PythonFunction("beside_the_study:ff", tmp_path).load()
    with pytest.raises(InputError, match=r"objective.python: module 'no_such_module' could not be imported"):
        PythonFunction("no_such_module:f", tmp_path).load()


def test_a_module_with_an_error_is_told_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "broken_module.py").write_text("import math\n\nmath.nothing\n")
    with pytest.raises(InputError, match=r"AttributeError: .*nothing.* \(.*broken_module.py, line 3\)"):
        PythonFunction("broken_module:f", tmp_path).load()


def test_a_command(tmp_path):
    command = read(
        tmp_path,
        """
        [study]
        timeout = 5
        file = "elsewhere/study.db"
        [variables]
        lr = {real = [0, 1]}
        n = {integer = [0, 3]}
        f = {fixed = "a"}
        [objective]
        command = ["./prog", "--lr={lr}", "{f}", "{trial}", "{here}/data {{x}}", "{python}"]
        environment = {N = "{n}", PLAIN = "1", EMPTY = ""}
        value = {regex = 'loss=(\\d+)'}
        runs = "my runs"
        keep = "all"
        output_limit = 0.5
        """,
    ).objective
    assert isinstance(command, Command)
    assert command.arguments[0].literal == str(tmp_path / "prog")
    values = {"lr": "1", "f": "2", "trial": "3", "here": "4", "python": "5", "n": "6"}
    assert [one.fill(values) for one in command.arguments[1:]] == ["--lr=1", "2", "3", "4/data {x}", "5"]
    assert {name: one.fill(values) for name, one in command.environment.items()} == {
        "N": "6",
        "PLAIN": "1",
        "EMPTY": "",
    }
    assert command.value == Match(r"loss=(\d+)")
    assert (command.runs, command.here) == (tmp_path / "elsewhere" / "my runs", tmp_path)
    assert (command.keep, command.output_limit, command.timeout) == ("all", 500_000, 5.0)


def test_another_name_has_other_runs(tmp_path):
    file = read(tmp_path, objective('command = ["echo", "{lr}"]'))
    folders = {file.named(name).objective.runs for name in (None, "a", "../../b", "0001")}
    assert len(folders) == 4
    assert all(folder.resolve().is_relative_to(tmp_path / "runs") for folder in folders)


@pytest.mark.parametrize(
    ("line", "reader"),
    [("", LastLine()), ('value = "last line"', LastLine()), ('value = {json = "a.b"}', JsonField("a.b"))],
)
def test_where_the_value_is(tmp_path, line, reader):
    assert read(tmp_path, objective(f'command = ["echo", "{{lr}}"]\n{line}')).objective.value == reader


# -------------------------------------------------------------------------------------------------------------- slips


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "[variables] is missing, or empty"),
        ("variables = 3", "variables must be a table"),
        ("[variable]\nx = 1", "variable is not known; did you mean variables?; allowed here: study, variables, objec"),
        (f"[study]\nbudgte = 3\n{VARIABLES}", "study.budgte is not known; did you mean budget?; allowed here: name,"),
        (f"[study]\nbudget = 0\n{VARIABLES}", "study.budget must be a whole number >= 1; got 0"),
        (f"[study]\nbudget = 2.0\n{VARIABLES}", "study.budget must be a whole number; got 2.0"),
        (f"[study]\nworkers = true\n{VARIABLES}", "study.workers must be a whole number; got True"),
        (f"[study]\nseed = -1\n{VARIABLES}", "study.seed must be a whole number >= 0; got -1"),
        (f"[study]\nname = ''\n{VARIABLES}", "study.name must be a string that is not empty; got ''"),
        (f"[study]\ndirection = 'up'\n{VARIABLES}", "study.direction must be one of 'minimize', 'maximize'; got 'up'"),
        (f"[study]\ntimeout = '5 parsecs'\n{VARIABLES}", "study.timeout must be seconds, or a text as"),
        (f"[study]\ntimeout = 0\n{VARIABLES}", "study.timeout must be more than 0 seconds; got 0"),
        (f"[study]\nstop = {{targt = 1}}\n{VARIABLES}", "study.stop.targt is not known; did you mean target?"),
        (f"[study]\nstop = {{target = nan}}\n{VARIABLES}", "study.stop.target must be a finite number; got nan"),
        (f"[study]\nstop = 3\n{VARIABLES}", "study.stop must be a table"),
        (f"[study]\nstop = {{negligible_gain = 2}}\n{VARIABLES}", "study.stop.negligible_gain must be true, or a part"),
        (f"[study]\nconfig = {{n_inital = 3}}\n{VARIABLES}", "study.config.n_inital is not known; did you mean n_init"),
        (f"[study]\nconfig = {{n_initial = 0}}\n{VARIABLES}", "study.config.n_initial must be a whole number >= 1"),
        (f"[study]\nconfig = {{smoothness = {{q = 1}}}}\n{VARIABLES}", "study.config."),
        (
            f"[study]\nconfig = {{fixed_value = [1, 1]}}\n{VARIABLES}",
            "study.config.fixed_value must be one number or 1",
        ),
    ],
)
def test_slips_in_the_study(tmp_path, text, says):
    assert complaint(tmp_path, text).startswith(says)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("lr = 3", "variables.lr must be a table, as {real = [0, 1]}, or {fixed = 3}; got 3"),
        ("lr = {}", "variables.lr must have one of real = [low, high], integer = [low, high], choice = [...], fixed"),
        ("lr = {rael = [0, 1]}", "variables.lr must have one of real = [low, high], integer"),
        ("lr = {real = [0, 1], integer = [0, 1]}", "variables.lr must have one of real = [low, high], integer"),
        ("lr = {real = [0, 1], lgo = true}", "variables.lr.lgo is not known; did you mean log?; allowed here: real"),
        ("lr = {choice = [0, 1], log = true}", "variables.lr.log is not known; allowed here: choice, ordered, names"),
        ("lr = {real = [0, 1], log = 1}", "variables.lr.log must be true or false; got 1"),
        ("lr = {real = [0]}", "variables.lr.real must be [low, high]; got [0]"),
        ("lr = {real = [0, 'a']}", "variables.lr.real[1] must be a finite number; got 'a'"),
        ("lr = {real = [false, true]}", "variables.lr.real[0] must be a finite number; got False"),
        ("lr = {real = [0, inf]}", "variables.lr.real[1] must be a finite number; got inf"),
        ("lr = {real = [1, 0]}", "variables.lr.real: low must be below high; got low=1.0, high=0.0 (reversed?)"),
        ("lr = {real = [0, 1], log = true}", "variables.lr.real: log=True needs low > 0"),
        ("lr = {integer = [0.5, 3]}", "variables.lr.integer[0] must be a whole number; got 0.5"),
        ("lr = {choice = 'abc'}", "variables.lr.choice must be a list; got 'abc'"),
        ("lr = {choice = [1]}", "variables.lr.choice: values must be two or more"),
        ("lr = {choice = [1, [2]]}", "variables.lr.choice: values must be strings, numbers, booleans"),
        ("lr = {fixed = [1]}", "variables.lr.fixed: value must be strings, numbers, booleans"),
        ("lr = {fixed = 1979-05-27}", "variables.lr.fixed: value must be strings, numbers, booleans"),
        ('"x y" = {real = [0]}', 'variables."x y".real must be [low, high]'),
        ('"x{3..1}" = {real = [0, 1]}', 'variables."x{3..1}": {3..1} must be a range that goes up, as {0..49}'),
        ('"x{a}" = {real = [0, 1]}', 'variables."x{a}": {a} must be a range that goes up'),
        ('"x{" = {real = [0, 1]}', "variables.\"x{\": '{' at character 2 of 'x{' stands alone"),
        ('"x{0..999999}" = {real = [0, 1]}', "variables.\"x{0..999999}\": 'x{0..999999}' stands for more than"),
        (
            'x1 = {fixed = 1}\n"x{0..2}" = {fixed = 2}',
            "variables.\"x{0..2}\": the variable 'x1' is there already, from",
        ),
        ("f = {names = 'ab', fixed = 1}", "variables.f.names must be a list of strings, not empty; got 'ab'"),
        ("f = {fixed = 1}", "variables are all fixed: none is left"),
    ],
)
def test_slips_in_variables(tmp_path, line, says):
    assert complaint(tmp_path, f"[variables]\n{line}").startswith(says)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("", 'objective must have either python = "module:function" or command = ["program", ...]; it has neither'),
        ("python = 'a:b'\ncommand = ['c']", "objective must have either"),
        ("python = 'a.b'", 'objective.python must be "module:function"; got'),
        ("python = 'a:b()'", 'objective.python must be "module:function"; got'),
        ("python = 'a:b'\nkeep = 'all'", "objective.keep goes with objective.command only, not with objective.python"),
        ("comand = ['c']", "objective.comand is not known; did you mean command?"),
        ("command = 'prog --x {lr}'", 'objective.command must be a list of a program and its arguments, as ["prog", '),
        ("command = []", "objective.command must be a list of strings, not empty; got []"),
        ("command = ['p', 3]", "objective.command must be a list of strings"),
        ("command = ['p', '{lr}', '{']", "objective.command[2]: '{' at character 1"),
        ("command = ['p', '{lrr}']", "objective.command: there is no variable {lrr}; did you mean lr?; a brace itself"),
        ("command = ['p', '{}', '{lr}']", "objective.command: there is no variable {}; there are lr, ..."),
        ("command = ['p']", "objective.command: the command does not get 'lr'; put {lr} into command or environment"),
        ("command = ['p', '{lr}']\nshell = true", "objective.command must be one string with shell = true"),
        ("command = \"p {lr} '{lr}'\"\nshell = true", "objective.command: {lr} stands within single quotes"),
        ("command = ['p', '{lr}']\nvalue = 'first line'", 'objective.value must be "last line", {regex = "..."} or'),
        ("command = ['p', '{lr}']\nvalue = {regex = '('}", "objective.value.regex is no regular expression"),
        ("command = ['p', '{lr}']\nvalue = {regex = '.*'}", "objective.value.regex must have one group (...), the num"),
        ("command = ['p', '{lr}']\nvalue = {jsn = 'a'}", "objective.value.jsn is not known; did you mean json?"),
        ("command = ['p', '{lr}']\nkeep = 'some'", "objective.keep must be one of 'failed', 'all', 'none'; got 'some'"),
        (
            "command = ['p']\ninput = 'params.txt'",
            'objective.input must be "arguments", "stdin", or the name of a file',
        ),
        ("command = ['p']\ninput = '../p.json'", 'objective.input must be "arguments", "stdin", or the name of a file'),
        (
            "command = ['p', '{lr}']\nenvironment = {A = 1}",
            "objective.environment.A must be a string; got 1",
        ),
        ("command = ['p', '{lr}']\nenvironment = {A = '{q}'}", "objective.environment.A: there is no variable {q}"),
        ("command = ['p', '{lr}']\nenvironment = {'a=b' = '1'}", "objective.environment: 'a=b' cannot be the name"),
        ("command = ['p', '{lr}']\noutput_limit = 0", "objective.output_limit must be > 0, in MB; got 0"),
    ],
)
def test_slips_in_the_objective(tmp_path, lines, says):
    assert complaint(tmp_path, objective(lines)).startswith(says)


def test_a_variable_with_a_name_that_is_taken(tmp_path):
    text = "[variables]\ntrial = {real = [0, 1]}\n[objective]\ncommand = ['p', '{trial}']"
    assert complaint(tmp_path, text).startswith("variables.trial: for a command, {trial} means something else already")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"none.toml cannot be read: No such file"):
        read_study_file(tmp_path / "none.toml")
    with pytest.raises(InputError, match=r"cannot be read: Is a directory"):
        read_study_file(tmp_path)
    with pytest.raises(InputError, match=r"study.toml is not valid TOML: .*line 2"):
        read(tmp_path, "[study]\nbudget == 3")
    (tmp_path / "bytes.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(InputError, match=r"bytes.toml is not valid TOML"):
        read_study_file(tmp_path / "bytes.toml")
