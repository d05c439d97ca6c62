"""A process of the test with two of them: python -m tests.doors.optuna.worker URL TRIALS"""

import sys
import time

import optuna

from tests.doors.optuna.common import REALS, SMALL, reals
from vsbo.interfaces.optuna import VSBOSampler


def main(url, trials):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(storage=url, study_name="study", sampler=VSBOSampler(REALS, seed=0, config=SMALL))

    def objective(trial):
        value = reals(trial)
        time.sleep(0.02)
        return value

    study.optimize(objective, n_trials=int(trials))


if __name__ == "__main__":
    main(*sys.argv[1:])
