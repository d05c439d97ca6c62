"""Every figure from small real runs, what it shows, its colours; that regret's functions obey Assumption 5.1."""

import itertools
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks import regret
from benchmarks.__main__ import main
from benchmarks.errors import BenchError
from benchmarks.experiment import Job
from benchmarks.figures import FIGURES, figure
from benchmarks.methods import METHODS
from benchmarks.records import load
from benchmarks.worker import work

pytest.importorskip("matplotlib", reason="the figures are drawn with matplotlib")

from matplotlib.image import imread

from benchmarks.figures import curves, growth, real_selection, recorded, sampled, selections
from benchmarks.figures.recorded import ranges
from benchmarks.figures.style import APART, FAMILIES, family, look

#: Long enough for a selection, which comes after 20 evaluations.
SELECTS = 23
RUNS = [
    *(("Branin50", method, seed, SELECTS) for method in ("vsbo-paper", "vanilla-paper") for seed in (0, 1)),
    ("Branin50", "vsbo", 0, SELECTS),
    ("Branin50", "vsbo-mix", 0, SELECTS),
    ("Branin50", "hesbo-4", 0, 8),
    *(("Branin50", "random", seed, SELECTS) for seed in (0, 1, 2)),
    ("Hartmann6-50", "vsbo-paper", 0, SELECTS),
    ("Hartmann6-50", "sobol", 0, 10),
    ("Rotated-Hartmann6-100", "random", 0, 10),
    ("Rotated-Hartmann6-100", "cma", 0, 10),
    ("Rover60", "vsbo-paper", 0, SELECTS),
    ("Rover60", "random", 0, SELECTS),
]
ALPHA = 0.01


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Recorded by the runner's own worker; the regret by its own command's function."""
    folder = tmp_path_factory.mktemp("results")
    for problem, method, seed, evaluations in RUNS:
        assert work(Job(problem, method, seed, evaluations, 5), folder) == "finished"
    regret.record(folder, (ALPHA,), paths=2, evaluations=15)
    return folder


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_from_recorded_runs(results, tmp_path, name, monkeypatch):
    monkeypatch.setattr(real_selection, "POINTS", 4096)
    written = FIGURES[name](results, tmp_path / "drawn")
    assert written
    assert len({path.name for path in written}) == len(written)
    for path in written:
        assert path.name.startswith(name)
        assert path.suffix == ".png"
        pixels = imread(path)[..., :3]
        assert pixels.shape[1] == 1350
        # Something is drawn, and nothing at the very edge: a text that does not fit would be cut there.
        assert (pixels < 0.5).any(axis=2).mean() > 0.005
        assert pixels[:, -4:].min() > 0.9
        assert pixels[:, :2].min() > 0.9


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "growth"])
def test_without_results_the_command_that_makes_them_is_named(tmp_path, name):
    experiment = "paper-real" if name.startswith(("real", "rotated")) else "paper-synthetic"
    command = "python -m benchmarks.regret" if name == "regret" else f"python -m benchmarks run {experiment}"
    with pytest.raises(BenchError, match=f"figure {name} needs .*`{command}`"):
        FIGURES[name](tmp_path, tmp_path)


def test_growth_needs_the_measured_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(growth, "SPEED", tmp_path / "speed.json")
    with pytest.raises(BenchError, match="python -m benchmarks.speed --only growth"):
        FIGURES["growth"](tmp_path, tmp_path)


def test_an_unknown_figure_lists_the_known_ones():
    with pytest.raises(BenchError, match="no figure 'speed'; known are synthetic-value, .*growth"):
        figure("speed")


def test_all_draws_what_it_can_and_names_the_rest(results, tmp_path, capsys):
    few, drawn = tmp_path / "few", tmp_path / "drawn"
    shutil.copytree(results / "Branin50" / "random", few / "Branin50" / "random")
    assert main(["figure", "all", "--results", str(few), "--out", str(drawn)]) == 0
    said = capsys.readouterr()
    assert {path.name for path in drawn.iterdir()} == {Path(line).name for line in said.out.splitlines()}
    assert {"synthetic-value.png", "growth.png"} <= {path.name for path in drawn.iterdir()}
    missing = re.findall(r"^not drawn: figure (\S+) needs ", said.err, re.MULTILINE)
    assert {"synthetic-selection", "rotated", "real-value", "mix", "regret"} <= set(missing)
    assert len(missing) == said.err.count("\n")
    assert not any(path.name.startswith(name) for name in missing for path in drawn.iterdir())


def test_a_figure_asked_for_by_name_must_be_drawn(results, tmp_path, capsys):
    few = tmp_path / "few"
    shutil.copytree(results / "Branin50" / "random", few / "Branin50" / "random")
    assert main(["figure", "rotated", "synthetic-value", "--results", str(few), "--out", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == f"written: {tmp_path / 'synthetic-value.png'}\n"
    assert said.err.startswith("not drawn: figure rotated needs runs of Rotated-Hartmann6-100")
    assert main(["figure", "synthetic-value", "--results", str(few), "--out", str(tmp_path)]) == 0


def test_without_any_results_all_has_failed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(growth, "SPEED", tmp_path / "speed.json")
    assert main(["figure", "all", "--results", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("not drawn: ") == len(FIGURES)


def test_runs_that_end_before_a_selection_cannot_show_any(tmp_path):
    work(Job("Branin50", "vsbo-paper", 0, 3, 5), tmp_path)
    with pytest.raises(BenchError, match="come to a selection"):
        FIGURES["synthetic-selection"](tmp_path, tmp_path)


# --------------------------------------------------------------------------------------------------- the looks

#: Linear RGB as protanopic and deuteranopic eyes see it (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def cielab(colour, eyes):
    """L*, a*, b* of "#RRGGBB" under the white of D65."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(EYES[eyes] @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ seen / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", EYES)
