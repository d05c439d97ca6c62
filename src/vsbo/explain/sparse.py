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
    What can be kept of products with B^-1 while s and v stay is kept.
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
        self._at: tuple[int, int] | None = None

    def set_pairs(self, keys: Sequence[Key]) -> None:
        """The pairs that may join from now on."""
        k = self.k
        products = [self.rotation.E.T @ self.products(*pair) for pair in keys]
        self.keys = self.keys[:k] + list(keys)
        self.index = {key: i for i, key in enumerate(self.keys)}
        self.Phi = np.asfortranarray(np.column_stack([self.Phi[:, : k * self.R], *products]))
        self.roots = np.concatenate([self.roots[:k], *(self.pair_roots(*pair)[None] for pair in keys)])
        self._at = None
        self.__dict__.pop("outer", None)

    def products(self, j: int, k: int) -> Array:
        """Of a pair: (n, R)."""
        F, one, other = self.features, self.column[j], self.column[k]
        products = np.zeros((len(F), self.R))
        for column, (a, b) in enumerate(PAIR[: self.R]):
            products[:, column] = F[:, one, a] * F[:, other, b]
        return products

    def pair_roots(self, j: int, k: int) -> Array:
        """(G, R): variances fall with the degree; those of functions that a variable does not have are 0."""
        one, other = self.roots[self.column[j], 0] > 0.0, self.roots[self.column[k], 0] > 0.0
        shape = np.zeros((1, len(DECAYS), self.R))
        for column, (a, b) in enumerate(PAIR[: self.R]):
            if one[a] and other[b]:
                shape[0, :, column] = np.array(DECAYS) ** (a + b)
        roots: Array = _roots(shape)[0]
        return roots

    @cached_property
    def outer(self) -> Array:
        """(R, R, N, G): l_i l_k."""
        return outer(self.roots)

    def turn_to(self, noise: int, spread: int) -> None:
        """Prepare for B; indices into NOISES and SPREADS."""
        if self._at != (noise, spread):
            self._at = noise, spread
            self.W = self.Phi * self.rotation.inverse(noise, spread)[:, None]
            self.gram = grams(self.Phi, self.W, self.R)
            self.Wy = (self.W.T @ self.rotation.y).reshape(-1, self.R)
            self._crosses: dict[Key, Array] = {}

    def columns(self, key: Key) -> Array:
        """(m, R)."""
        i = self.index[key]
        return self.Phi[:, i * self.R : (i + 1) * self.R]

    def cross(self, key: Key) -> Array:
        """(R, N R): products of the group's columns with all groups'."""
        if key not in self._crosses:
            self._crosses[key] = self.columns(key).T @ self.W
        return self._crosses[key]


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

    def __init__(self, groups: Groups, on: Mapping[Key, int], noise: int, spread: int) -> None:
        self.groups, self.on, self.noise, self.spread = groups, on, noise, spread
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
        """log N(y; 0, M), but for a constant, under several (s, v): (k,)."""
        rotation, q = self.groups.rotation, len(self.root)
        inverse = np.stack([rotation.inverse(*one) for one in hyper])
        found: Array = -0.5 * (inverse @ rotation.y**2) + 0.5 * np.log(inverse).sum(axis=1)
        if q:
            WF = inverse[:, :, None] * self.F
            C = self.F.T @ WF
            C[:, np.arange(q), np.arange(q)] += 1.0
            for i, half in enumerate(rotation.y @ WF):
                L, _ = cholesky(C[i])
                half = solve_lower(L, half[:, None])
                found[i] += 0.5 * np.vdot(half, half) - np.log(np.diagonal(L)).sum()
        return found

    def _solved(self, gram: Array, Wy: Array) -> tuple[Array, Array]:
        """L and L^-1 F' B^-1 y, from the products (q, q) and (q,) of the unscaled columns of S."""
        C = gram * self.root * self.root[:, None]
        C[np.arange(len(C)), np.arange(len(C))] += 1.0
        L, _ = cholesky(C)
        return L, solve_lower(L, (Wy * self.root)[:, None])[:, 0]

    def moments(self) -> tuple[Array, Array]:
        """A (N, R, R) and b (N, R) of all groups; of those in S as if they were out."""
        groups, R = self.groups, self.groups.R
        groups.turn_to(self.noise, self.spread)
        if not self.keys:
            return groups.gram, groups.Wy
        crosses = np.concatenate([groups.cross(key) for key in self.keys])[self.there]
        at = [groups.index[key] for key in self.keys]
        own = crosses.reshape(len(crosses), -1, R)[:, at].reshape(len(crosses), -1)[:, self.there]
        L, half = self._solved(own, groups.Wy[at].ravel()[self.there])
        A, b = self._reduced(L, half, groups.gram, groups.Wy, crosses)
        # Of a group in S, without it: (I - A lambda)^-1 (A, b).
        lambdas = np.stack([groups.roots[i, g] ** 2 for i, g in zip(at, self.on.values(), strict=True)])
        inside = np.concatenate([A[at], b[at, :, None]], axis=2)
        solved = np.linalg.solve(np.eye(R) - A[at] * lambdas[:, None, :], inside)
        A[at], b[at] = solved[:, :, :R], solved[:, :, R]
        return A, b

    def _reduced(self, L: Array, half: Array, gram: Array, b: Array, crosses: Array) -> tuple[Array, Array]:
        """From products with B^-1 to products with M^-1; crosses (q, N R): of the columns of S with the others."""
        N, R, _ = gram.shape
        T = solve_lower(L, np.asfortranarray(crosses * self.root[:, None]))
        b = b - (half @ T).reshape(N, R)
        T = T.T.reshape(N, R, -1)
        return gram - np.matmul(T, T.transpose(0, 2, 1)), b

    def pairs_of(self, j: int) -> tuple[Array, Array, Array]:
        """A (k, R, R), b (k, R) and log BF (k, G) of the pairs of variable j with every variable, if one joined.

        With s + v for B, for which nothing need be rotated: good enough to choose by. -inf with itself.
        """
        groups, rotation = self.groups, self.groups.rotation
        F, one = groups.features, groups.column[j]
        products = np.zeros_like(F)
        for column, (i, k) in enumerate(PAIR[: groups.R]):
            np.multiply(F[:, one, i, None], F[:, :, k], out=products[:, :, column])
        flat = products.reshape(len(F), -1)
        flat -= flat.mean(axis=0)
        total = NOISES[self.noise] + rotation.unseen(self.noise, self.spread)
        y = rotation.E @ rotation.y
        A, b = grams(flat, flat, groups.R) / total, (y @ flat).reshape(-1, groups.R) / total
        if len(self.root):
            S = rotation.E @ (self.F / self.root)
            L, half = self._solved(S.T @ S / total, y @ S / total)
            A, b = self._reduced(L, half, A, b, S.T @ flat / total)
        roots = self.pair_roots_of(j)
        factors = log_factors(A, b, roots, outer(roots))
        factors[one] = -np.inf
        return A, b, factors

    def pair_roots_of(self, j: int) -> Array:
        """(k, G, R): of the pairs of variable j with every variable."""
        known: dict[tuple[bool, ...], Array] = {}
        found = []
        for k in self.groups.column:
            signature = tuple((self.groups.roots[self.groups.column[k], 0, :FIRST] > 0.0).tolist())
            if signature not in known:
                known[signature] = self.groups.pair_roots(j, k)
            found.append(known[signature])
        return np.stack(found)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Coefficients (count, groups in S, R), in the order of `keys`, from their posterior."""
        draws = np.zeros((count, len(self.there)))
        if len(self.root):
            rotation, columns = self.groups.rotation, self.F / self.root
            W = columns * rotation.inverse(self.noise, self.spread)[:, None]
            L, half = self._solved(columns.T @ W, rotation.y @ W)
            z = rng.standard_normal((len(self.root), count))
            draws[:, self.there] = solve_lower(L, half[:, None] + z, transposed=True).T * self.root
        return draws.reshape(count, len(self.keys), self.groups.R)
