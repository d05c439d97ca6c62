"""`python -m benchmarks.discrete [--problems ...] [--methods ...] [--seeds 0:10] [--workers 2]`.

Runs what is missing and writes results/discrete.md; it can be stopped at any time, and the same line goes on.
`--table` writes the page alone.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.discrete.methods import METHODS
from benchmarks.discrete.problems import PROBLEMS
from benchmarks.discrete.search import EVALUATIONS, run
from benchmarks.progress import Progress
from benchmarks.statistics import bootstrap_interval, paired

RESULTS = Path(__file__).parent / "results"
#: Evaluations after which the page has values.
SHOWN = (30, 50, 100, EVALUATIONS)
#: One thread a run, set before the libraries of a worker are loaded.
THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}

#: Of the environment, what the page says.
MACHINE = ("cpu", "cores", "threads used", "python", "numpy", "scipy", "vsbo source")


def saved() -> list[dict[str, Any]]:
    """All runs so far. A last line that was cut is left out: its run is made again."""
    path, rows = RESULTS / "discrete.jsonl", []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
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


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.discrete", description="Few values a variable.")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), metavar="PROBLEM")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--seeds", default="0:10", help="first:last + 1 (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--table", action="store_true", help="write the page from what there is")
    told = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    first, last = map(int, told.seeds.split(":"))
    known = {(row["problem"], row["method"], row["seed"]) for row in saved()}
    jobs = [(p, m, seed) for seed in range(first, last) for p in told.problems for m in told.methods]
    jobs = [] if told.table else [job for job in jobs if job not in known]
    if jobs:
        path = RESULTS / "discrete.jsonl"
        # After a line that was cut the next one would be lost with it.
        clean = not path.exists() or path.read_bytes()[-1:] in (b"", b"\n")
        os.environ.update(THREADS)
        progress, began = Progress(sys.stderr, len(jobs)), time.monotonic()
        with (
            multiprocessing.get_context("spawn").Pool(told.workers, maxtasksperchild=20) as pool,
            path.open("a", encoding="utf-8") as file,
        ):
            file.write("" if clean else "\n")
            for done, row in enumerate(pool.imap_unordered(run, jobs), 1):
                file.write(json.dumps(row) + "\n")
                file.flush()
                progress.update(done, [], (time.monotonic() - began) / done * (len(jobs) - done))
    (RESULTS / "discrete.md").write_text(page(saved()), encoding="utf-8")
    print(RESULTS / "discrete.md")


if __name__ == "__main__":
    main()
