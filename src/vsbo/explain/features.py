"""Each variable as a few orthonormal functions of it: what effects are made of.

phi_1 ... phi_R of variable j have mean 0, variance 1 and no covariance over its range: uniform in the cube, or over the
levels of a whole number or a choice, each with the width it owns. So an effect sum_m beta_m phi_m(x_j) has the variance
|beta|^2, and products of functions of different variables are orthonormal, too (the ANOVA decomposition).

phi_1 is the straight line, phi_2 the bend, and so on: Legendre's polynomials, for levels their discrete kin; a choice
without order has contrasts instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

from vsbo.arrays import Array, frozen
from vsbo.space import Choice, Integer, Real, Space, places_of

#: Functions of a real variable: up to this degree.
DEGREE = 16
#: Lengths of Gaussian processes over a range, as parts of it.
LENGTHS = tuple(float(x) for x in np.geomspace(0.15, 2.4, 5))
#: Of a choice without order: beyond so many values only those seen most get contrasts of their own.
MOST_CONTRASTS = 12
#: A whole number with more levels than this is treated as real; on a logarithmic axis the first levels are wide.
MOST_LEVELS, MOST_LOG_LEVELS = 64, 4096
#: Points at which an effect is drawn, at most.
GRID = 41
#: Gauss-Legendre nodes on [-1, 1]; exact for the products of two functions. The weights sum to 1.
NODES, WEIGHTS = leggauss(DEGREE + 1)
WEIGHTS = WEIGHTS / 2.0


@dataclass(frozen=True, eq=False)
class Basis:
    """The functions of one variable. levels (L,), widths (L,) or None for a real one; table (L, r): their values."""

    ordered: bool
    levels: Array | None = None
    widths: Array | None = None
    table: Array | None = None

    @property
    def size(self) -> int:
        """How many functions it has."""
        return DEGREE if self.table is None else self.table.shape[1]

    def at(self, u: Array) -> Array:
        """Their values (n, r) at u (n,) in [0, 1]."""
        if self.table is None or self.levels is None:
            return legendre(u, DEGREE)
        nearest = np.abs(u[:, None] - self.levels).argmin(axis=1)
        values: Array = self.table[nearest]
        return values

    def moments(self, low: float, high: float) -> tuple[Array, Array]:
        """Mean (r,) and covariance (r, r) of the functions over [low, high]: uniform there, or the levels in it."""
        if self.table is None or self.levels is None or self.widths is None:
            values, weights = self.at(low + (high - low) * 0.5 * (NODES + 1.0)), WEIGHTS
        else:
            middle = np.abs(self.levels - 0.5 * (low + high)).argmin()
            near = (self.levels >= low) & (self.levels <= high)
            near[max(middle - 1, 0) : middle + 2] = True  # a level has at least its neighbours around it
            if not self.ordered:
                near[:] = True  # all values of a choice are as near as any other
            values, weights = self.table[near], self.widths[near] / self.widths[near].sum()
        mean = weights @ values
        centred = values - mean
        return mean, (centred * weights[:, None]).T @ centred

    def kernels(self) -> Array:
        """(H, r, r): covariance of the coefficients of a Gaussian process over the range, for each of LENGTHS."""
        if self.table is None or self.levels is None or self.widths is None:
            return _real_kernels()
        if not self.ordered:
            return np.broadcast_to(np.eye(self.size), (len(LENGTHS), self.size, self.size))
        return _projected(self.levels, self.table * self.widths[:, None])

    @cached_property
    def grid(self) -> Array:
        """Where to draw an effect: (g,) in [0, 1]."""
        if self.levels is None:
            return np.linspace(0.0, 1.0, GRID)
        shown: Array = self.levels[np.unique(np.linspace(0, len(self.levels) - 1, GRID).round().astype(int))]
        return shown


@cache
def _real_kernels() -> Array:
    nodes, weights = leggauss(4 * DEGREE)
    u = 0.5 * (nodes + 1.0)
    return frozen(_projected(u, legendre(u, DEGREE) * (0.5 * weights)[:, None]))


def _projected(u: Array, weighted: Array) -> Array:
    """int int phi_a(u) k(u, u') phi_b(u') (H, r, r), Matern 5/2, from weighted (g, r): phi(u_i) w_i."""
    distance = np.sqrt(5.0) * np.abs(u[:, None] - u) / np.array(LENGTHS)[:, None, None]
    kernels: Array = weighted.T @ ((1.0 + distance + distance**2 / 3.0) * np.exp(-distance)) @ weighted
    return kernels


def legendre(u: Array, degree: int) -> Array:
    """Legendre's polynomials of degree 1 ... `degree`, orthonormal on [0, 1]: (n, degree) at u (n,)."""
    values: Array = legvander(2.0 * u - 1.0, degree)[:, 1:] * np.sqrt(2.0 * np.arange(1, degree + 1) + 1.0)
    return values