def test_families_differ_in_colour_for_every_eye(eyes):
    seen = {name: cielab(own.colour, eyes) for name, own in FAMILIES.items()}
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 20, (one, other)


def test_every_method_has_a_family_and_a_look_of_its_own():
    assert [method for method in METHODS if family(method) is None] == []
    known = [method for own in FAMILIES.values() for method in own.methods]
    assert len(set(known)) == len(known)
    looks = {(look(method).colour, look(method).dashes, look(method).marker) for method in known}
    assert len(looks) == len(known)


def test_looks_stay_what_they_were():
    """A figure of last year and one of today must not disagree on who is who."""
    assert (look("vsbo").colour, look("vsbo").dashes, look("vsbo").marker) == ("#D55E00", "-", "o")
    assert (look("vsbo-paper").colour, look("vsbo-paper").marker) == ("#D55E00", "s")
    assert look("vanilla-paper").colour == look("botorch").colour == "#0072B2"
    assert look("mine:Method") == look("mine:Method")
    assert family("mine:Method") is None


# ------------------------------------------------------------------------------------------- what is drawn


def test_the_curve_by_evaluation_is_the_mean_of_the_bests(results):
    runs = load(results, ["Branin50"], ["random"])
    curve = curves.by_evaluation(runs)
    np.testing.assert_array_equal(curve.x, np.arange(SELECTS + 1))
    for n in (0, 7, SELECTS):
        assert curve.mean[n] == pytest.approx(np.mean([run.y[: 5 + n].max() for run in runs]))
    final = np.interp(curve.knots, curve.x, curve.mean)
    assert (curve.low <= final).all()
    assert (final <= curve.high).all()


def test_the_curve_by_time_is_a_step_function_of_each_runs_clock(results):
    np.testing.assert_array_equal(
        curves.at_times(np.array([0.5, 1.0, 2.9, 3.0, 9.0]), np.array([1.0, 3.0]), np.array([-5.0, -2.0, 4.0])),
        [-5.0, -2.0, -2.0, 4.0, 4.0],
    )
    runs = load(results, ["Branin50"], ["vsbo-paper"])
    curve = curves.by_time(runs, "wall")
    assert curve.x[-1] == pytest.approx(max(run.wall.sum() for run in runs))
    assert curve.mean[-1] == pytest.approx(np.mean([run.best[-1] for run in runs]))
    assert (np.diff(curve.mean) >= 0).all()


