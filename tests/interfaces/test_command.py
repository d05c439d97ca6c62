"""Commands as objectives: what they get, what is read from them, and that none of them can hurt the run."""

import json
import os
import pickle
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsbo import Choice, Fixed, InputError, ObjectiveError, Real, Space, Study, Trial
from vsbo.interfaces import command as module
from vsbo.interfaces.command import Command, JsonField, LastLine, Match
from vsbo.interfaces.template import Template, as_text, expand, for_shell, parse

HOSTILE = [
    "plain", "two words", " ", "'", '"', "''", "\\", "\\'", "a\nb", "\n", "{}", "{x}", "{{", "}}", "${1}", "$1",
    "$(touch pwned)", "`touch pwned`", "; touch pwned", "& touch pwned &", "| touch pwned", "'; touch pwned; '",
    '"; touch pwned; "', "\n touch pwned \n", "> pwned", "*", "?", "~", "-n", "--help", "%s", "#", "!", "é ü 漢",
    "\x1b[31m", "$((1+1))", "a=b", "\\n", "$HOME", "../x",
]  # fmt: skip
#: Prints its arguments as JSON into the file "got", and a number.
ECHO = "import json, sys; json.dump(sys.argv[1:], open('got', 'w')); print(1.5)"


def trial(number: int = 7, **params) -> Trial:
    return Trial(number, np.zeros(1), params, "pending", np.nan, "", "design")


def make(folder: Path, *arguments: str, **changes) -> Command:
    templates = tuple(parse("command", argument) for argument in arguments)
    return replace(Command(templates, folder / "runs", folder, sys.executable), **changes)


def shell(folder: Path, text: str, **changes) -> Command:
    template = parse("command", text)
    names = tuple(Template(((True, name),)) for name in template.names)
    return replace(make(folder), arguments=names, script=for_shell("command", template).literal, **changes)


def got(folder: Path, number: int = 7) -> list[str]:
    return json.loads((folder / "runs" / f"{number:04d}" / "got").read_text())


def failure(command: Command, **params) -> str:
    with pytest.raises(ObjectiveError) as caught:
        command(trial(**params))
    return str(caught.value)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_for(what, seconds: float = 20.0):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


# ------------------------------------------------------------------------------------------------ what it gets


def test_arguments_arrive_as_they_are_whatever_is_in_them(tmp_path):
    folder = tmp_path / "a folder's {name} $(touch pwned)"
    folder.mkdir()
    names = [f"v{i}" for i in range(len(HOSTILE))]
    command = make(folder, sys.executable, "-c", ECHO, *(f"<{{{name}}}>" for name in names), "{{v0}}", keep="all")
    assert command(trial(**dict(zip(names, HOSTILE, strict=True)))) == 1.5
    assert got(folder) == [f"<{text}>" for text in HOSTILE] + ["{v0}"]
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize(
    ("place", "whole"), [("{%s}", True), ('"{%s}"', True), ("x{%s}y", True), ('"$(printf %%s {%s})"', False)]
)
def test_a_shell_gets_values_as_words_and_never_as_program(tmp_path, place, whole):
    texts = HOSTILE if whole else [text for text in HOSTILE if not text.endswith("\n") and not text.startswith("-")]
    names = [f"v{i}" for i in range(len(texts))]
    program = shlex.join([sys.executable, "-c", ECHO]).replace("{", "{{").replace("}", "}}")
    command = shell(tmp_path, " ".join([program, *(place % name for name in names)]), keep="all")
    assert command(trial(**dict(zip(names, texts, strict=True)))) == 1.5
    around = ("x", "y") if place.startswith("x") else ("", "")
    assert got(tmp_path) == [text.join(around) for text in texts]
    assert not list(tmp_path.rglob("pwned"))


def test_a_shell_runs_nothing_even_where_the_quotes_are_misread(tmp_path):
    """A quote in a here-document is not understood: the words may come out wrong, but they stay words."""
    command = shell(tmp_path, "# don't\ncat <<E >/dev/null\n5\" and\nE\necho {x} >/dev/null; echo 2", keep="all")
    assert command.script is not None
    assert "echo ${1} >" in command.script
    for text in HOSTILE:
        assert command(trial(x=text)) == 2.0
    assert not list(tmp_path.rglob("pwned"))


