"""Ax: a Client whose generation strategy is our node. python ax_client.py [trials]"""

import sys
from typing import Any

import ax
from ax.generation_strategy.generation_strategy import GenerationStrategy

from vsbo.interfaces.ax import VSBONode


def loss(params: dict[str, Any]) -> float:
    """Twenty parameters, of which three decide."""
    return float(abs(params["x3"] - 0.3) + abs(params["x7"] - 0.6) + (params["kind"] != "b"))


def main(trials: int) -> None:
    """Ask Ax, tell Ax; what is between is ours."""
    client = ax.Client()
    client.configure_experiment(
        parameters=[
            *(ax.RangeParameterConfig(name=f"x{j}", parameter_type="float", bounds=(0, 1)) for j in range(19)),
            ax.ChoiceParameterConfig(name="kind", parameter_type="str", values=["a", "b", "c"], is_ordered=False),
        ]
    )
    client.configure_optimization(objective="-loss")
    client.set_generation_strategy(GenerationStrategy(name="vsbo", nodes=[VSBONode(seed=0)]))
    for _ in range(trials):
        for index, params in client.get_next_trials(max_trials=1).items():
            client.complete_trial(index, {"loss": loss(params)})
    best, *_ = client.get_best_parameterization(use_model_predictions=False)
    print(f"best loss {loss(best):.4f} with {best['kind']!r}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