def bases_of(space: Space, X: Array) -> tuple[Basis, ...]:
    """The functions of each variable; X (n, D) in the cube says which values of a choice were seen."""
    return tuple(_basis(space, j, X[:, j]) for j in range(space.D))


def _basis(space: Space, j: int, seen: Array) -> Basis:
    variable = space.variables[space.names[j]]
    most = MOST_LOG_LEVELS if variable.log else MOST_LEVELS
    many = not isinstance(variable, Choice) and variable.high - variable.low >= most
    if isinstance(variable, Real) or many:
        return Basis(ordered=True)
    levels, widths = _levels(variable)
    ordered = not isinstance(variable, Choice) or variable.ordered or len(levels) == 2
    if ordered:
        raw = np.column_stack([np.ones(len(levels)), legendre(levels, min(len(levels) - 1, DEGREE))])
    else:
        counts = (np.abs(seen[:, None] - levels).argmin(axis=1)[:, None] == np.arange(len(levels))).sum(axis=0)
        seen_most = np.argsort(-counts, kind="stable")[: min(len(levels) - 1, MOST_CONTRASTS)]
        raw = np.column_stack([np.ones(len(levels)), np.eye(len(levels))[:, seen_most]])
    # Orthonormal under the widths: Q of sqrt(w) raw, with the signs that raw has.
    root = np.sqrt(widths)[:, None]
    Q, R = np.linalg.qr(root * raw)
    table = (Q * np.sign(np.diagonal(R)) / root)[:, 1:]
    return Basis(ordered, levels, widths, table)


def _levels(variable: Integer | Choice) -> tuple[Array, Array]:
    """Where the levels of a whole number or a choice stand in [0, 1], and how much of it each owns; both (L,)."""
    edges = np.arange(variable.low, variable.high + 2) - 0.5
    edges = np.log(edges) if variable.log else edges
    return places_of(variable), np.diff(edges) / (edges[-1] - edges[0])


def feature_matrix(bases: Sequence[Basis], X: Array, most: int | None = None) -> Array:
    """Values (n, D, R) of all functions at X (n, D), or of the first `most`; 0 where a variable has fewer."""
    n, D = X.shape
    R = max(DEGREE, max(basis.size for basis in bases)) if most is None else most
    features = np.zeros((n, D, R))
    plain = [j for j, basis in enumerate(bases) if basis.table is None]
    if plain:
        r = min(R, DEGREE)
        features[:, plain, :r] = legendre(X[:, plain].ravel(), r).reshape(n, len(plain), r)
    for j, basis in enumerate(bases):
        if basis.table is not None:
            r = min(R, basis.size)
            features[:, j, :r] = basis.at(X[:, j])[:, :r]
    return features


def moments_in(bases: Sequence[Basis], low: Array, high: Array) -> tuple[Array, Array]:
    """Means (D, R) and covariances (D, R, R) of the functions over the box [low, high], both (D,)."""
    D, R = len(bases), max(DEGREE, max(basis.size for basis in bases))
    means, covariances = np.zeros((D, R)), np.zeros((D, R, R))
    plain = [j for j, basis in enumerate(bases) if basis.table is None]
    if plain:
        u = low[plain, None] + (high - low)[plain, None] * 0.5 * (NODES + 1.0)
        values = legendre(u.ravel(), DEGREE).reshape(len(plain), len(NODES), DEGREE)
        means[plain, :DEGREE] = WEIGHTS @ values
        centred = values - means[plain, None, :DEGREE]
        covariances[plain, :DEGREE, :DEGREE] = np.matmul((centred * WEIGHTS[:, None]).transpose(0, 2, 1), centred)
    for j, basis in enumerate(bases):
        if basis.table is not None:
            r = basis.size
            means[j, :r], covariances[j, :r, :r] = basis.moments(float(low[j]), float(high[j]))
    return means, covariances
