"""Views drawn on matplotlib's Axes. Only `Plot` calls it, so matplotlib is imported when a picture is wanted."""

from typing import Any

import numpy as np

from vsbo.explain import Importance, Predictions
from vsbo.pictures.views import NINETY, Axis, Contour, Convergence, OverTime, Parallel, Raster, Slice

#: Colors that are told apart with any eyes (Okabe and Ito), and for what is in the background.
BLUE, ORANGE, GREEN, RED, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#8a8a8a"
CYCLE = (BLUE, ORANGE, GREEN, RED, "#cc79a7", "#56b4e9", "#b8a800", "#444444")
#: Characters of a name that are shown.
LONGEST = 28
#: Columns of a raster that are told apart by lines between them.
FEW = 40


def label(text: str) -> str:
    """A name as matplotlib is to show it: not as a formula, and not endless. Names often differ at their ends."""
    half = (LONGEST - 3) // 2
    shown = text if len(text) <= LONGEST else f"{text[:half]}...{text[-half:]}"
    return shown.replace("\\", "\\\\").replace("$", r"\$") if "$" in shown else shown


def nothing(ax: Any, why: str) -> None:
    """Say why there is nothing to show."""
    ax.text(0.5, 0.5, f"Nothing to show:\n{why}", ha="center", va="center", transform=ax.transAxes, wrap=True)
    ax.set_axis_off()


def convergence(ax: Any, view: Convergence) -> None:
    """Values as points, the best so far as steps; failures as crosses at the lower edge."""
    order = np.arange(1, len(view.numbers) + 1)
    values = np.array([np.nan if value is None else value for value in view.values])
    best = np.array([np.nan if value is None else value for value in view.best])
    ax.plot(order, values, "o", color=GREY, markersize=3.5, alpha=0.7, label="value")
    ax.step(order, best, where="post", color=BLUE, linewidth=2, label="best so far")
    failed = np.isnan(values)
    if failed.any():
        where = ax.get_xaxis_transform()
        ax.plot(order[failed], np.full(failed.sum(), 0.02), "x", color=RED, transform=where, label="failed")
    ax.set(xlabel="evaluations", ylabel="value", title="Convergence")
    ax.legend()


