"""A sparse model of f: the sum of a few effects of single variables and of pairs, each in or out.

    y = c + sum_{g in S} Phi_g beta_g + r + e,   beta_g ~ N(0, diag(lambda_g)),   r ~ N(0, v K),   e ~ N(0, s I)

y (n,) standardized. A group g is a variable (its R functions, `features`) or a pair (products of its first functions).
lambda_g = amplitude * decay: one of GRID, with equal prior weights. r stands for what is spread over variables that are
not in S, so that what is found is not taken for all there is: K is the kernel of small effects of all variables.

Everything but S is integrated in closed form. Rotated into the eigenvectors of K (the constant c is projected out with
them), K is diagonal for any v and s, and a change of S costs products with the few columns of the groups in S:
with B = diag(d), F the scaled columns of S, C = I + F' B^-1 F = L L',

    A_g = Phi_g' M^-1 Phi_g = Phi_g' B^-1 Phi_g - (..)'(..),    b_g = Phi_g' M^-1 y        M = B + F F'

and by them the factor by which the evidence of the model changes if g joins with lambda,

    log BF = -1/2 log det(I + l A l) + 1/2 b' l (I + l A l)^-1 l b,     l = sqrt(lambda)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vsbo.arrays import Array
from vsbo.linalg import cholesky, solve_lower

#: A group: a variable (j,) or a pair (j, k), j < k.
Key = tuple[int, ...]

#: Variance of an effect, as parts of the variance of y, and the factor from one function to the next.
AMPLITUDES = (0.01, 0.04, 0.16, 0.64)
DECAYS = (0.1, 0.35, 0.8)
GRID = tuple((amplitude, decay) for decay in DECAYS for amplitude in AMPLITUDES)
#: The products of a pair: functions (a, b), degree at most 4 together.
PAIR = ((0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0))
#: Weights of line and bend in K.
SPREAD = (0.8, 0.2)
#: s and v: steps of a factor; v may be (almost) nothing.
NOISES = tuple(float(x) for x in np.geomspace(1e-3, 1.0, 14))
SPREADS = (1e-6, *(float(x) for x in np.geomspace(1e-2, 1.0, 9)))


@dataclass(frozen=True, eq=False)
class Rotated:
    """The data in the eigenvectors of K, m = n - 1. y (m,); e (m,): eigenvalues of K; E (n, m); features (n, D, R);
    Phi (m, D * R): rotated features; lambdas (D, G, R): prior variances.
    """

    y: Array
    e: Array
    E: Array
    features: Array
    Phi: Array
    lambdas: Array

    @property
    def D(self) -> int:
        """Variables."""
        return self.features.shape[1]

    @property
    def R(self) -> int:
        """Functions a variable."""
        return self.features.shape[2]

    def pair(self, j: int, k: int) -> Array:
        """Rotated products of the pair: (m, R)."""
        F = self.features
        products = np.zeros((F.shape[0], self.R))
        for column, (a, b) in enumerate(PAIR):
            products[:, column] = F[:, j, a] * F[:, k, b]
        return self.E.T @ products

    def pair_lambdas(self, j: int, k: int) -> Array:
        """(G, R): lambda of a product is the product of the lambdas' shapes; of functions that are not there, 0."""
        there = self.lambdas[[j, k], 0, :3] > 0.0
        shape = np.zeros((len(GRID), self.R))
        for column, (a, b) in enumerate(PAIR):
            if there[0, a] and there[1, b]:
                shape[:, column] = [decay ** (a + b) for _, decay in GRID]
        return np.array([amplitude for amplitude, _ in GRID])[:, None] * shape / shape.sum(axis=1, keepdims=True)


def rotate(features: Array, y: Array, ordered: Array) -> Rotated:
    """features (n, D, R), y (n,) standardized, ordered (D,): whether functions decay with their number."""
    n, D, R = features.shape
    weights = np.sqrt(np.array(SPREAD) / D)
    Z = (features[:, :, : len(SPREAD)] * weights).reshape(n, -1)
    Z = Z - Z.mean(axis=0)
    e, E = np.linalg.eigh(Z @ Z.T)
    # The constant is an eigenvector with eigenvalue 0: E without it spans what is orthogonal to it.
    E = E[:, np.abs(E.sum(axis=0)).argsort(kind="stable")]
    Q, _ = np.linalg.qr(np.column_stack([np.ones(n), E[:, : n - 1]]))
    E = Q[:, 1:]
    e, turn = np.linalg.eigh((E.T @ Z) @ (E.T @ Z).T)
    E = E @ turn
    Phi = E.T @ features.reshape(n, D * R)
    return Rotated(E.T @ y, np.maximum(e, 0.0), E, features, Phi, _lambdas(features, ordered))


