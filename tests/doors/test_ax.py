"""Ax: experiments in which our node proposes. scripts/test --ax; it needs torch."""

import pytest

pytestmark = [pytest.mark.ax, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def ax():
    import logging

    import ax

    logging.getLogger("ax").setLevel(logging.ERROR)
    return ax


def node(**more):
    from vsbo import Config
    from vsbo.interfaces.ax import VSBONode

    config = Config.paper(n_initial=4, select_every=6, n_importance=50, n_raw=64, n_restarts=2)
    return VSBONode(seed=0, config=config, **more)


def client(ax, vsbo_node, objective="-loss", **more):
    from ax.generation_strategy.generation_strategy import GenerationStrategy

    found = ax.Client()
    found.configure_experiment(
        parameters=[
            *(ax.RangeParameterConfig(name=f"x{j}", parameter_type="float", bounds=(-1, 2)) for j in range(4)),
            ax.RangeParameterConfig(name="lr", parameter_type="float", bounds=(1e-4, 1), scaling="log"),
            ax.RangeParameterConfig(name="layers", parameter_type="int", bounds=(1, 9)),
            ax.ChoiceParameterConfig(name="kind", parameter_type="str", values=["a", "b", "c"], is_ordered=False),
        ],
        **more,
    )
    found.configure_optimization(objective=objective)
    found.set_generation_strategy(GenerationStrategy(name="vsbo", nodes=[vsbo_node]))
    return found


def loss(params):
    return sum((params[f"x{j}"] - 0.3) ** 2 for j in range(4)) + abs(params["layers"] - 4) / 9 + (params["kind"] != "b")


@pytest.mark.parametrize("objective", ["-loss", "loss"])
def test_a_client_optimizes(ax, objective):
    mine = node()
    of_ax = client(ax, mine, objective)
    sign = 1 if objective == "-loss" else -1
    for _ in range(30):
        for index, params in of_ax.get_next_trials(max_trials=1).items():
            of_ax.complete_trial(index, {"loss": sign * loss(params)})
    best, *_ = of_ax.get_best_parameterization(use_model_predictions=False)
    assert loss(best) < 0.6
    optimizer = mine._optimizer
    assert [trial.status for trial in optimizer.trials] == ["done"] * 29 + ["pending"]  # the last is told at the next
    assert optimizer.state.selections
    for number, trial in of_ax._experiment.trials.items():
        ours = optimizer.trial(number).params
        assert ours["x0"] == pytest.approx(trial.arm.parameters["x0"], abs=1e-6)
        assert ["a", "b", "c"][ours["kind"]] == trial.arm.parameters["kind"]


def test_pending_failed_and_attached_trials(ax):
    mine = node()
    of_ax = client(ax, mine)
    given = {"x0": 0.1, "x1": 0.1, "x2": 0.1, "x3": 0.1, "lr": 0.01, "layers": 3, "kind": "c"}
    index = of_ax.attach_trial(given)
    of_ax.complete_trial(index, {"loss": loss(given)})
    first = of_ax.get_next_trials(max_trials=3)
    assert len({tuple(params.items()) for params in first.values()}) == 3
    failed, done, _running = first
    of_ax.mark_trial_failed(failed)
    of_ax.complete_trial(done, {"loss": loss(first[done])})
    of_ax.get_next_trials(max_trials=1)
    statuses = [trial.status for trial in mine._optimizer.trials]
    assert statuses == ["done", "failed", "done", "pending", "pending"]
    assert mine._optimizer.trials[0].origin == "given"
    assert mine._optimizer.trials[0].params["layers"] == 3


def test_a_fresh_node_learns_from_the_experiment(ax):
    from ax.generation_strategy.generation_strategy import GenerationStrategy

    of_ax = client(ax, node())
    for _ in range(8):
        for index, params in of_ax.get_next_trials(max_trials=1).items():
            of_ax.complete_trial(index, {"loss": loss(params)})
    fresh = node()
    of_ax.set_generation_strategy(GenerationStrategy(name="again", nodes=[fresh]))
    of_ax.get_next_trials(max_trials=1)
    assert [trial.status for trial in fresh._optimizer.trials] == ["done"] * 8 + ["pending"]
    assert fresh._optimizer.trials[-1].origin == "model"


def test_what_it_cannot_do_is_said(ax):
    from vsbo import InputError

    constrained = client(ax, node(), parameter_constraints=["x0 + x1 <= 1"])
    with pytest.raises(InputError, match="parameter constraints are not supported"):
        constrained.get_next_trials(max_trials=1)
    several = client(ax, node(), "loss, other")
    with pytest.raises(InputError, match="one objective of one metric"):
        several.get_next_trials(max_trials=1)
