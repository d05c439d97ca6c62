"""A sparse model of f: the sum of a few effects of single variables and of pairs, each in or out.

    y = c + sum_{g in S} Phi_g beta_g + r + e,   beta_g ~ N(0, diag(lambda_g)),   r ~ N(0, v K),   e ~ N(0, s I)

y (n,) standardized. A group g is a variable (its R functions, `features`) or a pair (products of its first functions).
lambda_g = amplitude * decay: one of GRID, with equal prior weights. r stands for what is spread over variables that are
not in S, so that what is found is not taken for all there is: K is the kernel of small effects of all variables.

Everything but S, the lambdas, s and v is integrated in closed form. Rotated into the eigenvectors of K (the constant c
is projected out with them), K is diagonal for any v and s, and a change of S costs products with the few columns of the
groups in S: with B = diag(s + v e), F the scaled columns of S, C = I + F' B^-1 F = L L', M = B + F F',

    A_g = Phi_g' M^-1 Phi_g = Phi_g' B^-1 Phi_g - T'T,   T = L^-1 F' B^-1 Phi_g,     b_g = Phi_g' M^-1 y

and by them the factor by which the evidence of the model changes if g joins with lambda = l^2,

    log BF = -1/2 log det(I + l A l) + 1/2 b' l (I + l A l)^-1 l b
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from vsbo.arrays import Array
from vsbo.linalg import cholesky, solve_lower

#: A group: a variable (j,) or a pair (j, k), j < k.
Key = tuple[int, ...]

#: Variance of an effect, as parts of the variance of y, and the factor from one function's to the next's.
AMPLITUDES = (0.02, 0.12, 0.7)
DECAYS = (0.15, 0.6)
GRID = tuple((amplitude, decay) for decay in DECAYS for amplitude in AMPLITUDES)
#: The products of a pair: functions (a, b) of the first four of each, by degree; as many as a group has columns.
FIRST = 4
PAIR = tuple(sorted(((a, b) for a in range(FIRST) for b in range(FIRST)), key=lambda ab: (sum(ab), abs(ab[0] - ab[1]))))
#: Weights of line and bend in K.
SPREAD = (0.8, 0.2)
#: Values of s, and of v as parts of s min(1, D / n): beyond s D / n an effect of variance v / D would stand out by
#: itself, and where D is larger than n nothing tells v from s. f is never known better than to 0.2 % of its variance.
NOISES = tuple(float(x) for x in np.geomspace(2e-3, 1.0, 13))
SPREADS = (0.02, 0.25, 0.5, 1.0)
#: A and b are carried from model to model for so many changes.
MOST_STEPS = 12
#: And not beyond such a growth of rounding errors.
MOST_GAIN = 1e2


@dataclass(frozen=True, eq=False)
class Rotation:
    """The eigenvectors E (n, m) of K, m = n - 1, its eigenvalues e (m,), and y (m,) along them; D: variables."""

    E: Array
    e: Array
    y: Array
    D: int

    def ratio(self, spread: int) -> float:
        """v / s; an index into SPREADS."""
        return SPREADS[spread] * min(1.0, self.D / len(self.y))

    def unseen(self, noise: int, spread: int) -> float:
        """v; indices into NOISES and SPREADS."""
        return NOISES[noise] * self.ratio(spread)

    def weights(self, spread: int) -> Array:
        """The diagonal (m,) of s B^-1, the same for all s."""
        weights: Array = 1.0 / (1.0 + self.ratio(spread) * self.e)
        return weights

    def inverse(self, noise: int, spread: int) -> Array:
        """The diagonal (m,) of B^-1."""
        inverse: Array = self.weights(spread) / NOISES[noise]
        return inverse


def rotate(features: Array, y: Array) -> Rotation:
    """From features (n, D, R), of which K takes the first two, and y (n,) standardized."""
    n, D, _ = features.shape
    Z = (features[:, :, : len(SPREAD)] * np.sqrt(np.array(SPREAD) / D)).reshape(n, -1)
    # Columns 1 ... n - 1 of the reflection that takes the first axis to the constant: orthogonal to it.
    u = np.full(n, 1.0 / np.sqrt(n))
    u[0] -= 1.0
    H = (np.eye(n) - np.outer(u, u) * (2.0 / (u @ u)))[:, 1:]
    HZ = H.T @ Z
    e, turn = np.linalg.eigh(HZ @ HZ.T)
    E = H @ turn
    return Rotation(E, np.maximum(e, 0.0), E.T @ y, D)


class Groups:
    """Groups that may join: N of them, with R columns each; the variables first, then the pairs chosen so far.

    keys: as Key; Phi (m, N R): rotated columns; roots (N, G, R): l, the square roots of the prior variances.
    Products with s B^-1, which depends on v alone, are kept.
    """

    def __init__(self, rotation: Rotation, features: Array, ordered: Array, variables: Sequence[int]) -> None:
        """features (n, k, R) of these k variables; ordered (k,): whether a variable's functions get less likely."""
        n, self.k, self.R = features.shape
        self.rotation, self.features = rotation, features
        self.column = {j: i for i, j in enumerate(variables)}
        self.keys: list[Key] = [(j,) for j in variables]
        self.index = {key: i for i, key in enumerate(self.keys)}
        self.Phi = np.asfortranarray(rotation.E.T @ features.reshape(n, -1))
        self.roots = _roots(_shape(features, ordered))
        self._products: dict[int, tuple[Array, Array]] = {}
        self._crosses: dict[tuple[int, Key], Array] = {}

    def set_pairs(self, keys: Sequence[Key]) -> None:
        """The pairs that may join from now on."""
        k = self.k
        self.keys = self.keys[:k] + list(keys)
        self.index = {key: i for i, key in enumerate(self.keys)}
        js, ks = (np.array([key[i] for key in keys], dtype=int) for i in (0, 1))
        products = self.rotation.E.T @ self.products(js, ks).reshape(len(self.features), -1)
        self.Phi = np.asfortranarray(np.concatenate([self.Phi[:, : k * self.R], products], axis=1))
        self.roots = np.concatenate([self.roots[:k], self.pair_roots(js, ks)])
        self._products, self._crosses = {}, {}
        self.__dict__.pop("outer", None)

    def products(self, js: Array, ks: Array) -> Array:
        """Of the pairs (js_i, ks_i): (n, pairs, R)."""
        F, one, other = self.features, self._at(js), self._at(ks)
        products = np.zeros((len(F), len(js), self.R))
        for column, (a, b) in enumerate(PAIR[: self.R]):
            np.multiply(F[:, one, a], F[:, other, b], out=products[:, :, column])
        return products

    def pair_roots(self, js: Array, ks: Array) -> Array:
        """(pairs, G, R): variances fall with the degree; those of functions that a variable does not have are 0."""
        a, b = np.array(PAIR[: self.R]).T
        there = np.pad(self.roots[: self.k, 0] > 0.0, ((0, 0), (0, max(FIRST - self.R, 0))))
        both = there[self._at(js)][:, a] & there[self._at(ks)][:, b]
        return _roots(np.array(DECAYS)[:, None] ** (a + b) * both[:, None, :])

    def _at(self, variables: Array) -> Array:
        return np.array([self.column[int(j)] for j in variables], dtype=int)

    @cached_property
    def outer(self) -> Array:
        """(R, R, N, G): l_i l_k."""
        return outer(self.roots)

    def grams(self, spread: int) -> tuple[Array, Array]:
        """Phi_g' W Phi_g (N, R, R) and Phi_g' W y (N, R), W = s B^-1, which is the same for all s."""
        if spread not in self._products:
            W = self.Phi * self.rotation.weights(spread)[:, None]
            self._products[spread] = grams(self.Phi, W, self.R), (W.T @ self.rotation.y).reshape(-1, self.R)
        return self._products[spread]

    def columns(self, key: Key) -> Array:
        """(m, R)."""
        i = self.index[key]
        return self.Phi[:, i * self.R : (i + 1) * self.R]

    def cross(self, key: Key, spread: int) -> Array:
        """(R, N R): products with W of the group's columns with all groups'."""
        if (spread, key) not in self._crosses:
            weighted = self.columns(key) * self.rotation.weights(spread)[:, None]
            self._crosses[spread, key] = weighted.T @ self.Phi
        return self._crosses[spread, key]