def test_within_single_quotes_nothing_can_be_put_in():
    with pytest.raises(InputError, match="key: {x} stands within single quotes"):
        for_shell("key", parse("key", "echo 'a {x}'"))


@given(st.text("{}ab\n"))
def test_doubled_braces_are_braces(text):
    assert parse("key", text.replace("{", "{{").replace("}", "}}")).literal == text


@given(st.dictionaries(st.text("abc", min_size=1), st.text("{}abc"), min_size=1))
def test_a_value_is_put_in_once(values):
    template = parse("key", "-".join(f"{{{name}}}" for name in values))
    assert template.fill(values) == "-".join(values.values())


@pytest.mark.parametrize("text", ["{", "}", "a{b", "a}b", "{{x}", "{x}}", "{a{b}}"])
def test_a_brace_alone_is_an_error(text):
    with pytest.raises(InputError, match="key: '[{}]' at character"):
        parse("key", text)


def test_values_are_written_as_json_writes_them_but_strings():
    texts = [as_text(value) for value in (0.1, 1e-05, 3, True, None, "a b")]
    assert texts == ["0.1", "1e-05", "3", "true", "null", "a b"]


def test_names_of_many():
    assert list(expand("key", "x{8..11}")) == ["x8", "x9", "x10", "x11"]
    assert list(expand("key", "x{08..10}")) == ["x08", "x09", "x10"]
    assert list(expand("key", "w{0..1}_{0..1}")) == ["w0_0", "w0_1", "w1_0", "w1_1"]
    assert list(expand("key", "a{{0..1}}")) == ["a{0..1}"]


@pytest.mark.parametrize("name", ["params.json", "other.json", "stdin"])
def test_variables_as_json(tmp_path, name):
    params = {"lr": 0.1, "n": 3, "on": True, "text": 'a "b"\n{c} é', "quote's": 1e-300}
    source = "sys.stdin" if name == "stdin" else f"open({name!r}, encoding='utf-8')"
    program = f"import json, sys; p = json.load({source}); json.dump(p, open('got', 'w')); print(p['n'])"
    command = make(
        tmp_path, sys.executable, "-c", program.replace("{", "{{").replace("}", "}}"), input=name, keep="all"
    )
    assert command(trial(**params)) == 3.0
    assert got(tmp_path) == params


def test_a_command_that_does_not_read_its_input(tmp_path):
    assert make(tmp_path, "echo", "4", input="stdin")(trial(text="x" * 1_000_000)) == 4.0


def test_standard_input_is_empty_otherwise(tmp_path):
    assert shell(tmp_path, "wc -c")(trial(x=1.0)) == 0.0


def test_environment_number_and_folders(tmp_path):
    program = (
        "import json, os, sys; e = os.environ; "
        "json.dump([e['VSBO_TRIAL'], e['LR'], e['PATH'], os.getcwd(), *sys.argv[1:]], open('got', 'w')); print(0)"
    )
    environment = {"LR": parse("key", "<{lr}>")}
    command = make(
        tmp_path, sys.executable, "-c", program, "{trial}", "{here}/x", "{python}", environment=environment, keep="all"
    )
    command(trial(12, lr=0.5))
    place = str(tmp_path / "runs" / "0012")
    assert got(tmp_path, 12) == ["12", "<0.5>", os.environ["PATH"], place, "12", f"{tmp_path}/x", sys.executable]


# ------------------------------------------------------------------------------------------- where the value is


@pytest.mark.parametrize(
    ("reader", "text", "value"),
    [
        (LastLine(), "epoch 1\n0.25\n", 0.25),
        (LastLine(), "0.5\r\n\n  -1e-3 \n\n", -1e-3),
        (Match(r"loss=(\S+)"), "loss=3\nloss=2.5 acc=1\ndone\n", 2.5),
        (Match(r"^(\d+)$"), "a 1\n2\nb 3\n", 2.0),
        (JsonField("loss"), '{"loss": 3}', 3.0),
        (JsonField("test.folds.1.loss"), 'log\n{"test": {"folds": [{"loss": 1}, {"loss": -2.5}]}}\n', -2.5),
        (JsonField("loss"), '{\n "loss": 1e3\n}\n', 1000.0),
    ],
)
def test_values_are_found(reader, text, value):
    assert reader(text) == value


