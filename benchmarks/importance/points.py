"""Where a function is looked at: uniform points, or those of a search."""

import numpy as np

import vsbo
from benchmarks.importance.functions import Function
from vsbo.arrays import Array

WHERE = ("uniform", "search")


def evaluated(function: Function, where: str, n: int, noise: float, seed: int) -> tuple[Array, Array]:
    """X (n, D) and y (n,), to be maximized. noise: its variance (that of f is 1)."""
    rng = np.random.default_rng([seed, n, WHERE.index(where)])

    def observe(x: Array) -> float:
        return float(function(x[None, :])[0] + np.sqrt(noise) * rng.standard_normal())

    if where == "uniform":
        X = rng.random((n, function.D))
        return X, np.array([observe(x) for x in X])
    result = vsbo.maximize(observe, [(0.0, 1.0)] * function.D, budget=n, rng=seed)
    return result.X, result.y


def optimizer_of(X: Array, y: Array) -> vsbo.Optimizer:
    """An optimizer that was told them."""
    optimizer = vsbo.Optimizer(vsbo.Space.box(X.shape[1]), direction="maximize", seed=0)
    for x, value in zip(X, y, strict=True):
        optimizer.add(x, value)
    return optimizer
