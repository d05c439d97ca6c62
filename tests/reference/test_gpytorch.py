"""The Gaussian process against GPyTorch's, log-EI against BoTorch's. Needs torch: `scripts/test --torch`."""

import numpy as np
import pytest

from vsbo.acquisition import log_expected_improvement
from vsbo.config import Config
from vsbo.data import standardize
from vsbo.gp import Hyperparameters, condition, fit
from vsbo.gp.likelihood import Likelihood

# Warnings of the peers are not ours to answer for.
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]


def data(n=40, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, standardize(np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n))


def gpytorch_model(kernel, X, y, theta, mean):
    import gpytorch
    import torch

    torch.set_default_dtype(torch.float64)
    d = X.shape[1]
    base = (
        gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=d)
        if kernel == "matern52"
        else gpytorch.kernels.RBFKernel(ard_num_dims=d)
    )

    class Model(gpytorch.models.ExactGP):
        def __init__(self, X, y, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(base)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-8))
    model = Model(torch.as_tensor(X), torch.as_tensor(y), likelihood)
    model.covar_module.base_kernel.lengthscale = torch.as_tensor(np.array(theta.lengthscales))
    model.covar_module.outputscale = theta.outputscale
    likelihood.noise = theta.noise
    model.mean_module.constant.data.fill_(mean)
    return model, likelihood


@pytest.mark.parametrize("kernel", ["matern52", "squared_exponential"])
@pytest.mark.parametrize("log_scale", [-2.0, 0.0, 1.5])
def test_likelihood_and_posterior_are_gpytorchs(kernel, log_scale):
    import gpytorch
    import torch

    X, y = data()
    theta = Hyperparameters.from_log(log_scale + np.array([0.1, -0.3, 0.2, 0.4, 0.3, -0.2]))
    posterior = condition(X, y, theta, kernel)
    model, likelihood = gpytorch_model(kernel, X, y, theta, posterior.m)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    with gpytorch.settings.fast_computations(log_prob=False, covar_root_decomposition=False, solves=False):
        model.train()
        theirs = -float(mll(model(*model.train_inputs), model.train_targets)) * len(y)
        ours, _ = Likelihood(X, y, kernel)(theta.to_log())
        assert ours == pytest.approx(theirs, rel=1e-8)
        model.eval()
        Z = np.random.default_rng(1).random((20, X.shape[1]))
        with torch.no_grad():
            predicted = model(torch.as_tensor(Z))
        mu, sigma = posterior.predict(Z)
        np.testing.assert_allclose(mu, predicted.mean.numpy(), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(sigma, predicted.stddev.numpy(), rtol=1e-5)


def test_gradients_of_the_likelihood_are_autograds():
    import gpytorch
    import torch

    X, y = data()
    theta = Hyperparameters.from_log(np.array([-1.0, -0.3, 0.2, 1.4, 0.3, -2.2]))
    model, likelihood = gpytorch_model("matern52", X, y, theta, condition(X, y, theta, "matern52").m)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    model.train()
    (-mll(model(*model.train_inputs), model.train_targets) * len(y)).backward()
    kernel = model.covar_module
    for ours, raw, constraint, value in [
        (
            slice(0, 4),
            kernel.base_kernel.raw_lengthscale,
            kernel.base_kernel.raw_lengthscale_constraint,
            theta.lengthscales,
        ),
        (4, kernel.raw_outputscale, kernel.raw_outputscale_constraint, theta.outputscale),
        (5, likelihood.raw_noise, likelihood.noise_covar.raw_noise_constraint, theta.noise),
    ]:
        x = raw.detach().clone().requires_grad_(True)
        constraint.transform(x).sum().backward()
        by_log = (raw.grad / x.grad).numpy().ravel() * np.ravel(value)  # chain rule: softplus, then log
        np.testing.assert_allclose(Likelihood(X, y, "matern52")(theta.to_log())[1][ours], np.squeeze(by_log), rtol=1e-5)
    assert isinstance(raw, torch.Tensor)


def test_log_ei_is_botorchs_in_all_tails():
    import torch
    from botorch.acquisition.analytic import _log_ei_helper

    z = np.r_[-np.logspace(-3, 6, 200)[::-1], np.logspace(-3, 2, 100)]
    ours = log_expected_improvement(z, np.ones_like(z), 0.0)[0]
    np.testing.assert_allclose(ours, _log_ei_helper(torch.as_tensor(z)).numpy(), rtol=1e-9, atol=1e-12)


def test_our_fits_are_no_worse_than_botorchs():
    """Without priors the likelihood has several optima; of two local searches neither always finds the best.

    On data like these our two starts miss it in 4 % of cases: two misses in six would come once in 50 times.
    """
    import gpytorch
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP

    torch.set_default_dtype(torch.float64)
    gaps = []
    for seed in range(6):
        X, y = data(n=60, d=6, seed=seed)
        model = SingleTaskGP(
            torch.as_tensor(X),
            torch.as_tensor(y)[:, None],
            covar_module=gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=6)),
            likelihood=gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-4)),
            outcome_transform=None,
        )
        fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
        theirs = Hyperparameters(
            model.covar_module.base_kernel.lengthscale.detach().numpy().ravel(),
            float(model.covar_module.outputscale),
            float(model.likelihood.noise),
        )
        gaps.append(fit(X, y, Config.paper()).loss - Likelihood(X, y, "matern52")(theirs.to_log())[0])
    assert np.median(gaps) <= 1e-3
    assert sum(gap > 0.1 for gap in gaps) <= 1
