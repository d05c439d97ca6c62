"""`python -m tests.study.killed PATH`: runs the study in a child for every line on standard input, until it is killed.

A line is a budget. The child is a fork, which saves the import; it opens the study anew and has nothing of its
predecessors but the file. It writes a letter for each phase as it begins: (o)pen and ask, (e)valuate, (t)ell, (a)sk.
"""

import os
import sys
import time

from vsbo import Config, Space, Study

SPACE = Space.box(10)
CONFIG = Config.paper(n_initial=4, select_every=4, n_importance=50, n_raw=32, n_restarts=1)


def f(x):
    return float(((x - 0.3) ** 2)[:3].sum())


def marked(x):
    mark("e")
    time.sleep(0.005)
    y = f(x)
    mark("t")
    return y


def mark(phase):
    os.write(1, phase.encode())


def work(path, budget):
    mark("o")
    with Study.open(path, SPACE, seed=11, config=CONFIG) as study:
        study.run(marked, budget, callback=lambda progress: mark("a"))


def main():
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                work(sys.argv[1], int(line))
                os._exit(0)
            finally:
                os._exit(1)
        os.write(1, f"[{child}]".encode())
        _, status = os.waitpid(child, 0)
        os.write(1, f"<{os.waitstatus_to_exitcode(status)}>".encode())


if __name__ == "__main__":
    main()
