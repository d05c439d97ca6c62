"""Selection by dictionaries of losses, importance by closed forms."""

from itertools import pairwise

import numpy as np
import pytest

from vsbo.config import Config
from vsbo.gp import Hyperparameters, condition
from vsbo.selection import Case, NestedModels, backward, case_of, forward, gradient_importance, kl_importance, ranked
from vsbo.selection import select as select_variables


def by_size(*losses):
    """A loss that depends on how many variables there are: L_1, L_2, ..."""
    return lambda variables: losses[len(variables) - 1]


def by_set(losses):
    return lambda variables: losses["".join(sorted("abcdefgh"[v] for v in variables))]


# ------------------------------------------------------------------------------------- Algorithm 2


@pytest.mark.parametrize(
    ("losses", "selected"),
    [
        ((10, 8, 7, 6.95, 0), 3),  # the fourth brings 0.05 < 1/10: stop, whatever comes after
        ((10, 8, 8, 0, 0), 2),  # a drop of zero stops
        ((10, 8, 9, 0, 0), 2),  # a rise stops
        ((10, 12, 11, 10.95, 0), 3),  # the second enters untested, and its rise sets no threshold for the third
        ((10, 8, 7.8, 7.6, 7.4), 5),  # exactly a tenth is enough; nothing stops it: all are selected (note 1)
    ],
)
def test_forward_stops_where_algorithm_2_says(losses, selected):
    chosen, steps = forward(range(5), by_size(*losses))
    assert chosen == tuple(range(selected))
    assert [s.kept for s in steps] == [True] * selected + [False] * (len(steps) - selected)
    assert len(steps) == min(selected + 1, 5)


def test_forward_records_variable_loss_drop_and_reason():
    _, steps = forward((3, 1, 2), lambda v: {1: 5.0, 2: 3.0, 3: 2.99}[len(v)])
    assert [(s.action, s.variable, s.loss, s.kept) for s in steps] == [
        ("add", 3, 5.0, True), ("add", 1, 3.0, True), ("add", 2, 2.99, False)
    ]  # fmt: skip
    assert steps[0].drop is None
    assert steps[1].drop == pytest.approx(2.0)
    assert "tenth" in steps[2].reason


def test_forward_with_one_or_two_variables():
    assert forward((0,), by_size(1.0))[0] == (0,)
    assert forward((1, 0), by_size(1.0, 2.0))[0] == (1, 0)


# ------------------------------------------------------------------------------------- Algorithm 4


def test_inaccurate_keeps_the_leading_run_of_the_previous_set_and_adds_two_untested():
    asked = []

    def loss(variables):
        asked.append(tuple(variables))
        return {3: 10.0, 4: 11.0, 5: 9.0, 6: 8.99}[len(variables)]

    order = (4, 2, 7, 1, 0, 3, 5, 6)  # 4 and 2 lead and were selected before; 0 was too, but behind
    chosen, steps = select_variables(Case.INACCURATE, order, (0, 2, 4), loss, lambda v: pytest.fail("not asked for"))
    assert chosen == (0, 1, 2, 4, 7)
    assert asked[0] == (4, 2, 7)  # no model of the leading run alone is fitted
    assert [s.variable for s in steps] == [7, 1, 0, 3]


def test_inaccurate_without_a_leading_run_is_algorithm_2():
    loss = by_size(10, 8, 7, 6.99, 0)
    order = (1, 0, 2, 3, 4)
    assert (
        select_variables(Case.INACCURATE, order, (0, 3), loss, sorted)[0]
        == select_variables(Case.FIRST, order, (), loss, sorted)[0]
    )


# ------------------------------------------------------------------------------------- Algorithm 5


def test_backward_stops_where_the_loss_rises():
    kept, loss, gap, steps = backward((0, 1, 2, 3), by_size(9.0, 4.0, 3.0, 3.5))
    assert (kept, loss, gap) == ((0, 1, 2), 3.0, 1.0)
    assert [(s.variable, s.kept) for s in steps] == [(3, False), (2, True)]


def test_backward_takes_a_tie_away():
    kept, *_ = backward((0, 1, 2), by_size(900.0, 100.00005, 100.0))
    assert kept == (0, 1)
    kept, *_ = backward((0, 1, 2), by_size(900.0, 100.0002, 100.0))
    assert kept == (0, 1, 2)


def test_backward_to_one_variable_has_no_gap():
    assert backward((2, 0, 1), by_size(1.0, 2.0, 3.0))[:3] == ((2,), 1.0, None)
    assert backward((5,), by_size(1.0))[:3] == ((5,), 1.0, None)


def accurate(order, previous, losses):
    return select_variables(Case.ACCURATE, order, previous, by_set(losses), lambda v: tuple(v))


def test_accurate_removes_then_adds_against_the_gap_where_removal_stopped():
    losses = {"abc": 5.0, "ab": 5.0, "a": 9.0}  # c is a tie and goes; b is worth 4
    losses |= {"abd": 4.7}  # d brings 0.3 < 4 / 10: not enough
    chosen, steps = accurate((0, 3, 1, 2), (0, 1, 2), losses)
    assert chosen == (0, 1)
    assert [(s.action, s.variable, s.kept) for s in steps] == [
        ("remove", 2, False), ("remove", 1, True), ("add", 3, False)
    ]  # fmt: skip
    losses |= {"abd": 4.5, "abde": 4.46, "abdf": 4.0}  # d brings 0.5; then e less than a tenth of that: stop
    assert accurate((0, 3, 1, 4, 5, 2), (0, 1, 2), losses)[0] == (0, 1, 3)


