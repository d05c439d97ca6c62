"""Peak memory of a search with 500 evaluations known and 500 variables, in a process of its own.

`python -m benchmarks.speed.memory 'Config()'` is that process; it prints JSON.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.speed.datasets import EmbeddedHartmann
from benchmarks.speed.report import Row, table
from vsbo import Config, Optimizer, Space

PART = "memory"
MOST = 400.0
N, D = 500, 500
ASKS = 3
CONFIGS = {"Config.paper()": Config.paper(), "Config()": Config()}


def measure(quick: bool) -> list[Row]:
    """A row for each configuration; in a hurry only the paper's."""
    root = Path(__file__).parents[2]
    rows = []
    for name in tuple(CONFIGS)[: 1 if quick else None]:
        run = [sys.executable, "-m", "benchmarks.speed.memory", name]
        told: dict[str, Any] = json.loads(
            subprocess.run(run, check=True, capture_output=True, text=True, cwd=root).stdout
        )
        peak = told["peak"]["asks"]
        rows.append(
            Row(
                PART,
                f"peak memory, n={N}, D={D}, {name}",
                f"< {MOST:g} MB",
                f"{peak:.0f} MB",
                peak < MOST,
                table(("after", "peak so far, MB"), [(stage, f"{value:.0f}") for stage, value in told["peak"].items()])
                + f"\n\nasks: {', '.join(f'{seconds:.1f} s' for seconds in told['seconds'])} (the first selects); "
                f"{told['active']} variables selected; origins {', '.join(told['origins'])}.",
                told,
            )
        )
    return rows


def peak_megabytes() -> float:
    """The largest resident size so far.

    Linux hands ru_maxrss on from the process that started this one, so there the process's own mark is read instead.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024.0**2 if sys.platform == "darwin" else peak / 1024.0


def search(name: str) -> dict[str, Any]:
    """Add the evaluations, ask a few times (the first time with a selection), and tell how large it became."""
    peak = {"importing": peak_megabytes()}
    f = EmbeddedHartmann(D, 0)
    optimizer = Optimizer(Space.box(D), direction="maximize", seed=0, config=CONFIGS[name])
    for x in np.random.default_rng(0).random((N, D)):
        optimizer.add(x, f(x))
    peak["adding"] = peak_megabytes()
    seconds = []
    for _ in range(ASKS):
        began = time.process_time()
        trial = optimizer.ask()
        seconds.append(time.process_time() - began)
        optimizer.tell(trial, f(trial.x))
        peak.setdefault("first ask", peak_megabytes())
    peak["asks"] = peak_megabytes()
    return {
        "peak": peak,
        "ru_maxrss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "seconds": seconds,
        "active": len(optimizer.selected),
        "origins": [trial.origin for trial in optimizer.trials[N:]],
    }


if __name__ == "__main__":
    with threadpool_limits(1):
        print(json.dumps(search(sys.argv[1])))
