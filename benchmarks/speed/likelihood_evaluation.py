"""One value and gradient of the likelihood, against the Cholesky factor and the inverse that it cannot do without."""

from functools import partial

from benchmarks.speed import datasets
from benchmarks.speed.report import Row, table
from benchmarks.speed.timing import alternate, covariance_like, lapack_pair, medians
from vsbo import Config, gp
from vsbo.gp.likelihood import Likelihood

PART = "evaluation"
MOST = 3.0


def measure(quick: bool) -> list[Row]:
    """A row for six variables and one for all fifty, at n = 200."""
    data = datasets.concentrated(200, 50, seed=0)
    K = covariance_like(len(data.y))
    rows = []
    for name, columns in (("d=6", data.important), ("D=50", tuple(range(50)))):
        X = data.X[:, columns]
        log_theta = gp.fit(X, data.z, Config.paper()).theta.to_log()
        likelihood = Likelihood(X, data.z, "matern52")

        evaluate = partial(likelihood, log_theta)

        spent = medians(alternate({"ours": evaluate, "lapack": lambda: lapack_pair(K)}, 100 if quick else 1000))
        ratio = spent["ours"] / spent["lapack"]
        rows.append(
            Row(
                PART,
                f"likelihood and gradient, n=200, {name}, over bare LAPACK",
                f"<= {MOST:g} times",
                f"{ratio:.2f} times",
                ratio <= MOST,
                table(
                    ("what", "ms"),
                    [(who, f"{1e3 * seconds:.3f}") for who, seconds in spent.items()],
                ),
                {"milliseconds": {who: 1e3 * seconds for who, seconds in spent.items()}, "ratio": ratio},
            )
        )
    return rows