@pytest.mark.parametrize("wanted", [[0.5, 0.5, 0.5], [0.0, 0.01, 0.02, 0.9], [0.97, 0.98, 0.99, 1.3], [-2.0, 0.1]])
def test_names_are_moved_apart_and_stay_in_order(wanted):
    places = curves.apart(np.array(wanted), 0.1)
    assert (np.diff(places) >= 0.1 - 1e-9).all()
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9


def test_frequency_counts_evaluations_after_the_first_selection(results):
    (run,) = load(results, ["Hartmann6-50"], ["vsbo-paper"])
    after = [set(chosen) for chosen in run.selected[5 + 20 :]]
    share, total = selections.frequency([run])
    assert total == len(after) == SELECTS - 20
    assert all(share[j] == np.mean([j in chosen for chosen in after]) for j in range(50))


def test_a_tie_is_no_lead():
    share = np.array([0.9, 0.5, 0.5, 0.1])
    assert selections.leading(share, {0, 1}) == {0}
    assert selections.leading(share, {0, 1, 2}) == {0, 1, 2}
    assert [share[j] for j in selections.ranked(share)] == [0.9, 0.5, 0.5, 0.1]
    assert selections.ranked(np.zeros(40)) == selections.ranked(np.zeros(40)) != list(range(40))


def test_seeds_are_written_short():
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


def test_sampled_values_are_those_of_the_problem_and_are_kept(tmp_path):
    at = np.full(50, 0.3)
    much = sampled.sampled(tmp_path, "Branin50", "most", (0, 1), at, 20_000)
    little = sampled.sampled(tmp_path, "Branin50", "least", (2, 3), at, 20_000)
    # The second block is the first one with weight 0.1.
    assert little.deviation == pytest.approx(0.1 * much.deviation, rel=0.05)
    assert sum(much.counts) == 20_000
    assert np.sum(much.density * np.diff(much.edges)) == pytest.approx(1.0)
    file = tmp_path / "sampled" / "Branin50-most.json"
    kept = json.loads(file.read_text())
    kept["histogram"]["mean"] = 12345.0
    file.write_text(json.dumps(kept))
    assert sampled.sampled(tmp_path, "Branin50", "most", (0, 1), at, 20_000).mean == 12345.0
    assert sampled.sampled(tmp_path, "Branin50", "most", (0, 2), at, 20_000).mean != 12345.0
    file.write_text("{")
    assert sampled.sampled(tmp_path, "Branin50", "most", (0, 1), at, 20_000) == much


# ------------------------------------------------------------------------------------------------- regret


@pytest.fixture(scope="module", params=[0.001, 0.03])
def prior(request):
    return regret.Prior(request.param)


def test_the_features_make_the_kernel_exactly(prior):
    X = np.random.default_rng(0).random((40, prior.D))
    distance = (X[:, None] - X[None]) / prior.lengthscales
    np.testing.assert_allclose(
        prior.features(X) @ prior.features(X).T, np.exp(-0.5 * (distance**2).sum(axis=2)), atol=1e-6
    )


def test_slopes_are_derivatives(prior):
    x, path = np.random.default_rng(1).random(prior.D), regret.SamplePath(prior, 0)
    h = 1e-5
    for j, slope in enumerate(path.gradient(x)):
        e = h * np.eye(prior.D)[j]
        difference = (path.values((x + e)[None])[0] - path.values((x - e)[None])[0]) / (2 * h)
        assert slope == pytest.approx(difference, rel=1e-5, abs=1e-8)


def test_sampled_functions_obey_the_assumption(prior):
    """P(sup |df/dx_j| > L) <= a exp(-(L / b_j)^2) for L from the least supremum on, by 400 paths that m never saw.

    The share is an estimate; its standard error, at most 0.025, is far below the slack of Borell's inequality, so
    that a failure means a wrong constant, not bad luck.
    """
    smoothness = prior.smoothness
    X = regret.cube(1024, prior.D)
    W = np.random.default_rng(99).normal(size=(len(prior.degrees), 400))
    for j in range(prior.D):
        sup = np.abs(prior.slopes(X, j) @ W).max(axis=0)
        b = smoothness.b * (1.0 if j < prior.d else smoothness.alpha)
        for L in np.linspace(sup.min(), sup.max(), 50):
            assert np.mean(sup > L) <= smoothness.a * np.exp(-((L / b) ** 2))
        # Not by a huge constant: no slope exceeds the theorem's c, and c is not far above them.
        c = b * np.sqrt(np.log(8 * prior.D * smoothness.a / smoothness.delta))
        assert sup.max() < c < 4 * sup.max()


