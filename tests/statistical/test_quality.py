"""Quality is a distribution: several seeds, variables permuted so that order cannot help, false-alarm rates stated."""

import multiprocessing
import os

import numpy as np
import pytest

import vsbo
from benchmarks.problems import branin50, hartmann6_50, permuted, styblinski_tang4_50

pytestmark = pytest.mark.slow

SEEDS = range(10)
PROBLEMS = {"hartmann6": hartmann6_50, "branin": branin50, "styblinski_tang4": styblinski_tang4_50}


def one_run(name, seed, config, budget):
    """Best value, and how many of the important variables each selection found."""
    problem = permuted(PROBLEMS[name](), 100 + seed)
    result = vsbo.maximize(problem.f, problem.bounds, budget=budget, rng=seed, config=config)
    hits = [len(problem.important & set(s.active)) for s in result.optimizer.state.selections]
    return result.fun, hits


def over_seeds(name, config, budget, seeds=SEEDS):
    arguments = [(name, seed, config, budget) for seed in seeds]
    with multiprocessing.get_context("spawn").Pool(min(len(seeds), os.cpu_count() or 1)) as pool:
        return pool.starmap(one_run, arguments)


def random_search(name, seed, budget):
    problem = permuted(PROBLEMS[name](), 100 + seed)
    low, high = problem.bounds.T
    X = np.random.default_rng(seed).uniform(low, high, (budget, problem.D))
    return max(problem.f(x) for x in X)


@pytest.fixture(scope="module")
def hartmann6_runs():
    return over_seeds("hartmann6", vsbo.Config.paper(), 205)


def test_the_papers_method_finds_hartmanns_variables(hartmann6_runs):
    """At least 4.5 of 6 on average over the last three selections; the authors' program, over all ten: 4.4.

    Over these seeds we saw 5.8 to 5.9 in three states of the code.
    """
    found = [np.mean(hits[-3:]) for _, hits in hartmann6_runs]
    assert np.mean(found) >= 4.5


def test_the_papers_method_ends_high_on_hartmann6(hartmann6_runs):
    """3.1 or better on average; the authors' program, two runs: 3.22 and 3.24."""
    assert np.mean([best for best, _ in hartmann6_runs]) >= 3.1


def test_it_beats_random_search(hartmann6_runs):
    """Sign test over ten pairs: if it were no better than random search, ten of ten would come once in 1024 times."""
    wins = sum(
        best > random_search("hartmann6", seed, 205) for seed, (best, _) in zip(SEEDS, hartmann6_runs, strict=True)
    )
    assert wins == 10


@pytest.mark.parametrize("name", ["branin", "styblinski_tang4"])
def test_it_beats_random_search_and_finds_the_variables_elsewhere_too(name):
    """Eight of eight: a false alarm once in 256 times for a method that is no better than random search.

    In the last three selections we saw 2.00 of Branin's 2 and 3.96 of Styblinski-Tang4's 4 variables on average.
    """
    seeds = range(8)
    runs = over_seeds(name, vsbo.Config.paper(), 205, seeds)
    assert all(best > random_search(name, seed, 205) for seed, (best, _) in zip(seeds, runs, strict=True))
    assert np.mean([np.mean(hits[-3:]) for _, hits in runs]) >= 0.9 * len(PROBLEMS[name]().important)


def test_the_default_configuration_is_high_early():
    """Six of six above random search: a false alarm once in 64 times. 2.9 on average after 105 evaluations; in three
    runs of the bench we saw 3.34 to 3.58, random search has 2.0.
    """
    seeds = range(6)
    runs = over_seeds("hartmann6", vsbo.Config(), 105, seeds)
    assert all(best > random_search("hartmann6", seed, 105) for seed, (best, _) in zip(seeds, runs, strict=True))
    assert np.mean([best for best, _ in runs]) >= 2.9


def test_main_effects_find_the_other_modes_of_styblinski_tang():
    """A product kernel alone stays in the first mode of two of the four variables, 146 on average; with main effects we
    saw 168 to 173 in three runs of the bench.
    """
    runs = over_seeds("styblinski_tang4", vsbo.Config(), 205, range(4))
    assert np.mean([best for best, _ in runs]) >= 155