def _lambdas(features: Array, ordered: Array) -> Array:
    _, D, R = features.shape
    there = (features != 0.0).any(axis=0)
    shape = np.empty((D, len(GRID), R))
    for g, (_, decay) in enumerate(GRID):
        shape[:, g] = np.where(ordered[:, None], decay ** np.arange(R), 1.0) * there
    total = shape.sum(axis=2, keepdims=True)
    amplitudes = np.array([amplitude for amplitude, _ in GRID])[None, :, None]
    lambdas: Array = amplitudes * shape / np.where(total > 0.0, total, 1.0)
    return lambdas


def log_factors(A: Array, b: Array, lambdas: Array) -> Array:
    """log BF (N, G) of A (N, R, R), b (N, R), lambdas (N, G, R): a Cholesky factor of I + l A l, all at once."""
    N, G, R = lambdas.shape
    root = np.sqrt(lambdas)
    # (R, R, N, G): the pivots go along the first axes, the many along the last.
    L = np.empty((R, R, N, G))
    for i in range(R):
        for k in range(i + 1):
            L[i, k] = A[:, i, k, None] * root[:, :, i] * root[:, :, k]
        L[i, i] += 1.0
    z = (b[:, None, :] * root).transpose(2, 0, 1).copy()
    log_det = np.zeros((N, G))
    square = np.zeros((N, G))
    for i in range(R):
        pivot = L[i, i]
        log_det += np.log(pivot)
        square += z[i] ** 2 / pivot
        for k in range(i + 1, R):
            factor = L[k, i] / pivot
            z[k] -= factor * z[i]
            for h in range(i + 1, k + 1):
                L[k, h] -= factor * L[h, i]
    return 0.5 * (square - log_det)


def without_itself(A: Array, b: Array, lambdas: Array) -> tuple[Array, Array]:
    """A (R, R), b (R,) of a group in S as they would be without it: (I - A lambda)^-1 A, (I - A lambda)^-1 b."""
    solved = np.linalg.solve(np.eye(len(b)) - A * lambdas, np.column_stack([A, b]))
    return 0.5 * (solved[:, :-1] + solved[:, :-1].T), solved[:, -1]


class Workbench:
    """The columns of groups and what can be kept of their products while s and v stay."""

    def __init__(self, data: Rotated) -> None:
        self.data = data
        self._pairs: dict[Key, tuple[Array, Array]] = {}
        self._at: tuple[int, int] | None = None

    def turn_to(self, noise: int, spread: int) -> None:
        """Prepare for B = diag(s + v e)."""
        if self._at == (noise, spread):
            return
        self._at = noise, spread
        data = self.data
        self.inverse = inverse_of(data, noise, spread)
        self.W = data.Phi * self.inverse[:, None]
        three = (len(data.y), data.D, data.R)
        self.gram = np.matmul(data.Phi.reshape(three).transpose(1, 2, 0), self.W.reshape(three).transpose(1, 0, 2))
        self.Wy = self.W.T @ data.y
        self._crosses: dict[Key, Array] = {}

    def columns(self, key: Key) -> Array:
        """(m, R)."""
        R = self.data.R
        return self.data.Phi[:, key[0] * R : (key[0] + 1) * R] if len(key) == 1 else self._pair(key)[0]

    def lambdas(self, key: Key) -> Array:
        """(G, R)."""
        return self.data.lambdas[key[0]] if len(key) == 1 else self._pair(key)[1]

    def _pair(self, key: Key) -> tuple[Array, Array]:
        if key not in self._pairs:
            self._pairs[key] = self.data.pair(*key), self.data.pair_lambdas(*key)
        return self._pairs[key]

    def cross(self, key: Key) -> Array:
        """(D * R, R): products of all variables' columns with the group's."""
        if key not in self._crosses:
            self._crosses[key] = self.W.T @ self.columns(key)
        return self._crosses[key]


def inverse_of(data: Rotated, noise: int, spread: int) -> Array:
    """The diagonal (m,) of B^-1."""
    inverse: Array = 1.0 / (NOISES[noise] + SPREADS[spread] * data.e)
    return inverse


