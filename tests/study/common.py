"""What the tests of studies share: a search in small, objectives that a process of its own can import, comparisons."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from vsbo import Config, Space, Study

ROOT = Path(__file__).parents[2]

#: The method in small: everything happens within a few dozen evaluations, a suggestion takes milliseconds.
SMALL = {"n_initial": 4, "select_every": 6, "n_importance": 100, "n_raw": 32, "n_restarts": 1}
CONFIG = Config(**SMALL)
PAPER = Config.paper(**SMALL)
BOX = Space.box(4)


def sphere(x):
    return float(np.sum((np.asarray(x) - 0.3) ** 2))


def troubled(x):
    """A value, or one of four kinds of trouble, by the first variable."""
    match int(5 * x[0]):
        case 0:
            os._exit(3)
        case 1:
            os.kill(os.getpid(), signal.SIGKILL)
        case 2:
            raise ArithmeticError("no value {here}\n")
        case 3:
            time.sleep(1000)
    return sphere(x)


def ends_its_process(x):
    os._exit(7)


def trajectory(study):
    """What must not depend on when a run was interrupted: (number, x, y, status) of all trials."""
    return [(t.number, t.x.tobytes(), t.y if t.status == "done" else None, t.status) for t in study.trials]


def read(path, what=trajectory, **options):
    """What a study that is opened for this alone has to tell."""
    with Study.open(path, **options) as study:
        return what(study)


def files(folder):
    """The bytes of all files of a folder, by name."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


def python(*arguments):
    """A Python with the same vsbo as this one, and these tests to import."""
    folders = [str(ROOT / "src"), str(ROOT)]
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def output(code, *arguments):
    """What a program prints; it must end well."""
    process = python("-c", code, *arguments)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


def ended(pid):
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def eventually(condition, seconds=60.0):
    """Whether it becomes true in time; a busy machine may need a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())
