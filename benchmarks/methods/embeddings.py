"""Random linear embeddings: BO in d dimensions, in which every point stands for one of the D-dimensional cube.

The publications search [-1, 1]^D; x of the unit cube is (1 + that) / 2.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods.engine import VANILLA_PAPER, Engine
from benchmarks.methods.method import Array, Report
from benchmarks.methods.streams import stream

#: From the unit cube (d,) of the search to the unit cube (D,) of the problem.
Embedding = Callable[[Array], Array]

#: REMBO's dimension. The paper (section 6) runs 4 and 6 on the synthetic problems, 6 and 10 on the others; 6 is common.
REMBO_D = 6
#: REMBO-Interleave's embeddings (paper, appendix D).
CYCLES = 4


def rembo_map(A: Array) -> Embedding:
    """Wang et al. 2016: x = A z clipped to [-1, 1]^D; A (D, d) standard normal, z in a box around 0.

    The box is that of the program which the paper ran (Metzen's): along each axis of z as far as half of the variables
    stay within their bounds, |z_k| <= median_j 1 / |A_jk|, about 1.5. Wang et al. take sqrt d, 2.4 here, where most
    variables are clipped: with it REMBO was worse than random search on all three synthetic problems (10 seeds).
    """
    reach = np.median(1.0 / np.abs(A), axis=0)

    def embed(v: Array) -> Array:
        x: Array = np.clip(A @ (reach * (2.0 * v - 1.0)), -1.0, 1.0)
        return 0.5 * (1.0 + x)

    return embed


def hesbo_map(h: NDArray[np.intp], s: Array) -> Embedding:
    """Nayebi et al. 2019: z in [-1, 1]^d, x_j = s_j z_h(j); h (D,) in 0..d-1, s (D,) of +-1: always in the box."""

    def embed(v: Array) -> Array:
        x: Array = s * (2.0 * v - 1.0)[h]
        return 0.5 * (1.0 + x)

    return embed


class Embedded:
    """BO in one embedding, or in several of them in turn, each with a model of its own.

    The shared initial points are not in the image of an embedding, so no model here can learn from them: they are
    ignored, and each embedding begins with 5 uniform points of its own, out of the budget.
    The model is vanilla BO's as the paper had it; in few dimensions priors that grow with the dimension change little.
    """

    def __init__(self, d: int, embeddings: list[Embedding], seeds: np.random.Generator) -> None:
        self._searches = [(Engine(VANILLA_PAPER, D=d, seed=int(seeds.integers(2**63))), up) for up in embeddings]
        self._turn = -1
        self._asked: tuple[Array, Array] | None = None

    def ask(self) -> Array:
        """A point (D,) of the next embedding in turn."""
        self._turn = (self._turn + 1) % len(self._searches)
        search, embed = self._searches[self._turn]
        v = search.ask()
        self._asked = (v, embed(v))
        return self._asked[1].copy()

    def tell(self, x: Array, y: float) -> None:
        """The value of the point that was asked for; others are ignored."""
        if self._asked is not None and np.array_equal(x, self._asked[1]):
            self._searches[self._turn][0].tell(self._asked[0], y)
            self._asked = None

    def report(self) -> Report:
        """Seconds by phase of the embedding whose turn it was."""
        return self._searches[self._turn][0].report() if self._turn >= 0 else Report()


def rembo(*, D: int, seed: int, budget: int) -> Embedded:
    """REMBO with d = 6 (or D, if that is less)."""
    return _rembo("rembo", D, seed, 1)


def rembo_interleave(*, D: int, seed: int, budget: int) -> Embedded:
    """Four REMBOs in turn: one of their embeddings may contain the optimum where another does not."""
    return _rembo("rembo-interleave", D, seed, CYCLES)


def _rembo(name: str, D: int, seed: int, cycles: int) -> Embedded:
    d, rng = min(REMBO_D, D), stream(seed, name)
    return Embedded(d, [rembo_map(rng.normal(size=(D, d))) for _ in range(cycles)], rng)


def hesbo(d: int, *, D: int, seed: int, budget: int) -> Embedded:
    """HeSBO with d dimensions (or D, if that is less): hashes and signs are uniform."""
    d, rng = min(d, D), stream(seed, f"hesbo-{d}")
    return Embedded(d, [hesbo_map(rng.integers(d, size=D), rng.choice([-1.0, 1.0], size=D))], rng)
