"""Recorded searches on three problems: `python -m tests.golden.trajectories` records them anew."""

import gzip
import json
from pathlib import Path

from benchmarks.problems import branin50, hartmann6_50, permuted, styblinski_tang4_50
from vsbo import Config, Optimizer, Space, State

FOLDER = Path(__file__).parent
EVALUATIONS = 55

CASES = {
    "hartmann6-paper": (permuted(hartmann6_50(), 1), Config.paper()),
    "branin-default": (permuted(branin50(), 2), Config()),
    # Not every order will do: without priors, after 25 evaluations, the best of many optima hangs on the last bit of
    # NumPy's exponentials, which differs with and without AVX-512 (NPY_DISABLE_CPU_FEATURES makes either).
    "styblinski-mix": (permuted(styblinski_tang4_50(), 8), Config.paper(complement="mix", importance="kl")),
}


def file_of(name: str) -> Path:
    return FOLDER / f"{name}.json.gz"


def record(name: str) -> State:
    problem, config = CASES[name]
    optimizer = Optimizer(Space.from_bounds(problem.bounds), direction="maximize", seed=7, config=config)
    for _ in range(EVALUATIONS):
        trial = optimizer.ask()
        optimizer.tell(trial, problem.f(trial.x))
    return optimizer.state


def load(name: str) -> State:
    return State.from_json(gzip.decompress(file_of(name).read_bytes()).decode())


def main() -> None:
    for name in CASES:
        plain = json.loads(record(name).to_json())
        for event in plain["events"]:
            event.pop("seconds", None)  # times are nobody's golden values
        file_of(name).write_bytes(gzip.compress(json.dumps(plain).encode(), mtime=0))
        print(f"recorded {file_of(name).name}")


if __name__ == "__main__":
    main()
