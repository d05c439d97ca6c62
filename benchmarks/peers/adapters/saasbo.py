"""SAASBO: BoTorch's fully Bayesian GP with the SAAS prior, sampled by NumPyro, in the loop of `botorch.py`."""

from functools import partial
from typing import Any

import jax
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_fully_bayesian_model_nuts
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch.models.transforms import Standardize

from . import Start
from .botorch import Botorch

FORGET_EVERY = 10


def saas(X: Any, Y: Any, seed: int) -> Any:
    """NUTS with BoTorch's defaults: 512 steps of warm-up, 256 samples, of which every 16th is kept."""
    model = SaasFullyBayesianSingleTaskGP(X, Y, outcome_transform=Standardize(m=1))
    fit_fully_bayesian_model_nuts(model, disable_progbar=True, seed=seed)
    # What is compiled for n points, 250 MB, never serves n + 1 and is never freed; but forgetting costs 8 s each time.
    if len(X) % FORGET_EVERY == 0:
        jax.clear_caches()
    return model


METHODS: dict[str, Start] = {"saasbo": partial(Botorch, saas, LogExpectedImprovement)}
