"""What came out, in Markdown."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.discrete.methods import METHODS
from benchmarks.discrete.problems import PROBLEMS
from benchmarks.discrete.search import EVALUATIONS
from benchmarks.methods.method import Array
from benchmarks.speed.report import table
from benchmarks.statistics import average_ranks, bootstrap_interval, paired

RECORDS = Path(__file__).parent / "results" / "discrete.jsonl"
#: Evaluations after which the page has values.
SHOWN = (30, 50, 100, EVALUATIONS)
#: Of the environment, what the page says.
MACHINE = ("cpu", "cores", "threads used", "python", "numpy", "scipy", "vsbo source")


def saved() -> list[dict[str, Any]]:
    """All runs so far. A last line that was cut is left out: its run is made again."""
    rows = []
    for line in RECORDS.read_text(encoding="utf-8").splitlines() if RECORDS.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The tables, in Markdown."""
    if not rows:
        return "Not measured.\n"
    machines = sorted({", ".join(f"{name} {row[name]}" for name in MACHINE) for row in rows})
    text = [
        "# Whole numbers and choices",
        "Written by `python -m benchmarks.discrete`. Best value after so many evaluations, the five shared ones among "
        "them: means, 95 % bootstrap intervals of the last, in how many seeds vsbo is ahead of the method (equal ones "
        "count for neither) and by how much, median CPU seconds of a run. Larger is better. "
        + "; ".join(machines)
        + ".",
    ]
    for name in PROBLEMS:
        of = {m: {row["seed"]: row for row in rows if (row["problem"], row["method"]) == (name, m)} for m in METHODS}
        lines = [
            "| method (seeds) | " + " | ".join(f"at {n}" for n in SHOWN) + " | interval | vsbo ahead | by | CPU s |",
            "|" + "---|" * (len(SHOWN) + 5),
        ]
        for method, runs in of.items():
            if not runs:
                continue
            values = np.array([[row["best"][n - 1] for n in SHOWN] for row in runs.values()])
            low, high = bootstrap_interval(values[:, -1])
            ours, theirs = ({seed: row["best"][-1] for seed, row in of[m].items()} for m in ("vsbo", method))
            against = paired(ours, theirs) if method != "vsbo" else None
            ahead = "" if against is None else f"{against.positive} of {against.n}"
            by = "" if against is None else f"{against.difference:+.3g}"
            cpu = float(np.median([row["seconds"] for row in runs.values()]))
            means = " | ".join(f"{value:.4g}" for value in values.mean(axis=0))
            lines.append(f"| {method} ({len(runs)}) | {means} | [{low:.4g}, {high:.4g}] | {ahead} | {by} | {cpu:.2g} |")
        if any(of.values()):
            text += [f"## {name}", (PROBLEMS[name].__doc__ or "").replace("\n    ", " "), "\n".join(lines)]
    return "\n\n".join(text) + "\n"


def overview(rows: Sequence[dict[str, Any]]) -> str:
    """Means after the last evaluation, a line a method, and the average rank of the means after fewer ones, too."""

    def mean(name: str, method: str) -> Array:
        bests = [row["best"] for row in rows if (row["problem"], row["method"]) == (name, method)]
        means: Array = np.mean(bests, axis=0)
        return means

    values = np.array([[mean(name, method) for method in METHODS] for name in PROBLEMS])
    ranked = {n: average_ranks(values[:, :, n - 1])[0] for n in SHOWN[1:]}
    lines = [
        [method, *(f"{value:.4g}" for value in values[:, i, -1]), *(f"{rank[i]:.2f}" for rank in ranked.values())]
        for i, method in enumerate(METHODS)
    ]
    return table(["method", *PROBLEMS, *(f"rank at {n}" for n in ranked)], lines)
