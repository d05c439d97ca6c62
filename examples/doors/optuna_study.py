"""Optuna: a study with our sampler, which goes on when it is started again. python optuna_study.py [trials]"""

import sys

import optuna
from optuna.importance import get_param_importances
from optuna.trial import Trial

from vsbo.interfaces.optuna import VSBOImportanceEvaluator, VSBOSampler


def objective(trial: Trial) -> float:
    """Thirty parameters of every kind, of which four decide."""
    rate = trial.suggest_float("rate", 1e-5, 1.0, log=True)
    layers = trial.suggest_int("layers", 1, 12)
    kind = trial.suggest_categorical("kind", ["relu", "gelu", "tanh"])
    width = trial.suggest_float("width", 0.0, 2.0, step=0.25)
    others = [trial.suggest_float(f"other{j}", 0, 1) for j in range(26)]
    return abs(rate - 0.01) * 10 + abs(layers - 4) / 4 + (kind != "gelu") + (width - 1.5) ** 2 + 0.001 * sum(others)


def main(trials: int) -> None:
    """The study is in optuna.db, here; all of it can be seen with optuna-dashboard, too."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        storage="sqlite:///optuna.db", study_name="example", load_if_exists=True, sampler=VSBOSampler(seed=0)
    )
    study.optimize(objective, n_trials=trials)
    print(f"{len(study.trials)} trials; best {study.best_value:.4f}")
    for name, share in list(get_param_importances(study, evaluator=VSBOImportanceEvaluator()).items())[:4]:
        print(f"{name:8s} {share:.0%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
