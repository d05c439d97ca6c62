"""Differential: on the authors' points, scores and selections are theirs, but for the settled differences."""

import numpy as np
import pytest

from tests.reference.authors import problem_of, runs, selections, unit_points
from vsbo.data import standardize
from vsbo.gp import Hyperparameters, condition
from vsbo.selection import Case, gradient_importance, ranked
from vsbo.selection import select as select_variables

IDS = [f"{name}@{selection['it']}" for name, selection in selections()]


def test_our_problems_give_the_authors_values():
    """X is recorded to 6 digits."""
    for name, run in runs().items():
        f = problem_of(name).f
        ours = [f(np.array(x)) for x in run["X"]]
        np.testing.assert_allclose(ours, run["y"], atol=2e-4 * np.ptp(run["y"]))


@pytest.mark.parametrize(("name", "selection"), selections(), ids=IDS)
def test_grad_is_with_their_hyperparameters_gives_their_scores(name, selection):
    X, y = unit_points(name)
    n, full = selection["it"] + 5, selection["full_gp"]
    theta = Hyperparameters(np.array(full["ls"]), full["os"], full["noise"])
    posterior = condition(X[:n], standardize(y[:n]), theta, "matern52")
    ours = gradient_importance(posterior, 10_000, np.random.default_rng(0))
    ours, theirs = ours / ours.max(), np.array(selection["score"])
    if selection["trace"][0][2] > 1.4:
        # Their fit failed and left its start: with length-scale 0.693 in 50 dimensions the slope is zero but at the few
        # points that happen to lie near data, and 10,000 samples do not average that out.
        assert np.corrcoef(ours, theirs)[0, 1] > 0.9
        return
    np.testing.assert_allclose(ours, theirs, atol=0.05)
    top = [j for j in selection["rank"][:3] if theirs[j] > 0.2]
    assert set(ranked(ours)[: len(top)]) == set(top) or np.ptp(theirs[selection["rank"][:4]]) < 0.05


# Where `select`, fed with their losses, does not return their set: differences that docs/differences.md settles.
TIE_ELIMINATES = {"Hartmann6_s0@180", "StyblinskiTang4_s0@120"}  # note 7: theirs keeps a variable that brings 1e-6
NO_THRESHOLD = {"Hartmann6_s1@140", "Branin_s1@80", "Branin_s1@140", "Branin_s1@180"}  # note 3: previous drop <= 0
ROUNDED = {"Hartmann6_s0@200"}  # drops below the six digits to which losses are recorded


class Departs(Exception):
    """Our algorithm wants another model than theirs fitted next."""


@pytest.mark.parametrize(("name", "selection"), selections(), ids=IDS)
def test_select_fed_with_their_losses_returns_their_set(name, selection):
    key = f"{name}@{selection['it']}"
    case = Case(selection["case"].split("/")[0])
    fitted = [(size, after) for size, _, after in selection["trace"][1:]]
    if case is Case.ACCURATE:  # their model of the previous set is the last one that the run itself had fitted
        fitted.insert(0, (len(selection["prev"]), selection["stale_loss"]))
    following = iter(fitted)

    def loss(variables):
        size, value = next(following, (None, None))
        if size != len(variables):
            raise Departs(f"we ask for {len(variables)} variables, they fitted {size}")
        return value * (selection["it"] + 5)

    def order_within(previous):
        """Not recorded; what they removed came last."""
        rank = selection["rank"].index
        return sorted(previous, key=lambda j: (j not in selection["selected"], rank(j)))

    previous = () if case is Case.FIRST else selection["prev"]
    try:
        chosen, _ = select_variables(case, selection["rank"], previous, loss, order_within)
        same = list(chosen) == selection["selected"] and next(following, None) is None
    except Departs:
        same = False
    assert same == (key not in TIE_ELIMINATES | NO_THRESHOLD | ROUNDED)
