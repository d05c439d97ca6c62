"""`python -m benchmarks.storage [--only PART ...] [--quick]`, from the root of the repository."""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.speed import report
from benchmarks.speed.machine import THREADS, environment
from benchmarks.storage import busy, opening, overhead

RESULTS = Path(__file__).parent / "results"
PARTS: dict[str, Callable[[bool], list[report.Row]]] = {
    overhead.PART: overhead.measure,
    opening.PART: opening.measure,
    busy.PART: busy.measure,
}


def main() -> None:
    """Measure the chosen parts, show them, and merge them into the saved results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.storage", description="What keeping a search in a file costs."
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, half a minute; nothing is saved")
    arguments = parser.parse_args()
    rows: list[report.Row] = []
    with threadpool_limits(THREADS):
        for part in PARTS:
            if arguments.only is None or part in arguments.only:
                where = {**environment(), "load": f"{os.getloadavg()[0]:.1f}"}
                print(f"{part} ...", flush=True)
                rows += [replace(row, environment=where) for row in PARTS[part](arguments.quick)]
    print(report.summary(rows), *(f"\n{row.title}\n\n{row.notes}" for row in rows), sep="\n")
    if not arguments.quick:
        save(report.merged(report.saved(RESULTS / "storage.json"), rows, list(PARTS)))


def save(rows: Sequence[report.Row]) -> None:
    """Write results/storage.json and results/storage.md."""
    RESULTS.mkdir(exist_ok=True)
    data = json.dumps({"rows": [asdict(row) for row in rows]}, indent=1)
    (RESULTS / "storage.json").write_text(data + "\n", encoding="utf-8")
    (RESULTS / "storage.md").write_text(page(rows), encoding="utf-8")


def page(rows: Sequence[report.Row]) -> str:
    """The page of Markdown."""
    text = ["# The cost of the file", "Written by `python -m benchmarks.storage`.", report.summary(rows)]
    for row in rows:
        where = ", ".join(f"{name} {value}" for name, value in row.environment.items())
        text += [f"## {row.title}", row.notes, f"Measured on: {where} (load: processes that wanted a core, before)."]
    return "\n\n".join(text) + "\n"


if __name__ == "__main__":
    main()
