"""The command line as its users meet it: what it prints, how it ends, and that it goes on where it was stopped."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vsbo import Real, Space, Study
from vsbo.interfaces import cli, display
from vsbo.stopping import Progress

#: Few points in the design: what the tests are about begins after it.
STUDY = """
[study]
budget = 6
seed = 1
config = {n_initial = 2}
[variables]
x = {real = [0, 1]}
n = {integer = [1, 3]}
kind = {choice = ["a b", "c"]}
fixed = {fixed = 5}
[objective]
python = "objective_of_the_test:f"
"""
FUNCTION = "def f(p):\n    print('noise')\n    return p['x'] + p['n'] + (p['kind'] == 'c') + p['fixed']\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With a study in it, and we are there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "objective_of_the_test.py").write_text(FUNCTION)
    yield tmp_path
    sys.modules.pop("objective_of_the_test", None)


@pytest.fixture
def vsbo(capfd):
    """Call the command line: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli._main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return call


def good(answer) -> str:
    code, out, err = answer
    assert (code, err) == (0, "")
    return out


def error(answer) -> str:
    """The one line of a wrong use."""
    code, out, err = answer
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err.removeprefix("error: ").rstrip("\n")


def program(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "vsbo", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def wait_for(what, process, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while not what():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


# ---------------------------------------------------------------------------------------------------------------- run


def test_run_and_run_again(folder, vsbo):
    out = good(vsbo("run", "study.toml"))
    assert "the budget of 6 evaluations is spent; 6 evaluations in " in out
    assert re.search(r"best value +\d\.\d+ \(trial \d\)", out)
    assert "study        'study' in study.db: minimize, 3 variables" in out
    assert "nothing was left to do" in good(vsbo("run", "study.toml"))
    assert "8 evaluations is spent; 2 evaluations in" in good(vsbo("run", "study.toml", "--budget", 8))


def test_run_as_json_prints_nothing_else(folder, vsbo):
    code, out, err = vsbo("run", "study.toml", "--json")
    data = json.loads(out)
    assert code == 0
    assert err.count("noise") == 6  # what the function prints goes elsewhere
    assert data["run"]["reason"] == "the budget of 6 evaluations is spent"
    assert (data["done"], data["failed"], data["pending"]) == (6, 0, [])
    params = data["best"]["params"]
    assert data["best"]["value"] == params["x"] + params["n"] + (params["kind"] == "c") + 5


def test_run_in_processes(folder, vsbo):
    (folder / "study.toml").write_text(STUDY.replace("[study]", "[study]\ntimeout = 600"))
    good_run = program("run", "study.toml", "--workers", 2, "--json", cwd=folder)
    out, err = good_run.communicate(timeout=120)
    assert json.loads(out)["done"] == 6, err


def command_study(folder: Path, lines: str, study: str = "budget = 6") -> None:
    (folder / "study.toml").write_text(
        f"[study]\n{study}\nseed = 1\nconfig = {{n_initial = 2}}\n[variables]\nx = {{real = [0, 1]}}\n"
        f"[objective]\n{lines}\n"
    )


def test_run_a_command(folder, vsbo):
    command_study(folder, 'command = ["echo", "{x}"]', "budget = 6\nworkers = 2")
    data = json.loads(good(vsbo("run", "study.toml", "--json")))
    assert data["done"] == 6
    assert data["best"]["value"] == data["best"]["params"]["x"]
    assert os.listdir("runs") == ["study"]
    out = good(vsbo("run", "study.toml", "--name", "other"))
    assert "'other' in study.db" in out
    (folder / "b.toml").write_text((folder / "study.toml").read_text())
    assert "runs holds the runs of study 'study' in ../study.db" in error(vsbo("run", "b.toml"))


def test_failures_are_shown_with_their_reason(folder, vsbo):
    command_study(folder, "command = 'if [ $VSBO_TRIAL = 1 ]; then echo boom >&2; exit 3; fi; echo {x}'\nshell = true")
    good(vsbo("run", "study.toml"))
    out = good(vsbo("show", "study.db"))
    assert "evaluations  6, of which 1 failed; 0 pending" in out
    assert "trial 1  exited with code 3; stderr ends: | boom | logs: " in out
    assert (folder / "runs" / "0001" / "stderr.log").read_text() == "boom\n"


def test_stop_rules_of_the_file(folder, vsbo):
    (folder / "study.toml").write_text(STUDY.replace("[study]", "[study]\nstop = {target = 100}"))
    assert "the target of 100 is reached" in good(vsbo("run", "study.toml"))


# ------------------------------------------------------------------------------------------------------ interruptions

SLOW = "touch {here}/at-{trial}; until [ -e {here}/go ]; do sleep 0.1; done; echo {x}"


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_ends_its_commands_and_goes_on_when_started_again(folder, vsbo, sent, code):
    command_study(folder, f"command = '{SLOW}'\nshell = true", "budget = 6\nworkers = 2")
    process = program("run", "study.toml", "--json", cwd=folder)
    wait_for(lambda: (folder / "at-0").exists() and (folder / "at-1").exists(), process)
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert err == ""
    assert json.loads(out)["run"] == {**json.loads(out)["run"], "interrupted": True, "evaluations": 0}
    assert sorted(os.listdir(folder / "runs")) == ["study"]  # what was not evaluated leaves nothing
    (folder / "go").touch()
    data = json.loads(good(vsbo("run", "study.toml", "--json")))
    assert (data["done"], data["pending"]) == (6, [])


def test_the_commands_of_an_interrupted_run_are_gone(folder):
    command_study(
        folder, "command = 'echo $$ > {here}/pid; sleep 1000 & echo $! >> {here}/pid; wait; echo {x}'\nshell = true"
    )
    process = program("run", "study.toml", cwd=folder)
    pids = folder / "pid"
    wait_for(lambda: pids.exists() and pids.read_text().count("\n") == 2, process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert "interrupted; the same command goes on" in out
    for pid in map(int, pids.read_text().split()):
        stat = Path(f"/proc/{pid}/stat")
        assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_a_run_survives_its_terminal_if_that_was_asked_for(folder, vsbo):
    """As `nohup vsbo run study.toml 2>&1 | less` should, once less and the terminal are gone."""
    command_study(folder, f"command = '{SLOW}'\nshell = true")
    lines = "from vsbo.interfaces import cli, display; display.QUIET = 0; cli.main(['run', 'study.toml'])"
    process = subprocess.Popen(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", sys.executable, "-c", lines],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(lambda: (folder / "at-0").exists(), process)
    process.stderr.close()
    process.send_signal(signal.SIGHUP)
    (folder / "go").touch()
    assert process.wait(timeout=60) == 0
    assert json.loads(good(vsbo("show", "study.db", "--json")))["done"] == 6


def test_with_one_worker_the_interrupted_study_is_the_uninterrupted_one(folder, vsbo):
    for name in ("whole", "parts"):
        (folder / name).mkdir()
        command_study(folder / name, "command = '[ -e {here}/{trial}-waits ] && sleep 1000; echo {x}'\nshell = true")
    good(vsbo("run", "whole/study.toml"))
    (folder / "parts" / "3-waits").touch()
    process = program("run", "parts/study.toml", cwd=folder)
    wait_for(lambda: (folder / "parts" / "runs" / "0003").exists(), process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    (folder / "parts" / "3-waits").unlink()
    good(vsbo("run", "parts/study.toml"))
    tables = [list(csv.DictReader(io.StringIO(good(vsbo("export", f"{n}/study.db"))))) for n in ("whole", "parts")]
    assert [(row["params.x"], row["y"]) for row in tables[0]] == [(row["params.x"], row["y"]) for row in tables[1]]
    assert len(tables[0]) == 6


# ------------------------------------------------------------------------------------------------------- ask and tell


def test_a_loop_by_hand(folder, vsbo):
    out = good(vsbo("ask", "study.toml"))
    assert re.fullmatch(r"trial 0\nx = \S+\nn = [123]\nkind = (a b|c)\nfixed = 5\n", out)
    assert good(vsbo("tell", "study.db", 0, "-0.5")) == "trial 0: y = -0.5\n"
    asked = json.loads(good(vsbo("ask", "study.db", "--json")))
    assert asked["number"] == 1
    assert set(asked["params"]) == {"x", "n", "kind", "fixed"}
    assert good(vsbo("fail", "study.db", 1, "broke\nin two")) == "trial 1: failed: broke | in two\n"
    assert good(vsbo("add", "study.db", "-2", "x=0.25", "n=2", "kind=a b")) == "trial 2: y = -2.0\n"
    told = json.loads(
        good(
            vsbo("tell", "study.toml", json.loads(good(vsbo("ask", "study.toml", "--json")))["number"], "nan", "--json")
        )
    )
    assert (told["status"], told["value"], told["reason"]) == ("failed", None, "the value is nan")
    shown = json.loads(good(vsbo("show", "study.toml", "--json")))
    assert (shown["done"], shown["failed"], shown["best"]["number"]) == (2, 2, 2)
    assert shown["best"]["params"] == {"x": 0.25, "n": 2, "kind": "a b", "fixed": 5}
    assert shown["failures"][0] == {"number": 1, "reason": "broke\nin two"}
    assert shown["progress"] == [{"number": 0, "value": -0.5}, {"number": 2, "value": -2.0}]


def test_add_from_json(folder, vsbo):
    (folder / "point.json").write_text('{"x": 1, "n": 3, "kind": "c"}')
    added = json.loads(good(vsbo("add", "study.toml", 4, "--params", "point.json", "--json")))
    assert added["params"] == {"x": 1.0, "n": 3, "kind": "c", "fixed": 5}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tell", "study.db", 9, 1], "trial 9 is unknown: 1 trials were given out so far"),
        (["tell", "study.db", "x", 1], "Invalid value for 'NUMBER': 'x' is not a valid integer. (vsbo tell --help)"),
        (["tell", "study.db", 0, "one"], "Invalid value for 'VALUE': 'one' is not a valid float. (vsbo tell --help)"),
        (["tell", "study.db", 0], "Missing argument 'VALUE'. (vsbo tell --help)"),
        (["tell", "study.db", 0, 1, "--jsn"], "Got unexpected extra argument (--jsn) (vsbo tell --help)"),
        (["show", "study.db", "--jsn"], "No such option"),
        (["shwo", "study.db"], "No such command 'shwo'."),
        (["show", "none.db"], "none.db does not exist"),
        (["show", "study.db", "--name", "q"], "study.db has no study 'q'; it has: 'study'. To create it, "),
        (["ask", "objective_of_the_test.py"], "objective_of_the_test.py is not a study file (nor any SQLite database)"),
        (["run", "study.db"], "run takes a study.toml, which says what to run; got study.db"),
        (["run", "none.toml"], "none.toml cannot be read: No such file or directory"),
        (["run", "study.toml", "--workers", 0], "Invalid value for '--workers': 0 is not in the range x>=1."),
        (["add", "study.db", 1], "the point must be given as NAME=VALUE ..., or with --params"),
        (["add", "study.db", 1, "x"], "'x' must be NAME=VALUE"),
        (["add", "study.db", 1, "x=a"], "x must be a number; got 'a'"),
        (["add", "study.db", 1, "x=1", "x=1"], "x is given twice"),
        (["add", "study.db", 1, "kind=d"], "kind must be one of a b, c; got 'd'"),
        (["add", "study.db", 1, "x=2", "n=1", "kind=c"], "x['x'] must be in [0.0, 1.0]; got 2.0"),
        (["add", "study.db", 1, "y=2"], "x must have the space's names; unknown: ['y'], missing: ['kind', 'n', 'x']"),
        (["add", "study.db", 1, "--params", "study.toml"], "--params must be a JSON object; "),
        (["export", "study.db", "--output", "no/such/folder"], "no/such/folder: No such file or directory"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line_and_code_2(folder, vsbo, arguments, says):
    good(vsbo("ask", "study.toml"))
    before = (folder / "study.toml").read_bytes(), (folder / "objective_of_the_test.py").read_bytes()
    assert error(vsbo(*arguments)).startswith(says)
    assert before == ((folder / "study.toml").read_bytes(), (folder / "objective_of_the_test.py").read_bytes())


def test_a_trial_is_told_once(folder, vsbo):
    good(vsbo("ask", "study.toml"))
    good(vsbo("tell", "study.db", 0, 1))
    assert error(vsbo("tell", "study.db", 0, 2)) == "trial 0 was told already (y = 1.0); a trial is told once"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("budget = 6", "", "study.toml: study.budget is missing; set it, or give --budget"),
        ("budget = 6", "budgt = 6", "study.toml: study.budgt is not known; did you mean budget?"),
        ("[objective]\npython", "#", "study.toml: [objective] is missing: run needs one (ask and tell do not)"),
        ("objective_of_the_test:f", "objective_of_the_test:g", "objective.python: 'objective_of_the_test' has no 'g'"),
        (
            "python = ",
            "command = ['no-such-program', '{x}{n}{kind}'] #",
            "objective.command: the program 'no-such-prog",
        ),
        ("[study]", "[study]\nfile = 'no/such/study.db'", "the folder "),
        ("[study]", "[study]\nfile = '/proc/study.db'", "/proc/study.db cannot be opened"),
    ],
)
def test_a_study_that_cannot_run(folder, vsbo, old, new, says):
    assert old in STUDY
    (folder / "study.toml").write_text(STUDY.replace(old, new))
    assert error(vsbo("run", "study.toml")).startswith(says)


def test_show_before_anything_happened(folder, vsbo):
    says = error(vsbo("show", "study.toml"))
    assert says == f"{folder}/study.db does not exist; vsbo run, ask or add with study.toml creates it"
    assert not (folder / "study.db").exists()
    good(vsbo("ask", "study.toml"))
    assert "best value   none yet" in good(vsbo("show", "study.toml"))
    assert good(vsbo("importance", "study.toml")).startswith("nothing is known yet")


def test_another_study_under_the_same_name_is_refused_with_what_differs(folder, vsbo):
    good(vsbo("run", "study.toml"))
    (folder / "study.toml").write_text(STUDY.replace("[1, 3]", "[1, 4]"))
    code, _, err = vsbo("run", "study.toml")
    assert code == 2
    assert "variable 'n': the study has high = 3, wanted is high = 4" in err
    assert "to begin another study, change study.name or study.file in study.toml" in err


def test_an_objective_that_always_fails(folder, vsbo):
    (folder / "objective_of_the_test.py").write_text("def f(p):\n    raise RuntimeError('no license')\n")
    says = error(vsbo("run", "study.toml"))
    assert says.startswith("f failed at each of the first 5 points; the last time: RuntimeError: no license (these ")
    assert says.endswith("to begin anew once the objective is mended, remove study.db or change study.name)")


# ------------------------------------------------------------------------------------------------- looking at studies


def test_several_studies_in_a_file(folder, vsbo):
    for name in ("a", "b b"):
        good(vsbo("add", "study.toml", 1, "x=0", "n=1", "kind=c", "--name", name))
    assert error(vsbo("show", "study.db")) == "study.db has 2 studies, 'a', 'b b': give --name"
    assert "'b b' in study.db" in good(vsbo("show", "study.db", "--name", "b b"))
    listed = json.loads(good(vsbo("list", "study.db", "--json")))
    assert [(one["study"], one["done"], one["best"]["value"]) for one in listed] == [("a", 1, 1.0), ("b b", 1, 1.0)]
    assert [line.split()[0] for line in good(vsbo("list", "study.toml")).splitlines()] == ["study", "a", "b"]


def test_importance_is_ranked(folder, vsbo):
    good(vsbo("run", "study.toml"))
    ranked = json.loads(good(vsbo("importance", "study.db", "--json")))
    assert {one["variable"] for one in ranked} == {"x", "n", "kind"}
    shares = [one["share"] for one in ranked]
    assert shares == sorted(shares, reverse=True)
    assert all(one["low"] <= one["share"] <= one["high"] for one in ranked)
    out = good(vsbo("importance", "study.db", "--top", 2))
    assert [line.split()[0] for line in out.splitlines()[1:3]] == [one["variable"] for one in ranked[:2]]
    assert "... and 1 more, whose intervals end at" in out


def test_export(folder, vsbo):
    good(vsbo("run", "study.toml"))
    rows = list(csv.DictReader(io.StringIO(good(vsbo("export", "study.db")))))
    lines = [json.loads(line) for line in good(vsbo("export", "study.db", "--json")).splitlines()]
    assert [float(row["y"]) for row in rows] == [line["y"] for line in lines]
    assert [float(row["params.x"]) for row in rows] == [line["params"]["x"] for line in lines]
    assert good(vsbo("export", "study.db", "--output", "table.csv")) == ""
    assert list(csv.DictReader(io.StringIO(Path("table.csv").read_text()))) == rows


def test_names_and_values_are_never_markup_or_commands_to_the_terminal(folder, vsbo):
    name = "[bold]x[/bold] \x1b[31m\n[/]"
    space = Space({name: Real(0, 1), "[/]": Real(0, 1)})
    with Study.open("s.db", space, seed=0) as study:
        for _ in range(4):
            study.tell(study.ask(), study.ask().x[0])
        study.fail(study.ask(), "\x1b]0;title\x07 [red]")
    for command in ("show", "importance", "ask"):
        out = good(vsbo(command, "s.db"))
        assert "[bold]x[/bold] \\x1b[31m\\n[/]" in out
        assert "\x1b" not in out
    assert "\\x1b]0;title\\x07 [red]" in good(vsbo("show", "s.db"))


def test_many_variables_are_shown_in_part(folder, vsbo):
    (folder / "study.toml").write_text('[variables]\n"x{0..49}" = {real = [0, 1]}')
    good(vsbo("add", "study.toml", 1, *(f"x{i}=0.5" for i in range(50))))
    assert "... and 30 more: --all" in good(vsbo("show", "study.db"))
    assert "x49" in good(vsbo("show", "study.db", "--all"))


# ------------------------------------------------------------------------------------------------------- the progress


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ms"), (0.0123, "12 ms"), (0.4, "0.4 s"), (59.4, "59 s"), (59.6, "1 min"), (200, "3 min 20 s"),
     (3599.9, "1 h"), (3700, "1 h 2 min"), (86399, "1 d"), (200000, "2 d 8 h")],
)  # fmt: skip
def test_durations(seconds, text):
    assert display.duration(seconds) == text


def test_the_progress_line(tmp_path):
    with Study.open(tmp_path / "s.db", Space({"x": Real(0, 1), "y": Real(0, 1)}), seed=0) as study:
        study.tell(study.ask(), 0.5)
        line = display.ProgressLine(study, 10, 4)
        assert line.line().startswith("1/10 evaluations (0 failed, 4 running)   best 0.5   ")
        progress = Progress(
            study.state, 7, 1, 0.123456789, ("x",), running=3, budget=10, seconds=20.0, evaluated=4, evaluating=10.0,
            overhead=0.2, workers=4,
        )  # fmt: skip
        line.update(progress)
        assert line.line() == (
            "8/10 evaluations (1 failed, 2 running)   best 0.1234568   1 of 2 variables   "
            "evaluation 2.5 s, vsbo 50 ms   10 s left"
        )


def test_a_line_now_and_then_if_nobody_watches(folder, vsbo, monkeypatch):
    monkeypatch.setattr(display, "QUIET", 0.0)
    code, _, err = vsbo("run", "study.toml")
    assert code == 0
    lines = [line for line in err.splitlines() if "evaluations" in line]
    assert len(lines) == 6
    assert lines[-1].startswith("6/6 evaluations (0 failed, 0 running)   best ")


def test_a_live_line_at_a_terminal(folder):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "vsbo", "run", "study.toml"],
        cwd=folder, stdout=subprocess.PIPE, stderr=theirs, text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "150"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 4096):
            shown += block
    except OSError:
        pass  # Linux says so when the other end is closed
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0
    assert "/6 evaluations (0 failed, " in shown.decode()
    assert "evaluations (" not in out


