"""Which values a model is of: as they are, or squeezed below their upper quartile."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from vsbo import Config, Optimizer, Space, State, gp
from vsbo.errors import NumericalError
from vsbo.models import (
    SQUEEZE_FROM,
    SQUEEZE_PRICE,
    expected_gain,
    fit_form,
    model_values,
    posterior_of,
    to_values,
    weights_of,
)
from vsbo.propose import propose
from vsbo.state import Added, Fitted, extend

D = 6


def steep(x):
    """Falls off by hundreds, and is decided by the last hundredth."""
    return -float(np.exp(7.0 * np.sum((x[:2] - 0.4) ** 2)) + np.sum((x[2:4] - 0.6) ** 2))


def additive(x):
    """A sum of functions of one variable."""
    return float(np.sum(np.sin(6.0 * x) + 0.5 * np.cos(9.0 * x)))


def told(f, n, config=None):
    """A state with n points of f, whose model has been fitted once before the last of them."""
    rng = np.random.default_rng(3)
    state = State.new(Space.box(D), "maximize", 0, config or Config())
    points = rng.random((n, D))
    state = extend(state, [Added(i, x, f(x)) for i, x in enumerate(points[:-1])])
    state = extend(state, [Fitted(fit_form(state, [], None).theta, 0.0, "cold", 1, cold_at=1)])
    return extend(state, [Added(n - 1, points[-1], f(points[-1]))])


def density(state, found):
    """log p(values as they are | theta) p(theta) up to what all forms share, the long way round."""
    values = state.data.values
    u = (values - values.mean()) / values.std(ddof=1)
    z = model_values(state, state.data, found.theta.squeezed)
    posterior = posterior_of(state, state.data, found.theta)
    M = posterior.L @ posterior.L.T
    log_slopes = 0.0
    if found.theta.squeezed:
        h = 1e-6
        middle, width = np.median(u), np.max(u) - np.median(u)
        # The slope of u -> z at each value, with knee, mean and deviation held as they are.
        v = np.where(u < middle, middle - width * np.log1p(np.maximum(middle - u, 0) / width), u)
        near = np.where(u + h < middle, middle - width * np.log1p(np.maximum(middle - u - h, 0) / width), u + h)
        log_slopes = float(np.log((near - v) / h / v.std(ddof=1)).sum())
    likelihood = multivariate_normal.logpdf(z, np.full(len(z), posterior.m), M)
    return likelihood + log_slopes - found.penalty


@pytest.mark.parametrize(("f", "squeezed"), [(steep, True), (additive, False)])
def test_values_are_squeezed_where_they_fall_off_and_not_where_they_add_up(f, squeezed):
    state = told(f, 60)
    found = fit_form(state, [state.theta], None)
    assert found.theta.squeezed is squeezed
    assert found.theta.main


def test_the_forms_are_compared_by_the_density_of_the_same_values():
    """The rivals: main effects alone, squeezing alone; what is taken is told by their densities, from SciPy."""
    for f in (steep, additive):
        state = told(f, 40)
        plain = fit_form(replace(state, config=replace(state.config, squeeze=False)), [state.theta], None)
        alone = replace(state, config=replace(state.config, main_effects=0), theta=replace(state.theta, main=()))
        forced = replace(alone, theta=replace(alone.theta, squeezed=True))
        rival = fit_form(forced, [forced.theta], ())
        assert rival.theta.squeezed
        assert not plain.theta.squeezed
        gain = density(state, rival) - density(state, plain)
        assert abs(gain - SQUEEZE_PRICE) > 3.0  # far from a draw, or the test would tell nothing
        assert fit_form(state, [state.theta], None).theta.squeezed == (gain > SQUEEZE_PRICE)


def test_few_values_warm_fits_and_the_published_method_leave_the_form_alone():
    few = told(steep, SQUEEZE_FROM - 1)
    assert not fit_form(few, [few.theta], None).theta.squeezed
    state = told(steep, 60)
    for before in (False, True):
        theta = replace(state.theta, squeezed=before)
        assert fit_form(replace(state, theta=theta), [theta], ()).theta.squeezed is before
    for config in (Config.paper(), Config.vanilla(), Config(squeeze=False), Config(standardize=False)):
        published = told(steep, 60, config)
        assert not fit_form(published, [published.theta], None).theta.squeezed


def test_a_rival_that_cannot_be_fitted_leaves_the_model_that_can(monkeypatch):
    state = told(steep, 60)
    sound = gp.fit

    def fit(*told, main=(), **named):
        if not main:
            raise NumericalError("made to")
        return sound(*told, main=main, **named)

    monkeypatch.setattr(gp, "fit", fit)
    assert not fit_form(state, [state.theta], None).theta.squeezed


def test_values_come_back_from_the_model():
    state = told(steep, 60)
    for squeezed in (False, True):
        theta = replace(state.theta, squeezed=squeezed)
        z = model_values(state, state.data, squeezed)
        np.testing.assert_allclose(to_values(state, theta, z), state.data.values, rtol=1e-9)


def test_equal_values_are_no_matter():
    state = told(lambda x: 2.0, 20)
    theta = fit_form(state, [state.theta], None).theta
    assert not theta.squeezed
    np.testing.assert_allclose(to_values(state, theta, np.zeros(2)), 2.0)


def test_what_is_expected_is_in_the_units_of_the_values():
    """The same gain, whatever the values are multiplied by; and small where little is left."""
    state = told(steep, 60)
    state = replace(state, theta=fit_form(state, [state.theta], None).theta)
    assert state.theta.squeezed
    larger = replace(state, evaluations=tuple(replace(e, y=1e3 * e.y + 7.0) for e in state.evaluations))
    assert 0.0 < expected_gain(state) < 1.0
    assert expected_gain(larger) == pytest.approx(expected_gain(state), rel=1e-3)


def test_a_squeezed_search_goes_on_with_the_same_point():
    optimizer = Optimizer(Space.box(D), direction="maximize", seed=1)
    for _ in range(40):
        trial = optimizer.ask()
        optimizer.tell(trial, steep(trial.x))
    state = optimizer.state
    assert any(isinstance(event, Fitted) and event.theta.squeezed for event in state.log)
    again = State.from_json(state.to_json())
    assert again.theta.squeezed == state.theta.squeezed
    np.testing.assert_array_equal(propose(again).evaluations[-1].x, propose(state).evaluations[-1].x)


def test_weights_are_root_mean_square_slopes_where_the_search_has_been():
    state = told(steep, 30)
    posterior = posterior_of(state, state.data, state.theta)
    h, steps = 1e-6, np.eye(D)
    slopes = [(posterior.mean(posterior.X + h * e) - posterior.mean(posterior.X - h * e)) / (2 * h) for e in steps]
    expected = np.sqrt(np.mean(np.square(slopes), axis=1))
    np.testing.assert_allclose(weights_of(state, posterior), expected / expected.sum(), rtol=1e-5)
