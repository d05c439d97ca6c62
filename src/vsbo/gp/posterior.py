"""The posterior of f given the data: mean, deviation and their gradients, for one point or a batch.

mu(z)      = m + a k(z)' alpha                                         (paper, section 2)
sigma^2(z) = a - a^2 k(z)' M^-1 k(z)
grad mu    = a (grad k)' alpha
grad sigma = -a^2 (grad k)' M^-1 k / sigma          (appendix B, with the factor k that its text lost)
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vsbo.arrays import Array
from vsbo.config import KernelName, MeanName
from vsbo.gp.kernel import augmented, evaluate
from vsbo.gp.likelihood import Hyperparameters
from vsbo.linalg import cholesky, solve_cholesky, solve_lower

#: Least variance of f, as a part of the output scale: the authors' program floors at 1e-10 on standardized y.
VARIANCE_FLOOR = 1e-10
#: Numbers in a (points, n) array of one batch: below the 128 kB from which the C library takes fresh, unmapped pages
#: for every array. At n = 200 and 512 points that halves the time.
BATCH = 16_000


@dataclass(frozen=True, eq=False)
class Posterior:
    """A Gaussian process given data. `condition` makes one."""

    theta: Hyperparameters
    kernel: KernelName
    mean_name: MeanName
    X: Array
    y: Array
    U: Array
    L: Array
    alpha: Array
    m: float

    @cached_property
    def _right(self) -> Array:
        return augmented(self.U)

    def mean(self, Z: Array) -> Array:
        """mu (k,) at Z (k, d)."""
        k, _ = evaluate(self.kernel, Z / self.theta.lengthscales, self._right)
        return self._mean(k)

    def _mean(self, k: Array) -> Array:
        mu: Array = k @ self.alpha
        mu *= self.theta.outputscale
        mu += self.m
        return mu

    def deviation_and_slope(self, Z: Array) -> tuple[Array, Array]:
        """sigma (k,) and grad mu (k, d) at Z (k, d): what Grad-IS needs."""
        V = Z / self.theta.lengthscales
        k, h = evaluate(self.kernel, V, self._right)
        return self._deviation(self._half(k)), self._slope(h * self.alpha, V)

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """mu (k,) and sigma (k,) at Z (k, d)."""
        V = (Z / self.theta.lengthscales).astype(self.U.dtype, copy=False)
        mu, sigma = np.empty(len(Z)), np.empty(len(Z))
        for rows in self.batches(len(Z)):
            k, _ = evaluate(self.kernel, V[rows], self._right)
            mu[rows], sigma[rows] = self._mean(k), self._deviation(self._half(k))
        return mu, sigma

    def rough(self) -> "Posterior":
        """The same in single precision, for `predict` alone: many points are ranked in half the time."""
        single: dict[str, Any] = {name: getattr(self, name).astype(np.float32) for name in ("U", "L", "alpha")}
        return replace(self, **single)

    def batches(self, k: int) -> Iterator[slice]:
        """Slices of k points, each so small that the work on it stays in the processor's cache."""
        return _batches(k, len(self.y))

    def gradients(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """mu (k,), sigma (k,), grad mu (k, d), grad sigma (k, d) at Z (k, d)."""
        V = Z / self.theta.lengthscales
        k, h = evaluate(self.kernel, V, self._right)
        mu = self._mean(k)
        half = self._half(k)
        sigma = self._deviation(half)
        solved = solve_lower(self.L, half, transposed=True)
        # d sigma = -(a dk)' M^-1 (a k) / sigma; where the floor holds, sigma is constant.
        above = np.where(sigma**2 > VARIANCE_FLOOR * self.theta.outputscale, -1.0 / sigma, 0.0)
        slopes = self._slope(np.vstack([h * self.alpha, h * solved.T]), np.vstack([V, V]))
        return mu, sigma, slopes[: len(Z)], above[:, None] * slopes[len(Z) :]

    def _half(self, k: Array) -> Array:
        """L^-1 a k' (n, k), for correlations k (k, n)."""
        return solve_lower(self.L, np.multiply(k.T, self.theta.outputscale, order="F"))

    def _deviation(self, half: Array) -> Array:
        a = self.theta.outputscale
        variance = a - np.vecdot(half.T, half.T)
        sigma: Array = np.sqrt(np.maximum(variance, VARIANCE_FLOOR * a))
        return sigma

    def _slope(self, weights: Array, V: Array) -> Array:
        """sum_i w_i a dk(z, x_i)/dz for weights = w * h (k, n) at scaled points V (k, d): no (k, n, d) tensor."""
        drift: Array = weights @ self.U - weights.sum(axis=1)[:, None] * V
        drift *= self.theta.outputscale / self.theta.lengthscales
        return drift

    def extend(self, x: Array, y: float) -> "Posterior":
        """With one more observation, x (d,) and y: the factor grows by a row, O(n^2)."""
        n = len(self.y)
        a, s = self.theta.outputscale, self.theta.noise
        u = x / self.theta.lengthscales
        k, _ = evaluate(self.kernel, u[None, :], self._right)
        row = self._half(k)[:, 0]
        corner = a + s - float(row @ row)
        X, Y = np.vstack([self.X, x]), np.r_[self.y, y]
        if corner <= VARIANCE_FLOOR * a:  # a duplicate without noise: only the jitter ladder can help
            return condition(X, Y, self.theta, self.kernel, self.mean_name)
        L = np.zeros((n + 1, n + 1), order="F")
        L[:n, :n], L[n, :n], L[n, n] = self.L, row, np.sqrt(corner)
        m, alpha = _weights(L, Y, self.mean_name)
        return replace(self, X=X, y=Y, U=np.vstack([self.U, u]), L=L, alpha=alpha, m=m)


def condition(X: Array, y: Array, theta: Hyperparameters, kernel: KernelName, mean: MeanName = "constant") -> Posterior:
    """The posterior for X (n, d), y (n,) under given hyper-parameters. Raises NumericalError if M is beyond repair."""
    U, n = X / theta.lengthscales, len(X)
    K, right = np.empty((n, n)), augmented(U)
    for rows in _batches(n, n):
        K[rows] = evaluate(kernel, U[rows], right)[0]
    K *= theta.outputscale
    np.fill_diagonal(K, theta.outputscale + theta.noise)
    L, _ = cholesky(K)
    m, alpha = _weights(L, y, mean)
    return Posterior(theta=theta, kernel=kernel, mean_name=mean, X=X, y=y, U=U, L=L, alpha=alpha, m=m)


def _batches(k: int, n: int) -> Iterator[slice]:
    size = max(BATCH // n, 1)
    return (slice(first, first + size) for first in range(0, k, size))


def _weights(L: Array, y: Array, mean: MeanName) -> tuple[float, Array]:
    """m and alpha (n,)."""
    solved = solve_cholesky(L, np.column_stack([y, np.ones(len(y))]))
    m = float(solved[:, 0].sum() / solved[:, 1].sum()) if mean == "constant" else 0.0
    return m, solved[:, 0] - m * solved[:, 1]
