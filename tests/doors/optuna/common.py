"""What the tests of the Optuna door share."""

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

from vsbo import Config
from vsbo.interfaces.optuna import VSBOSampler

#: The whole method, at little cost.
SMALL = Config(selection="momentum", n_initial=4, select_every=6, n_importance=100, n_raw=64, n_restarts=2)

REALS = {f"x{j}": FloatDistribution(-1.0, 2.0) for j in range(6)}
MIXED = {
    "lr": FloatDistribution(1e-5, 1.0, log=True),
    "half": FloatDistribution(-1.0, 2.25, step=0.25),
    "layers": IntDistribution(2, 12),
    "even": IntDistribution(-4, 10, step=2),
    "units": IntDistribution(1, 4096, log=True),
    "kind": CategoricalDistribution(["relu", "tanh", None, 3, True]),
}


def reals(trial):
    return sum((trial.suggest_float(name, one.low, one.high) - 0.3) ** 2 for name, one in REALS.items())


def mixed(trial):
    """Asks for every distribution of MIXED in its own way."""
    lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
    half = trial.suggest_float("half", -1.0, 2.25, step=0.25)
    layers = trial.suggest_int("layers", 2, 12)
    even = trial.suggest_int("even", -4, 10, step=2)
    units = trial.suggest_int("units", 1, 4096, log=True)
    kind = trial.suggest_categorical("kind", ["relu", "tanh", None, 3, True])
    return abs(lr - 0.01) + (half - 0.5) ** 2 + abs(layers - 5) + abs(even) + units / 4096 + (kind != "tanh")


def storage(kind, folder):
    """A storage of that kind; called again, the same one, read anew (but in memory there is nothing to read)."""
    if kind == "memory":
        return InMemoryStorage()
    if kind == "journal":
        return JournalStorage(JournalFileBackend(str(folder / "journal.log")))
    return RDBStorage(f"sqlite:///{folder / 'study.db'}")


def study(where=None, sampler=None, **more):
    return optuna.create_study(
        storage=where, study_name="study", load_if_exists=True, sampler=sampler or VSBOSampler(REALS, seed=0), **more
    )


def params(trials):
    return [trial.params for trial in trials]