def importance(ax: Any, found: Importance, top: int) -> None:
    """Shares as points with 90 % intervals, the most important on top; the ones called important in color."""
    shown = found.ranked[:top]
    for y, one in enumerate(shown):
        color = BLUE if one.important else GREY
        ax.plot([one.low, one.high], [y, y], color=color, linewidth=2, solid_capstyle="butt")
        ax.plot([one.share], [y], "o", color=color, markersize=5)
    ax.set_yticks(range(len(shown)), [label(one.name) + (" *" if one.selected else "") for one in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlim(0.0, min(1.0, 1.05 * max([one.high for one in shown] + [0.01])))
    ax.set(xlabel="share of the variation, with 90 % interval (* picked out now)", title="Importance")
    ax.grid(axis="x", alpha=0.3)


def importance_over_time(ax: Any, view: OverTime) -> None:
    """A line a variable."""
    size = 4 if len(view.at) <= FEW else 0
    for i, (name, scores) in enumerate(zip(view.names, view.scores, strict=True)):
        ax.plot(view.at, scores, "o-", color=CYCLE[i % len(CYCLE)], label=label(name), markersize=size)
    ax.set(xlabel="evaluations", ylabel=view.unit, title="Importance over time")
    ax.set_ylim(bottom=0.0)
    ax.legend(fontsize="small", ncols=2)


def selected(ax: Any, view: Raster) -> None:
    """A row a variable, a column a choice, filled while it was chosen."""
    edges = np.arange(len(view.names) + 1) - 0.5
    cells = np.array(view.cells, dtype=float)
    ax.pcolormesh(view.at, edges, np.where(cells > 0.0, cells, np.nan), cmap="Blues", vmin=0.0, vmax=1.4)
    if len(view.at) <= FEW:
        for at in view.at[:-1]:
            ax.axvline(at, color="white", linewidth=0.8)
    ax.set_yticks(range(len(view.names)), [label(name) for name in view.names], fontsize="small")
    ax.set_ylim(len(view.names) - 0.5, -0.5)
    more = f" ({view.hidden} more, chosen less often)" if view.hidden else ""
    ax.set(xlabel="evaluations", title=f"{view.title}{more}")


def effect(ax: Any, view: Slice) -> None:
    """The model along one variable with its band, and the points."""
    points = np.array(view.points)
    ax.plot(points[:, 0], points[:, 1], "o", color=GREY, markersize=3.5, alpha=0.6, label="evaluations")
    if view.axis.labels:
        half = np.array([np.array(view.mean) - view.low, np.array(view.high) - view.mean])
        ax.errorbar(view.x, view.mean, half, fmt="s", color=BLUE, capsize=4, label="model, 90 %")
    else:
        ax.fill_between(view.x, view.low, view.high, color=BLUE, alpha=0.2, linewidth=0)
        ax.plot(view.x, view.mean, color=BLUE, linewidth=2, label="model, 90 %")
    ax.plot(*view.best, "*", color=RED, markersize=12, label="best")
    _set_axis(ax.xaxis, view.axis)
    ax.set(ylabel="value", title=f"Along {label(view.axis.name)}, through the best point")
    ax.legend(fontsize="small")


def contour(ax: Any, view: Contour) -> None:
    """The model's mean over two variables, and the points."""
    mean = np.array(view.mean)
    if min(mean.shape) > 1 and not (view.first.labels or view.second.labels) and np.ptp(mean) > 0.0:
        filled = ax.contourf(view.x, view.y, mean, levels=14, cmap="viridis")
    else:
        filled = ax.pcolormesh(view.x, view.y, mean, shading="nearest", cmap="viridis")
    ax.figure.colorbar(filled, ax=ax, label="value, by the model")
    points = np.array(view.points)
    ax.plot(points[:, 0], points[:, 1], "o", color="white", markeredgecolor="black", markersize=4, alpha=0.8)
    ax.plot(*view.best, "*", color=RED, markeredgecolor="white", markersize=14)
    _set_axis(ax.xaxis, view.first)
    _set_axis(ax.yaxis, view.second)
    ax.set_title("The model around the best point")


def predictions(ax: Any, found: Predictions) -> None:
    """Each value as the model predicts it from the others, with 90 % intervals."""
    ends = [float(np.min(found.observed)), float(np.max(found.observed))]
    ax.plot(ends, ends, color=GREY, linewidth=1, zorder=0)
    half = NINETY * found.deviation
    style = {"fmt": "o", "color": BLUE, "markersize": 4, "elinewidth": 0.8, "alpha": 0.7}
    ax.errorbar(found.observed, found.predicted, half, **style)
    ax.set(xlabel="observed", ylabel="predicted from the others")
    ax.set_title(f"Leave one out: R$^2$ = {found.r2:.2f}, {100 * found.coverage:.0f} % within 90 % intervals")


def parallel(ax: Any, view: Parallel) -> None:
    """A line a trial, the best in color and on top; each axis with its ends."""
    from matplotlib import colormaps

    values = np.array(view.values)
    spread = float(np.ptp(values))
    positions = np.arange(len(view.axes))
    for i, (value, row) in enumerate(zip(values, view.positions, strict=True)):
        last = i == len(values) - 1
        part = abs(value - values[0]) / spread if spread > 0.0 else 1.0
        color = RED if last else colormaps["Blues"](0.25 + 0.6 * part)
        name = f"best: {value:.4g}" if last else None
        ax.plot(positions, row, "o-", color=color, linewidth=2.5 if last else 1.2, markersize=3, label=name)
    for position, axis in enumerate(view.axes):
        ax.axvline(position, color=GREY, linewidth=0.6, zorder=0)
        k = len(axis.labels)
        ends = ((-0.02, f"{axis.low:.4g}", "top"), (1.02, f"{axis.high:.4g}", "bottom"))
        marks = [((i + 0.5) / k, label(text), "center") for i, text in enumerate(axis.labels)] if k else ends
        for y, text, side in marks:
            ax.text(position, y, text, ha="center", va=side, fontsize="x-small", color="#333333")
    ax.set_xticks(positions, [label(axis.name) for axis in view.axes], rotation=30, ha="right")
    ax.tick_params(axis="x", pad=12)
    ax.set_yticks([])
    ax.set_ylim(-0.03, 1.03)
    ax.set_title(f"The {len(values)} best trials" if len(values) > 1 else "The only trial", pad=18)
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _set_axis(axis: Any, view: Axis) -> None:
    axis.set_label_text(label(view.name))
    if view.labels:
        axis.set_ticks(range(len(view.labels)), [label(text) for text in view.labels])
    elif view.log:
        axis.axes.set_xscale("log") if axis.axis_name == "x" else axis.axes.set_yscale("log")
