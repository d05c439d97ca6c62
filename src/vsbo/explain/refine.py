"""The groups of a model with all their functions, and how large and smooth each is: drawn together with the noise.

The walk knows of each effect one of a few lambdas, and of f no more than six functions a variable; intervals would be
as sure as if both were known. Here an effect is a Gaussian process over its variable, of unknown variance and length
(Matern's of 5/2, `Basis.kernels`: unlike lambdas that fall with the degree it is as rough at the ends of a range as in
the middle), that of a pair the product of two. Written in the orthonormal functions,

    beta_g ~ N(0, a Lambda_h),  Lambda_h = R_h R_h',  trace 1;      a in AMPLITUDES, h in LENGTHS, all as likely

Drawn in turn: (a, h) and beta_g of each group given the others' beta and s, s given all, and at last all beta at once.
With W = s B^-1, G = Phi_g' W Phi_g, c = Phi_g' W (y - the others), R_h' G R_h = V diag(d) V' (made once), z = V' R' c,

    log p(y | a, h) = 1/2 sum_i [ a z_i^2 / s / (s + a d_i) - log(1 + a d_i / s) ] + const
    beta_g = R_h V u,   u_i ~ N(a z_i / (s + a d_i), a s / (s + a d_i))
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vsbo.arrays import Array
from vsbo.explain.features import LENGTHS
from vsbo.explain.sparse import Key, Rotation
from vsbo.linalg import cholesky, solve_lower

#: Variances of an effect, as parts of that of y.
AMPLITUDES = np.geomspace(0.004, 1.2, 7)
SCALES = 1.0 / AMPLITUDES[:, None, None]
#: s is at least this part of the variance of y: what the functions leave of a kink is larger.
LEAST_NOISE = 1e-6
#: Products of a pair here: functions (a, b) of each with a + b less than this.
FINE_FIRST = 7
FINE_PAIR = tuple((a, b) for a in range(FINE_FIRST) for b in range(FINE_FIRST) if a + b < FINE_FIRST)
FINE_PAIR = tuple(sorted(FINE_PAIR, key=sum))  # what matters least comes last
#: Added to Lambda, whose trace is 1: long lengths have almost no fourth function.
NUGGET = 1e-9
#: Coefficients are not drawn if their prior variance is less than this part of s / n.
SILENT = 1e-3


class Columns:
    """All columns of the groups that any of the models has.

    part: where the columns of a key are; functions: which (r, 1 or 2); U (m, Q): rotated; priors: R of
    each h, its inverse, and the diagonal of Lambda.
    """

    def __init__(
        self, rotation: Rotation, values: Mapping[int, Array], kernels: Mapping[int, Array], keys: Sequence[Key]
    ) -> None:
        """values (n, r) and kernels (H, r, r) of all functions of each variable that is in a key."""
        self.rotation = rotation
        self.part: dict[Key, Any] = {}
        self.functions: dict[Key, Any] = {}
        self.priors: dict[Key, tuple[Array, Array, Array]] = {}
        known: dict[tuple[int, ...], tuple[Array, Array, Array]] = {}
        blocks, end = [np.empty((len(rotation.E), 0))], 0
        for key in keys:
            sizes = [values[j].shape[1] for j in key]
            every = np.ndindex(sizes[0]) if len(key) == 1 else FINE_PAIR
            which = np.array([one for one in every if all(a < size for a, size in zip(one, sizes, strict=True))])
            block = np.ones((len(rotation.E), len(which)))
            for j, a in zip(key, which.T, strict=True):
                block *= values[j][:, a]
            blocks.append(block)
            of = tuple(id(kernels[j]) for j in key)  # all real variables have the same
            if of not in known:
                known[of] = _priors([kernels[j] for j in key], which)
            self.priors[key] = known[of]
            self.functions[key], self.part[key] = which, np.arange(end, end + len(which))
            end += len(which)
        self.U = rotation.E.T @ np.concatenate(blocks, axis=1)
        self._products: dict[int, tuple[Array, Array, float]] = {}
        self._turned: dict[tuple[Key, int], tuple[Array, Array]] = {}

    def products(self, spread: int) -> tuple[Array, Array, float]:
        """U' W U (Q, Q), U' W y (Q,) and y' W y."""
        if spread not in self._products:
            W = self.rotation.weights(spread)
            WU, y = self.U * W[:, None], self.rotation.y
            self._products[spread] = self.U.T @ WU, y @ WU, float(y @ (W * y))
        return self._products[spread]

    def turned(self, key: Key, spread: int) -> tuple[Array, Array]:
        """d (H, r) and R V (H, r, r)."""
        if (key, spread) not in self._turned:
            at, R = self.part[key], self.priors[key][0]
            G = self.products(spread)[0][np.ix_(at, at)]
            d, V = np.linalg.eigh(R.transpose(0, 2, 1) @ G @ R)
            self._turned[key, spread] = np.maximum(d, 0.0), R @ V
        return self._turned[key, spread]


