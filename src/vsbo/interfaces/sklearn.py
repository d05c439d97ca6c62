"""scikit-learn: `VSBOSearchCV`, a search with the interface of `RandomizedSearchCV`.

>>> search = VSBOSearchCV(pipeline, {"svc__C": loguniform(1e-3, 1e3), "scale": [StandardScaler(), None]}, n_iter=100)
>>> search.fit(X, y).best_params_, search.importance_
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vsbo.config import Config, as_whole
from vsbo.errors import InputError
from vsbo.interfaces.extras import needs
from vsbo.optimizer import Optimizer
from vsbo.space import LARGEST_WHOLE, Choice, Fixed, Integer, Real, Space

with needs("sklearn", "sklearn", "joblib"):
    from joblib import effective_n_jobs
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted

#: Candidates without a score, from the first one on, after which the estimator is taken to be broken.
LEAST_PATIENCE = 5
#: The quantiles that are searched where a distribution has no end.
FIRST_QUANTILE, LAST_QUANTILE = 0.001, 0.999
#: The variable that says which of several dictionaries a candidate is from.
WHICH = "param_distributions"


class VSBOSearchCV(BaseSearchCV):  # type: ignore[misc, unused-ignore]
    """Cross-validated search for the best parameters of an estimator, by Bayesian optimization.

    estimator, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score, random_state: as for
        RandomizedSearchCV. With several metrics, `refit` names the one to optimize.
    param_distributions: from a parameter's name to a list of values, a distribution of scipy.stats, or a vsbo.Real,
        Integer, Choice or Fixed. A list of such dictionaries is searched as a choice between them.
    n_iter: candidates to evaluate.
    n_points: candidates at a time; None: as many as keep n_jobs workers busy.
    config: as for vsbo.Optimizer.

    A candidate whose fits fail has the score `error_score`; if that is NaN, the search learns to avoid its like.
    Besides the attributes of RandomizedSearchCV there are optimizer_, importance_ and selected_.
    """

    cv_results_: dict[str, Any]

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 50,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        n_points: int | None = None,
        config: Config | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.random_state = random_state
        self.n_points = n_points
        self.config = config

    @property
    def importance_(self) -> dict[str, float]:
        """Each parameter's share of the importance, summing to 1; `optimizer_.importance()` has intervals, and more."""
        check_is_fitted(self, "optimizer_")
        found = self.optimizer_.importance()
        total = float(found.shares.sum()) or 1.0
        return {one.name: one.share / total for one in found}

    @property
    def selected_(self) -> tuple[str, ...]:
        """The parameters that the search picked out: by default those with a main effect of their own."""
        check_is_fitted(self, "optimizer_")
        return tuple(self.optimizer_.selected)

    def fit(self, X: Any, y: Any = None, **params: Any) -> "VSBOSearchCV":
        """Run the search, and fit the best candidate on all data; arguments as for RandomizedSearchCV."""
        self._broken: list[tuple[int, dict[str, Any]]] = []  # candidates none of whose fits succeeded, and where
        self._formatted: list[Any] = []
        self._folds = 0  # until the first candidate is scored
        try:
            super().fit(X, y, **params)
            if len(self.cv_results_["params"]) < self.n_iter:  # the last ones failed
                self.cv_results_ = self._format_results(*self._formatted)
        finally:
            del self._broken, self._formatted, self._folds
        return self

    def _run_search(self, evaluate_candidates: Callable[[Iterable[dict[str, Any]]], dict[str, Any]]) -> None:
        """Called by fit."""
        for name in ("n_iter", "n_points"):
            value = getattr(self, name)
            if value is not None and as_whole(name, value) < 1:
                raise InputError(f"{name} must be a whole number >= 1; got {value!r}")
        candidates = _Candidates(self.param_distributions)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        optimizer = Optimizer(candidates.space, direction="maximize", seed=seed, config=self.config)
        jobs, done = effective_n_jobs(self.n_jobs), 0
        try:
            while done < self.n_iter:
                at_once = self.n_points or math.ceil(jobs / (self._folds or jobs))
                trials = [optimizer.ask() for _ in range(min(at_once, self.n_iter - done))]
                batch = [candidates.params(trial.params) for trial in trials]
                scores = self._scores(evaluate_candidates, batch, done, self.n_iter, optimizer)
                for trial, score in zip(trials, scores, strict=True):
                    optimizer.tell(trial, score)
                done += len(trials)
        finally:
            self.optimizer_ = optimizer

    def _scores(
        self,
        evaluate_candidates: Callable[[Iterable[dict[str, Any]]], dict[str, Any]],
        batch: list[dict[str, Any]],
        done: int,
        n_iter: int,
        optimizer: Optimizer,
    ) -> list[float]:
        """Of some candidates. scikit-learn gives up where all fits of a call fail; a search goes on elsewhere."""
        try:
            results = evaluate_candidates(batch)
        except ValueError as error:
            patience = min(max(optimizer.state.config.n_initial, LEAST_PATIENCE), n_iter)
            hopeless = len(self._broken) == done and done + len(batch) >= patience
            if hopeless or not ("fits failed" in str(error) and not isinstance(self.error_score, str)):
                raise
            warnings.warn(str(error), FitFailedWarning, stacklevel=2)
            self._broken += [(done + i, params) for i, params in enumerate(batch)]
            return [float(self.error_score)] * len(batch)
        column = results.get("mean_test_score")
        if column is None:
            if not isinstance(self.refit, str):
                raise InputError(f"refit must name the metric to optimize, there are several; got {self.refit!r}")
            column = results[f"mean_test_{self.refit}"]
        return [float(score) for score in column[-len(batch) :]]

    def _format_results(
        self, candidate_params: list[dict[str, Any]], n_splits: int, out: list[dict[str, Any]], more_results: Any = None
    ) -> dict[str, Any]:
        """Called by fit: with the candidates that scikit-learn gave up, in the order in which all were tried."""
        self._folds = n_splits
        self._formatted = [candidate_params, n_splits, out, more_results]
        params, rows = list(candidate_params), list(out)
        for where, broken in self._broken:
            failed = [_without_score(row, self.error_score) for row in out[:n_splits]]
            params.insert(where, broken)
            rows[where * n_splits : where * n_splits] = failed
        with warnings.catch_warnings():
            if len(params) < self.n_iter:  # it is called for every batch; once is enough to say that some have no score
                warnings.filterwarnings("ignore", "One or more of the .* scores are non-finite", UserWarning)
            results: dict[str, Any] = super()._format_results(params, n_splits, rows, more_results)
        return results


