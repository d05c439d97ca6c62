"""The sampler is in the package vsbo, and so are its tests; here it gets the name under which OptunaHub knows it."""

from vsbo.interfaces.optuna import VSBOImportanceEvaluator, VSBOSampler

__all__ = ["VSBOImportanceEvaluator", "VSBOSampler"]