class Model:
    """The groups `on` ({group: index into GRID}), s and v (indices into NOISES, SPREADS), given the data."""

    def __init__(self, bench: Workbench, on: Mapping[Key, int], noise: int, spread: int) -> None:
        self.bench, self.on, self.noise, self.spread = bench, on, noise, spread
        data = bench.data
        self.keys = tuple(on)
        self.root = np.concatenate([np.empty(0), *(np.sqrt(bench.lambdas(key)[on[key]]) for key in on)])
        self.F = np.column_stack([np.empty((len(data.y), 0)), *(bench.columns(key) for key in on)]) * self.root

    def solved(self, noise: int, spread: int) -> tuple[Array, Array, float]:
        """L, L^-1 F' B^-1 y, and the log evidence (but for a constant), under any s and v."""
        y, inverse = self.bench.data.y, inverse_of(self.bench.data, noise, spread)
        base = -0.5 * float(y @ (inverse * y)) + 0.5 * float(np.log(inverse).sum())
        if not len(self.root):
            return np.empty((0, 0)), np.empty(0), base
        WF = self.F * inverse[:, None]
        L, _ = cholesky(WF.T @ self.F + np.eye(len(self.root)))
        half = solve_lower(L, (WF.T @ y)[:, None])[:, 0]
        return L, half, base + 0.5 * float(half @ half) - float(np.log(np.diagonal(L)).sum())

    @cached_property
    def _here(self) -> tuple[Array, Array, float]:
        return self.solved(self.noise, self.spread)

    @property
    def evidence(self) -> float:
        """log N(y; 0, M), but for a constant."""
        return self._here[2]

    def variables(self) -> tuple[Array, Array]:
        """A (D, R, R) and b (D, R) of all variables; of those in S as if they were out."""
        bench = self.bench
        bench.turn_to(self.noise, self.spread)
        data = bench.data
        b = bench.Wy.reshape(data.D, data.R)
        if not self.keys:
            return bench.gram, b
        A, b = self._reduced(bench.gram, b, np.column_stack([bench.cross(key) for key in self.keys]))
        for key, g in self.on.items():
            if len(key) == 1:
                j = key[0]
                A[j], b[j] = without_itself(A[j], b[j], bench.lambdas(key)[g])
        return A, b

    def pairs(self, keys: Sequence[Key]) -> tuple[Array, Array, Array]:
        """A (P, R, R), b (P, R) and lambdas (P, G, R) of these pairs; of those in S as if they were out."""
        bench, R, P = self.bench, self.bench.data.R, len(keys)
        bench.turn_to(self.noise, self.spread)
        if not P:
            return np.empty((0, R, R)), np.empty((0, R)), np.empty((0, len(GRID), R))
        Phi = np.column_stack([bench.columns(key) for key in keys])
        lambdas = np.stack([bench.lambdas(key) for key in keys])
        W = Phi * bench.inverse[:, None]
        gram = np.matmul(Phi.reshape(-1, P, R).transpose(1, 2, 0), W.reshape(-1, P, R).transpose(1, 0, 2))
        A, b = gram, (W.T @ bench.data.y).reshape(P, R)
        if self.keys:
            A, b = self._reduced(gram, b, W.T @ (self.F / np.where(self.root > 0, self.root, 1.0)))
        for i, key in enumerate(keys):
            if key in self.on:
                A[i], b[i] = without_itself(A[i], b[i], lambdas[i, self.on[key]])
        return A, b, lambdas

    def _reduced(self, gram: Array, b: Array, crosses: Array) -> tuple[Array, Array]:
        """From products with B^-1 to products with M^-1; crosses (N * R, q): with the columns of S, unscaled."""
        L, half, _ = self._here
        N, R, _ = gram.shape
        T = solve_lower(L, np.asfortranarray((crosses * self.root).T))
        b = b - (half @ T).reshape(N, R)
        T = T.T.reshape(N, R, -1)
        return gram - T @ T.transpose(0, 2, 1), b

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Coefficients (count, q) of the groups in S, in the order of `keys`, from their posterior."""
        L, half, _ = self._here
        z = rng.standard_normal((len(self.root), count))
        if not len(self.root):
            return z.T
        draws: Array = solve_lower(L, half[:, None] + z, transposed=True).T * self.root
        return draws
