"""One look for each method, the same in every figure: its family's colour, a line and a marker of its own.

The colours differ by at least 20 units of CIELAB for normal, protanopic and deuteranopic eyes (the test measures it);
within a family the dashes and markers tell the methods apart, and every curve has its name beside it.
"""

import zlib
from dataclasses import dataclass
from typing import Any

Dashes = str | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class Family:
    """Methods of one kind, in the order in which they take the dashes and markers."""

    colour: str
    methods: tuple[str, ...]


FAMILIES: dict[str, Family] = {
    "VS-BO": Family("#D55E00", ("vsbo", "vsbo-paper", "vsbo-8-workers")),
    "VSBO-mix": Family("#8B3DFF", ("vsbo-mix",)),
    "vanilla BO": Family(
        "#0072B2",
        ("vanilla", "vanilla-paper", "vanilla-cold", "botorch", "botorch-paper", "ax", "vanilla-8-workers"),
    ),
    "linear embedding": Family("#5AAE61", ("rembo", "rembo-interleave", "alebo", "alebo-4")),
    "hashing embedding": Family("#66CCEE", ("hesbo-4", "hesbo-6", "hesbo-10", "baxus")),
    "other selection": Family("#7F3B08", ("hsic", "dropout")),
    "sparse prior": Family("#332288", ("saasbo", "map-saas", "map-saas-ensemble")),
    "trust region": Family("#000000", ("turbo", "turbo-8-workers")),
    "evolution": Family("#E6B800", ("cma",)),
    "packages": Family("#994455", ("optuna-tpe", "optuna-gp", "smac", "hebo", "dragonfly", "dragonfly-ml")),
    "no model": Family("#9A9A9A", ("random", "sobol")),
    "the default with other turns, steps or fits": Family(
        "#282850",
        (
            "vsbo-no-turns",
            "vsbo-no-plain",
            "vsbo-no-near",
            "vsbo-every-fit",
            "vsbo-no-thrift",
            "vsbo-no-bare",
            "vsbo-no-leaps",
            "vsbo-no-double-leaps",
        ),
    ),
    "the default without a part": Family(
        "#7878F0",
        (
            "vsbo-no-main-effects",
            "vsbo-free-variance",
            "vsbo-high-floor",
            "vsbo-even-starts",
            "vsbo-no-center",
            "vsbo-no-squeeze",
            "vsbo-sure-of-failures",
        ),
    ),
}
#: Compared in tables of their own, and not drawn among all others: parts left out, and several workers.
APART = (
    "vsbo-8-workers",
    "vanilla-8-workers",
    "turbo-8-workers",
    *FAMILIES["the default with other turns, steps or fits"].methods,
    *FAMILIES["the default without a part"].methods,
)
#: Methods from elsewhere (module:attribute) share the last colour that is left.
OTHER = "#5C5C5C"

DASHES: tuple[Dashes, ...] = (
    "-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 3)), (0, (8, 4)),
    (0, (9, 1.5, 1.2, 1.5, 1.2, 1.5)), (0, (1, 3)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

#: What the paper compares (its section 6), here with its own settings where there are two.
PAPER = (
    "vanilla-paper", "vanilla-cold", "botorch-paper", "rembo", "rembo-interleave", "hesbo-4", "hesbo-6", "hesbo-10",
    "alebo", "alebo-4", "dragonfly", "dragonfly-ml",
)  # fmt: skip
#: Drawn beside the paper's methods and beside the others, to compare with.
EVERYWHERE = ("vsbo-paper", "vsbo", "random")


@dataclass(frozen=True)
class Look:
    """How a method's curve is drawn."""

    colour: str
    dashes: Dashes
    marker: str
    width: float

    def line(self) -> dict[str, Any]:
        """As matplotlib's plot takes it."""
        return {"color": self.colour, "linestyle": self.dashes, "linewidth": self.width}

    def points(self) -> dict[str, Any]:
        """The markers, hollow for all but the first of a family."""
        face = self.colour if self.dashes == "-" else "white"
        return {"marker": self.marker, "markersize": 4.0, "markerfacecolor": face, "markeredgewidth": 0.9}


def family(method: str) -> str | None:
    """The family of a method; None for one from elsewhere."""
    return next((name for name, own in FAMILIES.items() if method in own.methods), None)


def look(method: str) -> Look:
    """The same for the same name, whatever else is drawn."""
    name = family(method)
    if name is None:
        turn = zlib.crc32(method.encode())
        return Look(OTHER, DASHES[turn % len(DASHES)], MARKERS[turn // len(DASHES) % len(MARKERS)], 1.0)
    own = FAMILIES[name]
    turn = own.methods.index(method)
    return Look(own.colour, DASHES[turn], MARKERS[turn], 2.0 if own.colour == FAMILIES["VS-BO"].colour else 1.1)


#: For matplotlib.rc_context: small pages, so that 7 points stay readable when a page is shown at two thirds.
RC: Any = {
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
}
