"""scikit-learn: 25 parameters of a pipeline, searched with VSBOSearchCV. python sklearn_pipeline.py [candidates]"""

import sys
import warnings

from scipy.stats import loguniform, uniform
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectPercentile
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC

from vsbo import Integer, Real
from vsbo.interfaces.sklearn import VSBOSearchCV

#: Lists, distributions of scipy.stats, and vsbo's own variables may stand side by side.
PARAMETERS = {
    "scale": [StandardScaler(), MinMaxScaler(), RobustScaler(), "passthrough"],
    "pick__percentile": Integer(10, 100),
    "pca__n_components": uniform(0.5, 0.49),
    "pca__whiten": [False, True],
    "vote__voting": ["hard", "soft"],
    "vote__logistic__C": loguniform(1e-4, 1e3),
    "vote__logistic__fit_intercept": [True, False],
    "vote__logistic__class_weight": [None, "balanced"],
    "vote__logistic__tol": Real(1e-6, 1e-1, log=True),
    "vote__svc__C": loguniform(1e-3, 1e3),
    "vote__svc__gamma": loguniform(1e-5, 1e1),
    "vote__svc__kernel": ["rbf", "poly", "sigmoid"],
    "vote__svc__degree": Integer(2, 5),
    "vote__svc__coef0": uniform(0, 2),
    "vote__svc__shrinking": [True, False],
    "vote__svc__class_weight": [None, "balanced"],
    "vote__neighbors__n_neighbors": Integer(1, 40, log=True),
    "vote__neighbors__weights": ["uniform", "distance"],
    "vote__neighbors__p": Real(1, 4),
    "vote__trees__n_estimators": Integer(10, 60),
    "vote__trees__max_depth": Integer(1, 12),
    "vote__trees__min_samples_leaf": Integer(1, 20),
    "vote__trees__max_features": uniform(0.1, 0.9),
    "vote__trees__criterion": ["gini", "entropy"],
    "vote__trees__bootstrap": [False, True],
}


def pipeline() -> Pipeline:
    """Scale, choose features, project, and let four classifiers vote."""
    voters = [
        ("logistic", LogisticRegression(max_iter=200)),
        ("svc", SVC(probability=True, random_state=0)),
        ("neighbors", KNeighborsClassifier()),
        ("trees", ExtraTreesClassifier(random_state=0)),
    ]
    steps = [("scale", None), ("pick", SelectPercentile()), ("pca", PCA(random_state=0))]
    return Pipeline([*steps, ("vote", VotingClassifier(voters))])


def main(candidates: int) -> None:
    """Some candidates cannot be fitted; the search avoids their like."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    X, y = load_breast_cancer(return_X_y=True)
    search = VSBOSearchCV(pipeline(), PARAMETERS, n_iter=candidates, cv=3, random_state=0).fit(X, y)
    print(f"{candidates} candidates; best accuracy {search.best_score_:.4f}")
    for name, share in sorted(search.importance_.items(), key=lambda item: -item[1])[:5]:
        print(f"{share:4.0%} {name}: {search.best_params_[name]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
