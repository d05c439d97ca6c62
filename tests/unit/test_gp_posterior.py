"""The posterior against the textbook formula and central differences; the appended row against a refit."""

import numpy as np
import pytest

from tests.unit.test_gp_likelihood import KERNELS, data, slow_covariance, slow_kernel
from vsbo.gp import Hyperparameters, condition

MAINS = [(), (1,), (0, 2)]


def theta_at(log_scale, d=3, main=()):
    log_theta = log_scale + np.linspace(-0.3, 0.4, d + 2)
    return Hyperparameters.from_log(np.append(log_theta, 0.4) if main else log_theta, main)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("mean", ["constant", "zero"])
@pytest.mark.parametrize("main", MAINS)
def test_mean_and_deviation_are_the_textbooks(kernel, mean, main):
    X, y = data()
    theta = theta_at(-0.5, main=main)
    Z = np.random.default_rng(1).random((4, 3))
    M_inverse = np.linalg.inv(slow_covariance(kernel, X, theta))
    k = slow_kernel(kernel, Z, X, theta)
    one = np.ones(len(y))
    m = (one @ M_inverse @ y) / (one @ M_inverse @ one) if mean == "constant" else 0.0
    posterior = condition(X, y, theta, kernel, mean)
    mu, sigma = posterior.predict(Z)
    np.testing.assert_allclose(mu, m + k @ M_inverse @ (y - m), rtol=1e-9)
    np.testing.assert_allclose(sigma**2, theta.variance - np.einsum("ij,jk,ik->i", k, M_inverse, k), rtol=1e-8)
    np.testing.assert_allclose(posterior.mean(Z), mu, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("log_scale", [-2.0, 0.0, 1.5])
@pytest.mark.parametrize("main", MAINS)
def test_gradients_are_those_of_central_differences(kernel, log_scale, main):
    X, y = data()
    posterior = condition(X, y, theta_at(log_scale, main=main), kernel)
    Z = np.random.default_rng(2).random((5, 3))
    mu, sigma, d_mu, d_sigma = posterior.gradients(Z)
    np.testing.assert_allclose(np.array(posterior.predict(Z)), [mu, sigma], rtol=1e-12)
    h = 1e-6
    for j in range(3):
        step = h * np.eye(3)[j]
        up, down = posterior.predict(Z + step), posterior.predict(Z - step)
        np.testing.assert_allclose(d_mu[:, j], (up[0] - down[0]) / (2 * h), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(d_sigma[:, j], (up[1] - down[1]) / (2 * h), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(posterior.deviation_and_slope(Z)[1], d_mu, rtol=1e-10)
    np.testing.assert_allclose(posterior.slope(Z), d_mu, rtol=1e-10)


def test_batch_is_the_loop():
    X, y = data()
    posterior = condition(X, y, theta_at(0.0), "matern52")
    Z = np.random.default_rng(3).random((6, 3))
    batch = posterior.gradients(Z)
    for i, z in enumerate(Z):
        for whole, one in zip(batch, posterior.gradients(z[None, :]), strict=True):
            np.testing.assert_allclose(whole[i], one[0], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("main", [(), (1,), (0, 1, 2)])
@pytest.mark.parametrize("numbers", [1, 30, 100])
def test_work_in_small_pieces_is_the_same(main, numbers, monkeypatch):
    X, y = data()
    Z = np.random.default_rng(4).random((9, 3))

    def everything():
        posterior = condition(X, y, theta_at(-0.5, main=main), "matern52")
        return posterior.L, *posterior.gradients(Z), *posterior.predict(Z), posterior.slope(Z)

    whole = everything()
    for module in ("kernel", "posterior"):
        monkeypatch.setattr(f"vsbo.gp.{module}.BATCH", numbers)
    for one, other in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("main", [(), (0, 7)])
def test_single_precision_is_good_enough_to_rank_points(main):
    """Close to the data, where it loses most."""
    rng = np.random.default_rng(5)
    X = rng.random((100, 20))
    X[50:] = X[0] + 0.02 * rng.normal(size=(50, 20))
    theta = Hyperparameters(np.full(20, 0.8), 1.0, 1e-3, 0.1 * bool(main), main)
    posterior = condition(X, rng.normal(size=100), theta, "matern52")
    rough = posterior.rough()
    assert rough.U.dtype == rough.L.dtype == np.float32
    Z = X[40:60] + 0.01 * rng.normal(size=(20, 20))
    (mu, sigma), (rough_mu, rough_sigma) = posterior.predict(Z), rough.predict(Z)
    np.testing.assert_allclose(rough_sigma, sigma, rtol=2e-3)
    np.testing.assert_allclose(rough_mu, mu, atol=1e-2)
    exact = condition(X, posterior.y, Hyperparameters(theta.lengthscales, 1.0, 1e-6), "matern52")
    assert exact.rough() is exact


@pytest.mark.parametrize("main", MAINS)
def test_no_points_have_no_values(main):
    posterior = condition(*data(), theta_at(0.0, main=main), "matern52")
    nowhere = np.empty((0, 3))
    assert [len(part) for part in (posterior.mean(nowhere), *posterior.gradients(nowhere))] == [0] * 5


@pytest.mark.parametrize("mean", ["constant", "zero"])
@pytest.mark.parametrize("main", MAINS)
def test_an_appended_row_is_a_refit(mean, main):
    X, y = data(n=20)
    theta = theta_at(-1.0, main=main)
    grown = condition(X[:15], y[:15], theta, "matern52", mean)
    for x, value in zip(X[15:], y[15:], strict=True):
        grown = grown.extend(x, value)
    whole = condition(X, y, theta, "matern52", mean)
    np.testing.assert_allclose(grown.L, whole.L, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(grown.alpha, whole.alpha, rtol=1e-6, atol=1e-8)
    assert grown.m == pytest.approx(whole.m, rel=1e-8)
    Z = np.random.default_rng(4).random((5, 3))
    np.testing.assert_allclose(grown.predict(Z), whole.predict(Z), rtol=1e-7)


def test_appending_a_noiseless_duplicate_climbs_the_jitter_ladder():
    X, y = data()
    theta = Hyperparameters(np.full(3, 0.5), 1.0, 0.0)
    posterior = condition(X, y, theta, "matern52").extend(X[0], y[0])
    assert np.isfinite(posterior.predict(X)).all()


def test_believing_in_the_mean_changes_only_the_deviation():
    X, y = data()
    posterior = condition(X, y, theta_at(-0.5), "matern52")
    x = np.array([0.3, 0.9, 0.1])
    more = posterior.extend(x, posterior.mean(x[None])[0])
    Z = np.random.default_rng(5).random((20, 3))
    np.testing.assert_allclose(more.mean(Z), posterior.mean(Z), rtol=1e-8)
    assert (more.predict(Z)[1] <= posterior.predict(Z)[1] + 1e-12).all()
    assert more.predict(x[None])[1][0] < 0.9 * posterior.predict(x[None])[1][0]


def test_it_interpolates_and_returns_to_the_mean():
    X, y = data()
    posterior = condition(X, y, Hyperparameters(np.full(3, 0.5), 1.0, 1e-8), "matern52")
    np.testing.assert_allclose(posterior.mean(X), y, atol=1e-5)
    mu, sigma = posterior.predict(np.full((1, 3), 1e3))
    assert mu[0] == pytest.approx(posterior.m)
    assert sigma[0] == pytest.approx(1.0)
