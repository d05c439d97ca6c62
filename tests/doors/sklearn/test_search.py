"""VSBOSearchCV, beside RandomizedSearchCV."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.stats import loguniform, norm, poisson, randint, uniform
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from vsbo import Choice, Config, Fixed, InputError, Integer, Real
from vsbo.interfaces.sklearn import VSBOSearchCV, _Candidates

SMALL = Config(selection="momentum", n_initial=3, select_every=5, n_importance=50, n_raw=32, n_restarts=1)
X, y = make_classification(120, 6, random_state=0)


def tree_search(distributions=None, **more):
    distributions = distributions or {"max_depth": Integer(1, 8), "min_samples_leaf": randint(1, 20)}
    settings = {"n_iter": 8, "cv": 3, "random_state": 0, "config": SMALL} | more
    return VSBOSearchCV(DecisionTreeClassifier(random_state=0), distributions, **settings)


def test_it_gives_all_that_randomized_search_gives():
    ours = tree_search(return_train_score=True).fit(X, y)
    theirs = RandomizedSearchCV(
        ours.estimator, {"max_depth": randint(1, 9), "min_samples_leaf": randint(1, 20)},
        n_iter=8, cv=3, random_state=0, return_train_score=True,
    ).fit(X, y)  # fmt: skip
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, column in theirs.cv_results_.items():
        assert len(ours.cv_results_[key]) == len(column) == 8
        assert type(ours.cv_results_[key]) is type(column)
    assert set(vars(theirs)) - {"param_distributions"} <= set(vars(ours))
    assert ours.best_score_ == ours.cv_results_["mean_test_score"].max()
    assert ours.best_params_ == ours.cv_results_["params"][ours.best_index_]
    assert ours.predict(X).shape == (120,)
    assert ours.importance_.keys() == {"max_depth", "min_samples_leaf"}
    assert sum(ours.importance_.values()) == pytest.approx(1.0)
    assert set(ours.selected_) <= set(ours.importance_)
    assert len(ours.optimizer_.trials) == 8


def test_a_random_state_gives_the_same_search_again_through_clone_and_pickle():
    one = tree_search().fit(X, y)
    for other in (clone(one), pickle.loads(pickle.dumps(tree_search())), tree_search(n_jobs=1)):
        assert other.fit(X, y).cv_results_["params"] == one.cv_results_["params"]
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(X), one.predict(X))
    assert tree_search(random_state=np.random.RandomState(0)).fit(X, y).best_params_


def test_pipelines_with_every_kind_of_parameter():
    pipeline = Pipeline([("scale", StandardScaler()), ("svc", SVC())])
    scalers = [StandardScaler(), MinMaxScaler(), "passthrough"]
    search = VSBOSearchCV(
        pipeline,
        {
            "scale": scalers,
            "svc__C": loguniform(1e-2, 1e2),
            "svc__gamma": Real(1e-3, 1.0, log=True),
            "svc__kernel": ("rbf", "poly"),
            "svc__degree": np.arange(2, 4),
            "svc__coef0": norm(0, 1),
            "svc__shrinking": Choice([True, False]),
            "svc__tol": Fixed(1e-3),
            "svc__cache_size": [200],
            "svc__max_iter": poisson(1000),
        },
        n_iter=10, cv=2, random_state=0, config=SMALL,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SVC's, of convergence
        search.fit(X, y)
    assert search.best_score_ > 0.7
    params = search.cv_results_["params"]
    assert all(any(one["scale"] is scaler for scaler in scalers) for one in params)
    assert {type(one["svc__C"]) for one in params} == {float}
    assert {type(one["svc__degree"]) for one in params} == {int}
    assert {type(one["svc__max_iter"]) for one in params} == {int}
    assert {one["svc__tol"] for one in params} == {1e-3}
    assert {one["svc__cache_size"] for one in params} == {200}
    assert len(search.importance_) == 8


def test_distributions_are_searched_along_their_quantiles():
    candidates = _Candidates({"a": loguniform(1e-4, 1e2), "b": norm(3, 2), "c": uniform(1, 4), "d": randint(2, 7)})
    low, middle, high = (
        candidates.params(candidates.space.params(candidates.space.from_unit(np.full(4, u)))) for u in (0.0, 0.5, 1.0)
    )
    assert (low["a"], middle["a"], high["a"]) == pytest.approx((1e-4, 1e-1, 1e2))
    assert (low["b"], middle["b"], high["b"]) == pytest.approx((norm(3, 2).ppf(0.001), 3.0, norm(3, 2).ppf(0.999)))
    assert (low["c"], middle["c"], high["c"]) == pytest.approx((1, 3, 5))
    assert (low["d"], high["d"]) == (2, 6)


def test_several_dictionaries_are_a_choice():
    search = tree_search(
        [{"max_depth": [2, 3]}, {"min_samples_leaf": randint(1, 30), "criterion": ["entropy", "gini"]}], n_iter=12
    ).fit(X, y)
    kinds = {tuple(params) for params in search.cv_results_["params"]}
    assert kinds == {("max_depth",), ("min_samples_leaf", "criterion")}
    assert search.cv_results_["param_max_depth"].mask.any()


def test_fits_that_fail_are_avoided_and_kept_in_the_results():
    """With min_samples_split = 1, and one candidate at a time, scikit-learn gives the whole search up."""
    search = tree_search({"max_depth": Integer(1, 8), "min_samples_split": Integer(1, 4)}, n_iter=16)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    assert any(one.category is FitFailedWarning and "fits failed" in str(one.message) for one in caught)
    assert sum("non-finite" in str(one.message) for one in caught) == 1
    failed = [params["min_samples_split"] == 1 for params in search.cv_results_["params"]]
    assert 0 < sum(failed) < 6
    np.testing.assert_array_equal(np.isnan(search.cv_results_["mean_test_score"]), failed)
    assert [trial.status == "failed" for trial in search.optimizer_.trials] == failed
    assert [trial.params for trial in search.optimizer_.trials] == search.cv_results_["params"]
    assert search.best_params_["min_samples_split"] > 1
    assert len(failed) == 16
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    numeric = tree_search({"min_samples_split": Integer(1, 2), "max_depth": Integer(1, 8)}, error_score=-1.0)
    with pytest.warns(FitFailedWarning):
        numeric.fit(X, y)
    assert numeric.cv_results_["mean_test_score"].min() == -1.0
    with pytest.raises(ValueError, match="min_samples_split"):
        tree_search({"min_samples_split": Fixed(1), "max_depth": Integer(1, 8)}, error_score="raise").fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_an_estimator_that_always_fails_is_reported():
    search = tree_search({"min_samples_split": Fixed(1), "max_depth": Integer(1, 8)}, n_iter=50)
    with pytest.raises(ValueError, match="fits failed"):
        search.fit(X, y)
    assert len(search.optimizer_.trials) == 5


def test_several_metrics_and_refit():
    several = ["accuracy", "roc_auc"]
    search = tree_search(scoring=several, refit="roc_auc").fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_roc_auc"].max()
    told = [trial.y for trial in search.optimizer_.trials]
    assert told == pytest.approx(search.cv_results_["mean_test_roc_auc"].tolist())
    assert not hasattr(tree_search(refit=False).fit(X, y), "best_estimator_")
    chosen = tree_search(refit=lambda results: 2).fit(X, y)
    assert chosen.best_index_ == 2
    with pytest.raises(InputError, match="refit must name the metric to optimize"):
        tree_search(scoring=several, refit=False).fit(X, y)


def test_jobs_get_candidates_enough():
    """Four workers and two folds: two candidates at a time."""
    search = tree_search(n_jobs=4, cv=2, pre_dispatch="all").fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    one_by_one = tree_search(n_jobs=4, cv=2, n_points=1).fit(X, y)
    alone = tree_search(cv=2).fit(X, y)
    assert one_by_one.cv_results_["params"] == alone.cv_results_["params"] != search.cv_results_["params"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n_iter": 0}, "n_iter must be a whole number >= 1; got 0"),
        ({"n_points": 0}, "n_points must be a whole number >= 1; got 0"),
        ({"param_distributions": {}}, "param_distributions must be a dictionary"),
        ({"param_distributions": {"max_depth": "abc"}}, r"param_distributions\['max_depth'\] must be a list of values"),
        ({"param_distributions": {"max_depth": []}}, r"param_distributions\['max_depth'\] must be a list of values"),
        ({"param_distributions": {"max_depth": 3}}, r"param_distributions\['max_depth'\] must be a list of values"),
        ({"param_distributions": {"max_depth": [3]}}, "variables are all fixed"),
    ],
)
def test_wrong_arguments(change, says):
    with pytest.raises(InputError, match=says):
        tree_search().set_params(**change).fit(X, y)
