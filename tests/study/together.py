"""`python -m tests.study.together PATH NAME TIMES`: asks and tells so many times, and prints what it told."""

import json
import sys

from vsbo import Config, KnownKernel, Space, Study

SPACE = Space.box(4)
#: "many": no fits, so that hundreds of suggestions take seconds; "whole": everything the method does.
CONFIGS = {
    "many": Config.gp_ucb(KnownKernel(0.4), n_raw=16, n_restarts=1),
    "whole": Config.paper(n_initial=4, select_every=6, n_importance=50, n_raw=16, n_restarts=1),
}


def main():
    path, name, times = sys.argv[1:]
    told = []
    # Created by whoever comes first.
    with Study.open(path, SPACE, seed=3, config=CONFIGS[name], name=name) as study:
        for _ in range(int(times)):
            trial = study.ask()
            y = float(((trial.x - 0.3) ** 2).sum())
            study.tell(trial, y)
            told.append((trial.number, trial.x.tolist(), y))
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
