"""Dropout BO (Li et al. 2017): each point is searched along d variables drawn at random.

d and p below are those we know of the publication's experiments; its text was not at hand to check them.
"""

from benchmarks.methods.method import Array
from benchmarks.methods.streams import stream
from benchmarks.methods.subspace import Choice, Subspace, ordered

#: d: variables drawn.
CHOSEN = 5
#: p of Dropout-Mix: the probability that the variables left out are uniform, not copied from the best point.
MIX = 0.1


def random_choice(D: int, seed: int) -> Choice:
    """d of D variables, uniform, other ones at every call."""
    rng = stream(seed, "dropout")

    def choose(X: Array, y: Array) -> tuple[int, ...]:
        return ordered(rng.choice(D, size=min(CHOSEN, D), replace=False))

    return choose


def dropout(*, D: int, seed: int, budget: int) -> Subspace:
    """Dropout-Mix with d = 5, p = 0.1; expected improvement as in all methods here, where the publication has UCB."""
    return Subspace(random_choice(D, seed), MIX, D=D, seed=seed)
