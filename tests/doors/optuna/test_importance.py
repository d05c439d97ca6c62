"""The importance evaluator, in Optuna's own plots."""

import matplotlib as mpl
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.importance import get_param_importances

from tests.doors.optuna.common import REALS, SMALL
from vsbo import InputError, Optimizer
from vsbo.interfaces.optuna import VSBOImportanceEvaluator
from vsbo.interfaces.optuna.axes import Axes


@pytest.fixture(scope="module")
def of_study():
    """Three of forty parameters matter."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), direction="maximize")
    space = {f"x{j}": FloatDistribution(0, 1) for j in range(40)}
    for _ in range(80):
        trial = found.ask(space)
        p = trial.params
        found.tell(trial, 3 * p["x7"] + 2 * p["x20"] ** 2 + abs(p["x33"] - 0.4))
    return found


def test_it_finds_what_matters(of_study):
    shares = get_param_importances(of_study, evaluator=VSBOImportanceEvaluator())
    assert list(shares)[:2] == ["x7", "x20"]
    assert "x33" in list(shares)[:4]
    assert sum(shares.values()) == pytest.approx(1.0)
    assert sum(shares[name] for name in ("x7", "x20", "x33")) > 0.7
    assert list(shares.values()) == sorted(shares.values(), reverse=True)


def test_the_shares_are_those_of_an_optimizer(of_study):
    space = {f"x{j}": FloatDistribution(0, 1) for j in range(40)}
    optimizer = Optimizer(Axes(space).space, seed=0, config=SMALL)
    for trial in of_study.trials:
        optimizer.add(trial.params, trial.value)
    shares = {one.name: one.share for one in optimizer.importance()}
    assert VSBOImportanceEvaluator(config=SMALL).evaluate(of_study) == pytest.approx(shares)


def test_optunas_own_plot_draws_it(of_study):
    mpl.use("Agg")
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        axes = optuna.visualization.matplotlib.plot_param_importances(
            of_study, evaluator=VSBOImportanceEvaluator(), params=["x1", "x7"]
        )
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[-1] == "x7"  # the longest bar is on top


def test_some_parameters_and_another_target(of_study):
    evaluator = VSBOImportanceEvaluator(config=SMALL)
    assert set(evaluator.evaluate(of_study, ["x7", "x1"])) == {"x7", "x1"}
    shares = evaluator.evaluate(of_study, target=lambda trial: trial.params["x3"])
    assert next(iter(shares)) == "x3"


def test_wrong_arguments(of_study):
    evaluator = VSBOImportanceEvaluator()
    for params, says in (("x7", "params must be a list of names"), (["nowhere"], "none has all of \\['nowhere'\\]")):
        with pytest.raises(InputError, match=says):
            evaluator.evaluate(of_study, params)
    several = optuna.create_study(directions=["minimize", "minimize"])
    several.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0), n_trials=3)
    with pytest.raises(InputError, match="target must say which objective counts"):
        evaluator.evaluate(several)
    assert set(evaluator.evaluate(several, target=lambda trial: trial.values[0])) == {"x"}
    changing = optuna.create_study()
    changing.optimize(lambda trial: trial.suggest_float("x0", 0, trial.number + 1), n_trials=3)
    with pytest.raises(InputError, match="one distribution in all trials; that of 'x0' changes"):
        evaluator.evaluate(changing, list(REALS)[:1])
