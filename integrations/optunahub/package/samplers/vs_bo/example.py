"""A study of 100 parameters, of which three decide. python example.py [trials]"""

import sys

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """Three of a hundred."""
    x = [trial.suggest_float(f"x{j}", 0, 1) for j in range(100)]
    return (x[7] - 0.3) ** 2 + (x[20] - 0.6) ** 2 + 0.5 * x[33]


def main(trials: int) -> None:
    """With the registry's module."""
    module = optunahub.load_module("samplers/vs_bo")
    study = optuna.create_study(sampler=module.VSBOSampler(seed=0))
    study.optimize(objective, n_trials=trials)
    print(study.best_value)
    print(optuna.importance.get_param_importances(study, evaluator=module.VSBOImportanceEvaluator()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
