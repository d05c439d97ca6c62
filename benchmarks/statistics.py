"""What the tables and figures say about recorded runs: pure functions of arrays. Larger values are better."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 10_000  # the ends of a 95 % interval then repeat to about 2 % of its width


class Interval(NamedTuple):
    """From low to high; both nan where the values say nothing about their spread: one alone, or one without bound."""

    low: float
    high: float


def bootstrap_interval(values: Array, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """A confidence interval of the mean of `values` (n,), by resampling them.

    Plain percentiles are too narrow for few values: they take the deviation with n instead of n - 1, and the normal
    quantile instead of Student's. Percentiles Phi(-+ sqrt(n / (n - 1)) t_{n-1}) mend both (Hesterberg 2015, "expanded
    percentile"). Below five values no resampling can be wide enough: the interval is then about their range.
    """
    n = len(values)
    if n < 2 or not np.all(np.isfinite(values)):
        return Interval(np.nan, np.nan)
    tail = stats.norm.cdf(-np.sqrt(n / (n - 1)) * stats.t.ppf((1 + level) / 2, n - 1))
    chosen = np.random.default_rng(seed).integers(n, size=(resamples, n))
    low, high = np.quantile(np.asarray(values)[chosen].mean(axis=1), [tail, 1 - tail])
    return Interval(float(low), float(high))


@dataclass(frozen=True)
class Paired:
    """Differences over n shared seeds: their mean, its interval, how many are positive, Wilcoxon's two-sided p."""

    n: int
    difference: float
    interval: Interval
    positive: int
    p: float


def paired(first: dict[int, float], second: dict[int, float]) -> Paired | None:
    """first - second, values by seed, over the seeds that both have; None if they share none.

    Without any success a value is -inf, and as good as another such one.
    """
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        return None
    differences = np.array([0.0 if first[seed] == second[seed] else first[seed] - second[seed] for seed in seeds])
    # With nothing but zeros the signed ranks are undefined; there is then no evidence of a difference at all.
    p = float(stats.wilcoxon(differences).pvalue) if np.any(differences) else 1.0
    mean, interval = float(differences.mean()), bootstrap_interval(differences)
    return Paired(len(seeds), mean, interval, int(np.sum(differences > 0)), p)


def ranks(scores: Array) -> Array:
    """Ranks of scores (k,): 1 for the largest, the mean rank for equals, nan where the score is nan."""
    ranked: Array = stats.rankdata(-np.asarray(scores), nan_policy="omit")
    return ranked


def average_ranks(scores: Array) -> tuple[Array, NDArray[np.intp]]:
    """Of scores (problems, methods): each method's mean rank over the problems it has a score on, and their number."""
    each = np.array([ranks(row) for row in scores]).reshape(np.shape(scores))
    count = np.sum(~np.isnan(each), axis=0)
    average: Array = np.where(count > 0, np.nansum(each, axis=0) / np.maximum(count, 1), np.nan)
    return average, count


class Had(NamedTuple):
    """The best value at `evaluations` evaluations, which may be fewer than were asked for."""

    value: float
    evaluations: int


def best_at(best: Array, initial: int, evaluations: int) -> Had:
    """The best value after the initial points and so many more; the last one of a run that has fewer. best: (n,)."""
    n = min(len(best), initial + evaluations)
    return Had(float(best[n - 1]), max(0, n - initial)) if n else Had(np.nan, 0)


def evaluations_to(best: Array, initial: int, target: float) -> int | None:
    """Evaluations after the initial ones until best (n,) reaches the target: 0 if one of those did, None if never."""
    reached = np.flatnonzero(np.asarray(best) >= target)
    return max(0, int(reached[0]) + 1 - initial) if len(reached) else None


def median_reached(needed: Sequence[float | None]) -> float:
    """The median over runs of what each needed, where None needed more than can be said: inf if that is the median."""
    return float(np.median([np.inf if each is None else each for each in needed])) if needed else np.nan
