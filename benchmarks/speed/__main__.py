"""`python -m benchmarks.speed [--only PART ...] [--quick]`, from the root of the repository."""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

from threadpoolctl import threadpool_limits

from benchmarks.speed import (
    botorch_side,
    growth,
    import_time,
    likelihood_evaluation,
    memory,
    report,
    same_model,
    suggestion,
    whole_run,
)
from benchmarks.speed.machine import THREADS, environment

PARTS: dict[str, Callable[[bool], list[report.Row]]] = {
    suggestion.ALL: suggestion.measure_all,
    suggestion.SELECTED: suggestion.measure_selected,
    same_model.PART: same_model.measure,
    likelihood_evaluation.PART: likelihood_evaluation.measure,
    whole_run.PART: whole_run.measure,
    import_time.PART: import_time.measure,
    memory.PART: memory.measure,
    growth.PART: growth.measure,
}
AGAINST_BOTORCH = (suggestion.ALL, suggestion.SELECTED, same_model.PART)


def main() -> None:
    """Measure the chosen parts, show them, and merge them into the saved results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description="How fast vsbo is, side by side.")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument(
        "--quick", action="store_true", help="few repetitions, about two minutes; saved apart as speed-quick"
    )
    arguments = parser.parse_args()

    chosen = [part for part in PARTS if arguments.only is None or part in arguments.only]
    missing = [] if botorch_side.available() else [part for part in chosen if part in AGAINST_BOTORCH]
    if missing:
        print(f"skipped: {', '.join(missing)} need BoTorch in this environment: {botorch_side.INSTALL}")
        chosen = [part for part in chosen if part not in missing]
    if any(part in AGAINST_BOTORCH for part in chosen):
        botorch_side.one_thread()
    where = environment()
    name = "speed-quick" if arguments.quick else "speed"
    rows: list[report.Row] = []
    with threadpool_limits(THREADS):
        for part in chosen:
            began = time.perf_counter()
            print(f"{part} ...", flush=True)
            new = [replace(row, environment=where) for row in PARTS[part](arguments.quick)]
            rows += new
            # Saved part by part: a run that is broken off keeps what it has.
            together = report.merged(report.saved(report.RESULTS / f"{name}.json"), new, list(PARTS))
            data, page = report.save(together, name)
            print(report.summary(new))
            print(*(f"\n{row.title}\n\n{row.notes}" for row in new if row.notes), sep="\n")
            print(f"\n({time.perf_counter() - began:.0f} s)\n", flush=True)
    if rows:
        print(report.summary(rows))
        print(f"\nwritten: {data.relative_to(report.RESULTS.parent)} and {page.name}, with what was there before")


if __name__ == "__main__":
    main()