# --------------------------------------------------------------------------------------------------------- the program


def test_python_m_vsbo_and_its_codes(folder):
    answers = [
        subprocess.run([sys.executable, "-m", "vsbo", *a], capture_output=True, text=True, check=False, cwd=folder)
        for a in (["--version"], ["show", "none.db"], [])
    ]
    assert [answer.returncode for answer in answers] == [0, 2, 2]
    assert answers[0].stdout.startswith("vsbo ")
    assert answers[1].stderr == "error: none.db does not exist\n"
    assert "Usage: vsbo" in answers[2].stderr


def test_help_names_every_command(vsbo):
    out = good(vsbo("--help"))
    for command in ("run", "show", "importance", "export", "list", "ask", "tell", "fail", "add"):
        assert f"\n  {command} " in out
        assert good(vsbo(command, "--help")).startswith(f"Usage: vsbo {command} ")


def test_who_reads_only_the_beginning_gets_no_traceback(folder, vsbo):
    (folder / "study.toml").write_text('[variables]\n"x{0..999}" = {real = [0, 1]}')
    good(vsbo("ask", "study.toml"))
    line = f"{sys.executable} -m vsbo ask study.db | head -1"
    answer = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert (answer.stdout, answer.stderr) == ("trial 1\n", "")


def test_the_command_line_is_light_until_it_is_used():
    lines = "import sys, vsbo.interfaces.cli; print('rich' in sys.modules, 'vsbo.interfaces.study_file' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert answer.stdout == "False False\n"
