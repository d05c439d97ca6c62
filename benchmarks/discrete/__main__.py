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

from benchmarks.discrete.methods import METHODS
from benchmarks.discrete.problems import PROBLEMS
from benchmarks.discrete.report import RECORDS, page, saved
from benchmarks.discrete.search import run
from benchmarks.progress import Progress

#: One thread a run, set before the libraries of a worker are loaded.
THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.discrete", description="Few values a variable.")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), metavar="PROBLEM")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--seeds", default="0:10", help="first:last + 1 (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--table", action="store_true", help="write the page from what there is")
    told = parser.parse_args()
    RECORDS.parent.mkdir(exist_ok=True)
    first, last = map(int, told.seeds.split(":"))
    known = {(row["problem"], row["method"], row["seed"]) for row in saved()}
    jobs = [(p, m, seed) for seed in range(first, last) for p in told.problems for m in told.methods]
    jobs = [] if told.table else [job for job in jobs if job not in known]
    if jobs:
        # After a line that was cut the next one would be lost with it.
        clean = not RECORDS.exists() or RECORDS.read_bytes()[-1:] in (b"", b"\n")
        os.environ.update(THREADS)
        progress, began = Progress(sys.stderr, len(jobs)), time.monotonic()
        with (
            multiprocessing.get_context("spawn").Pool(told.workers, maxtasksperchild=20) as pool,
            RECORDS.open("a", encoding="utf-8") as file,
        ):
            file.write("" if clean else "\n")
            for done, row in enumerate(pool.imap_unordered(run, jobs), 1):
                file.write(json.dumps(row) + "\n")
                file.flush()
                progress.update(done, [], (time.monotonic() - began) / done * (len(jobs) - done))
    written = RECORDS.with_suffix(".md")
    written.write_text(page(saved()), encoding="utf-8")
    print(f"written: {written}")


if __name__ == "__main__":
    main()
