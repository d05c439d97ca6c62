"""BoTorch: one GP fitted from scratch to all points before each ask, one point from `optimize_acqf`.

The settings of `optimize_acqf` are those of BoTorch's own examples in many dimensions: 10 restarts, 512 raw points.
Every model standardizes y and sees x in the unit cube.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from botorch.acquisition import ExpectedImprovement, LogExpectedImprovement
from botorch.exceptions.warnings import OptimizationWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.map_saas import AdditiveMapSaasSingleTaskGP, EnsembleMapSaasSingleTaskGP
from botorch.optim import optimize_acqf
from botorch.optim.fit import fit_gpytorch_mll_scipy
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.errors import NotPSDError

from . import Array, Start

RESTARTS, RAW = 10, 512

#: Of standardized y; the paper's authors' program.
NOISE_FLOOR = 1e-4


class Botorch:
    """fit: makes the model of X (n, D) and Y (n, 1). acquisition: takes it and the best value."""

    def __init__(
        self,
        fit: Callable[[Any, Any, int], Any],
        acquisition: Callable[..., Any],
        *,
        D: int,
        seed: int,
        budget: int,
    ) -> None:
        self._fit, self._acquisition, self._seed = fit, acquisition, seed
        self._bounds = torch.tensor([[0.0] * D, [1.0] * D], dtype=torch.double)
        self._X: list[Array] = []
        self._y: list[float] = []

    def ask(self) -> Array:
        """Fit, and maximize the acquisition."""
        X, Y = torch.tensor(np.array(self._X)), torch.tensor(self._y, dtype=torch.double)[:, None]
        model = self._fit(X, Y, self._seed + len(X))
        found, _ = optimize_acqf(
            self._acquisition(model, best_f=Y.max()),
            bounds=self._bounds,
            q=1,
            num_restarts=RESTARTS,
            raw_samples=RAW,
        )
        x: Array = found[0].detach().numpy()
        return x

    def tell(self, x: Array, y: float) -> None:
        """Kept until the next ask."""
        self._X.append(x)
        self._y.append(y)


def default(X: Any, Y: Any, seed: int) -> Any:
    """BoTorch's default: squared exponential with dimension-scaled length-scale priors."""
    return _maximum_likelihood(SingleTaskGP(X, Y))


class Paper:
    """As in the paper: Matern-5/2 with one length-scale a variable and an output scale, no priors.

    One L-BFGS-B from GPyTorch's own start (0.693 for all), as in the authors' program. Without priors the output scale
    may grow until no factorization succeeds; then the model keeps the parameters of the last fit that did. (BoTorch's
    usual way draws other starts from the priors, of which there are none, and ends the run.)
    """

    def __init__(self) -> None:
        self._parameters: dict[str, Any] | None = None

    def __call__(self, X: Any, Y: Any, seed: int) -> Any:
        """The model of X (n, D) and Y (n, 1)."""
        model = self._unfitted(X, Y)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", OptimizationWarning)
                fit_gpytorch_mll_scipy(ExactMarginalLogLikelihood(model.likelihood, model))
            model.eval()
            model.posterior(X)  # factorizes
            self._parameters = {name: value.detach().clone() for name, value in model.named_parameters()}
        except NotPSDError:
            model = self._unfitted(X, Y)
            if self._parameters is not None:
                model.load_state_dict(self._parameters, strict=False)
        return model.eval()

    def _unfitted(self, X: Any, Y: Any) -> Any:
        return SingleTaskGP(
            X,
            Y,
            covar_module=ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=X.shape[1])),
            likelihood=GaussianLikelihood(noise_constraint=GreaterThan(NOISE_FLOOR)),
        )


def paper(**told: Any) -> Botorch:
    """Vanilla BO as the paper had it."""
    return Botorch(Paper(), ExpectedImprovement, **told)


def map_saas(X: Any, Y: Any, seed: int) -> Any:
    """One GP whose kernel is the sum of four with SAAS priors, each with its own drawn global shrinkage."""
    return _maximum_likelihood(AdditiveMapSaasSingleTaskGP(X, Y))


def map_saas_ensemble(X: Any, Y: Any, seed: int) -> Any:
    """Four GPs with a SAAS prior each, with drawn global shrinkage; the acquisition is averaged over them."""
    return _maximum_likelihood(EnsembleMapSaasSingleTaskGP(X, Y))


def _maximum_likelihood(model: Any) -> Any:
    """Fit by the marginal likelihood, times the priors where the model has any."""
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


METHODS: dict[str, Start] = {
    "botorch": partial(Botorch, default, LogExpectedImprovement),
    "botorch-paper": paper,
    "map-saas": partial(Botorch, map_saas, LogExpectedImprovement),
    "map-saas-ensemble": partial(Botorch, map_saas_ensemble, LogExpectedImprovement),
}