def test_unimportant_variables_are_less_steep_by_alpha(prior):
    X = regret.cube(512, prior.D)
    W = np.random.default_rng(5).normal(size=(len(prior.degrees), 100))
    steep = [np.sqrt(np.mean((prior.slopes(X, j) @ W) ** 2)) for j in range(prior.D)]
    np.testing.assert_allclose(np.array(steep[prior.d :]) / np.mean(steep[: prior.d]), prior.alpha, rtol=0.25)


def test_the_theorems_slope_is_least(prior):
    s = prior.smoothness
    c = s.b * np.sqrt(np.log(8 * prior.D * s.a / s.delta))
    assert c == pytest.approx((prior.steepness + np.sqrt(2 * np.log(8 * prior.D / s.delta))) / prior.lengthscale)


def test_the_information_gain_is_above_that_of_other_designs():
    prior = regret.Prior(ALPHA)
    gain = prior.information_gain(12)
    assert (np.diff(gain) > 0).all()
    for seed in range(5):
        F = prior.features(np.random.default_rng(seed).random((12, prior.D)))
        for N in (1, 5, 12):
            assert gain[N - 1] > 0.5 * np.linalg.slogdet(np.eye(N) + F[:N] @ F[:N].T / prior.noise)[1]


def test_the_maximum_is_not_beaten_by_a_fine_grid():
    path = regret.SamplePath(regret.Prior(0.001), 3)
    side = np.linspace(0, 1, 101)
    X = np.full((101 * 101, 6), 0.5)
    X[:, :2] = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for corner in (0.0, 0.5, 1.0):
        X[:, 2:] = corner
        assert path.values(X).max() <= path.maximum + 1e-9


def test_recorded_regret_is_positive_and_within_the_bound(results):
    (one,) = regret.load(results)
    assert one.prior == regret.Prior(ALPHA)
    for algorithm in regret.ALGORITHMS:
        assert sorted(one.regret[algorithm]) == [0, 1]
        for own in one.regret[algorithm].values():
            assert len(own) == 15
            assert (own >= 0).all()
            assert (np.cumsum(own) / np.arange(1, 16) < one.bound(algorithm)).all()
    assert one.bound("vs-gp-ucb")[-1] > one.residual > 0


def test_regret_is_recorded_once_and_broken_files_again(results, tmp_path, capsys):
    folder = shutil.copytree(results / "regret", tmp_path / "regret") / f"alpha-{ALPHA}"
    files = sorted(folder.rglob("*.json"))
    assert len(files) == 5
    before = {file: file.read_text() for file in files}
    broken = folder / "gp-ucb" / "0.json"
    broken.write_text('{"maximum": 1.0, "val')
    regret.record(tmp_path, (ALPHA,), paths=2, evaluations=15)
    told = capsys.readouterr()
    assert "gp-ucb/0.json is broken" in told.err
    assert told.out.count("average regret") == 1
    assert {file: file.read_text() for file in files} == before


def test_runs_of_another_prior_are_not_mixed_in(results, tmp_path):
    file = shutil.copytree(results / "regret", tmp_path / "regret") / f"alpha-{ALPHA}" / "prior.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"prior": {"alpha": ALPHA, "D": 9}}))
    with pytest.raises(BenchError, match="another prior"):
        regret.record(tmp_path, (ALPHA,), paths=1, evaluations=2)


def test_an_unknown_algorithm_is_named():
    with pytest.raises(BenchError, match="vs-gp-ucb, gp-ucb; got 'ucb'"):
        regret.play(regret.SamplePath(regret.Prior(ALPHA), 0), "ucb", 3)


def test_the_ablation_is_not_drawn_among_all_others(tmp_path):
    for method in ("random", APART[0]):
        assert work(Job("Branin50", method, 0, 3, 5), tmp_path) == "finished"
    assert set(recorded.load(tmp_path, "synthetic-value", ("Branin50",))["Branin50"]) == {"random"}
    assert set(recorded.load(tmp_path, "ablation", ("Branin50",), APART)["Branin50"]) == {APART[0]}
