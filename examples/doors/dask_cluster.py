"""Dask: a study on a cluster. python dask_cluster.py [evaluations] [tcp://scheduler:8786]"""

import sys
import time
from typing import Any

from distributed import LocalCluster

from vsbo import Real, Space, Study
from vsbo.interfaces.dask import connect


def simulate(params: dict[str, Any]) -> float:
    """Takes its time; goes to the workers by name or, from a script as here, by cloudpickle."""
    time.sleep(0.05)
    return float((params["x3"] - 0.7) ** 2 + params["x11"])


def run(address: str, budget: int) -> None:
    """As many evaluations at a time as the cluster has threads; a worker that dies costs nothing."""
    space = Space({f"x{j}": Real(0, 1) for j in range(20)})
    with connect(address) as client, Study.open("dask.db", space, direction="minimize", seed=0) as study:
        outcome = study.run(simulate, budget, executor=client)
        best = study.best
        important = [variable.name for variable in study.importance().important]
        print(f"{outcome.reason}; best {best.y if best else None}; important: {important}")


def main(budget: int, address: str | None) -> None:
    """Without an address, on a cluster of two processes here."""
    if address is not None:
        run(address, budget)
        return
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:  # type: ignore[no-untyped-call, unused-ignore]
        run(cluster.scheduler_address, budget)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60, sys.argv[2] if len(sys.argv) > 2 else None)
