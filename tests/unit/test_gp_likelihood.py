"""The likelihood against SciPy's multivariate normal, its gradient against central differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from vsbo import linalg
from vsbo.gp.fit import SHARES
from vsbo.gp.kernel import KERNELS as PROFILES
from vsbo.gp.likelihood import Hyperparameters, Likelihood
from vsbo.gp.prior import prior_for

KERNELS = ["matern52", "squared_exponential"]


def slow_correlation(kernel, x, z, lengthscales):
    """One entry, as the paper writes it (appendix B)."""
    distance = np.sqrt(sum(((a - b) / s) ** 2 for a, b, s in zip(x, z, lengthscales, strict=True)))
    if kernel == "squared_exponential":
        return np.exp(-0.5 * distance**2)
    return (1 + np.sqrt(5) * distance + 5 / 3 * distance**2) * np.exp(-np.sqrt(5) * distance)


def slow_covariance(kernel, X, theta):
    return slow_kernel(kernel, X, X, theta) + theta.noise * np.eye(len(X))


def slow_kernel(kernel, X, Z, theta):
    def entry(x, z):
        main = [slow_correlation(kernel, x[[j]], z[[j]], theta.lengthscales[[j]]) for j in theta.main]
        return theta.outputscale * slow_correlation(kernel, x, z, theta.lengthscales) + theta.mainscale * sum(main)

    return np.array([[entry(x, z) for z in Z] for x in X])


def data(n=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def differences(likelihood, log_theta, h=1e-5):
    """The gradient by central differences."""
    steps = h * np.eye(len(log_theta))
    return [(likelihood(log_theta + step)[0] - likelihood(log_theta - step)[0]) / (2 * h) for step in steps]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("log_scale", [-2.0, 0.0, 1.5])
def test_zero_mean_likelihood_is_scipys(kernel, log_scale):
    X, y = data()
    log_theta = log_scale + np.array([0.1, -0.2, 0.3, 0.2, -0.4])
    theta = Hyperparameters.from_log(log_theta)
    expected = -multivariate_normal(np.zeros(len(y)), slow_covariance(kernel, X, theta)).logpdf(y)
    value, _ = Likelihood(X, y, kernel, "zero")(log_theta)
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_constant_mean_is_the_one_that_maximizes_scipys_likelihood(kernel):
    from scipy.optimize import minimize_scalar

    X, y = data()
    y = y + 7.0
    log_theta = np.array([-0.5, 0.2, 1.0, 0.3, -2.0])
    M = slow_covariance(kernel, X, Hyperparameters.from_log(log_theta))
    best = minimize_scalar(lambda m: -multivariate_normal(np.full(len(y), m), M).logpdf(y), bracket=(6, 8))
    value, _ = Likelihood(X, y, kernel, "constant")(log_theta)
    assert value == pytest.approx(best.fun, rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("mean", ["constant", "zero"])
@pytest.mark.parametrize("prior", ["none", "dimension_scaled", "alike"])
@pytest.mark.parametrize("log_scale", [-2.0, 0.0, 1.5])
def test_gradient_is_that_of_central_differences(kernel, mean, prior, log_scale):
    X, y = data()
    likelihood = Likelihood(X, y, kernel, mean, prior_for(prior, 3))
    log_theta = log_scale + np.array([0.1, -0.2, 0.3, 0.2, -0.4])
    np.testing.assert_allclose(likelihood(log_theta)[1], differences(likelihood, log_theta), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("main", [(1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("share", [-3.0, 0.5, 3.0, SHARES[1]])
def test_main_effects(kernel, main, share):
    X, y = data()
    log_theta = np.array([0.1, -0.9, 0.3, 0.2, -1.4, share])
    theta = Hyperparameters.from_log(log_theta, main)
    np.testing.assert_allclose(theta.to_log(), log_theta, rtol=1e-12)
    assert theta.variance == pytest.approx(np.exp(0.2))
    expected = -multivariate_normal(np.zeros(len(y)), slow_covariance(kernel, X, theta)).logpdf(y)
    assert Likelihood(X, y, kernel, "zero", main=main)(log_theta)[0] == pytest.approx(expected, rel=1e-10)
    likelihood = Likelihood(X, y, kernel, "constant", prior_for("dimension_scaled", 3, main=True), main)
    np.testing.assert_allclose(likelihood(log_theta)[1], differences(likelihood, log_theta), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_write_into_arrays_with_gaps(kernel):
    """np.negative (NumPy 2.4.6) does not, where every eighth number is read: it made a correlation of 3."""
    q = np.linspace(0.0, 9.0, 40)
    k, h = np.empty((2, 40, 8))[..., 0]
    PROFILES[kernel](q.copy(), k, h, None)
    expected = [slow_correlation(kernel, [x], [0.0], [1.0]) for x in np.sqrt(q)]
    np.testing.assert_allclose(k, expected, rtol=1e-12)
    close_k, close_h = np.empty((2, 40))
    PROFILES[kernel](q.copy(), close_k, close_h, np.sqrt(q))
    np.testing.assert_allclose(close_k, expected, rtol=1e-12)
    np.testing.assert_allclose(h, close_h, rtol=1e-12)


def test_each_length_scale_has_its_own_derivative():
    """Length-scales that differ by orders of magnitude: a shared or swapped factor would show."""
    X, y = data(n=30, d=4, seed=3)
    likelihood = Likelihood(X, y, "matern52")
    log_theta = np.log([0.1, 0.5, 2.0, 30.0, 1.3, 0.05])
    np.testing.assert_allclose(likelihood(log_theta)[1], differences(likelihood, log_theta), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("main", [(), (0, 2)])
def test_a_covariance_that_does_not_factorize_is_made_anew(main, monkeypatch):
    X, y = data()
    likelihood = Likelihood(X, y, "matern52", main=main)
    log_theta = np.array([0.1, -0.9, 0.3, 0.2, -1.4, *[0.5] * bool(main)])
    value, gradient = likelihood(log_theta)
    real, calls = linalg.lapack.dpotrf, []

    def fails_first(K, **options):
        calls.append(K)
        L, info = real(K, **options)
        return L, info or len(calls) == 1

    monkeypatch.setattr(linalg.lapack, "dpotrf", fails_first)
    again = likelihood(log_theta)  # with the least jitter
    assert len(calls) == 2
    assert again[0] == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(again[1], gradient, rtol=1e-6)


@pytest.mark.parametrize(("n", "main"), [(12, (0, 2)), (30, (1,)), (12, ()), (7, (0, 1, 2))])
def test_likelihoods_that_take_turns_do_not_see_each_other(n, main):
    def another(n, main):
        return Likelihood(*data(n), "matern52", main=main), np.array([0.1, -0.9, 0.3, 0.2, -1.4, *[0.5] * bool(main)])

    likelihood, log_theta = another(n, main)
    value, gradient = likelihood(log_theta)
    for other, at in (another(5, (0,)), another(40, (0, 1, 2)), another(20, ())):
        other(at)
        again = likelihood(log_theta)
        assert again[0] == value
        np.testing.assert_array_equal(again[1], gradient)


def test_a_call_leaves_nothing_behind_for_the_next():
    X, y = data()
    likelihood = Likelihood(X, y, "matern52")
    a, b = np.zeros(5), np.full(5, -0.7)
    first = likelihood(a)
    likelihood(b)
    again = likelihood(a)
    assert first[0] == again[0]
    np.testing.assert_array_equal(first[1], again[1])


def test_no_tensor_of_n_n_d():
    """Memory of one evaluation at n = 200, d = 400: a (n, n, d) tensor would be 128 MB."""
    import tracemalloc

    X, y = np.random.default_rng(0).random((200, 400)), np.zeros(200)
    tracemalloc.start()
    Likelihood(X, y + X[:, 0], "matern52")(np.zeros(402))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6


def test_duplicate_points_are_no_hazard():
    X, y = data()
    X = np.vstack([X, X])
    value, gradient = Likelihood(X, np.r_[y, y], "matern52")(np.array([0.0, 0, 0, 0, np.log(1e-4)]))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_the_prior_prefers_what_botorchs_log_normals_prefer():
    """Theirs are densities of l and s, which are maximized as such: along log l and log s the same function."""
    from scipy.stats import lognorm

    prior = prior_for("dimension_scaled", 7)
    a, b = np.random.default_rng(0).normal(size=(2, 9))
    a[7] = b[7] = 0.3  # the variance of f has no prior

    def log_density(log_theta):
        scales, noise = np.exp(log_theta[:7]), np.exp(log_theta[8])
        location = np.sqrt(2) + np.log(7) / 2
        return np.sum(lognorm(s=np.sqrt(3), scale=np.exp(location)).logpdf(scales)) + lognorm(
            s=1.0, scale=np.exp(-4.0)
        ).logpdf(noise)

    ours = prior.negative_log_density(a)[0] - prior.negative_log_density(b)[0]
    assert ours == pytest.approx(log_density(b) - log_density(a))


def test_alike_length_scales_are_near_the_distance_of_random_points_but_for_a_few():
    from scipy.stats import norm, t

    prior = prior_for("alike", 7)
    a, b = np.random.default_rng(0).normal(scale=2.0, size=(2, 9))
    a[7] = b[7] = 0.3  # the variance of f has no prior
    pairs = np.random.default_rng(1).random((2, 4000, 7))
    apart = np.sqrt(np.mean(np.sum((pairs[0] - pairs[1]) ** 2, axis=1)))
    assert prior.center[0] == pytest.approx(np.log(apart), abs=0.02)

    def log_density(log_theta):
        scales = t(df=4, loc=np.log(7 / 6) / 2, scale=0.5).logpdf(log_theta[:7])
        return np.sum(scales) + norm(-5.0, 1.0).logpdf(log_theta[8])

    ours = prior.negative_log_density(a)[0] - prior.negative_log_density(b)[0]
    assert ours == pytest.approx(log_density(b) - log_density(a))
