import numpy as np
import pytest

from vsbo.errors import NumericalError
from vsbo.linalg import JITTERS, LEAF, cholesky, inverse, single_thread, solve_cholesky, solve_lower


def spd(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + np.eye(n)


@pytest.mark.parametrize("in_place", [False, True])
def test_cholesky_is_scipys_and_needs_no_jitter(in_place):
    K = np.asfortranarray(spd(7))
    expected = np.linalg.cholesky(K)
    L, jitter = cholesky(K, again=pytest.fail if in_place else None)
    assert jitter == 0.0
    assert np.shares_memory(L, K) == in_place
    np.testing.assert_allclose(np.tril(L) if in_place else L, expected, rtol=1e-12)


@pytest.mark.parametrize("in_place", [False, True])
def test_cholesky_of_a_singular_matrix_adds_the_least_jitter_of_the_ladder_that_works(in_place):
    K = np.asfortranarray(np.ones((5, 5)) - 1e-9 * np.eye(5))  # least eigenvalue -1e-9: the first rungs must fail
    K[3, 1] = K[1, 3] = 0.99999  # no two triangles alike by chance
    expected = K.copy()
    L, jitter = cholesky(K, again=(lambda: expected.copy("F")) if in_place else None)
    used = jitter / np.mean(np.diagonal(expected))
    assert used in JITTERS[1:]
    L = np.tril(L) if in_place else L
    np.testing.assert_allclose(L @ L.T, expected + jitter * np.eye(5), atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):  # the rung below does not work
        np.linalg.cholesky(expected + JITTERS[JITTERS.index(used) - 1] * np.mean(np.diagonal(expected)) * np.eye(5))


@pytest.mark.parametrize("K", [-np.eye(3), np.full((3, 3), np.nan), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_cholesky_says_when_a_matrix_is_beyond_repair(K):
    with pytest.raises(NumericalError, match="cholesky"):
        cholesky(K)


def test_the_ladder_ascends():
    assert list(JITTERS) == sorted(JITTERS)
    assert JITTERS[0] == 0.0


def test_solves():
    K, B = spd(6), np.random.default_rng(1).normal(size=(6, 3))
    L, _ = cholesky(K)
    np.testing.assert_allclose(solve_lower(L, B), np.linalg.solve(L, B), rtol=1e-10)
    np.testing.assert_allclose(solve_lower(L, B, transposed=True), np.linalg.solve(L.T, B), rtol=1e-10)
    np.testing.assert_allclose(solve_cholesky(L, B), np.linalg.solve(K, B), rtol=1e-10)


@pytest.mark.parametrize("n", [1, LEAF, LEAF + 1, 150, 261])
def test_inverse(n):
    K = spd(n)
    L, _ = cholesky(K.copy("F"), again=pytest.fail)  # above its diagonal there is rubbish
    inverted = inverse(L)
    assert np.shares_memory(inverted, L)
    np.testing.assert_allclose(np.tril(inverted), np.tril(np.linalg.inv(K)), atol=1e-12)


def test_single_thread_holds_inside_and_only_inside():
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads():
        # Ours is BLAS; another package's OpenMP, loaded since, is none of our business.
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2):
        before = threads()
        with single_thread():
            assert threads() == {1}
        assert threads() == before
