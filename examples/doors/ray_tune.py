"""Ray Tune: a Tuner whose OptunaSearch has our sampler. python ray_tune.py [samples]"""

import sys
from typing import Any

import ray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from ray import tune
from ray.tune.search.optuna import OptunaSearch

from vsbo.interfaces.optuna import VSBOSampler


def train(config: dict[str, Any]) -> dict[str, float]:
    """Twenty parameters, of which three decide."""
    return {"loss": abs(config["rate"] - 0.01) * 10 + (config["kind"] != "b") + config["x3"]}


def main(samples: int) -> None:
    """The sampler gets the space, too: otherwise it would have to learn it from the first trial."""
    space: dict[str, BaseDistribution] = {f"x{j}": FloatDistribution(0, 1) for j in range(18)}
    space |= {"rate": FloatDistribution(1e-5, 1, log=True), "kind": CategoricalDistribution(["a", "b", "c"])}
    search = OptunaSearch(space, sampler=VSBOSampler(space, seed=0), metric="loss", mode="min")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    tuner = tune.Tuner(
        train,
        tune_config=tune.TuneConfig(search_alg=search, num_samples=samples, max_concurrent_trials=2),
        run_config=tune.RunConfig(verbose=0),
    )
    best = tuner.fit().get_best_result("loss", "min")
    print(f"best loss {best.metrics['loss']:.4f} with {best.config['kind']!r}, rate {best.config['rate']:.3g}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
