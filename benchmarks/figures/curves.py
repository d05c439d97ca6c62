"""Curves of the best value, averaged over runs, by evaluations or by the optimizer's time; and how they are drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.figures.style import look
from benchmarks.records import Array, Run
from benchmarks.statistics import bootstrap_interval

Clock = Literal["wall", "cpu"]

#: Positions at which an interval is computed; between them it is drawn straight.
KNOTS = 25
#: Of the bootstrap: the ends are drawn, not read off to three digits.
RESAMPLES = 2000
#: Points of time at which runs are averaged.
TIMES = 200
#: Markers on a curve, about; curves that can all have bands.
MARKED, FEW = 5, 3
INTERVAL_SAID = "Lines: mean over runs; bands and bars: bootstrap 95 % interval of the mean."


@dataclass(frozen=True, eq=False)
class Curve:
    """mean (k,) at x (k,); low and high (m,) at the knots (m,), nan where there is one run only."""

    x: Array
    mean: Array
    knots: Array
    low: Array
    high: Array


def averaged(x: Array, values: Array) -> Curve:
    """Of values (runs, k) at x (k,)."""
    at = np.unique(np.linspace(0, len(x) - 1, KNOTS).round().astype(int))
    ends = np.array([bootstrap_interval(values[:, i], resamples=RESAMPLES) for i in at])
    return Curve(x, values.mean(axis=0), x[at], ends[:, 0], ends[:, 1])


def by_evaluation(runs: Sequence[Run]) -> Curve:
    """The best value after 0, 1, ... evaluations beyond the initial ones, as far as all of the runs got."""
    n = min(run.evaluations for run in runs)
    best = np.array([run.best[run.initial - 1 : run.initial + n] for run in runs])
    return averaged(np.arange(n + 1.0), best)


def by_time(runs: Sequence[Run], clock: Clock) -> Curve:
    """The best value by seconds that the optimizer has spent: each run a step function of its own clock.

    It begins when the fastest run has its first value, and ends with the slowest run; a run that has ended keeps its
    best value.
    """
    clocks = [np.cumsum(getattr(run, clock)[run.initial :]) for run in runs]
    first, last = min(c[0] for c in clocks), max(c[-1] for c in clocks)
    times = np.geomspace(max(first, 1e-6), max(last, 1.001e-6), TIMES)
    times[-1] = max(last, times[-1])
    best = np.array([at_times(times, c, run.best[run.initial - 1 :]) for c, run in zip(clocks, runs, strict=True)])
    return averaged(times, best)


def at_times(times: Array, clock: Array, best: Array) -> Array:
    """The last of best (n + 1,) that was reached: best[i] holds from clock[i - 1] on, best[0] from the beginning."""
    reached: Array = best[np.searchsorted(clock, times, side="right")]
    return reached


# --------------------------------------------------------------------------------------------------- drawing


def draw(axes: Axes, curves: Mapping[str, Curve]) -> None:
    """All curves, with markers at a few places, shifted from method to method so that they do not hide each other.

    Intervals are bands for VS-BO, and bars at the markers for the others: a dozen bands would hide everything. Where
    there are few curves, all have bands.
    """
    for turn, (method, curve) in enumerate(curves.items()):
        style = look(method)
        front = style.width > 1.5
        step = max(len(curve.x) // MARKED, 1)
        marked = np.arange(step * (turn + 1) // (len(curves) + 1), len(curve.x), step)
        if front or len(curves) <= FEW:
            band(axes, curve, style.colour, 0.16)
        else:
            low, high = (np.interp(curve.x[marked], curve.knots, end) for end in (curve.low, curve.high))
            axes.vlines(curve.x[marked], low, high, color=style.colour, linewidth=0.8, alpha=0.7)
        shown = marked.tolist()
        axes.plot(curve.x, curve.mean, **style.line(), **style.points(), markevery=shown, zorder=3 if front else 2)


def keep_ends(axes: Axes, curves: Mapping[str, Curve], until: float) -> None:
    """Each curve goes on, thin, at its last value: what an optimizer that has ended still has to offer."""
    for method, curve in curves.items():
        axes.plot([curve.x[-1], until], [curve.mean[-1]] * 2, color=look(method).colour, linewidth=0.5, alpha=0.6)


def band(axes: Axes, curve: Curve, colour: str, alpha: float) -> None:
    """The interval, where there is one."""
    known = ~np.isnan(curve.low)
    low, high = curve.low[known], curve.high[known]
    axes.fill_between(curve.knots[known], low, high, color=colour, alpha=alpha, linewidth=0)


def frame(axes: Axes, curves: Mapping[str, Curve], optimum: float) -> None:
    """The optimum as a line, and limits that show the late part: what came before a tenth of the way may be cut."""
    axes.axhline(optimum, color="#444444", linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    late = [value for curve in curves.values() for value in curve.mean[len(curve.mean) // 10 :]]
    low, high = min(late), max(*late, optimum)
    margin = 0.04 * (high - low) or 0.04
    axes.set_ylim(low - margin, high + margin)


def name_ends(axes: Axes, curves: Mapping[str, Curve], height: float) -> None:
    """Each curve's name at the right edge, in the order of the last values. height: of the axes, in inches."""
    beside = []
    for method, curve in curves.items():
        style = look(method)
        weight = "bold" if style.width > 1.5 else "normal"
        beside.append(Beside(method, float(curve.x[-1]), float(curve.mean[-1]), style.line() | style.points(), weight))
    label_ends(axes, beside, height)


