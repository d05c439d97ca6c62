"""The bench of whole numbers and choices: its problems the slow way, its methods, its page."""

import itertools
import json

import numpy as np
import pytest

from benchmarks.discrete import report, search
from benchmarks.discrete.methods import INITIAL, METHODS, first_points
from benchmarks.discrete.problems import PROBLEMS, contamination25, labs50, max_cut40, menu25, sparse_bits60
from vsbo import Choice, Integer


def random_points(space, n, seed=0):
    return [space.params(space.from_unit(u)) for u in np.random.default_rng(seed).random((n, space.D))]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_keeps_the_contract(name):
    problem, again, other = PROBLEMS[name](0), PROBLEMS[name](0), PROBLEMS[name](1)
    assert name.endswith(str(problem.space.D))
    points = random_points(problem.space, 20)
    values = [problem.f(params) for params in points]
    assert np.isfinite(values).all()
    assert len(set(values)) > 10
    assert values == [again.f(params) for params in points]
    if name != "LABS50":
        assert values != [other.f(params) for params in points]


def test_labs_sign_by_sign():
    problem = labs50(0)
    (params,) = random_points(problem.space, 1)
    s = [2 * bit - 1 for bit in params.values()]
    energy = sum(sum(s[i] * s[i + k] for i in range(50 - k)) ** 2 for k in range(1, 50))
    assert problem.f(params) == pytest.approx(2500 / (2 * energy))
    flipped = {name: 1 - bit for name, bit in params.items()}
    assert problem.f(flipped) == problem.f(params)


def test_contamination_at_its_ends():
    """Nothing prevented costs no prevention, everything prevented costs 25 and what is left of the contamination."""
    problem = contamination25(3)
    none, all_ = ({f"x{i}": bit for i in range(25)} for bit in (0, 1))
    assert -25 * 0.95 - 1e-9 <= problem.f(none) <= 25 * 0.05 + 1e-9
    assert -25 * 1.95 - 1e-9 <= problem.f(all_) <= -25 * 0.95 + 1e-9


def test_max_cut_is_that_of_either_part():
    problem = max_cut40(0)
    (params,) = random_points(problem.space, 1)
    assert problem.f({name: 1 - bit for name, bit in params.items()}) == pytest.approx(problem.f(params))
    assert problem.f(dict.fromkeys(params, 1)) == 0.0


def test_eight_of_sixty_bits_matter():
    problem = sparse_bits60(2)
    (params,) = random_points(problem.space, 1)
    y = problem.f(params)
    changes = [problem.f({**params, name: 1 - bit}) != y for name, bit in params.items()]
    assert sum(changes) == 8


def test_a_menu_is_a_sum_of_dishes_and_pairs():
    """Differences of differences vanish but for the twenty pairs."""
    problem = menu25(0)
    params = dict.fromkeys(problem.space.names, "a")

    def joint(i, j):
        one, other = {f"x{i}": "b"}, {f"x{j}": "b"}
        f = [problem.f({**params, **change}) for change in ({}, one, other, one | other)]
        return abs(f[0] - f[1] - f[2] + f[3]) > 1e-9

    assert 15 <= sum(joint(i, j) for i, j in itertools.combinations(range(25), 2)) <= 20


@pytest.mark.parametrize("name", METHODS)
def test_every_method_begins_alike_and_stays_in_the_space(name):
    if name == "optuna-tpe":
        pytest.importorskip("optuna")
    problem = PROBLEMS["Mixed40"](0)

    def points():
        method, found = METHODS[name](problem.space, 0), []
        params = next(method)
        for _ in range(INITIAL + 4):
            found.append(params)
            params = method.send(problem.f(params))
        return found

    found = points()
    for params, first in zip(found, first_points(problem.space, 0), strict=False):
        assert params == pytest.approx(first)
    for params in found:
        problem.space.point(params)  # raises where a value is outside
        for key, variable in problem.space.variables.items():
            assert isinstance(params[key], str if isinstance(variable, Choice) else (int, float))
            assert not isinstance(variable, Integer) or isinstance(params[key], int)
    assert points() == found


def test_run_and_page(monkeypatch, tmp_path):
    monkeypatch.setattr(search, "EVALUATIONS", 8)
    monkeypatch.setattr(report, "SHOWN", (5, 8))
    monkeypatch.setattr(report, "RECORDS", tmp_path / "discrete.jsonl")
    rows = [search.run(("LABS50", method, seed)) for method in ("vsbo", "evolution") for seed in (0, 1)]
    assert all(len(row["best"]) == 8 and (np.diff(row["best"]) >= 0).all() for row in rows)
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "discrete.jsonl").write_text("\n".join([*lines, lines[0][:40]]))  # killed while it wrote
    assert report.saved() == rows
    page = report.page(report.saved())
    assert "## LABS50" in page
    assert "| vsbo (2) |" in page
    assert "of 2 |" in page
    assert "MaxCut40" not in page
    assert report.page([]) == "Not measured.\n"


def test_overview():
    """All methods with made-up values: the first is best everywhere."""
    best = {m: [float(-i)] * search.EVALUATIONS for i, m in enumerate(METHODS)}
    rows = [{"problem": p, "method": m, "seed": s, "best": best[m]} for p in PROBLEMS for m in METHODS for s in (0, 1)]
    lines = report.overview(rows).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[2] == ["vsbo", *["0"] * len(PROBLEMS), "1.00", "1.00", "1.00"]
    assert cells[-1] == [list(METHODS)[-1], *[f"{1 - len(METHODS)}"] * len(PROBLEMS), *[f"{len(METHODS):.2f}"] * 3]