def grams(Phi: Array, W: Array, R: int) -> Array:
    """Phi_g' W_g (N, R, R) of Phi, W (m, N R)."""
    m = len(Phi)
    found: Array = np.matmul(Phi.T.reshape(-1, R, m), W.T.reshape(-1, R, m).transpose(0, 2, 1))
    return found


def outer(roots: Array) -> Array:
    """(R, R, N, G): l_i l_k of roots (N, G, R)."""
    first = np.ascontiguousarray(roots.transpose(2, 0, 1))
    product: Array = first[:, None] * first[None, :]
    return product


def _shape(features: Array, ordered: Array) -> Array:
    """(k, decays, R): how a variable's variance is spread over its functions, before it is scaled to 1."""
    there = (features != 0.0).any(axis=0)
    powers = np.array(DECAYS)[:, None] ** np.arange(features.shape[2])
    shape: Array = np.where(ordered[:, None, None], powers, 1.0) * there[:, None, :]
    return shape


def _roots(shape: Array) -> Array:
    """(N, G, R) from shapes (N, decays, R): each sums to 1 and is multiplied by each amplitude."""
    total = shape.sum(axis=2, keepdims=True)
    unit = shape / np.where(total > 0.0, total, 1.0)
    lambdas = unit[:, :, None, :] * np.array(AMPLITUDES)[:, None]
    roots: Array = np.sqrt(lambdas.reshape(len(shape), len(GRID), -1))
    return roots


