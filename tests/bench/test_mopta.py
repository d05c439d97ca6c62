"""MOPTA08: check values, the fast models against the plain definition, the official program's protocol."""

import stat
import sys

import numpy as np
import pytest

from benchmarks.errors import BenchError
from benchmarks.problems import mopta08
from benchmarks.problems.mopta import DEFAULT_FILE, EXECUTABLE, FILE
from benchmarks.problems.mopta_models import load
from tests.bench.test_problems import check_points

needs_coefficients = pytest.mark.skipif(not DEFAULT_FILE.exists(), reason="MOPTA08's coefficients are not here")

# Reads and writes as the official program does; its mass and constraints are simple functions of the input.
PROGRAM = f"""#!{sys.executable}
values = [float(line) for line in open("input.txt")]
assert len(values) == 124 and all(0 <= v <= 1 for v in values)
open("output.txt", "w").write("\\n".join(str(v) for v in [sum(values), *(v - 0.5 for v in values[:68])]))
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Writes an executable of the given source and makes it MOPTA08's."""

    def write(source):
        path = tmp_path / "mopta08"
        path.write_text(source)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.delenv(FILE, raising=False)
        monkeypatch.setenv(EXECUTABLE, str(path))
        return path

    return write


def obvious(file, x):
    """f and g at x (124,), design after design, power after power."""
    X = file["lower"] + x * (file["upper"] - file["lower"])
    y = np.empty(68)
    for d in range(9):
        part = {key.split("_", 1)[1]: file[key] for key in file if key.startswith(f"design{d}_")}
        v = np.array([X[i - 1] if i > 0 else file["baseline"][-i - 1] for i in part["inputs"]])
        K = np.exp(-(np.abs(v - part["points"]) ** 1.9) @ part["theta"])
        value = part["trend"][0] + v @ part["trend"][1:] + np.sum(part["weights"] * K, axis=0)
        y[part["constraints"] - 1] = np.where(
            part["log"] != 0, np.exp(np.where(part["log"], value, 0)) + part["offset"], value
        )
    return file["mass"] @ X, (file["sign"] * y - file["bound"]) / np.abs(file["bound"])


@needs_coefficients
def test_check_values():
    models = load(DEFAULT_FILE)
    f, g = models(check_points(124))
    np.testing.assert_allclose(f, [151.9679342742, 454.5648279828, 303.2663811285, 285.3135392194, 314.9406426531])
    violation = np.maximum(g, 0).sum(axis=1)
    np.testing.assert_allclose(violation, [47.1250934381, 2.6739264033, 3.0876848044, 7.3459491513, 11.3238149768])
    assert (g > 0).sum(axis=1).tolist() == [46, 10, 15, 18, 24]


@needs_coefficients
def test_penalized_check_values(monkeypatch):
    monkeypatch.setenv(FILE, str(DEFAULT_FILE))
    expected = [-623.2188686556, -481.3040920160, -334.1432291730, -358.7730307329, -428.1787924210]
    np.testing.assert_allclose(mopta08().values(check_points(124)), expected, rtol=1e-10)


@needs_coefficients
def test_the_fast_models_are_the_definition():
    file = dict(np.load(DEFAULT_FILE))
    models = load(DEFAULT_FILE)
    for x in np.random.default_rng(4).random((4, 124)):
        f, g = models(x[None])
        expected_f, expected_g = obvious(file, x)
        assert f[0] == pytest.approx(expected_f, rel=1e-12)
        np.testing.assert_allclose(g[0], expected_g, rtol=1e-10, atol=1e-10)


@needs_coefficients
def test_some_variables_held():
    """For any choice of columns, in any order, also none and all."""
    models = load(DEFAULT_FILE)
    rng = np.random.default_rng(6)
    for m in (0, 1, 5, 124):
        x, columns, U = rng.random(124), rng.permutation(124)[:m], rng.random((3, m))
        X = np.tile(x, (3, 1))
        X[:, columns] = U
        for held, full in zip(models.around(x, columns)(U), models(X), strict=True):
            np.testing.assert_allclose(held, full, rtol=1e-10, atol=1e-10)


def test_nothing_there(monkeypatch, tmp_path):
    monkeypatch.delenv(EXECUTABLE, raising=False)
    monkeypatch.setenv(FILE, str(tmp_path / "absent.npz"))
    with pytest.raises(BenchError, match=f"{FILE} must name.*{EXECUTABLE}.*absent.npz"):
        mopta08()


def test_not_the_coefficients(monkeypatch, tmp_path):
    for name, write in (
        ("text.npz", lambda path: path.write_text("not an archive")),
        ("other.npz", lambda path: np.savez(path, lower=np.zeros(124))),
    ):
        write(tmp_path / name)
        monkeypatch.setenv(FILE, str(tmp_path / name))
        with pytest.raises(BenchError, match=f"{name} must be the file of MOPTA08's coefficients"):
            mopta08()


def test_the_official_program(program, tmp_path, monkeypatch):
    path = program(PROGRAM)
    X = np.random.default_rng(0).random((2, 124))
    expected = -(X.sum(axis=1) + 10 * np.maximum(X[:, :68] - 0.5, 0).sum(axis=1))
    np.testing.assert_allclose(mopta08().values(X), expected, rtol=1e-12)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mopta08"]
    # A relative path is that of the caller, not of the directory in which the program runs.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(EXECUTABLE, path.name)
    np.testing.assert_allclose(mopta08().values(X[:1]), expected[:1], rtol=1e-12)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (f"#!{sys.executable}\nimport sys\nsys.exit('no licence')\n", "ended with code 1: no licence"),
        (f"#!{sys.executable}\nopen('output.txt', 'w').write('1 2 3')\n", "must write 69 numbers.* got 3"),
        (f"#!{sys.executable}\n", "must read input.txt and write output.txt.*No such file"),
        (
            f"#!{sys.executable}\nopen('output.txt', 'w').write('one')\n",
            "must read input.txt and write output.txt.*'one'",
        ),
    ],
)
def test_a_program_that_fails(program, source, says):
    program(source)
    with pytest.raises(BenchError, match=says):
        mopta08().f(np.full(124, 0.5))


def test_a_program_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.delenv(FILE, raising=False)
    monkeypatch.setenv(EXECUTABLE, str(tmp_path / "absent"))
    with pytest.raises(BenchError, match="absent"):
        mopta08().f(np.full(124, 0.5))