def _without_score(row: dict[str, Any], error_score: float) -> dict[str, Any]:
    """What scikit-learn would have noted of a fit that failed; the time that it took is not known any more."""

    def failed(scores: Any) -> Any:
        return dict.fromkeys(scores, error_score) if isinstance(scores, dict) else error_score

    times = {"fit_time": np.nan, "score_time": np.nan}
    return {**row, **times, **{key: failed(row[key]) for key in ("test_scores", "train_scores") if key in row}}


# ---------------------------------------------------------------------------------------------------- candidates


@dataclass(frozen=True)
class _Parameter:
    """A variable of ours, and what the estimator gets for its value."""

    variable: Real | Integer | Choice | Fixed
    convert: Callable[[Any], Any] = lambda value: value


class _Candidates:
    """What users of RandomizedSearchCV pass, as a space."""

    def __init__(self, param_distributions: Any) -> None:
        several = isinstance(param_distributions, (list, tuple))
        choices = list(param_distributions) if several else [param_distributions]
        if not choices or not all(isinstance(one, Mapping) and one for one in choices):
            raise InputError(
                "param_distributions must be a dictionary from parameters to what they may be, or a list of "
                f"dictionaries, none of them empty; got {param_distributions!r}"
            )
        self._parameters = [{name: _parameter(name, one) for name, one in choice.items()} for choice in choices]
        variables: dict[str, Any] = {
            self._name(which, name): parameter.variable
            for which, choice in enumerate(self._parameters)
            for name, parameter in choice.items()
        }
        if len(choices) > 1:
            variables[WHICH] = Choice(tuple(range(len(choices))))
        self.space = Space(variables)

    def _name(self, which: int, name: str) -> str:
        return name if len(self._parameters) == 1 else f"{WHICH}[{which}][{name!r}]"

    def params(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A candidate, as `set_params` takes it."""
        which = values.get(WHICH, 0) if len(self._parameters) > 1 else 0
        chosen = self._parameters[which]
        return {name: parameter.convert(values[self._name(which, name)]) for name, parameter in chosen.items()}


def _parameter(name: str, given: Any) -> _Parameter:
    if isinstance(given, (Real, Integer, Choice, Fixed)):
        return _Parameter(given)
    if callable(getattr(given, "ppf", None)) and callable(getattr(given, "support", None)):
        return _of_distribution(name, given)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable) or not len(values := list(given)):
        raise InputError(
            f"param_distributions[{name!r}] must be a list of values, a distribution of scipy.stats, or a vsbo.Real, "
            f"Integer, Choice or Fixed; got {given!r}"
        )
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    if len(values) == 1:
        return _Parameter(Fixed(0), lambda _: values[0])
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    # By index: values may be estimators, arrays, functions.
    return _Parameter(
        Choice(tuple(range(len(values))), ordered=numbers and values == sorted(values)), lambda index: values[index]
    )


def _of_distribution(name: str, given: Any) -> _Parameter:
    """Searched along its quantiles: so a loguniform one is searched on a logarithmic scale, a normal one mostly in its
    middle. Whole numbers between two ends are searched as they are.
    """
    least, most = (float(end) for end in given.support())
    discrete = not hasattr(getattr(given, "dist", given), "pdf")
    if discrete and max(abs(least), abs(most)) <= LARGEST_WHOLE:
        return _Parameter(Integer(int(least), int(most)) if least < most else Fixed(int(least)))
    if not least < most:
        raise InputError(f"param_distributions[{name!r}] must have more than one value; got [{least}, {most}]")
    first = 0.0 if math.isfinite(least) else FIRST_QUANTILE
    last = 1.0 if math.isfinite(most) else LAST_QUANTILE
    kind = int if discrete else float
    return _Parameter(Real(first, last), lambda quantile: kind(given.ppf(quantile)))
