"""One search, in a process of its own."""

import time
from typing import Any

from benchmarks.discrete.methods import METHODS
from benchmarks.discrete.problems import PROBLEMS
from benchmarks.speed.machine import environment

EVALUATIONS = 150
#: Problem, method, seed.
Job = tuple[str, str, int]


def run(job: Job) -> dict[str, Any]:
    """One search: best so far after each evaluation, CPU seconds of the method."""
    name, method, seed = job
    problem = PROBLEMS[name](seed)
    search, cpu = METHODS[method](problem.space, seed), 0.0
    best: list[float] = []
    began = time.process_time()
    params = next(search)
    for _ in range(EVALUATIONS):
        cpu += time.process_time() - began
        y = problem.f(params)
        best.append(max([float(f"{y:.8g}"), *best[-1:]]))
        began = time.process_time()
        params = search.send(y)
    return {"problem": name, "method": method, "seed": seed, "best": best, "seconds": cpu, **environment()}
