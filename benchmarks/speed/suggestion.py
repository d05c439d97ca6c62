"""Fit and acquisition, one suggestion in all, against BoTorch: all variables from scratch, six variables in a run.

Both sides get the same points, 512 raw points and 10 restarts (ours polishes the incumbent too), and the logarithm of
the expected improvement. Each side has its own default model here; `same_model` compares equal ones.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.speed import botorch_side, datasets
from benchmarks.speed.datasets import DataSet, standardized
from benchmarks.speed.report import Row, table
from benchmarks.speed.timing import Array
from vsbo import Config, gp
from vsbo import acquisition as acq
from vsbo.gp.fit import TOLERANCE as EXACT
from vsbo.gp.likelihood import Likelihood
from vsbo.models import COLD_TOLERANCE, WARM_TOLERANCE

ALL, SELECTED = "all-variables", "selected"
N_RAW, RESTARTS = 512, 10
AT_LEAST_ALL, AT_LEAST_SELECTED = 15.0, 50.0
BOTORCH = "BoTorch"


@dataclass(frozen=True, eq=False)
class Suggestion:
    """What a contestant did: CPU seconds of its two steps, and its model."""

    fit: float
    acquisition: float
    kernel: str
    theta: gp.Hyperparameters

    @property
    def total(self) -> float:
        """Both steps."""
        return self.fit + self.acquisition


#: Makes one suggestion for X (n, d), y (n,); the number seeds what is random.
Contestant = Callable[[Array, Array, int], Suggestion]


def measure_all(quick: bool) -> list[Row]:
    """N = 200, D = 50, from scratch."""
    data = [(one.name, one.X, one.y) for one in datasets.like_a_run(1 if quick else 3)]

    def ours(tolerance: float) -> Contestant:
        return lambda X, y, number: suggest(X, y, number, cold=None, tolerance=tolerance)

    contestants = {
        BOTORCH: by_botorch,
        "vsbo": ours(EXACT),
        "vsbo, fit as far as in a run": ours(COLD_TOLERANCE),
    }
    title = "fit + acquisition, n=200, D=50, all variables, cold, BoTorch over vsbo"
    return [_row(ALL, title, AT_LEAST_ALL, data, contestants, 1 if quick else 3)]


def measure_selected(quick: bool) -> list[Row]:
    """N = 200, the six important variables, warm and with the restarts of a run; BoTorch has no warm start of its own,
    and its customary restarts, because it needs them.
    """
    data = [_six(one) for one in datasets.like_a_run(1 if quick else 3)]

    def ours(restarts: int, config: Config) -> Contestant:
        def contestant(X: Array, y: Array, number: int) -> Suggestion:
            before = gp.fit(X[:-1], standardized(y[:-1]), config).theta
            return suggest(X, y, number, config=config, warm=[before], tolerance=WARM_TOLERANCE, restarts=restarts)

        return contestant

    paper, priors = Config.paper(), Config.vanilla()
    contestants = {
        BOTORCH: by_botorch,
        "vsbo": ours(paper.n_restarts, paper),
        f"vsbo, {RESTARTS} restarts as BoTorch": ours(RESTARTS, paper),
        "vsbo, with BoTorch's priors": ours(paper.n_restarts, priors),
    }
    title = "fit + acquisition, n=200, 6 selected variables, warm, BoTorch over vsbo"
    return [_row(SELECTED, title, AT_LEAST_SELECTED, data, contestants, 1 if quick else 5)]


def suggest(
    X: Array,
    y: Array,
    number: int,
    *,
    config: Config | None = None,
    warm: Sequence[gp.Hyperparameters] = (),
    cold: Sequence[str] | None = (),
    tolerance: float,
    restarts: int = RESTARTS,
) -> Suggestion:
    """Ours: what `propose` does with a state, from the same public parts."""
    config = config or Config()
    rng = np.random.default_rng(number)
    began = time.process_time()
    z = standardized(y)
    theta = gp.fit(X, z, config, warm=warm, cold=cold, tolerance=tolerance).theta
    if config.main_effects:
        main = tuple(sorted(int(j) for j in np.argsort(theta.lengthscales)[: config.main_effects]))
        theta = gp.fit(X, z, config, warm=[theta], cold=(), tolerance=tolerance, main=main).theta
    fitted = time.process_time()
    best_suggestion(gp.condition(X, z, theta, config.kernel, config.mean), restarts, rng)
    return Suggestion(fitted - began, time.process_time() - fitted, config.kernel, theta)


def best_suggestion(posterior: gp.Posterior, restarts: int, rng: np.random.Generator) -> Array:
    """The x (d,) that maximizes log-EI over the best of the data."""
    leaders = posterior.X[np.argsort(-posterior.y, kind="stable")[:5]]
    starts = acq.start_points(leaders, N_RAW, rng)
    x: Array = acq.maximize(log_ei(posterior), starts, leaders[:1], restarts, posterior.theta.lengthscales)[0]
    return x


def log_ei(posterior: gp.Posterior) -> acq.Acquisition:
    """The acquisition of both sides."""
    best = float(np.max(posterior.y))
    return acq.over(posterior, lambda mu, sigma: acq.log_expected_improvement(mu, sigma, best))


def by_botorch(X: Array, y: Array, number: int) -> Suggestion:
    """BoTorch's, with its defaults."""
    botorch_side.seed(number)
    began = time.process_time()
    model = botorch_side.default_model(X, y)
    fitted = time.process_time()
    botorch_side.suggest(model, float(y.max()), RESTARTS, N_RAW)
    ended = time.process_time()
    kernel, theta = botorch_side.hyperparameters(model)
    return Suggestion(fitted - began, ended - fitted, kernel, theta)


