"""scikit-learn's own checks of estimators, on VSBOSearchCV."""

import re
from functools import partial

import pytest
from scipy.stats import loguniform, uniform
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import RandomizedSearchCV
from sklearn.utils.estimator_checks import check_supervised_y_2d, parametrize_with_checks

from vsbo.interfaces.sklearn import VSBOSearchCV

#: Few candidates, for checks that fit again and again.
TWO = {"n_iter": 2, "cv": 2, "random_state": 0, "error_score": "raise"}
#: RandomizedSearchCV does not pass it either, as the test below shows: a warning of Ridge's comes once a fold.
NOT_PASSED = {"check_supervised_y_2d": "DataConversionWarning not caught"}


def named(value):
    """The name of an estimator or check, without addresses in memory: the processes of the tests must agree on it."""
    if isinstance(value, VSBOSearchCV):
        return type(value.estimator).__name__
    function, keywords = (value.func, value.keywords) if isinstance(value, partial) else (value, {})
    return re.sub(r"\s| at 0x\w+", "", f"{function.__name__}({keywords})" if keywords else function.__name__)


CHECKS = parametrize_with_checks(
    [
        VSBOSearchCV(Ridge(), {"alpha": uniform(0.1, 1)}, **TWO),
        VSBOSearchCV(LogisticRegression(), {"C": loguniform(0.1, 1)}, **TWO),
    ],
    expected_failed_checks=lambda search: NOT_PASSED if isinstance(search.estimator, Ridge) else {},
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(*CHECKS.args, ids=named)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_passed_randomized_search_does_not_pass_either():
    theirs = RandomizedSearchCV(Ridge(), {"alpha": uniform(0.1, 1)}, **TWO)
    with pytest.raises(AssertionError):
        check_supervised_y_2d("RandomizedSearchCV", theirs)
