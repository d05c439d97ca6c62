"""The posterior of f given the data: mean, deviation and their gradients, for one point or a batch.

mu(z)      = m + a k(z)' alpha                                         (paper, section 2)
sigma^2(z) = a - a^2 k(z)' M^-1 k(z)
grad mu    = a (grad k)' alpha
grad sigma = -a^2 (grad k)' M^-1 k / sigma          (appendix B, with the factor k that its text lost)

With main effects k is K + b/a sum_j K_j, and the variance before any observation a + b |main|.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vsbo.arrays import Array
from vsbo.config import KernelName, MeanName
from vsbo.gp.choices import APART, corners, gather, owners, spread
from vsbo.gp.kernel import BATCH, augmented, evaluate, main_effects
from vsbo.gp.likelihood import Hyperparameters
from vsbo.linalg import cholesky, solve_cholesky, solve_lower

#: Least variance of f, as a part of the output scale: the authors' program floors at 1e-10 on standardized y.
VARIANCE_FLOOR = 1e-10
#: Noise, as a part of the variance of f, from which on single precision ranks points as double precision does.
LEAST_NOISE_OF_SINGLE = 1e-4


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
    levels: tuple[int, ...] = ()
    doubted: tuple[int, ...] = ()

    @cached_property
    def _right(self) -> Array:
        return augmented(self.U)

    @cached_property
    def _main(self) -> Array:
        return _coordinates(self.U, self.theta, self.levels)

    @cached_property
    def _apart(self) -> Array | None:
        apart = _apart(self.theta, self.levels)
        return None if apart is None else apart.astype(self.U.dtype, copy=False)

    def _scaled(self, Z: Array) -> Array:
        return _scaled(Z, self.theta, self.levels).astype(self.U.dtype, copy=False)

    def mean(self, Z: Array) -> Array:
        """mu (k,) at Z (k, d)."""
        return self._mean(self._correlations(self._scaled(Z)))

    def _correlations(self, V: Array, h: Array | None = None, own: Array | None = None) -> Array:
        """k (k, n) at scaled points V (k, d); what `_correlations_and_slopes` has more, into h and own if given."""
        k = evaluate(self.kernel, V, self._right, h)
        if self.theta.main:
            coordinates = _coordinates(V, self.theta, self.levels)
            added = main_effects(self.kernel, coordinates, self._main, own, self._apart)
            added *= self.theta.main_ratio
            k += added
        return k

    def _correlations_and_slopes(self, V: Array) -> tuple[Array, Array, Array]:
        """k (k, n) at scaled points V (k, d), h (k, n) of its joint part and the slopes (m, k, n) of main effects (of
        choices their h).
        """
        shape = (len(V), len(self.y))
        h, own = np.empty(shape, V.dtype), np.empty((len(self.theta.main), *shape), V.dtype)
        return self._correlations(V, h, own), h, own

    def _mean(self, k: Array) -> Array:
        mu: Array = k @ self.alpha
        mu *= self.theta.outputscale
        mu += self.m
        return mu

    def slope(self, Z: Array) -> Array:
        """Grad mu (k, d) at Z (k, d)."""
        V = self._scaled(Z)
        slope = np.empty(Z.shape)
        for rows in self.batches(len(Z)):
            slope[rows] = self._slope(self.alpha, V[rows], *self._correlations_and_slopes(V[rows])[1:])
        return slope

    def deviation_and_slope(self, Z: Array) -> tuple[Array, Array]:
        """sigma (k,) and grad mu (k, d) at Z (k, d): what Grad-IS needs."""
        V = self._scaled(Z)
        k, h, own = self._correlations_and_slopes(V)
        return self._deviation(self._half(k)), self._slope(self.alpha, V, h, own)

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """mu (k,) and sigma (k,) at Z (k, d)."""
        V = self._scaled(Z)
        mu, sigma = np.empty(len(Z)), np.empty(len(Z))
        for rows in self.batches(len(Z)):
            k = self._correlations(V[rows])
            mu[rows], sigma[rows] = self._mean(k), self._deviation(self._half(k))
        return mu, sigma

    def rough(self) -> "Posterior":
        """The same in single precision, for `predict` alone: many points are ranked in half the time.

        Itself where the noise is too small: then single precision loses the deviation near the data.
        """
        if self.theta.noise < LEAST_NOISE_OF_SINGLE * self.theta.variance:
            return self
        single: dict[str, Any] = {name: getattr(self, name).astype(np.float32) for name in ("U", "L", "alpha")}
        return replace(self, **single)

    def batches(self, k: int) -> Iterator[slice]:
        """Slices of k points, each so small that the work on it stays in the processor's cache."""
        return _batches(k, len(self.y))

    def gradients(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """mu (k,), sigma (k,), grad mu (k, d), grad sigma (k, d) at Z (k, d)."""
        V = self._scaled(Z)
        k, h, own = self._correlations_and_slopes(V)
        mu = self._mean(k)
        half = self._half(k)
        sigma = self._deviation(half)
        solved = solve_lower(self.L, half, transposed=True)
        # d sigma = -(a dk)' M^-1 (a k) / sigma; where the floor holds, sigma is constant.
        above = np.where(sigma**2 > VARIANCE_FLOOR * self.theta.variance, -1.0 / sigma, 0.0)
        return mu, sigma, self._slope(self.alpha, V, h, own), above[:, None] * self._slope(solved.T, V, h, own)

    def _half(self, k: Array) -> Array:
        """L^-1 a k' (n, k), for correlations k (k, n)."""
        return solve_lower(self.L, np.multiply(k.T, self.theta.outputscale, order="F"))

    def _deviation(self, half: Array) -> Array:
        before = self.theta.variance
        variance = before - np.vecdot(half.T, half.T)
        sigma: Array = np.sqrt(np.maximum(variance, VARIANCE_FLOOR * before))
        return sigma

    def _slope(self, w: Array, V: Array, h: Array, own: Array) -> Array:
        """sum_i w_i a dk(z, x_i)/dz (k, d) for w (n,) or (k, n) at scaled points V (k, d): no (k, n, d) tensor."""
        weights = h * w
        drift: Array = weights @ self.U - weights.sum(axis=1)[:, None] * V
        choices = corners(self.levels) if self.levels else {}
        plain = [i for i, j in enumerate(self.theta.main) if j not in choices]
        if plain:
            along = own if len(plain) == len(own) else own[plain]
            drift[:, [self.theta.main[i] for i in plain]] += self.theta.main_ratio * np.vecdot(along, w).T
        if not self.levels:
            drift *= self.theta.outputscale / self.theta.lengthscales
            return drift
        for h_own, j in zip(own, self.theta.main, strict=True):
            if j in choices:
                at, pulls = choices[j], self.theta.main_ratio * h_own * w
                drift[:, at] += pulls @ self.U[:, at] - pulls.sum(axis=1)[:, None] * V[:, at]
        drift *= self.theta.outputscale / self.theta.lengthscales[owners(self.levels)]
        return gather(drift, self.levels)

    def extend(self, x: Array, y: float, doubted: bool = False) -> "Posterior":
        """With one more observation, x (d,) and y, doubted or not: the factor grows by a row, O(n^2)."""
        n = len(self.y)
        doubts = (*self.doubted, n) if doubted else self.doubted
        before = self.theta.variance
        u = self._scaled(x[None, :])
        row = self._half(self._correlations(u))[:, 0]
        corner = before + self.theta.noise + doubted * self.theta.failure_noise - float(row @ row)
        X, Y = np.vstack([self.X, x]), np.r_[self.y, y]
        if corner <= VARIANCE_FLOOR * before:  # a duplicate without noise: only the jitter ladder can help
            return condition(X, Y, self.theta, self.kernel, self.mean_name, self.levels, doubts)
        L = np.zeros((n + 1, n + 1), order="F")
        L[:n, :n], L[n, :n], L[n, n] = self.L, row, np.sqrt(corner)
        m, alpha = _weights(L, Y, self.mean_name)
        return replace(self, X=X, y=Y, U=np.vstack([self.U, u]), L=L, alpha=alpha, m=m, doubted=doubts)


def condition(
    X: Array,
    y: Array,
    theta: Hyperparameters,
    kernel: KernelName,
    mean: MeanName = "constant",
    levels: tuple[int, ...] = (),
    doubted: Sequence[int] = (),
) -> Posterior:
    """The posterior for X (n, d), y (n,) under given hyper-parameters; levels: of choices, as in choices.py; doubted:
    the observations that have v besides s. Raises NumericalError if M is beyond repair.
    """
    U, n = _scaled(X, theta, levels), len(X)
    K, right, main, apart = np.zeros((n, n)), augmented(U), _coordinates(U, theta, levels), _apart(theta, levels)
    for rows in _batches(n, n):
        lower = slice(0, rows.stop)
        k = evaluate(kernel, U[rows], right[:, lower])
        if theta.main:
            k += theta.main_ratio * main_effects(kernel, main[:, rows], main[:, lower], apart=apart)
        K[rows, lower] = k
    K *= theta.outputscale
    np.fill_diagonal(K, theta.variance + theta.noise)
    doubts = tuple(doubted)
    K[doubts, doubts] += theta.failure_noise
    L, _ = cholesky(K)
    m, alpha = _weights(L, y, mean)
    return Posterior(theta, kernel, mean, X, y, U, L, alpha, m, levels, doubts)


def _scaled(Z: Array, theta: Hyperparameters, levels: tuple[int, ...]) -> Array:
    """Z (k, d) in length-scales, from the middle of the cube: distances do not see a shift, and |u|^2 + |v|^2 - 2 u.v
    loses less to rounding, which in single precision is much. With choices (k, d'), as `spread` makes it.
    """
    scales = theta.lengthscales[owners(levels)] if levels else theta.lengthscales
    V: Array = spread(Z, levels) / scales
    V -= 0.5 / scales  # in place: fresh pages for many points of many variables take longer than the work
    return V


def _coordinates(U: Array, theta: Hyperparameters, levels: tuple[int, ...]) -> Array:
    """Of scaled points U (k, d'), along the variables that have main effects: (m, k); of a choice the
    number of its value.
    """
    coordinates = np.ascontiguousarray(U[:, list(theta.main)].T)
    for j, own in corners(levels).items():
        if j in theta.main:
            coordinates[theta.main.index(j)] = U[:, own].argmax(axis=1)
    return coordinates


def _apart(theta: Hyperparameters, levels: tuple[int, ...]) -> Array | None:
    """How far all values of a choice are apart, scaled, for each variable with a main effect (m,); 0 for others."""
    if not levels:
        return None
    main = list(theta.main)
    return np.where(np.array(levels)[main] > 0, APART / theta.lengthscales[main], 0.0)


def _batches(k: int, n: int) -> Iterator[slice]:
    size = max(BATCH // n, 1)
    return (slice(first, first + size) for first in range(0, k, size))


def _weights(L: Array, y: Array, mean: MeanName) -> tuple[float, Array]:
    """m and alpha (n,)."""
    solved = solve_cholesky(L, np.column_stack([y, np.ones(len(y))]))
    m = float(solved[:, 0].sum() / solved[:, 1].sum()) if mean == "constant" else 0.0
    return m, solved[:, 0] - m * solved[:, 1]