@pytest.mark.parametrize(
    ("reader", "text", "says"),
    [
        (LastLine(), "", "the last line of its standard output is empty"),
        (LastLine(), "loss: 0.3\n", "must be a number; it is 'loss: 0.3'"),
        (LastLine(), "1_000\n", "must be a number"),
        (LastLine(), "nan\n", "must be a finite number; it is nan"),
        (LastLine(), "-inf\n", "must be a finite number; it is -inf"),
        (Match("loss=(.*)"), "nothing", "does not match 'loss=(.*)'"),
        (Match("loss=(.*)"), "loss=", "is empty"),
        (JsonField("a"), "no json", "it printed no JSON; the last line is 'no json'"),
        (JsonField("a.b"), '{"a": {}}', "has no field 'a.b' ('b' is missing)"),
        (JsonField("a"), '{"a": true}', "must be a number; it is true"),
        (JsonField("a"), '{"a": NaN}', "must be a finite number"),
        (JsonField("a.0"), '{"a": 3}', "has no field"),
    ],
)
def test_a_value_that_is_not_there_is_said_to_be(reader, text, says):
    with pytest.raises(ObjectiveError) as caught:
        reader(text)
    assert says in str(caught.value)


# ------------------------------------------------------------------------------------------------------ failures


def test_a_code_that_is_not_zero(tmp_path):
    text = failure(shell(tmp_path, "echo 1; for i in 1 2 3 4 5 6; do echo line $i >&2; done; exit 3"))
    assert text.startswith("exited with code 3; stderr ends:\nline 2\n")
    assert "line 1\n" not in text
    assert text.endswith(f"logs: {tmp_path}/runs/0007")


def test_a_long_complaint_is_cut(tmp_path):
    text = failure(shell(tmp_path, "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1"))
    assert len(text) < 700 + len(str(tmp_path))


def test_without_a_complaint_the_output_tells(tmp_path):
    assert "stdout ends:\nno license" in failure(shell(tmp_path, "echo no license; exit 1"))
    assert "it printed nothing" in failure(shell(tmp_path, "exit 1"))


def test_a_signal(tmp_path):
    assert failure(shell(tmp_path, "kill -SEGV $$")).startswith("was ended by SIGSEGV")


def test_no_number_and_nan(tmp_path):
    assert failure(make(tmp_path, "echo", "oops")).startswith("the last line of its standard output must be a number")
    assert "it is nan" in failure(make(tmp_path, "echo", "nan"))


def test_a_program_that_is_missing_or_no_program(tmp_path):
    (tmp_path / "text").write_text("not a program")
    (tmp_path / "text").chmod(0o755)
    assert "'no-such-program' could not be started" in failure(make(tmp_path, "no-such-program"))
    assert "could not be started: [Errno 8]" in failure(make(tmp_path, f"{tmp_path}/text"))
    assert "could not be started: embedded null byte" in failure(make(tmp_path, "echo", "{x}"), x="a\0b")


def test_a_file_beside_the_study_named_as_if_it_ran_there(tmp_path):
    (tmp_path / "train.py").write_text("print(1)")
    assert "write {here}/train.py" in failure(make(tmp_path, sys.executable, "train.py"))


def test_output_without_end_is_stopped_and_cut(tmp_path):
    text = failure(make(tmp_path, "yes", output_limit=3_000_000))
    assert text.startswith("it printed more than 3 MB; it was killed")
    log = tmp_path / "runs" / "0007" / "stdout.log"
    assert module.TAIL < log.stat().st_size < 1.1 * module.TAIL
    assert log.read_text().startswith("... (")


def test_much_output_is_no_failure(tmp_path):
    assert shell(tmp_path, "yes | head -c 20000000; echo; echo 6.5")(trial()) == 6.5


def test_output_that_is_no_text(tmp_path):
    assert shell(tmp_path, "head -c 100000 /dev/urandom; echo; echo 6.5")(trial()) == 6.5


def test_a_program_that_removes_its_folder(tmp_path):
    assert "is empty" in failure(shell(tmp_path, 'rm -r "$PWD"; sleep 0.3; echo 1'))


