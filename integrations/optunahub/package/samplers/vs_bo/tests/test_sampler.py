"""The registry's module, loaded as OptunaHub loads it, or as the package of this folder where that is not installed."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import optuna
import pytest
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from vsbo import Config

PACKAGE = Path(__file__).parents[3]
SMALL = Config(n_initial=3, select_every=4, n_importance=50, n_raw=32, n_restarts=1)


def load() -> ModuleType:
    """samplers/vs_bo, from this checkout."""
    try:
        import optunahub

        found: ModuleType = optunahub.load_local_module("samplers/vs_bo", registry_root=str(PACKAGE))
        return found
    except ModuleNotFoundError as error:
        if error.name != "optunahub":
            raise
    name = "optunahub_registry_samplers_vs_bo"
    folder = PACKAGE / "samplers" / "vs_bo"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise FileNotFoundError(folder)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
class TestVSBOSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """Optuna's own cases."""

    @pytest.fixture
    def sampler(self):
        return lambda: load().VSBOSampler(seed=0, config=SMALL)


def test_importance():
    module = load()
    study = optuna.create_study(sampler=module.VSBOSampler(seed=0, config=SMALL))
    study.optimize(lambda trial: trial.suggest_float("a", 0, 1) + 0 * trial.suggest_float("b", 0, 1), n_trials=15)
    shares = optuna.importance.get_param_importances(study, evaluator=module.VSBOImportanceEvaluator(config=SMALL))
    assert list(shares) == ["a", "b"]
