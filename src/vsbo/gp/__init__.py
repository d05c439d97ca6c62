"""The surrogate: y ~ N(m 1, a K + s I), a Gaussian process with one length-scale a variable.

Notation, the same in every file of this folder:
    n, d        observations, variables in the model
    X (n, d)    points in the unit cube;  y (n,) values, standardized unless the kernel is known
    l (d,)      length-scales;  U = X / l, V = Z / l scaled points
    a, s        output scale and noise, both variances
    b, main     variance of a main effect, and which variables have one: b sum_(j in main) K_j is added to a K
    m           constant mean
    k(q), h(q)  correlation as a function of the squared scaled distance q, and h = -2 dk/dq
    M = a K + s I = L L',  alpha = M^-1 (y - m 1)
"""

from vsbo.gp.fit import COLD, Fit, cold_names, fit
from vsbo.gp.likelihood import Hyperparameters
from vsbo.gp.posterior import Posterior, condition

__all__ = ["COLD", "Fit", "Hyperparameters", "Posterior", "cold_names", "condition", "fit"]
