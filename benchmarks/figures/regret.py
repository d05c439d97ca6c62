"""Figure 10: average regret of VS-GP-UCB and GP-UCB against the bound of Theorem 1."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from benchmarks import regret as recorded
from benchmarks.errors import NoResultsError
from benchmarks.figures import curves
from benchmarks.figures.page import page
from benchmarks.figures.recorded import ranges
from benchmarks.figures.style import look
from benchmarks.regret import ALGORITHMS, Recorded

NAME = "regret"
#: They have the colours of the methods they are the theory of.
COLOURS = {"vs-gp-ucb": look("vsbo").colour, "gp-ucb": look("vanilla").colour}
TITLES = {"vs-gp-ucb": "VS-GP-UCB", "gp-ucb": "GP-UCB"}
RESIDUAL = r"$\alpha c (D - d)$"
DASHES = {"vs-gp-ucb": "-", "gp-ucb": "--"}


def draw(results: Path, output: Path) -> list[Path]:
    """Writes regret.png."""
    found = [one for one in recorded.load(results) if any(one.regret.values())]
    if not found:
        raise NoResultsError(
            f"figure {NAME} needs results in {results / recorded.FOLDER}; `python -m benchmarks.regret` makes them"
        )
    prior = found[0].prior
    paths = sorted({number for one in found for own in one.regret.values() for number in own})
    caption = (
        f"Average regret R_N / N of VS-GP-UCB (Algorithm 6: the {prior.D - prior.d} unimportant variables stay at "
        f"uniform random values) and GP-UCB (Algorithm 7: all D = {prior.D} variables), with the theorem's beta_t and "
        f"the known kernel, on sample paths of a Gaussian process that obeys Assumption 5.1: squared exponential, "
        f"length-scale {prior.lengthscale:g} for d = {prior.d} variables and {prior.lengthscale:g} / alpha for the "
        f"others, of deviation 1, observed with noise variance {prior.noise:g}. Lines: mean over paths; bands: "
        f"bootstrap 95 % interval of the mean. Bounds: Theorem 1, which holds with probability {1 - prior.delta:g} "
        "(for GP-UCB with d = D), with gamma_N at most e / (e - 1) times the gain of greedily chosen points; dotted: "
        "its part alpha c (D - d), which never vanishes. There is no initial design: the first point, which is "
        f"uniform, counts. Paths {ranges(paths)}, {len(paths)} functions for each alpha."
    )
    where = dict.fromkeys(", ".join(map(" ".join, each.items())) for one in found for each in one.where)
    file = output / f"{NAME}.png"
    with page(file, 1, len(found), caption, f"Recorded: {' / '.join(where)}.", 3.1) as sheet:
        axes = [sheet.panel(0, column) for column in range(len(found))]
        for one, each in zip(found, axes, strict=True):
            _panel(each, one)
        low, high = min(each.get_ylim()[0] for each in axes), max(each.get_ylim()[1] for each in axes)
        for each in axes:
            each.set_ylim(low, high)
            curves.plain_logs(each.xaxis)
            curves.plain_logs(each.yaxis)
        axes[0].set_ylabel("average regret $R_N / N$")
        handles, labels = axes[0].get_legend_handles_labels()
        sheet.figure.legend(handles, labels, loc="outside upper right", ncols=len(handles))
    return [file]


def _panel(axes: Axes, one: Recorded) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(f"$\\alpha$ = {one.prior.alpha:g}", loc="left")
    axes.set_xlabel("evaluations N")
    for algorithm in ALGORITHMS:
        runs = list(one.regret[algorithm].values())
        colour, dashes = COLOURS[algorithm], DASHES[algorithm]
        if runs:
            n = min(map(len, runs))
            count = np.arange(1.0, n + 1)
            curve = curves.averaged(count, np.cumsum([run[:n] for run in runs], axis=1) / count)
            curves.band(axes, curve, colour, 0.2)
            axes.plot(curve.x, curve.mean, color=colour, linestyle=dashes, linewidth=1.8, label=TITLES[algorithm])
        bound = one.bound(algorithm)
        label = f"bound, {TITLES[algorithm]}"
        axes.plot(np.arange(1, len(bound) + 1), bound, color=colour, linestyle=dashes, linewidth=0.9, label=label)
    axes.axhline(one.residual, color=COLOURS["vs-gp-ucb"], linewidth=0.8, linestyle=(0, (1, 2)), label=RESIDUAL)
