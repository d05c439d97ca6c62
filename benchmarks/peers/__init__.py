"""The peers by name: real packages, each driven over a pipe in an environment of its own (environments.py).

Nothing is imported before a peer is made, so the table costs nothing where no peer is set up.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.methods.method import Factory
    from benchmarks.peers.client import Peer


def peer(name: str, environment: str, adapter: str) -> "Factory":
    """The factory of the method `name` of an adapter, which runs in that environment."""

    def make(*, D: int, seed: int, budget: int) -> "Peer":
        from benchmarks.errors import BenchError
        from benchmarks.peers import environments
        from benchmarks.peers.client import TIMEOUT, Peer

        if not environments.ready(environment):
            raise BenchError(
                f"{name} needs the environment {environment!r}, which is not set up in "
                f"{environments.folder(environment)}; run `python -m benchmarks setup {environment}`"
            )
        return Peer(
            name,
            python=environments.python(environment),
            module=f"adapters.{adapter}",
            D=D,
            seed=seed,
            budget=budget,
            timeout=PATIENCE.get(name, TIMEOUT),
            versions=environments.versions(environment),
        )

    return make


#: The environment of each method (environments.ENVIRONMENTS) and the file of its adapter.
HOMES: dict[str, tuple[str, str]] = {
    "botorch": ("modern", "botorch"),
    "botorch-paper": ("modern", "botorch"),
    "map-saas": ("modern", "botorch"),
    "map-saas-ensemble": ("modern", "botorch"),
    "saasbo": ("saas", "saasbo"),
    "optuna-tpe": ("modern", "optuna"),
    "optuna-gp": ("modern", "optuna"),
    "smac": ("smac", "smac"),
    "baxus": ("baxus", "baxus"),
    "ax": ("ax", "ax"),
    "hebo": ("hebo", "hebo"),
    "alebo": ("alebo", "alebo"),
    "alebo-4": ("alebo", "alebo"),
    "dragonfly": ("dragonfly", "dragonfly"),
    "dragonfly-ml": ("dragonfly", "dragonfly"),
}

#: Seconds for one answer, where the usual limit is too short.
PATIENCE = {"dragonfly": 3600.0}

PEERS: "dict[str, Factory]" = {name: peer(name, *home) for name, home in HOMES.items()}
