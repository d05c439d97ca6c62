"""The peers' environments: the packages need conflicting versions, so each gets a virtual environment of its own.

They live below the folder $VSBO_PEERS, or `.peers/` in the repository. `setup` makes them with the running Python;
`stamp.json` is written last, so an environment without one was never finished.
"""

import json
import os
import platform
import re
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchError

STAMP = "stamp.json"

#: Numbers depend on their versions even where a peer brings them along unnamed.
COUNTED = ("numpy", "scipy", "torch", "gpytorch", "botorch")

#: First, and constrained ever after: a looser request brings gigabytes of CUDA.
TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Environment:
    """steps: arguments of `pip install`, one call a step, in this order. imports: what must be importable in the end.

    constraints: what no step may change.
    """

    steps: tuple[tuple[str, ...], ...]
    imports: tuple[str, ...]
    constraints: tuple[str, ...] = ()


ENVIRONMENTS: dict[str, Environment] = {
    "modern": Environment(
        ((TORCH,), ("botorch==0.18.1", "gpytorch==1.15.2", "optuna==5.0.0", "scikit-learn==1.9.*")),
        ("torch", "botorch", "gpytorch", "optuna"),
        (TORCH,),
    ),
    "smac": Environment((("smac==2.4.1",),), ("smac", "ConfigSpace")),
    "baxus": Environment(((TORCH,), ("baxus==0.0.8",)), ("torch", "baxus"), (TORCH,)),
    "ax": Environment(((TORCH,), ("ax-platform==1.3.1",)), ("torch", "ax.api.client"), (TORCH,)),
    # HEBO's own pins exclude one another (a plain install fails), so its dependencies are named here.
    "hebo": Environment(
        (
            (TORCH,),
            ("numpy==1.24.4", "scipy==1.11.4", "pandas==2.0.3", "scikit-learn==1.3.2", "gpytorch==1.13"),
            # pymoo, GPy and HEBO need these at import
            ("autograd", "cma==3.2.2", "alive-progress", "dill", "Deprecated", "matplotlib", "disjoint-set", "paramz"),
            ("--no-deps", "pymoo==0.6.0", "GPy==1.13.2", "HEBO==0.3.6"),
        ),
        ("torch", "hebo.optimizers.hebo"),
        (TORCH, "numpy==1.24.4"),
    ),
    # 0.3.7 is the last Ax that ships ALEBO.
    "alebo": Environment(
        ((TORCH,), ("ax-platform==0.3.7", "numpy<2", "scipy<1.13", "pandas<2.3")),
        ("torch", "ax.modelbridge.strategies.alebo"),
        (TORCH,),
    ),
    # The fully Bayesian SAAS model samples with NumPyro, which does not yet follow jax 0.10.
    "saas": Environment(
        ((TORCH,), ("botorch==0.18.1", "gpytorch==1.15.2", "numpyro==0.22.0", "jax==0.9.2")),
        ("torch", "botorch", "numpyro", "jax"),
        (TORCH,),
    ),
    # Builds against the installed numpy; with build isolation it would see another one.
    "dragonfly": Environment(
        (("numpy==1.23.5", "scipy==1.11.4", "wheel", "setuptools"), ("--no-build-isolation", "dragonfly-opt==0.1.7")),
        ("dragonfly",),
        ("numpy==1.23.5",),
    ),
}


def known(name: str) -> Environment:
    """The environment of that name."""
    if name not in ENVIRONMENTS:
        raise BenchError(f"unknown environment {name!r}; known: {', '.join(sorted(ENVIRONMENTS))}")
    return ENVIRONMENTS[name]


def folder(name: str) -> Path:
    """Where it is, or will be."""
    root = os.environ.get("VSBO_PEERS")
    return (Path(root) if root else Path(__file__).parents[2] / ".peers") / name


def python(name: str) -> Path:
    """Its interpreter."""
    return folder(name) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def ready(name: str) -> bool:
    """Whether it was finished, by this version of Python and from the steps listed here."""
    stamp = _stamp(name)
    return stamp is not None and stamp["recipe"] == _recipe(name) and python(name).exists()


def versions(name: str) -> dict[str, str]:
    """The versions that count, for a record: of COUNTED and of what the steps name; empty where nothing is set up."""
    stamp = _stamp(name)
    installed = dict(line.split("==", 1) for line in stamp["packages"] if "==" in line) if stamp else {}
    named = {re.split("[<>=]", argument)[0] for step in known(name).steps for argument in step}
    counted = {_normal(package) for package in {*COUNTED, *named}}
    return {package: version for package, version in installed.items() if _normal(package) in counted}


def setup(names: Sequence[str], fresh: bool = False) -> None:
    """Make these environments; those that are up to date are left alone unless `fresh`."""
    for name in names:
        known(name)
    for name in names:
        if ready(name) and not fresh:
            print(f"{name}: up to date, {folder(name)}", flush=True)
        else:
            _make(name)


def _make(name: str) -> None:
    environment, path, began = known(name), folder(name), time.monotonic()
    print(f"{name}: making {path}", flush=True)
    (path / STAMP).unlink(missing_ok=True)
    venv.create(path, clear=True, with_pip=True)
    constraints = path / "constraints.txt"
    constraints.write_text("".join(f"{line}\n" for line in environment.constraints), encoding="utf-8")
    for i, step in enumerate(environment.steps, 1):
        print(f"{name}: step {i} of {len(environment.steps)}: pip install {' '.join(step)}", flush=True)
        _run(name, "-m", "pip", "install", "--quiet", "--constraint", str(constraints), *step)
    print(f"{name}: importing {', '.join(environment.imports)}", flush=True)
    _run(name, "-c", "; ".join(f"import {module}" for module in environment.imports))
    packages = _run(name, "-m", "pip", "freeze").split("\n")
    stamp = {"recipe": _recipe(name), "packages": [line for line in packages if line]}
    (path / STAMP).write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
    print(f"{name}: ready after {time.monotonic() - began:.0f} s", flush=True)


def _run(name: str, *arguments: str) -> str:
    """Run the environment's Python; its output."""
    done = subprocess.run([str(python(name)), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(
            f"environment {name!r}: `python {' '.join(arguments)}` ended with {done.returncode}:\n"
            f"{_last_lines(done.stdout + done.stderr)}"
        )
    return done.stdout


def _normal(package: str) -> str:
    """The index's spelling of a package's name."""
    return re.sub("[-_.]+", "-", package).lower()


def _last_lines(text: str, count: int = 40) -> str:
    return "\n".join(text.rstrip().splitlines()[-count:])


def _recipe(name: str) -> dict[str, Any]:
    environment = known(name)
    return {
        "python": platform.python_version(),
        "steps": [list(step) for step in environment.steps],
        "constraints": list(environment.constraints),
    }


def _stamp(name: str) -> dict[str, Any] | None:
    try:
        stamp: dict[str, Any] = json.loads((folder(name) / STAMP).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        print(f"{name}: {folder(name) / STAMP} is unreadable; set it up again", file=sys.stderr)
        return None
    return stamp
