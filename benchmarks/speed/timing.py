"""Timing side by side: contestants take turns, so that a busy minute of the machine hits all of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call. With one thread it is the wall time of an idle machine, and others do not disturb it."""
    began = time.process_time()
    work()
    return time.process_time() - began


def alternate(contestants: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, list[float]]:
    """CPU seconds of each contestant, `repetitions` times in turn, after one turn that is not counted."""
    spent: dict[str, list[float]] = {name: [] for name in contestants}
    for repetition in range(repetitions + 1):
        for name, work in contestants.items():
            seconds = cpu_seconds(work)
            if repetition:
                spent[name].append(seconds)
    return spent


def medians(spent: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each contestant."""
    return {name: median(seconds) for name, seconds in spent.items()}


def covariance_like(n: int) -> Array:
    """A well-conditioned positive definite matrix (n, n), Fortran-ordered: the cost of LAPACK depends on n alone."""
    at = np.linspace(0.0, 1.0, n)
    K = np.exp(-10.0 * np.abs(at[:, None] - at[None, :])) + 0.1 * np.eye(n)
    return np.asfortranarray(K)


def lapack_pair(K: Array) -> None:
    """Cholesky factor and inverse of K, with nothing around them; K itself is left as it is."""
    L, _ = lapack.dpotrf(K, lower=1, clean=0)
    lapack.dpotri(L, lower=1, overwrite_c=1)


def exponents(sizes: Sequence[Sequence[float]], seconds: Sequence[float]) -> tuple[float, ...]:
    """(e_1, ..., e_k) of seconds ~ c s_1^e_1 ... s_k^e_k: least squares in logarithms; sizes (m, k), seconds (m,)."""
    logs = np.log(np.asarray(sizes, dtype=np.float64))
    columns = np.column_stack([np.ones(len(logs)), logs])
    solution, _, rank, _ = np.linalg.lstsq(columns, np.log(np.asarray(seconds)), rcond=None)
    if rank < columns.shape[1]:
        raise ValueError(f"too few different sizes for exponents: {sizes}")
    return tuple(solution[1:].tolist())
