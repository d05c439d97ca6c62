"""The bench's statistics against slow, obvious versions and SciPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.statistics import (
    average_ranks,
    best_at,
    bootstrap_interval,
    evaluations_to,
    median_reached,
    paired,
    ranks,
)


@pytest.mark.parametrize("n", [10, 20])
def test_bootstrap_interval_covers_the_mean_of_normal_data(n):
    """2000 data sets: the standard error of the coverage is 0.005; 0.935 to 0.965 is three of them around 0.95.

    Plain percentiles cover 0.90 at n = 10 and 0.93 at n = 20, and fail.
    """
    rng = np.random.default_rng(1)
    hits = 0
    for data in rng.normal(3.0, 2.0, size=(2000, n)):
        low, high = bootstrap_interval(data, resamples=1000)
        hits += low <= 3.0 <= high
    assert 0.935 <= hits / 2000 <= 0.965


def test_bootstrap_interval_of_many_values_is_that_of_the_central_limit():
    data = np.random.default_rng(2).exponential(size=400)
    half = 1.96 * data.std(ddof=1) / np.sqrt(400)
    low, high = bootstrap_interval(data)
    assert low == pytest.approx(data.mean() - half, abs=0.1 * half)
    assert high == pytest.approx(data.mean() + half, abs=0.1 * half)


def test_bootstrap_interval_follows_scale_shift_and_is_repeatable():
    data = np.random.default_rng(3).normal(size=12)
    low, high = bootstrap_interval(data)
    assert bootstrap_interval(data) == (low, high)
    assert bootstrap_interval(5.0 + 2.0 * data) == pytest.approx((5 + 2 * low, 5 + 2 * high))
    assert low < data.mean() < high


def test_bootstrap_interval_of_one_value_and_of_equals():
    assert np.isnan(bootstrap_interval(np.array([1.0]))).all()
    assert bootstrap_interval(np.array([2.0, 2.0, 2.0])) == (2.0, 2.0)
    assert bootstrap_interval(np.array([1.0, 4.0])) == (1.0, 4.0)


def exact_signed_rank_p(differences):
    """All 2^n signs: how often the rank sum is at least as far from its middle."""
    order = stats.rankdata(np.abs(differences))
    observed = abs(order[differences > 0].sum() - order.sum() / 2)
    sums = [order[np.array(sign)].sum() for sign in itertools.product([False, True], repeat=len(order))]
    return float(np.mean(np.abs(np.array(sums) - order.sum() / 2) >= observed - 1e-12))


def test_paired_test_uses_shared_seeds_and_is_exact():
    rng = np.random.default_rng(4)
    first = dict(enumerate(rng.normal(0.8, 1.0, 12)))
    second = dict(zip(range(3, 20), rng.normal(0.0, 1.0, 17), strict=True))
    test = paired(first, second)
    differences = np.array([first[seed] - second[seed] for seed in range(3, 12)])
    assert test.n == 9
    assert test.difference == pytest.approx(differences.mean())
    assert test.positive == sum(differences > 0)
    assert test.interval == bootstrap_interval(differences)
    assert test.p == pytest.approx(exact_signed_rank_p(differences))


def test_paired_test_of_equals_and_of_strangers():
    same = {0: 1.0, 1: 2.0}
    assert paired(same, same).p == 1.0
    assert paired(same, {7: 1.0}) is None
    assert paired({0: 2.0}, {0: 1.0}).p == 1.0


def test_a_run_without_a_success_is_the_worst_and_has_no_spread():
    assert np.isnan(bootstrap_interval(np.array([1.0, -np.inf, 2.0]))).all()
    test = paired({0: 1.0, 1: 2.0, 2: -np.inf}, {0: -np.inf, 1: 1.0, 2: -np.inf})
    assert (test.difference, test.positive, test.n) == (np.inf, 2, 3)
    assert np.isnan(test.interval).all()
    assert test.p == paired({0: 9.0, 1: 2.0, 2: 0.0}, {0: 1.0, 1: 1.0, 2: 0.0}).p


def slow_rank(scores, j):
    """1, plus those that are better, plus half of those that are equal."""
    there = [score for score in scores if not np.isnan(score)]
    return 1 + sum(s > scores[j] for s in there) + (sum(s == scores[j] for s in there) - 1) / 2


@given(st.lists(st.one_of(st.integers(-3, 3).map(float), st.just(np.nan)), min_size=1, max_size=8))
def test_ranks_with_ties_and_gaps(scores):
    expected = [np.nan if np.isnan(score) else slow_rank(scores, j) for j, score in enumerate(scores)]
    np.testing.assert_array_equal(ranks(np.array(scores)), expected)


def test_average_ranks_are_over_the_problems_a_method_has():
    scores = np.array([[3.0, 2.0, np.nan, np.nan], [1.0, 1.0, 5.0, np.nan]])
    average, count = average_ranks(scores)
    np.testing.assert_array_equal(average, [(1 + 2.5) / 2, (2 + 2.5) / 2, 1.0, np.nan])
    np.testing.assert_array_equal(count, [2, 2, 1, 0])


def slow_time_to_target(y, initial, target):
    for i in range(len(y)):
        if max(y[: i + 1]) >= target:
            return max(0, i + 1 - initial)
    return None


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12), st.integers(0, 4), st.integers(-6, 6))
def test_evaluations_to_target(y, initial, target):
    best = np.maximum.accumulate(np.array(y, dtype=float))
    assert evaluations_to(best, initial, float(target)) == slow_time_to_target(y, initial, target)


def test_median_where_some_never_arrive():
    assert median_reached([10, None, 20]) == 20
    assert median_reached([10, None, None]) == np.inf
    assert median_reached([10, None]) == np.inf
    assert median_reached([10.0, 20.0]) == 15.0
    assert np.isnan(median_reached([]))


def test_best_value_at_a_number_of_evaluations():
    best = np.array([1.0, 2.0, 2.0, 5.0])
    assert best_at(best, 2, 1) == (2.0, 1)
    assert best_at(best, 2, 2) == (5.0, 2)
    assert best_at(best, 2, 200) == (5.0, 2)
    assert best_at(best, 9, 3) == (5.0, 0)
    assert np.isnan(best_at(np.array([]), 2, 1).value)
