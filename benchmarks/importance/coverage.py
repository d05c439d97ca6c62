"""Do 90 % intervals hold the true share 90 times of 100, and are variables without effect left alone?"""

import time
from itertools import product
from typing import Any

import numpy as np

from benchmarks.importance.functions import KINDS, draw
from benchmarks.importance.points import evaluated, optimizer_of

Row = dict[str, Any]
#: Half the side of the box around the best point: that of `vsbo`.
REACH = 0.1


def cells(where: str) -> list[Row]:
    """What is varied. Searches cost more, and are fewer."""
    Ds, ns = ((20, 100, 500), (100, 200)) if where == "uniform" else ((20, 100), (100, 200))
    return [
        {"where": where, "kind": kind, "D": D, "n": n, "noise": noise}
        for D, n, kind, noise in product(Ds, ns, KINDS, (0.0, 0.25))
    ]


def measure(cell: Row, seed: int) -> Row:
    """One function, and what is said of its variables."""
    function = draw(cell["kind"], cell["D"], seed)
    X, y = evaluated(function, cell["where"], cell["n"], cell["noise"], seed)
    optimizer = optimizer_of(X, y)
    wall, cpu = time.perf_counter(), time.process_time()
    found = optimizer.importance()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    truth = function.shares
    local = function.local_shares(X[int(np.argmax(y))], REACH, np.random.default_rng(seed))
    relevant = list(function.relevant)
    others = [one for one in found.variables if one.index not in relevant]
    return {
        **cell,
        "seed": seed,
        "seconds": round(wall, 3),
        "cpu": round(cpu, 3),
        "relevant": [
            {
                "truth": round(float(truth[j]), 5),
                "share": round(found[j].share, 5),
                "interval": [round(found[j].low, 5), round(found[j].high, 5)],
                "probability": round(found[j].probability, 4),
                "local_truth": round(float(local[j]), 5),
                "local_interval": [round(found[j].local_low, 5), round(found[j].local_high, 5)],
            }
            for j in relevant
        ],
        "others": len(others),
        "others_covered": sum(one.low <= 0.0 for one in others),
        "others_called": sum(one.important for one in others),
    }


def summary(rows: list[Row]) -> Row:
    """Of the rows of a cell."""
    relevant = [one for row in rows for one in row["relevant"]]
    others = sum(row["others"] for row in rows)
    called = sum(row["others_called"] for row in rows)
    found = sum(one["probability"] >= 0.5 for one in relevant)
    inside = [one["interval"][0] - 5e-6 <= one["truth"] <= one["interval"][1] + 5e-6 for one in relevant]
    near = [
        one["local_interval"][0] - 5e-6 <= one["local_truth"] <= one["local_interval"][1] + 5e-6 for one in relevant
    ]
    return {
        "functions": len(rows),
        "coverage": float(np.mean(inside)),
        "too low": float(np.mean([one["truth"] > one["interval"][1] for one in relevant])),
        "width": float(np.mean([one["interval"][1] - one["interval"][0] for one in relevant])),
        "local coverage": float(np.mean(near)),
        "others' coverage": sum(row["others_covered"] for row in rows) / others,
        "found": found / len(relevant),
        "falsely called": called / others,
        "false of called": called / max(called + found, 1),
        "seconds": float(np.median([row["seconds"] for row in rows])),
        "cpu": float(np.median([row["cpu"] for row in rows])),
    }
