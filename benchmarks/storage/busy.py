"""How busy workers are kept whose evaluations take two seconds."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.speed.datasets import EmbeddedHartmann
from benchmarks.speed.report import Row
from benchmarks.speed.timing import Array
from vsbo import Space, Study

PART = "busy workers"
D, WORKERS, EVALUATIONS, SLEEP, TARGET = 50, 16, 200, 2.0, 0.9


def measure(quick: bool) -> list[Row]:
    """Idle is a worker from the start, or the end of an evaluation, until it has the next point."""
    evaluations = 48 if quick else EVALUATIONS
    began: list[float] = []
    ended: list[float] = []
    lock = threading.Lock()
    value = EmbeddedHartmann(D, 0)

    def f(x: Array) -> float:
        with lock:
            began.append(time.monotonic())
        time.sleep(SLEEP)
        with lock:
            ended.append(time.monotonic())
        return -value(x)

    with (
        TemporaryDirectory() as folder,
        ThreadPoolExecutor(WORKERS) as pool,
        Study.open(Path(folder) / "study.db", Space.box(D), seed=0) as study,
    ):
        start, cpu = time.monotonic(), time.process_time()
        outcome = study.run(f, evaluations, workers=WORKERS, executor=pool)
        cpu = time.process_time() - cpu
    # Each of the points given out after the first ones went to the worker that had been idle for the longest.
    given, freed = sorted(began), [start] * WORKERS + sorted(ended)
    idle = [point - free for point, free in zip(given, freed, strict=False)]
    work = sum(sorted(ended)[i] - given[i] for i in range(evaluations))
    busy, whole = work / (work + sum(idle)), work / (WORKERS * outcome.seconds)
    possible = evaluations / (WORKERS * math.ceil(evaluations / WORKERS))
    return [
        Row(
            PART,
            f"{WORKERS} workers, evaluations of {SLEEP:g} s, {evaluations} of them, D = {D}",
            f">= {100 * TARGET:g} % busy",
            f"{100 * busy:.1f} %",
            busy >= TARGET,
            f"A free worker waited {sum(idle) / evaluations:.2f} s for its next point on average, {max(idle):.2f} s at "
            f"the most; vsbo took {1e3 * cpu / evaluations:.0f} ms of CPU an evaluation. Over the whole run, with its "
            f"last round, in which workers run out of work: {100 * whole:.1f} % ({100 * possible:.1f} % are possible).",
            {"busy": busy, "of the whole run": whole, "idle": idle, "seconds": outcome.seconds, "cpu": cpu},
        )
    ]