def test_a_program_that_removes_its_folder_before_its_number_is_noted(tmp_path, monkeypatch):
    started = subprocess.Popen

    def quick(*arguments, **settings):
        process = started(*arguments, **settings)
        process.wait(10)
        return process

    monkeypatch.setattr(subprocess, "Popen", quick)
    assert "is empty" in failure(shell(tmp_path, 'rm -r "$PWD"; echo 1'))


# ------------------------------------------------------------------------------------------ processes and their end


def test_the_timeout_ends_all_of_the_group(tmp_path):
    text = failure(shell(tmp_path, "echo here >&2; sleep 1000 & echo $! > child; wait", timeout=0.5))
    assert text.startswith("no value after 0.5 s; it was killed; stderr ends:\nhere")
    child = int((tmp_path / "runs" / "0007" / "child").read_text())
    wait_for(lambda: not alive(child))


def test_who_does_not_hear_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "GRACE", 0.2)
    text = failure(shell(tmp_path, "trap '' TERM; echo $$ > pid; while :; do sleep 1; done", timeout=0.5))
    assert text.startswith("no value after 0.5 s")
    wait_for(lambda: not alive(int((tmp_path / "runs" / "0007" / "pid").read_text())))


def test_who_hears_may_clean_up(tmp_path):
    failure(shell(tmp_path, "trap 'echo bye > last; exit 1' TERM; while :; do sleep 0.1; done", timeout=0.5))
    assert (tmp_path / "runs" / "0007" / "last").read_text() == "bye\n"


def test_children_that_outlive_their_parent_are_killed_and_the_value_counts(tmp_path):
    command = shell(tmp_path, "sleep 1000 & echo $! > child; echo 2.5", keep="all", timeout=60)
    assert command(trial()) == 2.5
    wait_for(lambda: not alive(int((tmp_path / "runs" / "0007" / "child").read_text())))


def test_if_it_was_the_child_that_should_have_printed_the_text_says_so(tmp_path):
    assert "(processes that it left behind were killed)" in failure(shell(tmp_path, "(sleep 1000; echo 1) &"))


def test_stop_ends_what_runs_and_nothing_new_starts(tmp_path):
    command = shell(tmp_path, "sleep 1000 & echo $! > {here}/child-{trial}; wait")
    with ThreadPoolExecutor(2) as threads:
        futures = [threads.submit(command, trial(number)) for number in (1, 2)]
        children = [tmp_path / "child-1", tmp_path / "child-2"]
        wait_for(lambda: all(child.exists() and child.read_text().endswith("\n") for child in children))
        command.stop()
        assert all(isinstance(future.exception(timeout=20), module.StoppedError) for future in futures)
    for child in children:
        wait_for(lambda child=child: not alive(int(child.read_text())))
    with pytest.raises(module.StoppedError):
        command(trial(3))
    assert os.listdir(tmp_path / "runs") == []


# ------------------------------------------------------------------------------------------------ folders and logs


@pytest.mark.parametrize(
    ("keep", "good", "bad"), [("failed", False, True), ("all", True, True), ("none", False, False)]
)
def test_whose_folders_stay(tmp_path, keep, good, bad):
    command = shell(tmp_path, "echo out; echo err >&2; echo {x}", keep=keep)
    command(trial(0, x=1.0))
    assert ("logs: " in failure(command, x="no number")) == bad
    assert (tmp_path / "runs" / "0000").exists() == good
    assert (tmp_path / "runs" / "0007").exists() == bad
    if bad:
        place = tmp_path / "runs" / "0007"
        assert (place / "stdout.log").read_text() == "out\nno number\n"
        assert (place / "stderr.log").read_text() == "err\n"
        assert json.loads((place / "params.json").read_text()) == {"x": "no number"}