def _priors(kernels: Sequence[Array], which: Any) -> tuple[Array, Array, Array]:
    """R (H, r, r), its inverse, and the diagonal (H, r) of Lambda, of the functions `which` (r, 1 or 2)."""
    kernel = np.ones((len(LENGTHS), len(which), len(which)))
    for one, a in zip(kernels, which.T, strict=True):
        kernel *= one[:, a[:, None], a]
    kernel /= np.trace(kernel, axis1=1, axis2=2)[:, None, None]
    variances: Array = np.diagonal(kernel, axis1=1, axis2=2)
    R: Any = np.linalg.cholesky(kernel + NUGGET * np.eye(len(which)))
    inverse: Any = np.linalg.inv(R)
    return R, inverse, variances


class Chain:
    """Draws of the coefficients of groups. noise: s; state: (a, h) and beta of each key that it has met."""

    def __init__(self, columns: Columns, noise: float) -> None:
        self.columns, self.noise = columns, noise
        self.state: dict[Key, tuple[int, int, Array]] = {}

    def turn_to(self, keys: Sequence[Key]) -> None:
        """From now on the groups are these, in this order; part: where the coefficients of each are."""
        self.keys = tuple(keys)
        self.at = np.concatenate([np.empty(0, dtype=int), *(self.columns.part[key] for key in keys)])
        ends = np.cumsum([0, *(len(self.columns.part[key]) for key in keys)]).tolist()
        self.part = [slice(ends[i], ends[i + 1]) for i in range(len(self.keys))]
        self._known: dict[int, tuple[Array, Array, float]] = {}

    def round(self, spread: int, rng: np.random.Generator) -> None:
        """New (a, h) and beta of each group in turn, and s."""
        G, Wy, yy = self._products(spread)
        s, beta = self.noise, self._beta()
        left = Wy - G @ beta
        gumbel = -np.log(rng.exponential(size=(len(self.keys), len(AMPLITUDES), len(LENGTHS))))
        z0 = rng.standard_normal(len(beta))
        for i, (key, part) in enumerate(zip(self.keys, self.part, strict=True)):
            d, RV = self.columns.turned(key, spread)
            own, old = G[part], beta[part]
            z = (left[part] + own[:, part] @ old) @ RV  # (H, r)
            gain = 1.0 / (s * SCALES + d)  # (a, H, r)
            logs = np.log(gain * SCALES) + gain * (z * z / s)
            a, h = divmod(int(np.argmax(0.5 * logs.sum(axis=2) + gumbel[i])), len(LENGTHS))
            g = gain[a, h]
            new = RV[h] @ (g * z[h] + np.sqrt(s * g) * z0[part])
            left -= (new - old) @ own
            beta[part] = new
            self.state[key] = a, h, new
        rest = max(yy - float(beta @ (Wy + left)), 0.0)
        self.noise = min(max(0.5 * rest / rng.gamma(0.5 * len(self.columns.rotation.y)), LEAST_NOISE), 1.0)

    def draw(self, spread: int, count: int, rng: np.random.Generator) -> Array:
        """Coefficients (count, q) of all groups at once, given every (a, h) and s; the chain goes on from the last.

        Functions whose prior is so narrow that the data cannot move them (SILENT) are left at 0.
        """
        G, Wy, _ = self._products(spread)
        draws = np.zeros((count, len(Wy)))
        loud, blocks = [], []
        for key, part in zip(self.keys, self.part, strict=True):
            a, h, _ = self.state[key]
            variances = AMPLITUDES[a] * self.columns.priors[key][2][h]
            p = 1 + int(np.flatnonzero(variances * len(self.columns.rotation.y) > SILENT * self.noise)[-1])
            inverse = self.columns.priors[key][1][h, :p, :p] / np.sqrt(AMPLITUDES[a])
            loud.append(np.arange(part.start, part.start + p))
            blocks.append(inverse.T @ inverse)
        if loud:
            at = np.concatenate(loud)
            P, end = G[np.ix_(at, at)] / self.noise, 0
            for block in blocks:
                P[end : end + len(block), end : end + len(block)] += block
                end += len(block)
            L, _ = cholesky(P)
            half = solve_lower(L, (Wy[at] / self.noise)[:, None])
            draws[:, at] = solve_lower(L, half + rng.standard_normal((end, count)), transposed=True).T
        for key, part in zip(self.keys, self.part, strict=True):
            self.state[key] = *self.state[key][:2], draws[-1, part]
        return draws

    def _beta(self) -> Array:
        return np.concatenate(
            [
                self.state[key][2] if key in self.state else np.zeros(part.stop - part.start)
                for key, part in zip(self.keys, self.part, strict=True)
            ]
            or [np.empty(0)]
        )

    def _products(self, spread: int) -> tuple[Array, Array, float]:
        if spread not in self._known:
            G, Wy, yy = self.columns.products(spread)
            self._known[spread] = G[np.ix_(self.at, self.at)], Wy[self.at], yy
        return self._known[spread]
