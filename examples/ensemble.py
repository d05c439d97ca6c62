"""A scikit-learn pipeline as a function of its settings: `vsbo run ensemble.toml`. Needs scikit-learn."""

from collections.abc import Mapping
from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

SCALERS = {"standard": StandardScaler(), "robust": RobustScaler(), "range": MinMaxScaler()}


def pipeline(p: Mapping[str, Any]) -> Any:
    """The pipeline with these settings."""
    kernel = Nystroem(gamma=p["kernel_gamma"], n_components=p["kernel_components"], random_state=0)
    voters = {
        "logistic": LogisticRegression(
            C=p["logistic_C"], class_weight="balanced" if p["logistic_balanced"] else None, max_iter=2000
        ),
        "kernel": make_pipeline(kernel, LogisticRegression(C=p["kernel_C"], max_iter=2000)),
        "forest": RandomForestClassifier(
            n_estimators=p["forest_trees"],
            max_depth=p["forest_depth"],
            min_samples_leaf=p["forest_leaf"],
            max_features=p["forest_features"],
            criterion=p["forest_criterion"],
            random_state=0,
        ),
        "boosting": GradientBoostingClassifier(
            n_estimators=p["boosting_trees"],
            learning_rate=p["boosting_rate"],
            max_depth=p["boosting_depth"],
            subsample=p["boosting_subsample"],
            random_state=0,
        ),
        "neighbors": KNeighborsClassifier(
            n_neighbors=p["neighbors_k"], weights=p["neighbors_weights"], p=p["neighbors_p"]
        ),
        "bayes": GaussianNB(var_smoothing=p["bayes_smoothing"]),
    }
    weights = [p[f"weight_{i}"] for i in range(1, 7)]
    vote = VotingClassifier(list(voters.items()), voting="soft", weights=weights)
    return make_pipeline(SCALERS[p["scaler"]], SelectKBest(k=p["n_features"]), vote)


def log_loss(p: Mapping[str, Any]) -> float:
    """The mean over five folds, the same ones each time."""
    X, y = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return -float(cross_val_score(pipeline(p), X, y, cv=folds, scoring="neg_log_loss", error_score="raise").mean())