@dataclass(frozen=True)
class Beside:
    """What is written beside a line: text, the line's last point, and how it is drawn."""

    text: str
    x: float
    y: float
    style: Mapping[str, Any]
    weight: str = "normal"


def label_ends(axes: Axes, beside: Sequence[Beside], height: float, size: float = 7.0) -> None:
    """A key and a text for each line at the right edge, at the height of its end, moved apart where they are close.

    To be called when scales and limits are set. height: of the axes, in inches.
    """
    to_axes = axes.transScale + axes.transLimits
    ends = [float(to_axes.transform((each.x, each.y))[1]) for each in beside]
    order = sorted(range(len(beside)), key=lambda i: ends[i])
    places = apart(np.array([ends[i] for i in order]), size * 1.22 / 72 / height)
    for i, place in zip(order, places, strict=True):
        style = dict(beside[i].style)
        edge = min(max(ends[i], 0.0), 1.0)
        lead = Line2D([1.0, 1.03], [edge, place], color=style["color"], linewidth=0.5)
        key = Line2D([1.035, 1.075, 1.115], [place] * 3, **style, markevery=[1])
        for line in (lead, key):
            line.set(transform=axes.transAxes, clip_on=False, in_layout=False)
            axes.add_line(line)
        text = axes.text(1.13, place, beside[i].text, transform=axes.transAxes, size=size, weight=beside[i].weight)
        text.set(va="center_baseline", color="#222222")


def plain_logs(axis: Axis) -> None:
    """A logarithmic axis with 0.02, 0.05, 0.1, ... instead of powers; over many decades every power of ten only."""
    low, high = sorted(axis.get_view_interval())
    decades = np.log10(high / low)
    steps = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def apart(wanted: Array, least: float) -> Array:
    """Places (k,) near the wanted ones (k,), which increase, at least `least` apart and within [0, 1] if they fit.

    Each crowd that overlaps is spread evenly around its mean.
    """
    crowds = [[float(np.clip(place, 0.0, 1.0))] for place in wanted]

    def span(crowd: list[float]) -> tuple[float, float]:
        half = 0.5 * least * (len(crowd) - 1)
        centre = float(np.mean(crowd))
        centre = min(max(centre, half), max(1.0 - half, half))
        return centre - half, centre + half

    merged = True
    while merged:
        merged = False
        for i in range(len(crowds) - 1):
            if span(crowds[i])[1] + least > span(crowds[i + 1])[0] + 1e-12:
                crowds[i : i + 2] = [crowds[i] + crowds[i + 1]]
                merged = True
                break
    return np.concatenate([np.linspace(*span(crowd), len(crowd)) for crowd in crowds]) if crowds else np.empty(0)
