"""Acquisitions against quadrature, differences and high precision; their maximization against SciPy."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm

from vsbo.acquisition import (
    expected_improvement,
    log_expected_improvement,
    maximize,
    over,
    points_within,
    regret_bound,
    start_points,
    theorem_beta,
    thrifty,
    upper_confidence_bound,
)
from vsbo.acquisition.maximize import ascend
from vsbo.config import Smoothness
from vsbo.errors import InputError, NumericalError
from vsbo.gp import Hyperparameters, condition


@pytest.mark.parametrize(("mu", "sigma", "best"), [(0.3, 1.2, 0.1), (-2.0, 0.5, 0.0), (4.0, 0.1, 1.0)])
def test_expected_improvement_is_the_integral_it_stands_for(mu, sigma, best):
    integral, _ = quad(lambda f: (f - best) * norm.pdf(f, mu, sigma), best, mu + 12 * sigma)
    value, *_ = expected_improvement(np.array([mu]), np.array([sigma]), best)
    assert value[0] == pytest.approx(integral, rel=1e-7)
    log_value, *_ = log_expected_improvement(np.array([mu]), np.array([sigma]), best)
    assert log_value[0] == pytest.approx(np.log(integral), rel=1e-7)


@pytest.mark.parametrize("utility", [expected_improvement, log_expected_improvement])
@pytest.mark.parametrize("z", [-60.0, -50.0, -49.0, -10.0, -1.0, -0.5, 0.0, 2.0, 30.0])
@pytest.mark.parametrize("log_sigma", [-2.0, 0.0, 1.5])
def test_derivatives_are_those_of_central_differences(utility, z, log_sigma):
    sigma = np.exp(log_sigma)
    mu, h = z * sigma, 1e-6 * sigma
    _, d_mu, d_sigma = utility(np.array([mu]), np.array([sigma]), 0.0)

    def at(mu, sigma):
        return utility(np.array([mu]), np.array([sigma]), 0.0)[0][0]

    assert d_mu[0] == pytest.approx((at(mu + h, sigma) - at(mu - h, sigma)) / (2 * h), rel=1e-4, abs=1e-9)
    assert d_sigma[0] == pytest.approx((at(mu, sigma + h) - at(mu, sigma - h)) / (2 * h), rel=1e-4, abs=1e-9)


def test_log_ei_is_finite_and_increasing_in_the_far_tails():
    exponents = np.linspace(-100, 100, 401)
    z = np.r_[-(10.0 ** exponents[::-1]), 10.0**exponents]
    value, d_mu, d_sigma = log_expected_improvement(z, np.ones_like(z), 0.0)
    assert np.isfinite(value).all()
    assert np.isfinite(d_mu).all()
    assert np.isfinite(d_sigma).all()
    assert (np.diff(value) >= 0).all()
    away = np.abs(z) > 1e-8  # nearer to zero, steps of z are below the rounding of log EI
    assert (np.diff(value[away]) > 0).all()
    assert (d_mu > 0).all()


def test_log_ei_has_no_seam_where_its_formulas_meet():
    for seam in (-1.0, -50.0):
        z = seam + np.array([-1e-9, 1e-9])
        value, ratio, _ = log_expected_improvement(z, np.ones(2), 0.0)
        assert value[1] - value[0] == pytest.approx(2e-9 * ratio[0], rel=1e-2)
        assert ratio[0] == pytest.approx(ratio[1], rel=1e-7)


def test_log_ei_in_high_precision():
    """Values of log(phi(z) + z Phi(z)) computed with 60 digits."""
    exact = {
        -100.0: -5010.12957880024979,
        -20.0: -206.917838509425098,
        -5.0: -16.7443011626609901,
        3.0: 1.09873966532770777,
    }
    for z, value in exact.items():
        assert log_expected_improvement(np.array([z]), np.ones(1), 0.0)[0][0] == pytest.approx(value, rel=1e-12)


def test_upper_confidence_bound():
    value, d_mu, d_sigma = upper_confidence_bound(np.array([1.0]), np.array([2.0]), 9.0)
    assert (value[0], d_mu[0], d_sigma[0]) == (7.0, 1.0, 3.0)


# --------------------------------------------------------------------------------- Theorem 1


def test_theorem_beta_term_by_term():
    s = Smoothness(delta=0.2, a=1.5, b=0.7, alpha=0.3)
    D, d, t = 10, 3, 4
    c = 0.7 * np.sqrt(np.log(8 * 10 * 1.5 / 0.2))
    expected = 2 * np.log(8 * np.pi**2 * 16 / 0.6) + 14 * np.log(0.3 * 160 * c + 1) + 6 * np.log(160 * c)
    assert theorem_beta(t, D, d, s) == pytest.approx(expected)


def test_theorem_beta_grows_with_t_and_with_the_variables_that_matter():
    s = Smoothness()
    betas = [theorem_beta(t, 20, 5, s) for t in range(1, 50)]
    assert np.all(np.diff(betas) > 0)
    assert theorem_beta(9, 20, 6, s) > theorem_beta(9, 20, 5, s)


def test_regret_bound_without_unimportant_slopes_is_that_of_gp_ucb():
    """Alpha -> 0: the residual vanishes, and the bound goes to zero with N if gamma_N / N does."""
    s = Smoothness(alpha=0.0)
    bounds = [regret_bound(N, 10, 3, s, information_gain=np.log(N), noise=0.01) for N in (10**2, 10**4, 10**8)]
    assert bounds[0] > bounds[1] > bounds[2]
    assert bounds[2] < 0.03
    left = regret_bound(10**8, 10, 3, Smoothness(alpha=0.2), np.log(1e8), 0.01)
    assert left > 0.2 * np.sqrt(np.log(8 * 10 / 0.1)) * 7


def test_theorem_beta_asks_for_no_exploration_where_slopes_are_all_but_impossible():
    assert theorem_beta(1, 1, 1, Smoothness(a=1e-3)) == 0.0
    assert np.isfinite(regret_bound(5, 4, 2, Smoothness(a=1e-6), 1.0, 0.1))


def test_theorem_functions_say_what_is_wrong():
    with pytest.raises(InputError, match="t=0"):
        theorem_beta(0, 5, 2, Smoothness())
    with pytest.raises(InputError, match="noise"):
        regret_bound(3, 5, 2, Smoothness(), 1.0, 0.0)


# --------------------------------------------------------------------------------- maximization


def gp(d=3, n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(5 * X[:, 0]) + np.cos(4 * X[:, 1])
    y = (y - y.mean()) / y.std()
    return condition(X, y, Hyperparameters(np.r_[0.3, 0.4, np.full(d - 2, 3.0)], 1.0, 1e-3), "matern52")


def log_ei_of(posterior):
    best = float(posterior.y.max())
    return over(posterior, lambda mu, sigma: log_expected_improvement(mu, sigma, best))


@pytest.mark.parametrize("d", [2, 6, 50])
@pytest.mark.parametrize("noise", [1e-4, 1e-2])
def test_points_are_ranked_in_single_precision_as_in_double(d, noise):
    """Among points between the data, next to it and on it: whom the one counts among its ten best, the other does."""
    rng = np.random.default_rng(d)
    X = rng.random((150, d))
    y = np.sin(5.0 * X[:, 0]) - X[:, 1] ** 2
    posterior = condition(X, y, Hyperparameters(np.r_[0.2, 0.5, np.full(d - 2, 4.0)], 1.0, noise), "matern52")
    acquisition = log_ei_of(posterior)
    Z = np.vstack([rng.random((300, d)), np.clip(X + rng.normal(0.0, 0.02, X.shape), 0.0, 1.0), X])
    rough, exact = acquisition(Z, False)[0], acquisition(Z, True)[0]
    best = np.argsort(-exact)[:10]
    np.testing.assert_allclose(rough[best], exact[best], atol=0.02)
    assert np.isin(np.argsort(-rough)[:10], np.argsort(-exact)[:12]).all()


@pytest.mark.parametrize("d", [2, 3, 20])
def test_gradient_of_the_acquisition(d):
    acquisition = log_ei_of(gp(d))
    Z = np.random.default_rng(1).random((4, d))
    _, gradient = acquisition(Z, True)
    h = 1e-6
    for j in range(d):
        e = h * np.eye(d)[j]
        numeric = (acquisition(Z + e, True)[0] - acquisition(Z - e, True)[0]) / (2 * h)
        np.testing.assert_allclose(gradient[:, j], numeric, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("d", [2, 3, 20])
@pytest.mark.parametrize("seed", range(3))
def test_the_batch_polish_reaches_what_scipys_l_bfgs_b_reaches(d, seed):
    posterior = gp(d, seed=seed)
    acquisition = log_ei_of(posterior)
    Z = np.random.default_rng(seed).random((5, d))
    polished, values = ascend(acquisition, Z, posterior.theta.lengthscales)
    assert ((polished >= 0) & (polished <= 1)).all()
    np.testing.assert_allclose(values, acquisition(polished, True)[0], rtol=1e-9)
    slow = []
    for z in Z:
        found = minimize(
            lambda z: tuple(-np.squeeze(part) for part in acquisition(z[None], True)), z, jac=True,
            method="L-BFGS-B", bounds=[(0, 1)] * d, options={"ftol": 1e-12, "maxiter": 500},
        )  # fmt: skip
        slow.append(-found.fun)
    # Single starts may end in different local maxima; what counts is the best of them.
    assert values.max() >= max(slow) - 1e-3
    assert (values >= acquisition(Z, True)[0] - 1e-12).all()


def test_the_polish_climbs_a_bent_valley_to_a_corner():
    """A quadratic whose free maximum is outside the cube: the constrained one is known."""
    A = np.array([[2.0, 0.9], [0.9, 1.0]])
    top = np.array([1.5, 0.2])

    def acquisition(Z, with_gradient):
        return -0.5 * np.einsum("ij,jk,ik->i", Z - top, A, Z - top), -(Z - top) @ A

    Z, values = ascend(acquisition, np.random.default_rng(0).random((6, 2)))
    np.testing.assert_allclose(values, -0.14875, atol=1e-4)
    np.testing.assert_allclose(Z, np.tile([1.0, 0.65], (6, 1)), atol=2e-2)


def test_maximize_gives_the_best_first_and_never_less_than_the_incumbent():
    acquisition = log_ei_of(gp())
    rng = np.random.default_rng(0)
    starts, incumbent = rng.random((50, 3)), rng.random((1, 3))
    found = maximize(acquisition, starts, incumbent, restarts=3)
    values = acquisition(found, True)[0]
    assert len(found) == 4 + 50  # and the starts
    assert (np.diff(values[:4]) <= 1e-9).all()
    assert values[0] >= max(acquisition(starts, True)[0].max(), acquisition(incumbent, True)[0].max()) - 1e-9


def test_a_tiny_expected_improvement_is_climbed_all_the_same():
    """EI of about 1e-9 everywhere: absolute tolerances would call every start a maximum."""
    posterior = gp()
    best = float(posterior.y.max()) + 3.0
    acquisition = over(posterior, lambda mu, sigma: expected_improvement(mu, sigma, best))
    starts = np.random.default_rng(0).random((200, 3))
    before = acquisition(starts, True)[0].max()
    assert 0 < before < 1e-3
    assert acquisition(maximize(acquisition, starts, starts[:1], 4), True)[0][0] > 1.05 * before


def test_an_acquisition_that_is_nowhere_finite_is_an_error():
    def acquisition(Z, with_gradient):
        return np.full(len(Z), np.nan), np.zeros_like(Z)

    with pytest.raises(NumericalError, match="not finite"):
        maximize(acquisition, np.random.default_rng(0).random((5, 2)), np.zeros((1, 2)), 2)


def test_rows_with_nan_do_not_spoil_the_others():
    def acquisition(Z, with_gradient):
        value = -((Z - 0.3) ** 2).sum(1)
        return np.where(Z[:, 0] > 0.8, np.nan, value), -2 * (Z - 0.3)

    found = maximize(acquisition, np.array([[0.9, 0.9], [0.1, 0.6]]), np.array([[0.95, 0.2]]), 2)
    np.testing.assert_allclose(found[0], [0.3, 0.3], atol=1e-4)


def test_start_points_are_in_the_cube_half_of_them_near_the_centers():
    centers = np.array([[0.0] * 40, [1.0] * 40])
    points = start_points(centers, 100, np.random.default_rng(0))
    assert points.shape == (100, 40)
    assert ((points >= 0) & (points <= 1)).all()
    near = (points[50:, None, :] == centers[None]).mean(2).max(1)
    assert near.min() > 0.5


def test_within_a_box_the_maximum_is_that_of_the_box():
    posterior = gp(3)
    acquisition = log_ei_of(posterior)
    box = np.array([0.2, 0.5, 0.0]), np.array([0.5, 0.6, 1.0])
    rng = np.random.default_rng(0)
    center = box[0] + (box[1] - box[0]) * 0.5
    starts = points_within(center, box, 200, rng)
    assert ((starts >= box[0]) & (starts <= box[1])).all()
    found = maximize(acquisition, starts, center[None, :], 6, posterior.theta.lengthscales, box)[0]
    assert ((found >= box[0]) & (found <= box[1])).all()
    grid = box[0] + (box[1] - box[0]) * np.random.default_rng(1).random((20_000, 3))
    assert acquisition(found[None, :], True)[0][0] >= acquisition(grid, True)[0].max() - 1e-3


def test_weights_say_which_variables_a_start_moves():
    center, weights = np.full((1, 100), 0.5), np.r_[0.9, np.full(99, 0.1 / 99)]
    local = start_points(center, 2000, np.random.default_rng(0), weights)[1000:]
    moved = (local != 0.5).mean(axis=0)
    assert moved[0] == 1.0  # 20 (0.45 + 0.005) > 1
    assert moved[1:].mean() == pytest.approx(20 * (0.05 / 99 + 0.005), rel=0.05)


def bowl(weights, top):
    """-sum_j weights_j (x_j - top_j)^2: every variable loses by itself what it loses beside the others."""

    def acquisition(Z, with_gradient):
        return -((Z - top) ** 2) @ weights, -2.0 * weights * (Z - top)

    return acquisition


@pytest.mark.parametrize("price", [0.0, 0.01, 0.1, 1.0, 10.0])
def test_what_is_worth_little_stays_where_the_best_point_has_it(price):
    rng = np.random.default_rng(3)
    weights = np.r_[np.zeros(20), 10.0 ** rng.uniform(-4, 1, 30)]
    x, center = rng.random(50), rng.random(50)
    center[7] = x[7]
    acquisition = bowl(weights, x)
    found = thrifty(acquisition, x, center, price)
    losses = weights * (center - x) ** 2
    # The oracle: one variable after the other, the cheapest first, while the price is not exceeded.
    order = np.argsort(losses, kind="stable")
    back = order[np.cumsum(losses[order]) <= price * (1 + 1e-9)][:49]
    np.testing.assert_array_equal(np.flatnonzero(found == center), np.sort(back))
    assert ((found == center) | (found == x)).all()
    assert (found == center)[:20].all()
    assert acquisition(found[None], True)[0][0] >= -price * (1 + 1e-9)
    assert (found != center).any()


def test_thrift_of_a_model_costs_no_more_than_its_price():
    posterior = gp(12)
    acquisition, best = log_ei_of(posterior), posterior.X[np.argmax(posterior.y)]
    starts = start_points(best[None], 200, np.random.default_rng(0))
    x = maximize(acquisition, starts, best[None], 6, posterior.theta.lengthscales)[0]
    moved = []
    for price in (0.0, 0.03, 0.3, 3.0):
        found = thrifty(acquisition, x, best, price)
        lost = (acquisition(x[None], True)[0] - acquisition(found[None], True)[0])[0]
        assert lost <= price
        moved.append(int((found != best).sum()))
    assert moved == sorted(moved, reverse=True)
    assert moved[-1] < moved[0]


def test_thrift_leaves_alone_what_moves_one_variable_or_none():
    acquisition = bowl(np.ones(3), np.ones(3))
    center = np.zeros(3)
    for x in (np.zeros(3), np.array([0.0, 1.0, 0.0])):
        np.testing.assert_array_equal(thrifty(acquisition, x, center, 10.0), x)
