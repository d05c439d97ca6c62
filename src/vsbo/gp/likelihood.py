"""The negative log marginal likelihood and its gradient, in closed form and without an (n, n, d) tensor.

    NLL = 1/2 (y - m)' M^-1 (y - m) + 1/2 log det M + n/2 log 2 pi         (paper, appendix B)

The constant mean is not a parameter of the search: for given M its best value is m = 1'M^-1 y / 1'M^-1 1, and at
the best value the derivative of the NLL through m is zero, so the other derivatives are those for fixed m.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from vsbo.arrays import Array, frozen
from vsbo.config import KernelName, MeanName
from vsbo.gp.kernel import KERNELS
from vsbo.gp.prior import Prior
from vsbo.linalg import cholesky


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """l (d,) length-scales, a output scale, s noise; a and s are variances."""

    lengthscales: Array
    outputscale: float
    noise: float

    def to_log(self) -> Array:
        """(d + 2,): log l, log a, log s."""
        log_theta: Array = np.log(np.r_[self.lengthscales, self.outputscale, self.noise])
        return log_theta

    @classmethod
    def from_log(cls, log_theta: Array) -> "Hyperparameters":
        """The inverse of `to_log`."""
        theta = np.exp(log_theta)
        return cls(frozen(theta[:-2]), float(theta[-2]), float(theta[-1]))

    def columns(self, variables: Sequence[int]) -> "Hyperparameters":
        """The same, for some of the variables."""
        return Hyperparameters(frozen(self.lengthscales[list(variables)]), self.outputscale, self.noise)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Hyperparameters":
        """From plain values, as an event has them."""
        return cls(frozen(plain["lengthscales"]), plain["outputscale"], plain["noise"])


class _Squares(threading.local):
    """Three (n, n) arrays that are kept: fresh pages for them cost half an evaluation at n = 200."""

    room = np.empty((3, 0))

    def of(self, n: int) -> list[Array]:
        """Fortran-ordered; whatever they held."""
        if self.room.shape[1] < n * n:
            self.room = np.empty((3, n * n + n * n // 4))  # a search grows a point at a time
        return [row[: n * n].reshape(n, n, order="F") for row in self.room]


_squares = _Squares()


class Likelihood:
    """NLL (plus the prior's, if there is one) of X (n, d), y (n,), as a function of log theta (d + 2,).

    Holds its workspace: three (n, d) arrays, and for each thread three (n, n) that all likelihoods share, since every
    call fills them anew; Fortran-ordered for BLAS. At n = 200 the products and exponentials then cost about as much as
    the factorization and the inverse themselves.
    """

    def __init__(
        self, X: Array, y: Array, kernel: KernelName, mean: MeanName = "constant", prior: Prior | None = None
    ) -> None:
        n, d = X.shape
        # Distances do not see a shift; centred points lose less to rounding in |u|^2 + |v|^2 - 2 u.v.
        self._X = np.asfortranarray(X - X.mean(axis=0))
        self._y = y
        self._profile = KERNELS[kernel]
        self._mean = mean
        self._prior = prior
        self._left, self._right = np.ones((n, d + 2), order="F"), np.ones((n, d + 2), order="F")
        self._U1 = np.ones((n, d + 1), order="F")
        self._y1 = np.column_stack([y, np.ones(n)]).copy(order="F")
        self.evaluations = 0

    def __call__(self, log_theta: Array) -> tuple[float, Array]:
        """Value and gradient (d + 2,). Raises NumericalError where M is not positive definite."""
        n, d = self._X.shape
        self.evaluations += 1
        inverse_l, a, s = np.exp(-log_theta[:d]), float(np.exp(log_theta[d])), float(np.exp(log_theta[d + 1]))

        U = self._U1[:, :d]
        np.multiply(self._X, inverse_l, out=U)
        square = np.einsum("ij,ij->i", U, U)
        self._left[:, :d], self._left[:, d] = U, square
        np.multiply(U, -2.0, out=self._right[:, :d])
        self._right[:, d + 1] = square
        q, M, h = _squares.of(n)
        blas.dgemm(1.0, self._left, self._right, trans_b=1, c=q, overwrite_c=1)
        np.maximum(q, 0.0, out=q)
        self._profile(q, M, h)
        M *= a
        M.ravel("K")[:: n + 1] = a + s

        L, _ = cholesky(M, spoil=True)
        log_det = 2.0 * float(np.log(np.diagonal(L)).sum())
        inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
        solved = blas.dsymm(1.0, inverse, self._y1, lower=1)
        m = float(solved[:, 0].sum() / solved[:, 1].sum()) if self._mean == "constant" else 0.0
        alpha = solved[:, 0] - m * solved[:, 1]
        quadratic = float(alpha @ (self._y - m))
        value = 0.5 * (quadratic + log_det + n * np.log(2.0 * np.pi))

        # dNLL/dt = 1/2 tr(W dM/dt) with W = M^-1 - alpha alpha'. For a and s it needs only traces, since a K = M - s I.
        trace, square_alpha = float(np.diagonal(inverse).sum()), float(alpha @ alpha)
        gradient = np.empty(d + 2)
        gradient[d] = 0.5 * ((n - s * trace) - (quadratic - s * square_alpha))
        gradient[d + 1] = 0.5 * s * (trace - square_alpha)
        # For all length-scales at once, with S = a W * h:
        # 1/2 sum_ab S_ab (u_aj - u_bj)^2 = (S 1)' u_j^2 - u_j' S u_j. Only lower triangles are valid here: dsymm.
        W = blas.dsyr(-1.0, alpha, a=inverse, lower=1, overwrite_a=1)
        h *= W
        SU = blas.dsymm(a, h, self._U1, lower=1)
        gradient[:d] = SU[:, d] @ (U * U) - np.einsum("ij,ij->j", SU[:, :d], U)

        if self._prior is not None:
            penalty, slope = self._prior.negative_log_density(log_theta)
            return value + penalty, gradient + slope
        return value, gradient
