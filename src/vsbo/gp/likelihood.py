"""The negative log marginal likelihood and its gradient, in closed form and without an (n, n, d) tensor.

    NLL = 1/2 (y - m)' M^-1 (y - m) + 1/2 log det M + n/2 log 2 pi         (paper, appendix B)

The constant mean is not a parameter of the search: for given M its best value is m = 1'M^-1 y / 1'M^-1 1, and at
the best value the derivative of the NLL through m is zero, so the other derivatives are those for fixed m.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import blas

from vsbo.arrays import Array, frozen
from vsbo.config import KernelName, MeanName
from vsbo.gp.choices import APART, owners, spread
from vsbo.gp.kernel import ALONG, KERNELS
from vsbo.gp.prior import Prior
from vsbo.linalg import cholesky, inverse


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Of the covariance a K(x, z) + b sum_(j in main) K_j(x_j, z_j), and s more where x and z are one observation.

    l (d,) length-scales of K and K_j alike; a, b and s are variances: of what all variables do together, of each main
    effect, of the noise. main: which variables have a main effect of their own. squeezed: whether it is the covariance
    of squeezed values (`data.squeeze`). failure_noise: the variance v that an observation has besides s if the
    evaluation failed, since nobody knows what that is worth; 0 where no failure was doubted.
    """

    lengthscales: Array
    outputscale: float
    noise: float
    mainscale: float = 0.0
    main: tuple[int, ...] = ()
    squeezed: bool = False
    failure_noise: float = 0.0

    @property
    def variance(self) -> float:
        """Of f anywhere, before any observation: a + b |main|."""
        return self.outputscale + self.mainscale * len(self.main)

    @property
    def main_ratio(self) -> float:
        """b / a: a main effect's variance over that of what all variables do together."""
        return self.mainscale / self.outputscale

    def to_log(self) -> Array:
        """(d + 2,): log l, log of the variance of f, log s; with main effects, their share w of that variance, as
        log (w / (1 - w)); where failures are doubted, log v.
        """
        shares = [len(self.main) * self.mainscale / self.outputscale] if self.main else []
        doubts = [self.failure_noise] if self.failure_noise > 0.0 else []
        log_theta: Array = np.log(np.r_[self.lengthscales, self.variance, self.noise, shares, doubts])
        return log_theta

    @classmethod
    def from_log(cls, log_theta: Array, main: tuple[int, ...] = (), doubted: bool = False) -> "Hyperparameters":
        """The inverse of `to_log`; doubted: whether log v comes last."""
        d = len(log_theta) - 2 - bool(main) - doubted
        scales, variance, noise = np.exp(log_theta[:d]), float(np.exp(log_theta[d])), float(np.exp(log_theta[d + 1]))
        share = _share(log_theta[d + 2]) if main else 0.0
        b, v = share * variance / max(len(main), 1), float(np.exp(log_theta[-1])) if doubted else 0.0
        return cls(frozen(scales), (1.0 - share) * variance, noise, b, main, failure_noise=v)

    def columns(self, variables: Sequence[int]) -> "Hyperparameters":
        """The same, for some of the variables, in ascending order."""
        main = tuple(i for i, j in enumerate(variables) if j in self.main)
        return replace(self, lengthscales=frozen(self.lengthscales[list(variables)]), main=main)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Hyperparameters":
        """From plain values, as an event has them."""
        later = {name: plain[name] for name in ("mainscale", "squeezed", "failure_noise") if name in plain}
        scales, main = frozen(plain["lengthscales"]), tuple(plain.get("main", ()))
        return cls(scales, plain["outputscale"], plain["noise"], main=main, **later)


def _share(logit: float) -> float:
    return float(1.0 / (1.0 + np.exp(-logit)))


