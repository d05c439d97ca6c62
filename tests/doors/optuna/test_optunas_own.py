"""Optuna's own test-suite for samplers and importance evaluators, on ours.

Left out, and why:
- MultiObjectiveSamplerTestCase: the sampler is for one objective; its counterpart SingleOnlySamplerTestCase is in.
- ConditionalImportanceEvaluatorTestCase, MultiObjectiveImportanceEvaluatorTestCase: for evaluators that take parameters
  which only some trials have, or several objectives without a target; ours is of the other kind, as fANOVA.
"""

import optuna
import pytest
from optuna.testing.pytest_importance import (
    BasicImportanceEvaluatorTestCase,
    NonConditionalImportanceEvaluatorTestCase,
)
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from vsbo import Config
from vsbo.interfaces.optuna import VSBOImportanceEvaluator, VSBOSampler

#: The method, at little cost: there are hundreds of studies.
SMALL = Config(selection="momentum", n_initial=3, select_every=4, n_importance=50, n_raw=32, n_restarts=1)


@pytest.fixture(autouse=True, scope="module")
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
class TestVSBOSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """Their cases; ours are in test_sampler."""

    @pytest.fixture
    def sampler(self):
        return lambda: VSBOSampler(seed=0, config=SMALL)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
class TestVSBOImportanceEvaluator(BasicImportanceEvaluatorTestCase, NonConditionalImportanceEvaluatorTestCase):
    """Their cases; ours are in test_importance."""

    @pytest.fixture
    def evaluator(self):
        return lambda: VSBOImportanceEvaluator(config=SMALL)
