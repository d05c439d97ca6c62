"""A door whose library is not installed says what to install, in one line; and no door is opened by `import vsbo`."""

import subprocess
import sys

import pytest

DOORS = {
    "vsbo.interfaces.optuna": ("optuna", "optuna"),
    "vsbo.interfaces.sklearn": ("sklearn", "sklearn"),
    "vsbo.interfaces.dask": ("distributed", "dask"),
    "vsbo.interfaces.ax": ("ax", "ax"),
}


@pytest.mark.parametrize(("door", "package", "extra"), [(door, *needs) for door, needs in DOORS.items()])
def test_a_missing_library(door, package, extra):
    """Blocked, as if it were not there: None in sys.modules is a ModuleNotFoundError."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import vsbo\n"
        f"try:\n    import {door}\n"
        "except vsbo.MissingExtraError as error:\n    print(error); print(isinstance(error, ImportError))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == [f'{package} is not installed: pip install "vsbo[{extra}]"', "True"]


def test_the_command_line_says_it_too(tmp_path):
    (tmp_path / "study.toml").write_text(
        '[study]\nbudget = 3\n[variables]\nx = {real = [0, 1]}\n[objective]\npython = "here:f"\n'
    )
    (tmp_path / "here.py").write_text("def f(p):\n    return p['x']\n")
    program = (
        "import sys; sys.modules['distributed'] = None\nfrom vsbo.interfaces.cli import main\n"
        f"main(['run', {str(tmp_path / 'study.toml')!r}, '--dask', 'tcp://127.0.0.1:1'])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stderr == 'error: distributed is not installed: pip install "vsbo[dask]"\n'


def test_importing_vsbo_and_its_command_line_opens_no_door():
    program = "import sys, vsbo, vsbo.interfaces.cli, vsbo.interfaces.study_file; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"optuna", "sklearn", "joblib", "dask", "distributed", "loky", "ray", "ax", "torch"} & set(loaded)