class _Kept(threading.local):
    """Arrays that are kept from call to call: fresh pages for them cost half an evaluation at n = 200."""

    room = np.empty(0)

    def of(self, count: int, size: int) -> Array:
        """(count, size), whatever it held."""
        if len(self.room) < count * size:
            self.room = np.empty(count * size * 5 // 4)  # a search grows a point at a time
        return self.room[: count * size].reshape(count, size)


_squares, _pairs = _Kept(), _Kept()


class Likelihood:
    """NLL (plus the prior's, if there is one) of X (n, d), y (n,), as a function of log theta as `to_log` has it.
    levels: of choices, as in choices.py. doubted: the observations that have v besides s, if there are any.

    Holds its workspace: four (n, d) arrays, and for each thread what all likelihoods share, since every call fills it
    anew: three (n, n) arrays, Fortran-ordered for BLAS and of symmetric ones the lower triangle only, and of main
    effects 3 numbers a pair of points and one more for each.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        kernel: KernelName,
        mean: MeanName = "constant",
        prior: Prior | None = None,
        main: tuple[int, ...] = (),
        levels: tuple[int, ...] = (),
        doubted: Sequence[int] = (),
    ) -> None:
        self._doubted = np.array(doubted, dtype=np.intp)
        self._main = _MainEffects(X, main, kernel, levels) if main else None
        self._owners = owners(levels) if levels else None
        X = spread(X, levels)
        n, d = X.shape
        # Distances do not see a shift; centred points lose less to rounding in |u|^2 + |v|^2 - 2 u.v.
        self._X = np.asfortranarray(X - X.mean(axis=0))
        self._y = y
        self._profile = KERNELS[kernel]
        self._mean = mean
        self._prior = prior
        self._U1, self._SU = np.ones((n, d + 1), order="F"), np.empty((n, d + 1), order="F")
        self._UU = np.empty((n, d), order="F")
        self._y1 = np.column_stack([y, np.ones(n)]).copy(order="F")
        self.evaluations = 0

    def __call__(self, log_theta: Array) -> tuple[float, Array]:
        """Value and gradient, as long as log_theta. Raises NumericalError where M is not positive definite."""
        doubts = len(self._doubted) > 0
        n, d = len(self._y), len(log_theta) - 2 - (self._main is not None) - doubts
        self.evaluations += 1
        inverse_l, a, s = np.exp(-log_theta[:d]), float(np.exp(log_theta[d])), float(np.exp(log_theta[d + 1]))
        share, v = 0.0 if self._main is None else _share(log_theta[d + 2]), float(np.exp(log_theta[-1]))
        variance, a = a, a * (1.0 - share)

        U = self._U1[:, :-1]
        np.multiply(self._X, inverse_l if self._owners is None else inverse_l[self._owners], out=U)
        squares: list[Array] = [row.reshape(n, n, order="F") for row in _squares.of(3, n * n)]
        q, M, h = squares

        def covariance() -> Array:
            """M, and h beside it: their lower triangles; |u - v|^2 = |u|^2 + |v|^2 - 2 u.v."""
            q.fill(0.0)
            blas.dsyrk(-2.0, U, lower=1, c=q, overwrite_c=1)
            blas.dsyr2(-0.5, np.diagonal(q).copy(), self._y1[:, 1], lower=1, a=q, overwrite_a=1)
            np.abs(q, out=q)  # what is below zero is rounding of it
            self._profile(q, M, h, None)
            np.multiply(M, a, out=M)  # not *=: M is of the function around
            M.ravel("K")[:: n + 1] = a + s
            if doubts:
                M.ravel("K")[self._doubted * (n + 1)] += v
            if self._main is not None:
                self._main.add(M, inverse_l, variance * share)
            return M

        L, _ = cholesky(covariance(), again=covariance)
        log_det = 2.0 * float(np.log(np.diagonal(L)).sum())
        W = inverse(L)
        solved = blas.dsymm(1.0, W, self._y1, lower=1)
        m = float(solved[:, 0].sum() / solved[:, 1].sum()) if self._mean == "constant" else 0.0
        alpha = solved[:, 0] - m * solved[:, 1]
        quadratic = float(alpha @ (self._y - m))
        value = 0.5 * (quadratic + log_det + n * np.log(2.0 * np.pi))

        # dNLL/dt = 1/2 tr(W dM/dt) with W = M^-1 - alpha alpha'. For the variance of f and for s it needs only traces,
        # since M - s I is proportional to the former but for v.
        trace, square_alpha = float(np.diagonal(W).sum()), float(alpha @ alpha)
        gradient = np.empty(len(log_theta))
        gradient[d] = 0.5 * ((n - s * trace) - (quadratic - s * square_alpha))
        gradient[d + 1] = 0.5 * s * (trace - square_alpha)
        if doubts:
            gradient[-1] = 0.5 * v * float((np.diagonal(W)[self._doubted] - alpha[self._doubted] ** 2).sum())
            gradient[d] -= gradient[-1]
        # For all length-scales at once, with S = a W * h:
        # 1/2 sum_ab S_ab (u_aj - u_bj)^2 = (S 1)' u_j^2 - u_j' S u_j.
        W = blas.dsyr(-1.0, alpha, a=W, lower=1, overwrite_a=1)
        h *= W
        SU = blas.dsymm(a, h, self._U1, lower=1, c=self._SU, overwrite_c=1)
        along = SU[:, -1] @ np.multiply(U, U, out=self._UU) - np.einsum("ij,ij->j", SU[:, :-1], U)
        gradient[:d] = along if self._owners is None else np.bincount(self._owners, along, d)

        if self._main is not None:
            self._main.add_gradient(gradient, W, trace - square_alpha, share)

        if self._prior is not None:
            penalty, slope = self._prior.negative_log_density(log_theta)
            return value + penalty, gradient + slope
        return value, gradient


class _MainEffects:
    """b sum_(j in main) K_j in M, and what it adds to the gradient. Works on the n (n - 1) / 2 pairs of points alone, a
    variable at a time, so that what it works on stays in the cache: an exponential a pair and variable is all its cost.
    """

    def __init__(self, X: Array, main: tuple[int, ...], kernel: KernelName, levels: tuple[int, ...]) -> None:
        n, self._d = X.shape
        self._at, self._along = list(main), ALONG[kernel]
        earlier, later = np.triu_indices(n, 1)
        self._below = earlier * n + later  # places in a Fortran-ordered (n, n) matrix
        columns = np.ascontiguousarray(X[:, self._at].T)
        self._apart = columns.take(later, axis=1)
        for column, apart in zip(columns, self._apart, strict=True):
            apart -= column.take(earlier)
        np.abs(self._apart, out=self._apart)
        for j, apart in zip(main, self._apart, strict=True):
            if levels and levels[j]:
                np.multiply(apart > 0.0, APART, out=apart)

    def add(self, M: Array, inverse_l: Array, variance: float) -> None:
        """To the lower triangle of M (n, n), main effects of this variance in all; keeps what the gradient needs."""
        m, pairs = self._apart.shape
        room = _pairs.of(m + 3, pairs)
        self._b, self._hq, (self._sum, added, work) = variance / m, room[:m], room[m:]
        self._sum.fill(0.0)
        for apart, scale, hq in zip(self._apart, inverse_l[self._at], self._hq, strict=True):
            self._along(apart, scale, self._sum, hq, added, work)
        flat = M.ravel("K")
        np.multiply(self._sum, self._b, out=added)
        added += flat.take(self._below)  # twice as fast as += with places
        flat[self._below] = added
        flat[:: len(M) + 1] += variance

    def add_gradient(self, gradient: Array, W: Array, trace: float, share: float) -> None:
        """For log theta, with W (n, n), of which the lower triangle is valid, its trace, and the share w."""
        d, w = self._d, W.ravel("K").take(self._below)
        own = self._b * (float(w @ self._sum) + 0.5 * len(self._at) * trace)  # along log b
        gradient[self._at] += self._b * (self._hq @ w)
        gradient[d + 2] = own - share * gradient[d]