def test_what_an_interrupted_evaluation_left_is_gone(tmp_path):
    place = tmp_path / "runs" / "0007"
    place.mkdir(parents=True)
    (place / "checkpoint").touch()
    (place / "stdout.log").write_text("99\n")
    assert shell(tmp_path, "ls checkpoint 2>/dev/null; echo 1")(trial()) == 1.0


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="the system does not tell a process's folder")
def test_a_program_that_outlived_its_run_is_ended_when_its_trial_comes_again(tmp_path):
    command = shell(tmp_path, "[ -e {here}/again ] || {{ echo $$ > {here}/pid; sleep 1000; }}; echo 3")
    (tmp_path / "command").write_bytes(pickle.dumps((command, trial())))
    lines = "import pickle, sys; command, trial = pickle.load(open(sys.argv[1], 'rb')); command(trial)"
    run = subprocess.Popen([sys.executable, "-c", lines, str(tmp_path / "command")])
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
    noted = tmp_path / "runs" / "0007" / module.PID
    wait_for(lambda: noted.exists() and noted.read_text())
    run.kill()
    run.wait()
    left = int((tmp_path / "pid").read_text())
    assert alive(left)
    (tmp_path / "again").touch()
    assert command(trial()) == 3.0
    wait_for(lambda: not alive(left))


def test_prepare_finds_what_is_missing_before_the_first_trial(tmp_path):
    make(tmp_path, "echo").prepare("study 'a'")
    make(tmp_path, "echo").prepare("study 'a'")  # once more: it is resumed
    with pytest.raises(
        InputError, match="objective.runs: the folder .* holds the runs of study 'a'; this is study 'b'"
    ):
        make(tmp_path, "echo").prepare("study 'b'")
    with pytest.raises(InputError, match="objective.command: the program 'no-such' is not found on the PATH"):
        make(tmp_path, "no-such").prepare("study 'a'")
    with pytest.raises(InputError, match="is not an executable file"):
        make(tmp_path, f"{tmp_path}/no-such").prepare("study 'a'")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="objective.runs: .*file"):
        make(tmp_path, "echo", runs=tmp_path / "file").prepare("study 'a'")
    with pytest.raises(InputError, match="objective.runs: .* cannot be written to"):
        make(tmp_path, "echo", runs=Path("/proc/runs")).prepare("study 'a'")


# ------------------------------------------------------------------------------------------------------- in a study


def test_it_travels(tmp_path):
    command = shell(tmp_path, "echo {x}", value=Match("(.+)"), environment={"A": parse("k", "{x}")}, timeout=5.0)
    command.stop()
    copy = pickle.loads(pickle.dumps(command))
    assert copy == command
    assert copy(trial(x=0.5)) == 0.5  # where it arrives, nothing has been stopped


SPACE = {"x": Real(0, 1), "kind": Choice(["a b", "c"]), "fixed": Fixed("f {x}")}


@pytest.mark.parametrize("threads", [True, False])
def test_a_study_runs_it_in_threads_or_processes(tmp_path, threads):
    program = "import sys; print(float(sys.argv[1]) + (sys.argv[2] == 'c') + 10 * (sys.argv[3] != 'f {{x}}'))"
    command = make(tmp_path, sys.executable, "-c", program, "{x}", "{kind}", "{fixed}", keep="all")
    pool = ThreadPoolExecutor(2) if threads else None
    with Study.open(tmp_path / "s.db", Space(SPACE), seed=0) as study:
        study.run(command, 4, workers=2, executor=pool)
        for one in study.trials:
            assert one.y == one.params["x"] + (one.params["kind"] == "c")
            assert json.loads((tmp_path / "runs" / f"{one.number:04d}" / "params.json").read_text()) == one.params


def test_a_failure_is_in_the_study_with_its_text(tmp_path):
    command = shell(tmp_path, 'if [ "$VSBO_TRIAL" = 1 ]; then echo diverged >&2; exit 1; fi; echo {x}')
    with ThreadPoolExecutor(1) as pool, Study.open(tmp_path / "s.db", Space({"x": Real(0, 1)}), seed=0) as study:
        study.run(command, 3, executor=pool)
        assert [one.status for one in study.trials] == ["done", "failed", "done"]
        assert study.trials[1].reason == f"exited with code 1; stderr ends:\ndiverged\nlogs: {tmp_path}/runs/0001"


def test_threads_do_not_wait_for_each_other(tmp_path):
    """Each of two commands waits for the other's file: that ends only if they run at once."""
    command = shell(
        tmp_path, "touch {here}/at-{trial}; while [ $(ls {here} | grep -c ^at-) -lt 2 ]; do sleep 0.05; done; echo 1",
        timeout=60,
    )  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(command, [trial(0), trial(1)])) == [1.0, 1.0]
