"""loky: a pool of processes that takes any function, lambdas included. python loky_pool.py [evaluations]

mpi4py.futures.MPIPoolExecutor stands in the same place, in a program started as
`mpiexec -n 17 python -m mpi4py.futures program.py`.
"""

import sys

import loky

from vsbo import Real, Space, Study


def main(budget: int) -> None:
    """Two evaluations at a time: the pool says how many it can do."""
    space = Space({f"x{j}": Real(0, 1) for j in range(20)})
    target = 0.7
    with (
        Study.open("loky.db", space, direction="minimize", seed=0) as study,
        loky.ProcessPoolExecutor(max_workers=2) as pool,
    ):
        outcome = study.run(lambda params: (params["x3"] - target) ** 2 + params["x11"], budget, executor=pool)
        best = study.best
        important = [variable.name for variable in study.importance().important]
        print(f"{outcome.reason}; best {best.y if best else None}; important: {important}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
