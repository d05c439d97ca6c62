"""Optuna: a sampler and an importance evaluator.

>>> sampler = VSBOSampler(search_space={"x": FloatDistribution(0, 1), ...}, seed=0)
>>> study = optuna.create_study(sampler=sampler, storage="sqlite:///study.db", load_if_exists=True)
>>> study.optimize(objective, n_trials=200, n_jobs=4)
>>> optuna.visualization.plot_param_importances(study, evaluator=VSBOImportanceEvaluator())
"""

from vsbo.interfaces.extras import needs

with needs("optuna", "optuna"):
    import optuna as _  # noqa: F401

from vsbo.interfaces.optuna.importance import VSBOImportanceEvaluator
from vsbo.interfaces.optuna.sampler import VSBOSampler

__all__ = ["VSBOImportanceEvaluator", "VSBOSampler"]
