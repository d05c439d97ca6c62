"""As OptunaHub loads it."""

from .sampler import VSBOImportanceEvaluator, VSBOSampler

__all__ = ["VSBOImportanceEvaluator", "VSBOSampler"]