def loss_per_point(X: Array, z: Array, kernel: str, theta: gp.Hyperparameters) -> float:
    """The mean negative log likelihood, whoever found theta: one function for both sides."""
    value, _ = Likelihood(X, z, kernel, main=theta.main)(theta.to_log())  # type: ignore[arg-type]
    return float(value) / len(z)


def _six(data: DataSet) -> tuple[str, Array, Array]:
    return data.name, np.ascontiguousarray(data.X[:, data.important]), data.y


def _row(
    part: str,
    title: str,
    at_least: float,
    data: Sequence[tuple[str, Array, Array]],
    contestants: dict[str, Contestant],
    repetitions: int,
) -> Row:
    for contestant in contestants.values():
        contestant(*data[0][1:], 0)  # the first call loads things
    lines, ratios = [], {name: list[float]() for name in contestants}
    numbers = []
    for name, X, y in data:
        made: dict[str, list[Suggestion]] = {who: [] for who in contestants}
        for number in range(repetitions):
            for who, contestant in contestants.items():
                made[who].append(contestant(X, y, number))
        theirs = median(suggestion.total for suggestion in made[BOTORCH])
        for who, suggestions in made.items():
            fit, acquisition = median(s.fit for s in suggestions), median(s.acquisition for s in suggestions)
            total = median(s.total for s in suggestions)
            loss = loss_per_point(X, standardized(y), suggestions[0].kernel, suggestions[0].theta)
            ratios[who].append(theirs / total)
            parts = (f"{1e3 * fit:.1f}", f"{1e3 * acquisition:.1f}", f"{1e3 * total:.1f}")
            lines.append((name, who, *parts, f"{theirs / total:.1f}", f"{loss:.4f}"))
            numbers.append(
                {"data": name, "who": who, "fit": fit, "acquisition": acquisition, "total": total, "loss": loss}
            )
    own = ratios["vsbo"]
    also = [f"{who}: {median(r):.1f} times" for who, r in ratios.items() if who not in ("vsbo", BOTORCH)]
    header = ("data", "who", "fit, ms", "acquisition, ms", "both, ms", "times faster", "NLL a point, own model")
    return Row(
        part,
        title,
        f">= {at_least:g} times",
        f"{median(own):.1f} times (least {min(own):.1f})",
        median(own) >= at_least,
        f"Medians over data sets; {'; '.join(also)}.\n\n" + table(header, lines),
        {"ratios": ratios, "median ratio": median(own), "measurements": numbers},
    )
