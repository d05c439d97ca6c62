"""The problems by name."""

from collections.abc import Callable
from functools import partial

from benchmarks.errors import BenchError
from benchmarks.problems.coco import BBOB
from benchmarks.problems.decorators import crashing, flaky, noisy, shifted, with_unrelated
from benchmarks.problems.hartmann6 import plain_hartmann6, rotated_hartmann6
from benchmarks.problems.held_out import HELD_OUT
from benchmarks.problems.mopta import mopta08
from benchmarks.problems.problem import Problem, permuted
from benchmarks.problems.rover import NOISE, rover60
from benchmarks.problems.synthetic import branin50, hartmann6_50, styblinski_tang4_50
from benchmarks.problems.unseen import UNSEEN
from benchmarks.problems.weighted_lasso import lasso

__all__ = [
    "PROBLEMS",
    "Problem",
    "branin50",
    "crashing",
    "flaky",
    "hartmann6_50",
    "lasso",
    "mopta08",
    "noisy",
    "permuted",
    "plain_hartmann6",
    "problem",
    "rotated_hartmann6",
    "rover60",
    "shifted",
    "styblinski_tang4_50",
    "with_unrelated",
]

PROBLEMS: dict[str, Callable[[], Problem]] = {
    "Branin50": branin50,
    "Hartmann6-50": hartmann6_50,
    "Styblinski-Tang4-50": styblinski_tang4_50,
    "Rotated-Hartmann6-100": rotated_hartmann6,
    "Rover60": rover60,
    "Rover60-noisy": partial(rover60, noise=NOISE),
    "MOPTA08": mopta08,
    "Lasso60": partial(lasso, 60, 3),
    "Lasso100": partial(lasso, 100, 5),
    "Lasso300": partial(lasso, 300, 15),
    "Hartmann6-100": partial(plain_hartmann6, 100),
    "Hartmann6-1000": partial(plain_hartmann6, 1000),
    **HELD_OUT,
    **UNSEEN,
    **BBOB,
}
#: Share of the evaluations that fail by chance, of problems that are flaky.
FAILING = 0.15
_FAILURES: dict[str, Callable[[Problem], Problem]] = {"flaky": partial(flaky, share=FAILING), "crashing": crashing}


def _failing(name: str, kind: str) -> Problem:
    return _FAILURES[kind](PROBLEMS[name]())


PROBLEMS |= {
    f"{name}-{kind}": partial(_failing, name, kind)
    for kind in _FAILURES
    for name in ("Hartmann6-50", "Styblinski-Tang4-50", "Rover60", "MOPTA08")
}


def problem(name: str) -> Problem:
    """The problem of that name; a BenchError lists the names there are."""
    if name not in PROBLEMS:
        raise BenchError(f"there is no problem {name!r}; known are {', '.join(sorted(PROBLEMS))}")
    return PROBLEMS[name]()
