"""The methods by name."""

from functools import partial

from benchmarks.errors import BenchError
from benchmarks.methods.baselines import Cma, Random, Sobol
from benchmarks.methods.dropout import dropout
from benchmarks.methods.embeddings import hesbo, rembo, rembo_interleave
from benchmarks.methods.engine import CONFIGS, engine
from benchmarks.methods.hsic import hsic_selection
from benchmarks.methods.method import Factory, Method, Report, Spent
from benchmarks.methods.turbo import Turbo
from benchmarks.methods.workers import EIGHT, Workers
from benchmarks.peers import PEERS

__all__ = ["METHODS", "Factory", "Method", "Report", "Spent", "method"]

METHODS: dict[str, Factory] = {
    **{name: partial(engine, config) for name, config in CONFIGS.items()},
    "rembo": rembo,
    "rembo-interleave": rembo_interleave,
    **{f"hesbo-{d}": partial(hesbo, d) for d in (4, 6, 10)},
    "hsic": hsic_selection,
    "dropout": dropout,
    "turbo": Turbo,
    "cma": Cma,
    "random": Random,
    "sobol": Sobol,
    **PEERS,
}
METHODS |= {f"{name}-8-workers": partial(Workers, METHODS[name], EIGHT) for name in ("vsbo", "vanilla", "turbo")}


def method(name: str) -> Factory:
    """The factory of that name; a BenchError lists the names there are."""
    if name not in METHODS:
        raise BenchError(f"there is no method {name!r}; known are {', '.join(sorted(METHODS))}")
    return METHODS[name]
