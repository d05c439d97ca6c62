"""What BoTorch does for one suggestion, with its defaults. Needs torch and botorch; the rows that use it say so."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.speed.timing import Array
from vsbo.gp import Hyperparameters

INSTALL = "`pip install torch==2.13.0` first, then `pip install botorch==0.18.1`"

#: vsbo's names of GPyTorch's kernels.
KERNEL_NAMES = {"RBFKernel": "squared_exponential", "MaternKernel": "matern52"}


def available() -> bool:
    """Whether it is installed."""
    return find_spec("torch") is not None and find_spec("botorch") is not None


def one_thread() -> None:
    """Torch has a pool of its own, which threadpoolctl does not hold back."""
    import torch

    torch.set_num_threads(1)


def seed(number: int) -> None:
    """Of the raw points of `suggest`."""
    import torch

    torch.manual_seed(number)


def default_model(X: Array, y: Array) -> Any:
    """Fit BoTorch's default model (squared exponential, dimension-scaled prior, y standardized within)."""
    import torch
    from botorch.models import SingleTaskGP

    return _fitted(SingleTaskGP(torch.as_tensor(X), torch.as_tensor(y)[:, None]))


def matern_model(X: Array, z: Array, noise_floor: float) -> Any:
    """Fit the model of `Config.paper()`: scaled Matern-5/2, constant mean, no prior; z (n,) is standardized already."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood

    return _fitted(
        SingleTaskGP(
            torch.as_tensor(X),
            torch.as_tensor(z)[:, None],
            likelihood=GaussianLikelihood(noise_constraint=GreaterThan(noise_floor)),
            covar_module=ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=X.shape[1])),
            outcome_transform=None,
        )
    )


def _fitted(model: Any) -> Any:
    from botorch.fit import fit_gpytorch_mll
    from gpytorch.mlls import ExactMarginalLogLikelihood

    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def suggest(model: Any, best: float, restarts: int, n_raw: int) -> Array:
    """The x (d,) that maximizes the logarithm of the expected improvement over `best`."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.optim import optimize_acqf

    d = model.train_inputs[0].shape[-1]
    bounds = torch.stack([torch.zeros(d), torch.ones(d)]).double()
    found, _ = optimize_acqf(
        LogExpectedImprovement(model, best_f=best), bounds=bounds, q=1, num_restarts=restarts, raw_samples=n_raw
    )
    x: Array = found.detach().numpy()[0]
    return x


def hyperparameters(model: Any) -> tuple[str, Hyperparameters]:
    """The kernel's name and the values, on standardized y, as vsbo writes them."""
    kernel, outputscale = model.covar_module, 1.0
    if hasattr(kernel, "outputscale"):
        kernel, outputscale = kernel.base_kernel, float(kernel.outputscale.detach())
    scales = np.array(kernel.lengthscale.detach().numpy().ravel())
    noise = float(model.likelihood.noise.detach())
    return KERNEL_NAMES[type(kernel).__name__], Hyperparameters(scales, outputscale, noise)
