"""Every tunable: default, range, and where it comes from.

`Config.paper()` is the published method; `Config()` the best we know; `Config.gp_ucb()`, `Config.vs_gp_ucb()` the
paper's theoretical algorithms; `Config.vanilla()` plain Bayesian optimization. All run through the same page,
`propose.py`.
"""

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from vsbo.arrays import as_value
from vsbo.errors import InputError

KernelName = Literal["matern52", "squared_exponential"]
MeanName = Literal["constant", "zero"]
PriorName = Literal["none", "dimension_scaled", "alike"]
OutputscaleName = Literal["learned", "floored", "one"]
SelectionName = Literal["momentum", "stepwise", "fixed"]
ImportanceName = Literal["gradient", "kl"]
AcquisitionName = Literal["ei", "log_ei", "ucb"]
ComplementName = Literal["cma", "mix", "fixed"]
SearchName = Literal["model", "plain", "near"]
#: The models behind the searches (turns.py).
ModelName = Literal["model", "plain", "bare"]


def _number(name: str, value: Any) -> float:
    """A plain, finite float: settings are saved as JSON."""
    number = as_value(name, value)
    if not math.isfinite(number):
        raise InputError(f"{name} must be a finite number; got {value!r}")
    return number


def as_whole(name: str, value: Any) -> int:
    """A plain whole number; an InputError that names the setting otherwise."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise InputError(f"{name} must be a whole number; got {value!r}")


def _several(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be several values, as a tuple; got {values!r}")
    return tuple(values)


def _wholes(name: str, values: Any) -> tuple[int, ...]:
    return tuple(as_whole(name, value) for value in _several(name, values))


def _numbers(name: str, values: Any) -> float | tuple[float, ...]:
    """One number, or several."""
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes)):
        return tuple(_number(name, value) for value in values)
    return _number(name, values)


@dataclass(frozen=True)
class KnownKernel:
    """Hyper-parameters that are given, not fitted: what Algorithms 6 and 7 assume.

    lengthscale: one for all variables, or one for each, in units of the cube; outputscale and noise are variances.
    """

    lengthscale: float | tuple[float, ...]
    outputscale: float = 1.0
    noise: float = 1e-4

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _numbers("known_kernel.lengthscale", self.lengthscale))
        for name in ("outputscale", "noise"):
            object.__setattr__(self, name, _number(f"known_kernel.{name}", getattr(self, name)))
        scales = self.lengthscale if isinstance(self.lengthscale, tuple) else (self.lengthscale,)
        for name, value in (*(("lengthscale", s) for s in scales), ("outputscale", self.outputscale)):
            if not value > 0:
                raise InputError(f"known_kernel.{name} must be > 0; got {value!r}")
        if not self.noise >= 0:
            raise InputError(f"known_kernel.noise must be >= 0; got {self.noise!r}")


@dataclass(frozen=True)
class Smoothness:
    """The constants of Assumption 5.1 and the confidence delta of Theorem 1."""

    delta: float = 0.1
    a: float = 1.0
    b: float = 1.0
    alpha: float = 0.1

    def __post_init__(self) -> None:
        for name in ("delta", "a", "b", "alpha"):
            object.__setattr__(self, name, _number(f"smoothness.{name}", getattr(self, name)))
        if not 0 < self.delta < 1:
            raise InputError(f"smoothness.delta must be in (0, 1); got {self.delta!r}")
        if not (self.a > 0 and self.b > 0):
            raise InputError(f"smoothness.a and smoothness.b must be > 0; got a={self.a!r}, b={self.b!r}")
        if not 0 <= self.alpha < 1:
            raise InputError(f"smoothness.alpha must be in [0, 1); got {self.alpha!r}")


@dataclass(frozen=True, kw_only=True)
class Config:
    """The tunables. Ranges are checked; `replace(config, name=value)` from dataclasses makes a variant."""

    # --- the initial design (Algorithm 1, line 4)
    n_initial: int = 5
    """N_init: points before the first model, uniform but for `center`. >= 1. Paper, appendix D: 5."""
    center: bool = True
    """The middle of all ranges is the first point, or comes before the first model where others were there first.
    People put ranges around what they believe in; in many dimensions no uniform point comes near it. Paper: no."""

    # --- the surrogate (paper, section 2; docs/differences.md)
    kernel: KernelName = "matern52"
    """Paper, appendix D: Matern-5/2."""
    mean: MeanName = "constant"
    """Authors' program: a learned constant. "zero" is what Algorithms 6 and 7 assume."""
    standardize: bool = True
    """y to mean 0 and deviation 1 before each fit. Authors' program: yes. Algorithms 6 and 7: no."""
    prior: PriorName = "dimension_scaled"
    """On the log parameters. Paper: none. Dimension-scaled: Hvarfner et al. 2024, as in BoTorch's default. "alike":
    all length-scales near the distance of two random points, but for a few; that of the plain model (`searches`)."""
    outputscale: OutputscaleName = "floored"
    """"learned": the variance of f is fitted. "floored": so it is, but to no less than 1, that of standardized y. Among
    points around an incumbent it shrinks to a tenth, and EI no longer looks elsewhere. "one": it is 1, as in BoTorch's
    default. Authors' program: learned."""
    main_effects: int = 8
    """Variables that get a main effect of their own in the covariance, at most: those with the shortest length-scales.
    A product of correlations forgets all it knows when one variable moves far; a sum does not. Paper: 0. >= 0."""
    squeeze: bool = True
    """All but the best quarter of the values may be drawn together (`data.squeeze`) where that explains them better
    than main effects do: where a function falls off steeply, or values lie far below the others. Paper: no."""
    noise_floor: float = 1e-6
    """Least noise variance on standardized y. > 0. 1e-6 is a thousandth of its deviation: where a function falls off
    steeply, that much tells the best points apart. Authors' program: 1e-4."""
    warm_start: bool = True
    """Start the next fit of the same variables where the last one ended; cold starts compete as the data grow."""
    refit_growth: float = 1.02
    """Growth of the data after which the next warm fit is made: 1.02 is every point up to 50, every fourth at 200.
    >= 1. Over five seeds of six problems values were no worse beyond their errors, and a run takes a fifth less time.
    Without `warm_start` a fit is made at every point. Paper: 1, at every point."""
    known_kernel: KnownKernel | None = None
    """If given, nothing is fitted: the GP prior of Algorithms 6 and 7."""

    # --- variable selection (Algorithms 2-5)
    selection: SelectionName = "fixed"
    """"momentum": Algorithms 3, 4, 5. "stepwise": Algorithm 2 each time. "fixed": always `variables`."""
    variables: tuple[int, ...] | None = None
    """With selection="fixed": the variables to model, 0-based; None means all of them."""
    select_every: int = 20
    """N_vs: finished evaluations between two selections, and the evolution strategy's population. >= 4. Paper: 20.
    Without selections, as by default: evaluations in a period of the story."""
    importance: ImportanceName = "gradient"
    """By what a selection ranks variables (study.importance() is another thing). "gradient": Grad-IS (section 3.1).
    "kl": Paananen et al. 2019."""
    n_importance: int = 10_000
    """N_is: points at which Grad-IS averages. >= 1. Paper, appendix D: 10000."""

    # --- acquisition
    acquisition: AcquisitionName = "log_ei"
    """Paper, appendix D: expected improvement. Its logarithm has the same maximum and never underflows."""
    beta: float | None = None
    """With acquisition="ucb": a constant beta >= 0; None means the theorem's beta_t, with `smoothness`."""
    smoothness: Smoothness = Smoothness()
    """With acquisition="ucb" and beta=None: constants of Assumption 5.1."""
    n_raw: int = 512
    """Points at which the acquisition is screened. >= 1. BoTorch's customary 512; one batch, about 3 ms at n = 200."""
    n_restarts: int = 8
    """The best of them that are polished, besides the incumbent. >= 1. With a few variables 4 find as much."""

    thrift: float = 0.1
    """With acquisition="log_ei": nats of it (0.1: a tenth of EI) that a proposal of the model may lose so that those
    variables whose move is worth little stay where the best point has them. >= 0. 1 looked worse,
    and so did thrift in the other searches (docs/experiments.md, 125 to 128). Paper: 0."""
    weighted_starts: bool = True
    """Start points of the acquisition move variables the more often, the steeper the model is along them. Paper: no."""
    searches: tuple[SearchName, ...] = ("model", "plain", "near")
    """The searches that take turns, by what each has brought lately (turns.py). "model": the acquisition of the model
    above, anywhere in the cube. "plain": that of a plain model, squared exponential with variance 1 and
    length-scales that are nearly alike. "near": that of the plain model, in a box around the best point. "model" must
    be among them. Paper: it alone."""
    bare: bool = True
    """With several searches: a third model, the first one without main effects and of the values as they are, takes the
    place of the plain one among the first 60 evaluations while it foretells values better, and has every tenth point
    while those of the first one are squeezed (turns.py). Paper: no."""
    leaps: bool = True
    """With several searches: from 60 evaluations on, every tenth point is the best one with one variable far from where
    it is, of those with main effects; every fifth while values are squeezed (turns.py). Paper: no."""
    double_leaps: bool = True
    """With `bare`: while values are squeezed, leaps go by that model, which is of the values as they are, and move two
    of these variables together. The model of squeezed ones excludes by five deviations what it has not seen, where
    that one excludes nothing (docs/experiments.md, 188). Paper: no."""

    discrete: bool = True
    """Whole numbers and choices of up to a dozen values, and all choices without order, are searched value by value,
    and the values of a choice without order are equally far apart in all models. Otherwise they are real variables that
    are rounded. Paper: it has none."""

    doubt_failures: bool = True
    """A failure counts as the worst value so far. How sure that is, is fitted: observations that failed have a variance
    of their own, up to that of all values. Where failures come by chance it is large, and where a region of them is
    what explains the values it is small. Paper: silent. False: that value counts as if it had been measured."""

    # --- the other variables (section 3.3); without effect while all are modelled, as by default
    complement: ComplementName = "cma"
    """"cma": conditional Gaussian of the evolution strategy. "mix": Spagnol et al. "fixed": `fixed_value`."""
    n_complement: int = 20
    """Samples of which the full model's posterior mean picks one. >= 1. Authors' program: 20; the text: 1."""
    cma_sigma: float = 0.2
    """The evolution strategy's first step size, in units of the cube. > 0. Authors' program: 0.2."""
    mix_probability: float = 0.5
    """With complement="mix": probability of a uniform sample instead of the incumbent's values. Paper, appendix D."""
    fixed_value: float | tuple[float, ...] = 0.5
    """With complement="fixed": where the other variables stay, in [0, 1]; one for all, or one for each variable (D)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.type is bool and not isinstance(getattr(self, field.name), bool):
                raise InputError(f"{field.name} must be True or False; got {getattr(self, field.name)!r}")
        for name, kind in _CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                raise InputError(f"{name} must be one of {list(get_args(kind))}; got {getattr(self, name)!r}")
        for name, least in _WHOLE.items():
            value = as_whole(name, getattr(self, name))
            if value < least:
                raise InputError(f"{name} must be a whole number >= {least}; got {value!r}")
            object.__setattr__(self, name, value)
        for name in ("refit_growth", "noise_floor", "thrift", "cma_sigma", "mix_probability"):
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        object.__setattr__(self, "searches", _several("searches", self.searches))
        names = get_args(SearchName)
        if "model" not in self.searches or len(set(self.searches) & set(names)) != len(self.searches):
            raise InputError(f'searches must be "model" and others of {list(names)}, each once; got {self.searches!r}')
        if self.beta is not None:
            object.__setattr__(self, "beta", _number("beta", self.beta))
        object.__setattr__(self, "fixed_value", _numbers("fixed_value", self.fixed_value))
        if self.variables is not None:
            object.__setattr__(self, "variables", _wholes("variables", self.variables))
        if not 0 < self.noise_floor <= 1:
            raise InputError(f"noise_floor must be > 0 and <= 1, the variance of y; got {self.noise_floor!r}")
        if not self.refit_growth >= 1:
            raise InputError(f"refit_growth must be >= 1; got {self.refit_growth!r}")
        if not self.thrift >= 0:
            raise InputError(f"thrift must be >= 0; got {self.thrift!r}")
        if not self.cma_sigma > 0:
            raise InputError(f"cma_sigma must be > 0; got {self.cma_sigma!r}")
        if not 0 <= self.mix_probability <= 1:
            raise InputError(f"mix_probability must be in [0, 1]; got {self.mix_probability!r}")
        if self.beta is not None and not self.beta >= 0:
            raise InputError(f"beta must be >= 0, or None for the theorem's; got {self.beta!r}")
        if self.variables is not None and self.selection != "fixed":
            raise InputError(f'variables goes with selection="fixed" only; selection is {self.selection!r}')
        if self.known_kernel is not None and self.selection != "fixed":
            raise InputError('known_kernel goes with selection="fixed": selection compares fitted kernels')
        if self.known_kernel is not None and "plain" in self.searches:
            raise InputError('known_kernel goes with searches=("model",) or ("model", "near"): it is the only model')
        if self.variables is not None and len(set(self.variables)) != len(self.variables):
            raise InputError(f"variables must differ from each other; got {self.variables!r}")
        values = self.fixed_value if isinstance(self.fixed_value, tuple) else (self.fixed_value,)
        if not all(0 <= value <= 1 for value in values):
            raise InputError(f"fixed_value must be in [0, 1]; got {self.fixed_value!r}")

    def check_dimension(self, D: int) -> None:
        """Raise an InputError if a setting cannot hold for D variables."""
        if self.variables is not None and (not self.variables or not all(0 <= j < D for j in self.variables)):
            raise InputError(f"variables must be in 0..{D - 1} and not empty; got {self.variables!r}")
        if isinstance(self.fixed_value, tuple) and len(self.fixed_value) != D:
            raise InputError(f"fixed_value must be one number or {D}; got {len(self.fixed_value)}")
        known = self.known_kernel
        if known is not None and isinstance(known.lengthscale, tuple) and len(known.lengthscale) != D:
            raise InputError(f"known_kernel.lengthscale must be one number or {D}; got {len(known.lengthscale)}")

    @classmethod
    def paper(cls, **changes: Any) -> "Config":
        """The published method: the text, and where it is silent docs/differences.md."""
        published = cls(
            center=False, acquisition="ei", prior="none", outputscale="learned", main_effects=0, squeeze=False,
            noise_floor=1e-4, refit_growth=1.0, selection="momentum", n_restarts=4, thrift=0.0,
            weighted_starts=False, searches=("model",), bare=False, leaps=False, double_leaps=False,
            discrete=False, doubt_failures=False,
        )  # fmt: skip
        return replace(published, **changes)

    @classmethod
    def vanilla(cls, **changes: Any) -> "Config":
        """Plain Bayesian optimization: all variables alike in one product kernel."""
        plain = cls(
            center=False, main_effects=0, squeeze=False, refit_growth=1.0, thrift=0.0, weighted_starts=False,
            searches=("model",), bare=False, leaps=False, double_leaps=False, discrete=False, doubt_failures=False,
        )  # fmt: skip
        return replace(plain, **changes)

    @classmethod
    def gp_ucb(cls, known_kernel: KnownKernel, **changes: Any) -> "Config":
        """Algorithm 7: GP-UCB with a known kernel, zero mean and the theorem's beta_t. The first point is uniform:

        the argmax over an empty data set is any point.
        """
        known = cls(
            n_initial=1, center=False, mean="zero", standardize=False, prior="none", known_kernel=known_kernel,
            main_effects=0, squeeze=False, selection="fixed", acquisition="ucb", complement="fixed", n_restarts=4,
            thrift=0.0, weighted_starts=False, searches=("model",), bare=False, leaps=False, double_leaps=False,
            discrete=False, doubt_failures=False,
        )  # fmt: skip
        return replace(known, **changes)

    @classmethod
    def vs_gp_ucb(cls, known_kernel: KnownKernel, variables: tuple[int, ...], **changes: Any) -> "Config":
        """Algorithm 6: GP-UCB along `variables`, all others fixed at `fixed_value`."""
        return replace(cls.gp_ucb(known_kernel), variables=variables, **changes)

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able values."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Config":
        """The inverse of `to_plain`; a field that is not known is an InputError that names it. What was saved before
        there was a setting goes on without it.
        """
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(plain) - known - set(_RETIRED))
        if unknown:
            raise InputError(f"config has unknown settings {unknown}; known are {sorted(known)}")
        values = _LATER | {name: value for name, value in plain.items() if name not in _RETIRED}
        if values.get("known_kernel") is not None:
            values["known_kernel"] = KnownKernel(**values["known_kernel"])
        if "smoothness" in values:
            values["smoothness"] = Smoothness(**values["smoothness"])
        return cls(**values)


#: Settings of earlier versions. What was saved with them opens all the same, and goes on with the settings of today.
_RETIRED = ("patience",)
#: Settings that earlier versions did not have, as those searched.
_LATER = {
    "squeeze": False, "refit_growth": 1.0, "thrift": 0.0, "bare": False, "leaps": False,
    "double_leaps": False, "discrete": False, "doubt_failures": False,
}  # fmt: skip

_CHOICES = {
    "kernel": KernelName,
    "mean": MeanName,
    "prior": PriorName,
    "outputscale": OutputscaleName,
    "selection": SelectionName,
    "importance": ImportanceName,
    "acquisition": AcquisitionName,
    "complement": ComplementName,
}
# Fewer than 4 points are no generation for an evolution strategy: half of them are its parents.
_WHOLE = {
    "n_initial": 1,
    "select_every": 4,
    "n_importance": 1,
    "n_raw": 1,
    "n_restarts": 1,
    "n_complement": 1,
    "main_effects": 0,
}