def test_accurate_can_bring_a_removed_variable_back_in_its_turn():
    losses = {"abc": 5.0, "ab": 5.0, "a": 9.0, "abd": 4.0, "abcd": 3.0, "abcde": 2.95}
    assert accurate((3, 2, 0, 1, 4), (0, 1, 2), losses)[0] == (0, 1, 2, 3)


def test_accurate_from_one_variable_adds_its_first_companion_untested():
    losses = {"a": 5.0, "ab": 6.0, "abc": 5.9, "abcd": 5.899}
    # b enters although it does not help; its drop is negative and sets no threshold; d brings under a tenth of c's
    assert accurate((0, 1, 2, 3), (0,), losses)[0] == (0, 1, 2)


# ------------------------------------------------------------------------------------- Algorithm 3


def test_cases():
    D = 4
    assert case_of(np.array([]), np.array([1.0, 2.0]), (0, 1, 2, 3), D) is Case.FIRST
    assert case_of(np.array([5.0]), np.array([9.0]), (0, 1, 2, 3), D) is Case.FIRST  # all were selected
    assert case_of(np.array([1.0, 3.0]), np.array([2.0, 3.5]), (0,), D) is Case.ACCURATE
    assert case_of(np.array([1.0, 3.0]), np.array([3.0]), (0,), D) is Case.INACCURATE  # accurate is strict
    assert case_of(np.array([1.0]), np.array([]), (0,), D) is Case.INACCURATE


# ------------------------------------------------------------------------------------- importance


def model(f, d=4, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    theta = Hyperparameters(np.array([0.5, 0.5] + [50.0] * (d - 2)), 1.0, 1e-3)
    return condition(X, f(X), theta, "matern52")


def test_gradient_importance_is_the_mean_of_the_absolute_slope_over_the_deviation():
    posterior = model(lambda X: np.sin(6 * X[:, 0]) + 0.3 * X[:, 1])
    Z = np.random.default_rng(5).random((3000, 4))
    _, sigma, slope, _ = posterior.gradients(Z)
    plain = np.mean(np.abs(slope) / sigma[:, None], axis=0)
    ours = gradient_importance(posterior, 3000, np.random.default_rng(5))  # the same points, in batches
    np.testing.assert_allclose(ours, plain, rtol=1e-9)
    assert ranked(ours)[:2] == (0, 1)


def test_gradient_importance_sees_what_goes_up_and_down():
    """The signed mean of the paper's text is zero for a symmetric function; the absolute one is not."""
    posterior = model(lambda X: np.cos(2 * np.pi * X[:, 0]) + 0.2 * X[:, 1])
    Z = np.random.default_rng(1).random((5000, 4))
    _, sigma, slope, _ = posterior.gradients(Z)
    assert ranked(np.abs(np.mean(slope / sigma[:, None], axis=0)))[0] == 1  # the text's rule is wrong here
    assert ranked(gradient_importance(posterior, 5000, np.random.default_rng(1)))[0] == 0


def test_kl_importance_is_its_analytic_limit():
    """As the step vanishes, sqrt(2 KL) / step tends to sqrt(mu'^2 / v + v'^2 / (2 v^2)), v the predictive variance."""
    posterior = model(lambda X: np.sin(6 * X[:, 0]) + 0.3 * X[:, 1])
    _, sigma, d_mu, d_sigma = posterior.gradients(posterior.X)
    v = (sigma**2 + posterior.theta.noise)[:, None]
    dv = 2 * sigma[:, None] * d_sigma
    limit = np.mean(np.sqrt(d_mu**2 / v + dv**2 / (2 * v**2)), axis=0)
    np.testing.assert_allclose(kl_importance(posterior, step=1e-6), limit, rtol=2e-2, atol=1e-3)
    np.testing.assert_allclose(kl_importance(posterior), limit, rtol=0.1, atol=0.05)


def test_kl_importance_finds_the_two_variables():
    posterior = model(lambda X: np.sin(6 * X[:, 0]) + X[:, 1])
    assert set(ranked(kl_importance(posterior))[:2]) == {0, 1}


def test_ranking_keeps_the_order_of_equal_scores():
    assert ranked(np.array([1.0, 3.0, 1.0, 3.0, 0.0])) == (1, 3, 0, 2, 4)


# ------------------------------------------------------------------------------------- nested models


def test_nested_models_fit_each_set_once_whatever_its_order(monkeypatch):
    from vsbo.selection import nested

    fits = []
    real = nested.fit
    monkeypatch.setattr(nested, "fit", lambda *a, **k: fits.append(1) or real(*a, **k))
    rng = np.random.default_rng(0)
    X = rng.random((30, 4))
    models = NestedModels(X, X[:, 2] + np.sin(5 * X[:, 0]), Config.paper(), {})
    a = models.loss((2,))
    b = models.loss((2, 0))
    assert models.loss((0, 2)) == b < a
    assert len(fits) == 2


def test_a_variable_without_effect_never_makes_a_nested_model_worse():
    rng = np.random.default_rng(0)
    X = rng.random((40, 6))
    z = np.sin(5 * X[:, 0]) + X[:, 1]
    models = NestedModels(X, z, Config.paper(), {})
    losses = [models.loss(tuple(range(m))) for m in range(1, 7)]
    assert all(later <= earlier + 1e-5 * abs(earlier) for earlier, later in pairwise(losses))


def test_a_model_with_one_variable_fewer_starts_where_the_larger_one_ended():
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    models = NestedModels(X, np.sin(5 * X[:, 0]) + X[:, 1], Config.paper(), {})
    large = models.fit((0, 1, 2))
    small = models.fit((0, 1))
    assert small.start == "warm"
    assert small.evaluations < large.evaluations
