"""SciPy: the arguments of `differential_evolution`, for `vsbo.minimize`. python scipy_minimize.py [evaluations]"""

import sys
from typing import Any

import numpy as np
from scipy.optimize import Bounds, OptimizeResult

import vsbo


def valley(x: Any, width: float) -> float:
    """Twenty variables, of which four decide; the first is a whole number."""
    return float((x[0] - 3) ** 2 + np.sum((x[1:4] - 0.3) ** 2) / width + 0.001 * np.sum(x[4:]))


def report(intermediate_result: OptimizeResult) -> None:
    """Called after every evaluation, as SciPy would."""
    if intermediate_result.nfev % 10 == 0:
        print(f"{intermediate_result.nfev:4d} evaluations: {intermediate_result.fun:.4f}")


def main(budget: int) -> None:
    """Two evaluations at a time, each in a process of its own."""
    bounds = Bounds([0] * 20, [9] + [1] * 19)
    integrality = [True] + [False] * 19
    result = vsbo.minimize(
        valley, bounds, args=(0.1,), budget=budget, rng=0, callback=report, workers=2, integrality=integrality
    )
    print(f"{result.message}; best {result.fun:.4f} at x[:4] = {np.round(result.x[:4], 2)}")
    print("important:", np.argsort(-result.importance.shares)[:4])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
