"""The folder for OptunaHub has the registry's layout, and its own tests pass."""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "integrations" / "optunahub" / "package" / "samplers" / "vs_bo"


def test_the_layout():
    for name in ("__init__.py", "sampler.py", "README.md", "LICENSE", "example.py", "requirements.txt", "tests"):
        assert (FOLDER / name).exists(), name
    _, front, text = (FOLDER / "README.md").read_text().split("---\n", 2)
    keys = [line.partition(":")[0] for line in front.splitlines()]
    assert keys == ["author", "title", "description", "tags", "optuna_versions", "license"]
    for section in ("## Abstract", "## APIs", "## Installation", "## Example"):
        assert section in text
    assert (FOLDER / "LICENSE").read_text() == (Path(__file__).parents[3] / "LICENSE").read_text()


def test_its_own_tests():
    """The whole of Optuna's suite runs on the same class next door; here, what shows that the folder loads."""
    command = [sys.executable, "-m", "pytest", "-q", "-k", "importance or raise_error", "-p",
               "no:cacheprovider", str(FOLDER / "tests")]  # fmt: skip
    answer = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False, timeout=300)
    assert answer.returncode == 0, answer.stdout
    assert "2 passed" in answer.stdout
