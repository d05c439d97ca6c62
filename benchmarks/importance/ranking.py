"""Who ranks the variables best, and how long does it take? The same points for all."""

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from benchmarks.importance.functions import KINDS, draw
from benchmarks.importance.points import evaluated, optimizer_of
from vsbo.arrays import Array

Row = dict[str, Any]
#: Trees of the forest; that is scikit-learn's own default, and fANOVA's in Optuna is 64.
TREES = 100


def ours(X: Array, y: Array) -> Callable[[], Array]:
    """vsbo's shares."""
    optimizer = optimizer_of(X, y)
    return lambda: optimizer.importance().shares


def forest(X: Array, y: Array) -> Callable[[], Array]:
    """The impurity importance of a random forest."""
    from sklearn.ensemble import RandomForestRegressor

    def scores() -> Array:
        found: Array = RandomForestRegressor(TREES, random_state=0).fit(X, y).feature_importances_
        return found

    return scores


def fanova(X: Array, y: Array) -> Callable[[], Array]:
    """Optuna's fANOVA."""
    from optuna.importance import FanovaImportanceEvaluator

    return _optuna(X, y, FanovaImportanceEvaluator(seed=0))


def ped_anova(X: Array, y: Array) -> Callable[[], Array]:
    """Optuna's PED-ANOVA, its default."""
    from optuna.importance import PedAnovaImportanceEvaluator

    return _optuna(X, y, PedAnovaImportanceEvaluator())


def _optuna(X: Array, y: Array, evaluator: Any) -> Callable[[], Array]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize")
    names = [f"x{j}" for j in range(X.shape[1])]
    distributions: dict[str, Any] = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in names}
    study.add_trials(
        [
            optuna.create_trial(
                params=dict(zip(names, x.tolist(), strict=True)), distributions=distributions, value=float(value)
            )
            for x, value in zip(X, y, strict=True)
        ]
    )

    def scores() -> Array:
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
        return np.array([float(found[name]) for name in names])

    return scores


METHODS: dict[str, Callable[[Array, Array], Callable[[], Array]]] = {
    "vsbo": ours, "Optuna PED-ANOVA": ped_anova, "random forest": forest, "Optuna fANOVA": fanova,
}  # fmt: skip


def cells() -> list[Row]:
    """What is varied."""
    return [
        {"kind": kind, "D": D, "n": n, "noise": 0.25, "method": method}
        for D, n, kind, method in product((100, 500), (100, 200), KINDS, METHODS)
    ]


def measure(cell: Row, seed: int) -> Row:
    """One function, one method. The points are ready; only the importance is timed."""
    function = draw(cell["kind"], cell["D"], seed)
    X, y = evaluated(function, "uniform", cell["n"], cell["noise"], seed)
    scores = METHODS[cell["method"]](X, y)
    wall, cpu = time.perf_counter(), time.process_time()
    found = scores()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    precision = average_precision(found, np.isin(np.arange(cell["D"]), function.relevant))
    return {**cell, "seed": seed, "precision": round(precision, 5), "seconds": round(wall, 3), "cpu": round(cpu, 3)}


def average_precision(scores: Array, relevant: Any) -> float:
    """The area under the precision-recall curve: the mean, over relevant variables, of the precision at their rank.

    Among equal scores a relevant variable comes last: a method that cannot tell them apart gains nothing.
    """
    order = np.lexsort((relevant, -scores))
    hits = relevant[order]
    return float(np.mean((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits]))


def summary(rows: list[Row]) -> Row:
    """Of the rows of a method in a cell."""
    return {
        "functions": len(rows),
        "precision": float(np.mean([row["precision"] for row in rows])),
        "seconds": float(np.median([row["seconds"] for row in rows])),
        "cpu": float(np.median([row["cpu"] for row in rows])),
    }
