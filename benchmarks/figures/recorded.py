"""The recorded runs as figures want them: by problem and method, without failed ones, and what to say about them."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from benchmarks import records
from benchmarks.errors import NoResultsError
from benchmarks.figures.style import APART
from benchmarks.records import Run

#: By problem, then by method, in the order in which they were asked for.
Runs = dict[str, dict[str, list[Run]]]

SYNTHETIC = ("Branin50", "Hartmann6-50", "Styblinski-Tang4-50")
ROTATED = ("Rotated-Hartmann6-100",)
REAL = ("Rover60", "MOPTA08")
#: The experiment that records runs of these problems.
EXPERIMENTS = {SYNTHETIC: "paper-synthetic", ROTATED: "paper-real", REAL: "paper-real"}


def load(results: Path, figure: str, problems: tuple[str, ...], methods: Collection[str] | None = None) -> Runs:
    """What there is; a NoResultsError says what to run where there is nothing at all. Runs that failed are left out,
    and those that are compared apart unless they are asked for.
    """
    found: Runs = {}
    for run in records.load(results, problems, methods):
        if run.status != "failed" and run.evaluations > 0 and (methods is not None or run.method not in APART):
            found.setdefault(run.problem, {}).setdefault(run.method, []).append(run)
    if not found:
        wanted = "" if methods is None else f" by {' or '.join(methods)}"
        raise NoResultsError(
            f"figure {figure} needs runs of {' or '.join(problems)}{wanted}, and {results} has none; "
            f"`python -m benchmarks run {EXPERIMENTS[problems]}` makes them"
        )
    return {problem: found[problem] for problem in problems if problem in found}


def every(runs: Runs) -> list[Run]:
    """All of them."""
    return [run for by_method in runs.values() for own in by_method.values() for run in own]


def initial_said(runs: Iterable[Run]) -> str:
    """What the axis counts."""
    numbers = sorted({run.initial for run in runs})
    return (
        f"The {_listed(numbers)} initial points, the same for all methods, are not counted on the axis, but their best"
    )


def seeds_said(runs: Runs) -> str:
    """Which seeds each method was run with; methods with the same ones together, the most seeds first."""
    seeds: dict[str, set[int]] = {}
    differ: dict[str, set[tuple[int, ...]]] = {}
    for by_method in runs.values():
        for method, own in by_method.items():
            seeds.setdefault(method, set()).update(run.seed for run in own)
            differ.setdefault(method, set()).add(tuple(run.seed for run in own))
    groups: dict[str, list[str]] = {}
    for method in sorted(seeds, key=lambda name: (-len(seeds[name]), name)):
        fewer = "" if len(differ[method]) == 1 else f", on some problems {min(map(len, differ[method]))}"
        text = f"{len(seeds[method])} ({ranges(sorted(seeds[method]))}{fewer})"
        groups.setdefault(text, []).append(method)
    return "Runs (seeds): " + "; ".join(f"{text} of {', '.join(own)}" for text, own in groups.items()) + "."


def missing_said(runs: Runs, problems: Sequence[str]) -> str:
    """Which problems have no runs yet, if any."""
    absent = [problem for problem in problems if problem not in runs]
    return f" Not recorded yet: {', '.join(absent)}." if absent else ""


def measured_said(runs: Iterable[Run]) -> str:
    """Versions and machine, from the headers: every value that occurs."""
    versions: dict[str, set[str]] = {}
    machines: set[str] = set()
    threads: set[str] = set()
    days: set[str] = set()
    for run in runs:
        for package, version in run.header.get("versions", {}).items():
            if package not in ("commit", "dirty"):
                versions.setdefault(package, set()).add(str(version))
        machine = run.header.get("machine", {})
        machines.add(", ".join(f"{value} cores" if key == "cores" else str(value) for key, value in machine.items()))
        threads.add(str(run.header.get("threads", "?")))
        days.add(str(run.header.get("started", ""))[:10])
    packages = ", ".join(f"{name} {_listed(sorted(own))}" for name, own in versions.items())
    between = " to ".join(sorted({min(days), max(days)})) if days else ""
    return f"Recorded {between} on {_listed(sorted(machines))}; {_listed(sorted(threads))} thread(s). {packages}."


def ranges(numbers: Sequence[int]) -> str:
    """0, 1, 2, 5 as "0-2, 5"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _listed(values: Sequence[object]) -> str:
    return " / ".join(str(value) for value in values)
