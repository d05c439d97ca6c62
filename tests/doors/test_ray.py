"""Ray Tune through Optuna's searcher: scripts/test --ray. OptunaSearch's own save and restore need no searcher of ours:
the sampler reads what it knows from the study that they keep.
"""

import os

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]
SEED = 0


@pytest.fixture(scope="module")
def tune(tmp_path_factory):
    # Ray makes its workers nice, and on a busy machine they would wait for minutes.
    os.environ.update(RAY_worker_niceness="0", RAY_AIR_NEW_OUTPUT="0")
    import ray
    from ray import tune

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=10**8)
    yield tune
    ray.shutdown()


def space():
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    return {
        "lr": FloatDistribution(1e-4, 1.0, log=True),
        "layers": IntDistribution(1, 8),
        "kind": CategoricalDistribution(["a", "b"]),
        **{f"x{j}": FloatDistribution(0, 1) for j in range(4)},
    }


def searcher():
    from ray.tune.search.optuna import OptunaSearch

    from vsbo import Config
    from vsbo.interfaces.optuna import VSBOSampler

    config = Config(selection="momentum", n_initial=4, select_every=5, n_importance=50, n_raw=32, n_restarts=1)
    return OptunaSearch(space(), sampler=VSBOSampler(space(), seed=SEED, config=config), metric="loss", mode="min")


def loss(config):
    return abs(config["x0"] - 0.3) + (config["kind"] == "b") + config["layers"] / 8 + config["lr"]


def test_a_real_tuner(tune, tmp_path):
    search = searcher()
    tuner = tune.Tuner(
        lambda config: {"loss": loss(config)},
        tune_config=tune.TuneConfig(search_alg=search, num_samples=14, max_concurrent_trials=2),
        run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
    )
    results = tuner.fit()
    assert len(results) == 14
    assert not results.errors
    best = results.get_best_result("loss", "min")
    assert best.metrics["loss"] == pytest.approx(loss(best.config))
    origins = [origin(trial) for trial in search._ot_study.trials]
    assert origins.count("design") == 4
    assert origins.count("model") == 10


def origin(trial):
    from vsbo.interfaces.optuna.record import Record

    return Record.from_attributes(trial.system_attrs).events[-1].origin


def test_save_and_restore_go_on_with_the_very_same_points(tmp_path):
    one, two = searcher(), searcher()

    def step(search, number):
        config = search.suggest(f"trial-{number}")
        search.on_trial_complete(f"trial-{number}", {"loss": loss(config), "training_iteration": 1})
        return config

    for number in range(11):  # past the first selection
        step(one, number)
    pending = one.suggest("pending")
    one.save(str(tmp_path / "searcher.pkl"))
    two.restore(str(tmp_path / "searcher.pkl"))
    assert two.suggest("pending") == pending
    assert [step(two, number) for number in range(20, 26)] == [step(one, number) for number in range(20, 26)]
