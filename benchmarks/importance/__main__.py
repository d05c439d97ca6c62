"""`python -m benchmarks.importance [--only coverage held_out search ranking] [--seeds 12]`.

Measures what is missing, and writes results/importance.md. It can be stopped at any time; the same line goes on. The
peers need optuna and scikit-learn.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.importance import coverage, ranking
from benchmarks.speed.machine import THREADS, environment

RESULTS = Path(__file__).parent / "results"
#: Cells, how one is measured, and seeds of its functions unless told.
PARTS: dict[str, tuple[list[coverage.Row], Callable[[coverage.Row, int], coverage.Row], int]] = {
    "coverage": (coverage.cells("uniform"), coverage.measure, 12),
    "ranking": (ranking.cells(), ranking.measure, 5),
    "search": (coverage.cells("search"), coverage.measure, 3),
    "held_out": (coverage.cells("uniform"), coverage.measure, 2),
}
#: First seed. The settings of vsbo.explain were chosen while looking at the functions of the first seeds of coverage,
#: so that coverage flatters a little (later ones, of refine, with seeds 200 to 203); those of held_out only afterwards.
FIRST = {"held_out": 100}


def main() -> None:
    """Measure what is missing, a seed of every cell before the next seed; write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.importance", description="Is the importance right?")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, help="functions a cell (default: 12; ranking 5, search 3, held_out 2)")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    with threadpool_limits(THREADS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in arguments.only:
            cells, measure, seeds = PARTS[part]
            run(part, cells, measure, arguments.seeds or seeds)
            (RESULTS / "importance.md").write_text(page(), encoding="utf-8")
    print(page())


def run(
    part: str, cells: Sequence[coverage.Row], measure: Callable[[coverage.Row, int], coverage.Row], seeds: int
) -> None:
    """Append what is missing to results/PART.jsonl."""
    known = {json.dumps({key: row[key] for key in (*cells[0], "seed")}) for row in saved(part)}
    with (RESULTS / f"{part}.jsonl").open("a", encoding="utf-8") as file:
        for seed in range(FIRST.get(part, 0), FIRST.get(part, 0) + seeds):
            for cell in cells:
                if json.dumps({**cell, "seed": seed}) not in known:
                    file.write(json.dumps(measure(cell, seed)) + "\n")
                    file.flush()
            print(f"{part}: seed {seed} done", flush=True)


def saved(part: str) -> list[coverage.Row]:
    """The rows measured so far."""
    path = RESULTS / f"{part}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def page() -> str:
    """The tables, in Markdown."""
    where = ", ".join(f"{name} {value}" for name, value in environment().items())
    text = [
        "# Importance: coverage, ranking, seconds",
        "Written by `python -m benchmarks.importance`. Functions: random sums of 3 to 8 effects of seven shapes "
        '("interacting": and of two or three pairs, with a quarter of the variance, one with a variable that has no '
        "other effect); noise: its variance, where that of f is 1. Coverage: of 90 % intervals, over variables with an "
        "effect; called: probability >= 0.5; falsely called: of the variables without effect; false of called: the "
        "part of what is called that has no effect. Seconds: medians, wall and CPU, on two cores that were busy with "
        f"other work: CPU seconds are the ones to compare. {where}.",
        "## Uniform points, functions that nothing was chosen by",
        _coverage_table(saved("held_out")),
        "## Uniform points, functions of the seeds that settings were chosen by",
        _coverage_table(saved("coverage")),
        "## Points of a search",
        _coverage_table(saved("search")),
        "## Ranking, against others, on the same uniform points",
        _ranking_table(saved("ranking")),
    ]
    return "\n\n".join(text) + "\n"


def _cells(rows: Iterable[coverage.Row], keys: Sequence[str]) -> list[tuple[tuple[object, ...], list[coverage.Row]]]:
    ordered = sorted(rows, key=lambda row: tuple(row[key] for key in keys))
    return [(cell, list(group)) for cell, group in groupby(ordered, key=lambda row: tuple(row[key] for key in keys))]


def _coverage_table(rows: list[coverage.Row]) -> str:
    if not rows:
        return "Not measured."
    lines = [
        "| D | n | kind | noise | functions | coverage | mean width | coverage near the best | found | falsely called "
        "| false of called | wall s | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    keys = ("D", "n", "kind", "noise")
    groups: list[tuple[tuple[object, ...], list[coverage.Row]]] = [*_cells(rows, keys)]
    groups += [((f"**{kind}**", "all", kind, "all"), list(of)) for (kind,), of in _cells(rows, ("kind",))]
    for cell, of in [*groups, (("**all**", "all", "all", "all"), rows)]:
        s = coverage.summary(of)
        lines.append(
            f"| {' | '.join(map(str, cell))} | {s['functions']} | {100 * s['coverage']:.0f} % | {s['width']:.3f} "
            f"| {100 * s['local coverage']:.0f} % | {100 * s['found']:.0f} % | {100 * s['falsely called']:.2f} % "
            f"| {100 * s['false of called']:.1f} % | {s['seconds']:.2f} | {s['cpu']:.2f} |"
        )
    return "\n".join(lines)


def _ranking_table(rows: list[coverage.Row]) -> str:
    if not rows:
        return "Not measured."
    lines = [
        "| D | n | method | functions | area under precision-recall | wall s | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for (D, n, _, method), of in _cells(
        [{**row, "order": list(ranking.METHODS).index(row["method"])} for row in rows], ("D", "n", "order", "method")
    ):
        s = ranking.summary(of)
        lines.append(
            f"| {D} | {n} | {method} | {s['functions']} | {s['precision']:.3f} | {s['seconds']:.2f} | {s['cpu']:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
