"""Leaps: the best point with one of its variables far from where it is.

Searches by expected improvement stay in the mode they are in: they refine what they know to be good, and where another
mode lies along one variable, the model expects little of it and is surer of that than it should be. One variable at a
time, from the best point, such a mode costs one evaluation to find.
"""

import numpy as np

from vsbo.acquisition.confidence_bound import upper_confidence_bound
from vsbo.arrays import Array
from vsbo.gp import Posterior

#: Variables to leap along: those with the shortest length-scales. Most of the others matter to nothing, and the model
#: is not sure enough of that to leave them out by itself.
FEW = 8
#: The least way of a leap, in widths of the cube; nearer, the other searches look.
FAR = 0.25
#: Places tried along a variable, evenly over its range: 40 steps are short against any length-scale worth a leap.
PLACES = 41
#: What counts is mean + 2.5 deviations: the model of a place it has not seen is not to be believed.
BETA = 2.5**2
#: A leap must promise to be better than the best by this part of what that is better than the median: sooner or later
#: every place has been tried or is hopeless, and then there are no more.
PROMISE = 0.1


def leaps(posterior: Posterior, best: Array) -> Array:
    """Points (r, d), the most promising first: the best one (d,) with one of the few variables moved by FAR or more.

    Only those that promise enough; there may be none.
    """
    few = np.argsort(posterior.theta.lengthscales, kind="stable")[:FEW]
    moved, place = (grid.ravel() for grid in np.meshgrid(few, np.linspace(0.0, 1.0, PLACES), indexing="ij"))
    far = np.abs(place - best[moved]) >= FAR
    Z = np.tile(best, (int(far.sum()), 1))
    Z[np.arange(len(Z)), moved[far]] = place[far]
    bound = upper_confidence_bound(*posterior.predict(Z), BETA)[0]
    highest = np.max(posterior.y)
    ordered: Array = Z[np.argsort(-bound, kind="stable")]
    return ordered[: np.sum(bound >= highest + PROMISE * (highest - np.median(posterior.y)))]
