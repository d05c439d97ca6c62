"""Measure `Study.ask` after 60 trials, 20 times, in one thread; every sampler sees the same random 60 first.

Needs the extra optuna, and torch for Optuna's GP sampler. A measurement that is in the file is not done again.
"""

import json
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from threadpoolctl import threadpool_limits

from vsbo.interfaces.optuna import VSBOSampler

RESULTS = Path(__file__).parent / "results"
DIMENSIONS = (20, 100, 300)
KNOWN, MEASURED = 60, 20
#: Seconds after which a measurement ends with what it has.
PATIENCE = 400.0


def samplers(space: dict[str, BaseDistribution]) -> dict[str, Any]:
    """By name; the seed is that of the run."""
    return {
        "vsbo": lambda: VSBOSampler(space, seed=0),
        "Optuna TPE": lambda: optuna.samplers.TPESampler(seed=0),
        "Optuna TPE, multivariate": lambda: optuna.samplers.TPESampler(seed=0, multivariate=True),
        "Optuna GP": lambda: optuna.samplers.GPSampler(seed=0),
    }


def value(params: dict[str, float]) -> float:
    """Six variables decide, whatever D is; the others add a little."""
    x = np.array(list(params.values()))
    return float(np.sum((x[:6] - 0.3) ** 2) + 0.001 * np.sum(x[6:]))


def measure(name: str, D: int) -> dict[str, Any]:
    """CPU and wall seconds of each `ask`."""
    space: dict[str, BaseDistribution] = {f"x{j:03d}": FloatDistribution(0, 1) for j in range(D)}
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    for _ in range(KNOWN):
        trial = study.ask(space)
        study.tell(trial, value(trial.params))
    study.sampler = samplers(space)[name]()
    cpu: list[float] = []
    wall: list[float] = []
    began = time.monotonic()
    while len(cpu) < MEASURED and time.monotonic() - began < PATIENCE:
        before = time.process_time(), time.perf_counter()
        trial = study.ask(space)
        cpu.append(time.process_time() - before[0])
        wall.append(time.perf_counter() - before[1])
        study.tell(trial, value(trial.params))
    return {
        "sampler": name, "D": D, "known": KNOWN, "cpu": cpu, "wall": wall, "best": study.best_value,
        "versions": {"optuna": optuna.__version__, "numpy": np.__version__, "python": platform.python_version()},
    }  # fmt: skip


def table(results: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = [
        "# What a suggestion costs inside Optuna",
        "",
        "`python -m benchmarks.doors`: CPU milliseconds of `Study.ask` in one thread, storage in memory, after",
        f"{KNOWN} random trials: mean of the next {MEASURED} and, in brackets,",
        "their median; D float parameters.",
        "",
        "| sampler | " + " | ".join(f"D = {D}" for D in DIMENSIONS) + " |",
        "|---|" + "---|" * len(DIMENSIONS),
    ]
    for name in samplers({}):
        cells = []
        for D in DIMENSIONS:
            found = [one["cpu"] for one in results if one["sampler"] == name and one["D"] == D]
            if not found:
                cells.append("-")
                continue
            times = [1000 * seconds for seconds in found[0]]
            short = "" if len(times) == MEASURED else f", {len(times)} only"
            cells.append(f"{statistics.fmean(times):.0f} ({statistics.median(times):.0f}{short})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    versions = sorted({json.dumps(one["versions"], sort_keys=True) for one in results})
    lines += ["", "Versions: " + "; ".join(versions).translate(str.maketrans("", "", '{}"')) + "."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what is missing; write both files after every measurement."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    file = RESULTS / "suggestions.json"
    results: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    for D in DIMENSIONS:
        for name in samplers({}):
            if any((one["sampler"], one["D"]) == (name, D) for one in results):
                continue
            with threadpool_limits(1):
                results.append(measure(name, D))
            file.write_text(json.dumps(results))
            (RESULTS / "suggestions.md").write_text(table(results))
            print(f"{name}, D = {D}: {1000 * statistics.fmean(results[-1]['cpu']):.0f} ms")


if __name__ == "__main__":
    main()
