"""Every example runs, in small, as its user would start it: from a copy, with `vsbo`."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks.problems import hartmann6_50
from examples import hartmann6

EXAMPLES = Path(hartmann6.__file__).parent


@pytest.fixture
def copy(tmp_path):
    """The examples in a folder that may be written to, and a `vsbo` on the path."""
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*", "runs", "__pycache__"))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "vsbo"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vsbo "$@"\n')
    program.chmod(0o755)
    return tmp_path / "examples"


def run(folder: Path, *arguments: str, given: str = "") -> str:
    environment = {**os.environ, "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(
        arguments, cwd=folder, input=given, env=environment, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_hartmann6(copy):
    assert json.loads(run(copy, "vsbo", "run", "hartmann6.toml", "--budget", "8", "--json"))["done"] == 8
    assert "best value" in run(copy, "vsbo", "show", "hartmann6.toml")
    assert len(json.loads(run(copy, "vsbo", "importance", "hartmann6.toml", "--json"))) == 50


def test_hartmann6_is_the_benchmark_in_another_order():
    problem = hartmann6_50()
    x = problem.argmax
    assert x is not None
    assert hartmann6.f(dict(zip(hartmann6.PLACES, x, strict=True))) == pytest.approx(problem.best, abs=1e-12)


def test_ensemble(copy):
    pytest.importorskip("sklearn", reason="the ensemble needs scikit-learn: pip install vsbo[examples]")
    data = json.loads(run(copy, "vsbo", "run", "ensemble.toml", "--budget", "3", "--workers", "1", "--json"))
    assert (data["done"], data["variables"]) == (3, 26)
    assert 0.0 < data["best"]["value"] < 1.0


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_gcc_flags(copy):
    variables = tomllib.loads((copy / "gcc_flags.toml").read_text())["variables"]
    assert len(set(variables["flags"]["names"])) >= 60
    data = json.loads(run(copy, "vsbo", "run", "gcc_flags.toml", "--budget", "4", "--json"))
    assert (data["done"], data["failed"]) == (4, 0), data["failures"]
    assert data["best"]["value"] > 1000


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_gcc_knows_every_option(tmp_path):
    """All on and all off, each with a number: no option is unknown, and the program computes the same."""
    variables = tomllib.loads((EXAMPLES / "gcc_flags.toml").read_text())["variables"]
    numbers = {name: plain["integer"] for name, plain in variables.items() if name != "flags"}
    for on in (False, True):
        params = {**dict.fromkeys(variables["flags"]["names"], on), **{n: ends[on] for n, ends in numbers.items()}}
        program = [sys.executable, str(EXAMPLES / "gcc_flags.py")]
        answer = subprocess.run(
            program, input=json.dumps(params), cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert int(answer.stdout) > 1000
        assert answer.stderr == ""


def test_laboratory(copy):
    out = run(copy, "./laboratory.sh", given="50.5\n\nno number\n-60\n")
    assert out.count("yield in %: ") == 5
    assert "trial 0: y = 50.5" in out
    assert "trial 1: failed: the experiment failed" in out
    assert "trial 2 stays pending: vsbo tell" in out
    assert "trial 3: y = -60.0" in out
    assert "best value   50.5 (trial 0)" in out
    assert "2 pending (2, 4)" in out
    assert "trial 5" in run(copy, "./laboratory.sh")  # the next day


def test_the_study_file_of_the_readme(copy):
    readme = (EXAMPLES.parent / "README.md").read_text()
    (copy / "study.toml").write_text(readme.split("```toml\n")[1].split("```")[0])
    program = copy / "simulate"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\nweights = json.load(open(sys.argv[4]))\n"
        "assert sys.argv[1].startswith('--threads=') and sys.argv[2][9:] in ('row', 'column', 'blocked')\n"
        "print('simulated')\nprint(sum(weights[f'weight_{i}'] for i in range(100)))\n"
    )
    program.chmod(0o755)
    data = json.loads(run(copy, "vsbo", "run", "study.toml", "--budget", "4", "--json"))
    assert (data["done"], data["failed"], data["variables"]) == (4, 0, 102)
