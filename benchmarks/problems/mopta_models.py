"""MOPTA08's mass and its 68 constraints, kriging models of a car, from the file of their coefficients.

Notation: x (k, 124) in the unit cube, X = lower + x width in the car's units. The model of constraint c is, over the
points (p, d) of its design,
    y_c = constant_c + X trend_c + sum_i weights_ic exp(-sum_j theta_jc |X_j - point_ij|^1.9)
and, for some, exp(y_c) + offset_c instead. g_c = (sign_c y_c - bound_c) / |bound_c|.

Written down as it stands this takes 20 ms a point, nearly all of it for 400,000 powers. Two facts make it fast: five of
the nine designs are parts of one set of points, so that their exponents are one matrix product; and along a
variable the points have some 40 different coordinates only, so that the powers are looked up in a table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import BenchError
from benchmarks.problems.problem import Array

CONSTRAINTS, DESIGNS = 68, 9
POWER = 1.9
CHUNK = 1 << 18  # numbers in the largest array at a time (2 MB); within noise the same from 2^17 to 2^21


@dataclass(frozen=True, eq=False)
class Design:
    """Models of constraints (c,), by 0-based number, on the same points (p, d) of the same variables inputs (d,).

    cell (p, d): where in the table of powers |X_j - point_ij|^1.9 is. base (p, c): the exponent's part of variables
    that are constant. theta, trend (d, c); constant (c,); weights (p, c).
    """

    inputs: NDArray[np.intp]
    constraints: NDArray[np.intp]
    cell: NDArray[np.intp]
    base: Array
    theta: Array
    constant: Array
    trend: Array
    weights: Array

    def values(self, X: Array, powers: Array) -> Array:
        """y (k, c) at X (k, variables), given the table of powers (k, cells)."""
        k, (p, d) = len(X), self.cell.shape
        E = (powers.take(self.cell.ravel(), axis=1).reshape(k * p, d) @ self.theta).reshape(k, p, len(self.constraints))
        E += self.base
        K = np.exp(np.negative(E, out=E), out=E)
        y: Array = self.constant + X[:, self.inputs] @ self.trend + np.einsum("kpc,pc->kc", K, self.weights)
        return y


@dataclass(frozen=True, eq=False)
class Models:
    """The mass f = mass_held + X mass, and the constraints. variable, level (cells,): where the designs' points are."""

    lower: Array
    width: Array
    mass: Array
    mass_held: float
    sign: Array
    bound: Array
    log: NDArray[np.bool_]
    offset: Array
    variable: NDArray[np.intp]
    level: Array
    designs: tuple[Design, ...]

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """f (k,) and g (k, 68) at x (k, variables) in the unit cube."""
        f, g = np.empty(len(x)), np.empty((len(x), CONSTRAINTS))
        step = max(1, CHUNK // max(max(d.cell.size, d.base.size) for d in self.designs))
        for i in range(0, len(x), step):
            X = self.lower + x[i : i + step] * self.width
            f[i : i + step] = self.mass_held + X @ self.mass
            g[i : i + step] = self._constraints(X)
        return f, g

    def _powers(self, X: Array) -> Array:
        table: Array = np.abs(X[:, self.variable] - self.level) ** POWER
        return table

    def _constraints(self, X: Array) -> Array:
        powers, y = self._powers(X), np.empty((len(X), CONSTRAINTS))
        for design in self.designs:
            y[:, design.constraints] = design.values(X, powers)
        y[:, self.log] = np.exp(y[:, self.log]) + self.offset[self.log]
        g: Array = (self.sign * y - self.bound) / np.abs(self.bound)
        return g

    def around(self, x: Array, columns: NDArray[np.intp]) -> "Models":
        """The models of the variables `columns` (m,) alone, in this order, with all others held at x (124,)."""
        X = self.lower + x * self.width
        powers = self._powers(X[None, :])[0]
        number = np.full(len(X), -1)
        number[columns] = np.arange(len(columns))
        free = number[self.variable] >= 0
        place = np.cumsum(free) - 1

        def held(design: Design) -> Design:
            stays = number[design.inputs] >= 0
            gone = ~stays
            return replace(
                design,
                inputs=number[design.inputs[stays]],
                cell=place[design.cell[:, stays]],
                base=design.base + powers[design.cell[:, gone]] @ design.theta[gone],
                theta=design.theta[stays],
                constant=design.constant + X[design.inputs[gone]] @ design.trend[gone],
                trend=design.trend[stays],
            )

        return replace(
            self,
            lower=self.lower[columns],
            width=self.width[columns],
            mass=self.mass[columns],
            mass_held=self.mass_held + float(X[number < 0] @ self.mass[number < 0]),
            variable=number[self.variable[free]],
            level=self.level[free],
            designs=tuple(held(design) for design in self.designs),
        )


def load(path: Path) -> Models:
    """The models of the file of coefficients."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return _models(dict(archive))
    except (OSError, ValueError, KeyError, IndexError, AttributeError) as cause:
        raise BenchError(f"{path} must be the file of MOPTA08's coefficients (.npz); reading it: {cause}") from cause


def _models(file: Mapping[str, Any]) -> Models:
    variable, level, cells = _table(file)
    designs = [_design(file, number, cell) for number, cell in enumerate(cells)]
    # Points that differ in constant inputs only have the same cells but not the same base: such designs stay alone.
    alike: dict[bytes, list[Design]] = {}
    for number, design in enumerate(designs):
        constant = bool(np.any(file[f"design{number}_inputs"] < 0))
        alike.setdefault(bytes([number]) if constant else design.inputs.tobytes(), []).append(design)
    log, offset = np.empty(CONSTRAINTS, dtype=bool), np.empty(CONSTRAINTS)
    for number, design in enumerate(designs):
        log[design.constraints] = file[f"design{number}_log"] != 0
        offset[design.constraints] = file[f"design{number}_offset"]
    return Models(
        lower=file["lower"],
        width=file["upper"] - file["lower"],
        mass=file["mass"],
        mass_held=0.0,
        sign=file["sign"],
        bound=file["bound"],
        log=log,
        offset=offset,
        variable=variable,
        level=level,
        designs=tuple(_merged(group) for group in alike.values()),
    )


def _table(file: Mapping[str, Any]) -> tuple[NDArray[np.intp], Array, list[NDArray[np.intp]]]:
    """variable and level of each cell of the table, and the cells (p, d) of each design's points."""
    pairs = []
    for number in range(DESIGNS):
        inputs, points = file[f"design{number}_inputs"], file[f"design{number}_points"]
        # Complex numbers as pairs (variable, level): unique is twenty times as fast on them as on rows of two.
        pairs.append((inputs - 1 + 1j * points)[:, inputs > 0])
    cells, place = np.unique(np.concatenate([pair.ravel() for pair in pairs]), return_inverse=True)
    parts = np.split(place, np.cumsum([pair.size for pair in pairs])[:-1])
    shaped = [part.reshape(pair.shape) for part, pair in zip(parts, pairs, strict=True)]
    return cells.real.astype(np.intp), cells.imag.copy(), shaped


def _design(file: Mapping[str, Any], number: int, cell: NDArray[np.intp]) -> Design:
    """A design of the file. A negative input -i stands for the constant baseline[i - 1]."""
    inputs, points, constraints, theta, trend, weights = (
        file[f"design{number}_{part}"] for part in ("inputs", "points", "constraints", "theta", "trend", "weights")
    )
    free, held = inputs > 0, inputs < 0
    constants = file["baseline"][-inputs[held] - 1]
    return Design(
        inputs=inputs[free].astype(np.intp) - 1,
        constraints=constraints.astype(np.intp) - 1,
        cell=cell,
        base=np.abs(constants - points[:, held]) ** POWER @ theta[held],
        theta=theta[free],
        constant=trend[0] + constants @ trend[1:][held],
        trend=trend[1:][free],
        weights=weights,
    )


def _merged(designs: list[Design]) -> Design:
    """One design of several with the same inputs, on the union of their points; a weight that is missing is 0."""
    if len(designs) == 1:
        return designs[0]
    cell, row = np.unique(np.vstack([d.cell for d in designs]), axis=0, return_inverse=True)
    rows = np.split(row.ravel(), np.cumsum([len(d.cell) for d in designs])[:-1])

    def spread(part: Callable[[Design], Array]) -> Array:
        wide = [np.zeros((len(cell), len(d.constraints))) for d in designs]
        for at, d, columns in zip(rows, designs, wide, strict=True):
            columns[at] = part(d)
        return np.hstack(wide)

    return Design(
        inputs=designs[0].inputs,
        constraints=np.concatenate([d.constraints for d in designs]),
        cell=cell,
        base=spread(lambda d: d.base),
        theta=np.hstack([d.theta for d in designs]),
        constant=np.concatenate([d.constant for d in designs]),
        trend=np.hstack([d.trend for d in designs]),
        weights=spread(lambda d: d.weights),
    )
