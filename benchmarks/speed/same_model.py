"""Equal models fitted by both sides: is the likelihood that vsbo finds no worse, and its acquisition no lower?

The model is that of `Config.paper()`: scaled Matern-5/2, constant mean, no prior, noise above a floor. One function,
vsbo's likelihood, judges the hyper-parameters of both sides; it gives each side the best mean for its covariance.
"""

import time
from statistics import median

import numpy as np

from benchmarks.speed import botorch_side, datasets
from benchmarks.speed.report import Row, table
from benchmarks.speed.suggestion import N_RAW, RESTARTS, best_suggestion, log_ei, loss_per_point
from benchmarks.speed.timing import Array
from vsbo import Config, gp
from vsbo.models import fit_tolerance

PART = "same-model"
#: Nats a point by which a likelihood may be worse and still count as equal: 0.02 nats at n = 200.
TIE = 1e-4


def measure(quick: bool) -> list[Row]:
    """A row for all variables and one for the six important ones: seconds, losses, and the log-EI reached."""
    data = datasets.like_a_run(1 if quick else 3)
    everything = [(one.name, one.X, one.z) for one in data]
    important = [(one.name, np.ascontiguousarray(one.X[:, one.important]), one.z) for one in data]
    return [_row("D=50", everything, 1 if quick else 3), _row("d=6", important, 1 if quick else 3)]


def _row(size: str, data: list[tuple[str, Array, Array]], repetitions: int) -> Row:
    config = Config.paper()
    lines, numbers = [], []
    for name, X, z in data:
        spent: dict[str, list[float]] = {"vsbo": [], "run": [], "BoTorch": []}
        for _ in range(repetitions):
            began = time.process_time()
            model = botorch_side.matern_model(X, z, config.noise_floor)
            spent["BoTorch"].append(time.process_time() - began)
            began = time.process_time()
            ours = gp.fit(X, z, config).theta
            spent["vsbo"].append(time.process_time() - began)
            began = time.process_time()
            coarse = gp.fit(X, z, config, tolerance=fit_tolerance(config, warm=False)).theta
            spent["run"].append(time.process_time() - began)
        kernel, theirs = botorch_side.hyperparameters(model)
        taken = {who: median(seconds) for who, seconds in spent.items()}
        losses = {"vsbo": ours, "run": coarse, "BoTorch": theirs}
        loss = {who: loss_per_point(X, z, kernel, theta) for who, theta in losses.items()}
        gain = _acquisition_gain(model, X, z, theirs)
        lines.append(
            (
                name,
                *(f"{1e3 * taken[who]:.0f}" for who in ("BoTorch", "vsbo")),
                f"{taken['BoTorch'] / taken['vsbo']:.1f}",
                *(f"{loss[who]:.4f}" for who in ("BoTorch", "vsbo")),
                f"{loss['vsbo'] - loss['BoTorch']:+.5f}",
                f"{loss['run'] - loss['BoTorch']:+.5f}",
                f"{gain:+.3f}",
            )
        )
        numbers.append({"data": name, "seconds": taken, "loss": loss, "log-EI, ours minus theirs": gain})
    differences = [one["loss"]["vsbo"] - one["loss"]["BoTorch"] for one in numbers]  # type: ignore[index]
    middle, worst = median(differences), max(differences)
    worse = sum(difference > TIE for difference in differences)
    header = (
        "data", "BoTorch fit, ms", "vsbo fit, ms", "times faster", "NLL a point, BoTorch", "vsbo", "difference",
        "difference, fit as in a run", "log-EI, ours minus theirs",
    )  # fmt: skip
    return Row(
        PART,
        f"same model, n=200, {size}: NLL a point, vsbo minus BoTorch",
        f"median <= 0 (equal within {TIE:g})",
        f"median {middle:+.5f}; worse on {worse} of {len(data)}, by {worst:+.5f} at the most",
        middle <= TIE,
        table(header, lines) + "\n\nlog-EI: at the points that `maximize` and `optimize_acqf` find for the same model "
        "(BoTorch's hyper-parameters); above 0 ours is better.",
        {"measurements": numbers, "median difference": middle, "worst difference": worst},
    )


def _acquisition_gain(model: object, X: Array, z: Array, theta: gp.Hyperparameters) -> float:
    """How much higher log-EI is at our point than at theirs; median over three seeds."""
    posterior = gp.condition(X, z, theta, "matern52")
    gains = []
    for number in range(3):
        botorch_side.seed(number)
        theirs = botorch_side.suggest(model, float(z.max()), RESTARTS, N_RAW)
        ours = best_suggestion(posterior, RESTARTS, np.random.default_rng(number))
        values, _ = log_ei(posterior)(np.vstack([ours, theirs]), False)
        gains.append(float(values[0] - values[1]))
    return median(gains)
