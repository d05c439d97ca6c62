"""vsbo's own optimizer as a method: VS-BO, VSBO-mix and vanilla BO are configurations of it."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

import vsbo
from benchmarks.methods.method import Array, Report
from vsbo.state import Asked, Event, Fitted, Selected

#: Vanilla BO as the paper had it (appendix D): Matern-5/2 without priors, expected improvement.
VANILLA_PAPER = vsbo.Config.paper(selection="fixed")

CONFIGS = {
    "vsbo": vsbo.Config(),
    "vsbo-paper": vsbo.Config.paper(),
    "vsbo-mix": vsbo.Config.paper(complement="mix"),
    "vanilla": vsbo.Config.vanilla(),
    "vanilla-paper": VANILLA_PAPER,
    # The authors' program fits from the same start at every point; ours from the last optimum, as vsbo-paper does.
    "vanilla-cold": replace(VANILLA_PAPER, warm_start=False),
    # The default without one of its parts.
    "vsbo-no-center": vsbo.Config(center=False),
    "vsbo-no-turns": vsbo.Config(searches=("model",)),
    "vsbo-no-plain": vsbo.Config(searches=("model", "near")),
    "vsbo-no-near": vsbo.Config(searches=("model", "plain")),
    "vsbo-no-main-effects": vsbo.Config(main_effects=0),
    "vsbo-no-squeeze": vsbo.Config(squeeze=False),
    "vsbo-free-variance": vsbo.Config(outputscale="learned"),
    "vsbo-high-floor": vsbo.Config(noise_floor=1e-4),
    "vsbo-no-thrift": vsbo.Config(thrift=0.0),
    "vsbo-no-bare": vsbo.Config(bare=False),
    "vsbo-no-leaps": vsbo.Config(leaps=False),
    "vsbo-no-double-leaps": vsbo.Config(double_leaps=False),
    "vsbo-even-starts": vsbo.Config(weighted_starts=False),
    "vsbo-every-fit": vsbo.Config(refit_growth=1.0),
    "vsbo-sure-of-failures": vsbo.Config(doubt_failures=False),
}


class Engine:
    """vsbo.Optimizer on the unit cube. Points that it was told of count towards its initial design of 5."""

    takes_failures = True

    def __init__(self, config: vsbo.Config, *, D: int, seed: int) -> None:
        self.optimizer = vsbo.Optimizer(vsbo.Space.box(D), direction="maximize", seed=seed, config=config)
        self._pending: list[vsbo.Trial] = []
        self._report = Report()

    def ask(self) -> Array:
        """The optimizer's next point (D,)."""
        known = len(self.optimizer.state.log)
        trial, state = self.optimizer.ask(), self.optimizer.state
        self._pending.append(trial)
        picks = state.config.selection != "fixed" or state.config.main_effects > 0
        self._report = Report(state.selected if picks else None, phases(state.log[known:]))
        return trial.x.copy()

    def tell(self, x: Array, y: float) -> None:
        """The value of the point that was asked for, or of one from elsewhere."""
        trial = next((trial for trial in self._pending if np.array_equal(x, trial.x)), None)
        if trial is None:
            self.optimizer.add(x, y)
        else:
            self._pending.remove(trial)
            self.optimizer.tell(trial, y)

    def report(self) -> Report:
        """The variables that the configuration picked out, if it does so (at first all of them); seconds."""
        return self._report


def engine(config: vsbo.Config, *, D: int, seed: int, budget: int) -> Engine:
    """The optimizer with this configuration."""
    return Engine(config, D=D, seed=seed)


def phases(events: Iterable[Event]) -> dict[str, float]:
    """Wall seconds of one ask by phase. They do not overlap: vsbo's `Asked` begins to count when the fit has ended.

    "selection" contains the fits that the selection makes, "acquisition" also the filling in of the other variables.
    """
    seconds = {"fit": 0.0, "acquisition": 0.0, "selection": 0.0}
    for event in events:
        match event:
            case Fitted():
                seconds["fit"] += event.seconds
            case Asked():
                seconds["acquisition"] += event.seconds
            case Selected():
                seconds["selection"] += event.seconds
    return seconds
