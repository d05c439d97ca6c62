"""Every example of a door runs, in small, as its user would start it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples import doors

FOLDER = Path(doors.__file__).parent


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("scipy_minimize", ["12"], "the budget of 12 evaluations is spent"),
        ("optuna_study", ["8"], "8 trials; best "),
        ("sklearn_pipeline", ["4"], "4 candidates; best accuracy 0."),
        ("dask_cluster", ["10"], "the budget of 10 evaluations is spent"),
        ("loky_pool", ["10"], "the budget of 10 evaluations is spent"),
        pytest.param("ray_tune", ["6"], "best loss", marks=pytest.mark.ray),
        pytest.param("ax_client", ["8"], "best loss", marks=pytest.mark.ax),
    ],
)
def test_example(name, arguments, says, tmp_path):
    answer = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), *arguments],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert says in answer.stdout
    if name in ("optuna_study", "dask_cluster", "loky_pool"):  # started again, it goes on
        assert any(tmp_path.glob("*.db"))


def test_the_pipeline_has_25_parameters():
    from examples.doors.sklearn_pipeline import PARAMETERS, pipeline

    assert len(PARAMETERS) == 25
    assert set(PARAMETERS) <= set(pipeline().get_params())
