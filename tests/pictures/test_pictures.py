"""Every picture on real studies: what is drawn are the study's numbers, and a poor study is told kindly."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.optimize import brentq

import vsbo
from tests.pictures.common import HOSTILE, POOR, mixed, poor
from vsbo.explain import choices_of
from vsbo.interfaces.cli import _main
from vsbo.models import posterior_of
from vsbo.pictures import PICTURES, views
from vsbo.pictures.views import Model, parallel, selected


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    with mixed(tmp_path_factory.mktemp("pictures") / "study.db", 40) as made:
        yield made


def drawn(study, name, **options):
    ax = getattr(study.plot, name)(ax=Figure().subplots(), **options)
    ax.figure.canvas.draw()
    return ax


def test_names():
    assert PICTURES == (
        "convergence", "importance", "importance_over_time", "selected", "effect", "contour", "predictions", "parallel",
    )  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_drawn(study, name):
    ax = drawn(study, name)
    assert ax.axison
    assert ax.get_title()
    assert ax.lines or ax.collections


@pytest.mark.parametrize("kind", POOR)
@pytest.mark.parametrize("name", PICTURES)
def test_a_study_with_nothing_to_show_says_so(tmp_path, kind, name):
    with poor(tmp_path / "study.db", kind) as study:
        ax = drawn(study, name)
    if ax.axison:  # there are values: they are shown, as a trial that is the only one
        assert (kind, name) not in [(k, n) for k in ("empty", "failures") for n in PICTURES if n != "selected"]
    else:
        assert ax.texts[0].get_text().startswith("Nothing to show:")
        if name in ("convergence", "effect") and POOR[kind][1]:
            assert POOR[kind][1] in ax.texts[0].get_text()


def test_convergence_ends_at_the_best_value(study):
    ax = drawn(study, "convergence")
    values, best = ax.lines[0].get_ydata(), ax.lines[1].get_ydata()
    assert best[-1] == study.best.y == np.nanmin(values)
    assert len(values) == 40
    told = {trial.number: trial.y for trial in study.trials}
    np.testing.assert_array_equal(values, [told[number] for number in study.state.finished])
    assert np.isnan(values).sum() == sum(trial.status == "failed" for trial in study.trials) > 0


def test_importance_has_the_intervals(study):
    ax = drawn(study, "importance", top=3)
    first = study.importance().ranked[0]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [first.low, first.high])
    assert len(ax.get_yticklabels()) == 3


def modelled(y, values, squeezed):
    """What the model has in place of y, a value at a time."""

    def standard(one, all_):
        return (one - np.mean(all_)) / np.std(all_, ddof=1)

    def squeeze(one):
        return one if one >= knee else knee - width * np.log(1 + (knee - one) / width)

    u = [standard(value, values) for value in values]
    knee, width = np.quantile(u, 0.75), np.max(u) - np.quantile(u, 0.75)
    if not squeezed:
        return standard(y, values)
    return standard(squeeze(standard(y, values)), [squeeze(one) for one in u])


def span(values):
    """From the least of all values to somewhat above the largest."""
    return values.min(), values.max() + np.ptp(values)


def test_a_slice_is_the_posterior_through_the_best_point(study):
    state = study.state
    model = Model(state)
    j = model.leading(study.importance(), 1)[0]
    view = model.slice(j)
    at = int(np.argmin(np.abs(np.log(view.x) - np.log(view.best[0]))))
    point = state.best.x.copy()
    point[j] = state.space.to_unit(np.where(np.arange(state.D) == j, view.x[at], state.space.from_unit(point)))[j]
    posterior = posterior_of(state, state.data.columns(state.active), state.theta)
    z = posterior.predict(point[None, list(state.active)])[0][0]
    # The value whose place in the model is z, found by bisection.
    expected = -brentq(lambda y: modelled(y, state.data.values, state.theta.squeezed) - z, *span(state.data.values))
    assert view.mean[at] == pytest.approx(expected, rel=1e-6)
    assert view.low[at] < view.mean[at] < view.high[at]
    assert len(view.points) == sum(trial.status == "done" for trial in study.trials)
    assert view.best[1] == study.best.y


def test_a_contour_agrees_with_a_slice(study):
    model = Model(study.state)
    i, j = model.leading(study.importance(), 2)
    swapped = model.contour(j, i)
    view = model.contour(i, j)
    np.testing.assert_allclose(np.array(view.mean), np.array(swapped.mean).T, rtol=1e-9)
    assert np.array(view.mean).shape == (len(view.y), len(view.x))


def test_axes_are_in_the_users_units(study):
    model = Model(study.state)
    for j in study.state.active:
        name = study.space.names[j]
        view, variable = model.slice(j), study.space.variables[name]
        assert view.x[0] == pytest.approx(variable.low)
        assert view.x[-1] == pytest.approx(variable.high)
        if variable.whole:
            assert view.x == tuple(range(int(variable.low), int(variable.high) + 1))


def test_parallel_has_the_best_trials(study):
    view = parallel(study.state, study.importance(), 5, 3)
    assert view.numbers[-1] == study.best.number
    assert sorted(view.values) == sorted(t.y for t in study.trials if t.status == "done")[:5]


def of_column(view, values, k):
    return {name: row[k] for name, row in zip(view.names, values, strict=True)}


def test_the_raster_is_what_had_main_effects(study):
    view, fits = selected(study.state, 100), choices_of(study.state)
    assert view.title == "Variables with a main effect of their own"
    assert view.at == (*(fit.n for fit in fits), 40)
    for k, fit in enumerate(fits):
        names = {study.space.names[j] for j in fit.variables}
        assert {name for name, cell in of_column(view, view.cells, k).items() if cell} == names
    often = [sum(row) for row in view.cells]
    assert often == sorted(often, reverse=True)
    assert selected(study.state, 3).names == view.names[:3]
    assert selected(study.state, 3).hidden == len(view.names) - 3


def test_many_fits_share_a_column(study, monkeypatch):
    fine = np.array(selected(study.state, 100).cells)
    monkeypatch.setattr(views, "MOST_COLUMNS", 10)
    view = selected(study.state, 100)
    size = -(-fine.shape[1] // 10)
    assert len(view.at) - 1 <= 10
    for k, cells in enumerate(np.array(view.cells).T):
        np.testing.assert_allclose(cells, fine[:, k * size : (k + 1) * size].mean(axis=1))


def test_fits_after_the_same_evaluations_share_a_column(tmp_path):
    config = vsbo.Config(n_initial=4, n_raw=32, n_restarts=1, main_effects=2, refit_growth=1.0, searches=("model",))
    with vsbo.Study.open(tmp_path / "study.db", [(0, 1)] * 5, seed=0, config=config) as study:
        for _ in range(4):  # three workers
            for trial in [study.ask() for _ in range(3)]:
                study.tell(trial, float(trial.x[0] + trial.x[1] ** 2))
        fits, view = choices_of(study.state), selected(study.state, 5)
        over_time = views.importance_over_time(study.state, 5)
    assert len(fits) > len({fit.n for fit in fits})
    assert view.at[:-1] == over_time.at == tuple(sorted({fit.n for fit in fits}))
    for k, n in enumerate(over_time.at):
        within = [fit.variables for fit in fits if fit.n == n]
        for name, cell in of_column(view, view.cells, k).items():
            assert cell == pytest.approx(np.mean([int(name[1:]) in variables for variables in within]))


def test_importance_over_time_is_each_fits_part_of_the_distance(study):
    view, fits = views.importance_over_time(study.state, 4), choices_of(study.state)
    assert len(view.names) == 4
    for k, fit in enumerate(fits):
        parts = fit.scales**-2.0 / np.sum(fit.scales**-2.0)
        for name, score in of_column(view, view.scores, k).items():
            assert score == pytest.approx(parts[study.space.names.index(name)])


def test_the_raster_is_what_was_selected(tmp_path):
    config = vsbo.Config.paper(n_initial=6, select_every=8, n_importance=200, n_raw=64, n_restarts=2)
    with mixed(tmp_path / "study.db", 40, config) as study:
        view, over_time, events = selected(study.state, 100), views.importance_over_time(study.state, 100), []
        for k, event in enumerate(study.state.selections):
            names = {study.space.names[j] for j in event.active}
            assert {name for name, cell in of_column(view, view.cells, k).items() if cell} == names
            parts = event.scores / event.scores.sum()
            for name, score in of_column(over_time, over_time.scores, k).items():
                assert score == pytest.approx(parts[study.space.names.index(name)])
            events.append(event.n)
        assert view.title == "Selected variables"
        assert view.at == (*events, 40)
        assert len(events) >= 3
        assert all(drawn(study, name).axison for name in PICTURES)


def test_wrong_arguments_are_named(study):
    with pytest.raises(vsbo.InputError, match="variable must be one of the study's; got 'nobody'"):
        study.plot.effect("nobody", ax=Figure().subplots())
    with pytest.raises(vsbo.InputError, match="top must be a whole number >= 1; got 0"):
        study.plot.importance(0)


def test_pyplot_is_the_default(study):
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    ax = study.plot.convergence()
    assert ax.figure in [pyplot.figure(number) for number in pyplot.get_fignums()]
    pyplot.close("all")


def test_command_line(study, tmp_path, capsys):
    file = tmp_path / "picture.png"
    assert _main(["plot", "contour", str(study.path), "-o", str(file), "--variable", study.selected[0]]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert _main(["plot", "nothing", str(study.path), "-o", str(file)]) == 2
    assert "NAME must be one of convergence, importance" in capsys.readouterr().err
    assert _main(["plot", "convergence", str(study.path), "-o", "x.docx"]) == 2
    assert "--output must end in one of" in capsys.readouterr().err
    assert _main(["plot", "convergence", str(study.path), "--top", "3"]) == 2
    assert "--top is for importance" in capsys.readouterr().err


def test_names_are_not_formulas(study):
    shown = [tick.get_text() for tick in drawn(study, "importance").get_yticklabels()]
    assert any(HOSTILE in text for text in shown)
    assert any(r"lr \$x\$" in text for text in shown)


def test_without_matplotlib_the_error_says_what_to_install(tmp_path):
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import vsbo\n"
        f"study = vsbo.Study.open({str(tmp_path / 's.db')!r}, [(0, 1)] * 2)\n"
        "try: study.plot.convergence()\n"
        "except vsbo.InputError as error: print(error)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'vsbo[plot]'" in answer.stdout