def log_factors(A: Array, b: Array, roots: Array, outer: Array) -> Array:
    """log BF (N, G) of A (N, R, R), b (N, R), l = roots (N, G, R), outer (R, R, N, G): l_i l_k.

    Elimination on I + l A l, bordered by l b, for all groups and lambdas at once.
    """
    R = len(outer)
    S = np.empty((R, R + 1, *roots.shape[:2]))
    np.multiply(A.transpose(1, 2, 0)[..., None], outer, out=S[:, :R])
    S[np.arange(R), np.arange(R)] += 1.0
    np.multiply(b.T[..., None], roots.transpose(2, 0, 1), out=S[:, R])
    square, determinant = np.zeros(roots.shape[:2]), np.ones(roots.shape[:2])
    for i in range(R):
        pivot = S[i, i]
        determinant *= pivot
        square += S[i, R] ** 2 / pivot
        if i + 1 < R:
            S[i + 1 :, i + 1 :] -= (S[i + 1 :, i] / pivot)[:, None] * S[i, i + 1 :]
    factors: Array = 0.5 * (square - np.log(determinant))
    return factors


class Model:
    """The groups `on` ({group: index into GRID}), s and v (indices into NOISES, SPREADS), given the data."""

    def __init__(
        self,
        groups: Groups,
        on: Mapping[Key, int],
        noise: int,
        spread: int,
        parent: "tuple[Model, Key] | None" = None,
    ) -> None:
        """parent: a model with the same s and v, and the only group in which this one differs from it."""
        self.groups, self.on, self.noise, self.spread = groups, on, noise, spread
        # Rounding adds up: after some steps A and b are made from the start.
        self.parent = parent if parent and parent[0].steps < MOST_STEPS else None
        self.steps: int = 0
        self.keys = tuple(on)
        self.root = np.concatenate([np.empty(0), *(groups.roots[groups.index[key], on[key]] for key in on)])
        self.there = self.root > 0.0  # a group may have fewer functions than columns
        self.root = self.root[self.there]

    @cached_property
    def F(self) -> Array:
        """The scaled columns (m, q) of S."""
        m = len(self.groups.rotation.y)
        columns = np.column_stack([np.empty((m, 0)), *(self.groups.columns(key) for key in self.keys)])
        scaled: Array = columns[:, self.there] * self.root
        return scaled

    def evidences(self, hyper: Sequence[tuple[int, int]]) -> Array:
        """log N(y; 0, M), but for a constant, under several (s, v): (k,).

        C bordered by F' B^-1 y and 1 + y' B^-1 y: the last pivot of its factor is 1 + y' M^-1 y.
        """
        rotation, q = self.groups.rotation, len(self.root)
        found = np.empty(len(hyper))
        for spread in {v for _, v in hyper}:
            at = [i for i, (_, v) in enumerate(hyper) if v == spread]
            s = np.array([NOISES[hyper[i][0]] for i in at])
            W = rotation.weights(spread)
            Fy = np.column_stack([self.F, rotation.y])
            bordered = (Fy.T @ (Fy * W[:, None])) / s[:, None, None]
            bordered[:, np.arange(q + 1), np.arange(q + 1)] += 1.0
            pivots = np.diagonal(np.linalg.cholesky(bordered), axis1=1, axis2=2)
            square = pivots[:, q] ** 2 - 1.0
            found[at] = 0.5 * (np.log(W).sum() - len(W) * np.log(s) - square) - np.log(pivots[:, :q]).sum(axis=1)
        return found

    def _solved(self, gram: Array, Wy: Array) -> tuple[Array, Array]:
        """L and L^-1 F' B^-1 y, from the products (q, q) and (q,) of the unscaled columns of S."""
        C = gram * self.root * self.root[:, None]
        C[np.arange(len(C)), np.arange(len(C))] += 1.0
        L, _ = cholesky(C)
        return L, solve_lower(L, (Wy * self.root)[:, None])[:, 0]

    @cached_property
    def _at(self) -> list[int]:
        return [self.groups.index[key] for key in self.keys]

    def _among(self, rows: Array) -> Array:
        """The columns of S of rows (k, N R): (k, q)."""
        among: Array = rows.reshape(len(rows), -1, self.groups.R)[:, self._at].reshape(len(rows), -1)[:, self.there]
        return among

    @cached_property
    def _crosses(self) -> Array:
        """(q, N R): products with W of the unscaled columns of S with all groups'."""
        crosses = np.concatenate([self.groups.cross(key, self.spread) for key in self.keys])
        return crosses if self.there.all() else crosses[self.there]

    @cached_property
    def _factor(self) -> tuple[Array, Array]:
        """L and L^-1 F' B^-1 y."""
        s, Wy = NOISES[self.noise], self.groups.grams(self.spread)[1]
        return self._solved(self._among(self._crosses) / s, Wy[self._at].ravel()[self.there] / s)

    @cached_property
    def inside(self) -> tuple[Array, Array]:
        """A (N, R, R) and b (N, R) of all groups, of those in S as they are."""
        if self.parent is not None and (found := self._from_parent(*self.parent)):
            return found
        s = NOISES[self.noise]
        gram, Wy = self.groups.grams(self.spread)
        if not self.keys:
            return gram / s, Wy / s
        L, half = self._factor
        return self._reduced(L, half, gram / s, Wy / s, self._crosses / s)

    def changed(self, key: Key, g: int | None) -> "Model":
        """With another lambda of a group, or without it (None)."""
        on = dict(self.on)
        if g is None:
            del on[key]
        else:
            on[key] = g
        return Model(self.groups, on, self.noise, self.spread, (self, key))

    def _from_parent(self, parent: "Model", key: Key) -> tuple[Array, Array] | None:
        """M = M_p + Phi_h D Phi_h', D the change of lambda_h. With z = Phi' M_p^-1 Phi_h, Q = (I + D A_h)^-1 D,

        A_g - z_g Q z_g' and b_g - z_g Q b_h: a tenth of the products that A and b from the start take. None where a
        group leaves that the data know so well that little would be left of the digits.
        """
        groups, s = self.groups, NOISES[self.noise]
        N, R, i = len(groups.keys), groups.R, groups.index[key]
        A, b = parent.inside
        now, before = (groups.roots[i, on[key]] ** 2 if key in on else np.zeros(R) for on in (self.on, parent.on))
        D = now - before
        inverse = np.linalg.inv(np.eye(R) + D[:, None] * A[i])
        self.parent = None
        if not np.abs(inverse).max() < MOST_GAIN:
            return None
        z = groups.cross(key, self.spread).T / s
        if parent.keys:
            own = parent._crosses[:, i * R : (i + 1) * R] * (parent.root / s)[:, None]
            solved = lapack.dpotrs(parent._factor[0], own, lower=1)[0] * (parent.root / s)[:, None]
            z = z - parent._crosses.T @ solved
        zQ = z @ (inverse * D)
        self.steps = parent.steps + 1
        A = A - np.matmul(zQ.reshape(N, R, R), z.reshape(N, R, R).transpose(0, 2, 1))
        return A, b - (zQ @ b[i]).reshape(N, R)

    def moments(self) -> tuple[Array, Array]:
        """A (N, R, R) and b (N, R) of all groups; of those in S as if they were out."""
        groups, R = self.groups, self.groups.R
        A, b = self.inside
        if not self.keys:
            return A, b
        A, b, at, s = A.copy(), b.copy(), self._at, NOISES[self.noise]
        # Of a group in S, without it: (I - A lambda)^-1 (A, b); these made anew, or rounding would show.
        gram, Wy = groups.grams(self.spread)
        crosses = self._crosses.reshape(len(self.root), -1, R)[:, at].reshape(len(self.root), -1)
        A_in, b_in = self._reduced(*self._factor, gram[at] / s, Wy[at] / s, crosses / s)
        lambdas = groups.roots[at, list(self.on.values())] ** 2
        inside = np.concatenate([A_in, b_in[:, :, None]], axis=2)
        solved = np.linalg.solve(np.eye(R) - A_in * lambdas[:, None, :], inside)
        A[at], b[at] = solved[:, :, :R], solved[:, :, R]
        return A, b

    def _reduced(self, L: Array, half: Array, gram: Array, b: Array, crosses: Array) -> tuple[Array, Array]:
        """From products with B^-1 to products with M^-1; crosses (q, N R): of the columns of S with the others."""
        N, R, _ = gram.shape
        T = solve_lower(L, np.asfortranarray(crosses * self.root[:, None]))
        b = b - (half @ T).reshape(N, R)
        T = T.T.reshape(N, R, -1)
        return gram - np.matmul(T, T.transpose(0, 2, 1)), b

    # Pairs that are not groups yet are looked at with s + v for B, for which nothing need be rotated: good enough to
    # choose by.

    def _unrotated(self) -> tuple[float, Array, Array]:
        """s + v, y (n,) and the unscaled columns (n, q) of S."""
        rotation = self.groups.rotation
        total = NOISES[self.noise] + rotation.unseen(self.noise, self.spread)
        return total, rotation.E @ rotation.y, rotation.E @ (self.F / self.root)

    def pairs(self, js: Array, ks: Array) -> tuple[Array, Array, Array, Array]:
        """A (p, R, R), b (p, R), roots (p, G, R) and log BF (p, G) of the pairs (js_i, ks_i), each if it alone joined.

        -inf of a variable with itself.
        """
        groups = self.groups
        total, y, S = self._unrotated()
        flat = groups.products(js, ks).reshape(len(y), -1)
        flat -= flat.mean(axis=0)
        A, b = grams(flat, flat, groups.R) / total, (y @ flat).reshape(-1, groups.R) / total
        if len(self.root):
            L, half = self._solved(S.T @ S / total, y @ S / total)
            A, b = self._reduced(L, half, A, b, S.T @ flat / total)
        roots = groups.pair_roots(js, ks)
        factors = log_factors(A, b, roots, outer(roots))
        factors[js == ks] = -np.inf
        return A, b, roots, factors

    def screened_pairs(self, parents: Sequence[int]) -> Array:
        """About the largest log BF (parents, k) of the pairs of some variables with every variable; -inf with itself.

        As `pairs`, but with the diagonal of Phi' Phi / (s + v) for A: two products for all pairs.
        """
        groups = self.groups
        total, y, S = self._unrotated()
        left = y
        if len(self.root):
            L, half = self._solved(S.T @ S / total, y @ S / total)
            left = y - S @ (self.root * solve_lower(L, half[:, None], transposed=True)[:, 0])
        a, b = np.array(PAIR[: groups.R]).T
        w = int(max(a.max(), b.max())) + 1
        n, k = len(y), groups.k
        at = [groups.column[j] for j in parents]
        one, other = groups.features[:, at, :w].reshape(n, -1), groups.features[:, :, :w].reshape(n, -1)
        shape = len(at), w, k, w

        def chosen(product: Array) -> Array:
            found: Array = product.reshape(shape)[:, a, :, b]  # (R, parents, k)
            return found

        linear = chosen((one * left[:, None]).T @ other) / total
        mean = chosen(one.T @ other) / n
        square = (chosen((one**2).T @ other**2) - n * mean**2) / total
        every = np.array(list(groups.column))
        best = np.empty((len(at), k))
        for i, j in enumerate(parents):
            lambdas = groups.pair_roots(np.full(k, j), every).transpose(1, 2, 0) ** 2  # (G, R, k)
            shrunk = 1.0 + lambdas * square[:, i]
            best[i] = (0.5 * (lambdas * linear[:, i] ** 2 / shrunk - np.log(shrunk)).sum(axis=1)).max(axis=0)
            best[i, at[i]] = -np.inf
        return best
