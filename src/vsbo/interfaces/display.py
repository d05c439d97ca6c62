"""What the command line shows: a live line while a study runs, and what a study has come to, as data and as text."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from vsbo.interfaces.sparkline import sparkline
from vsbo.interfaces.template import as_text
from vsbo.optimizer import Trial
from vsbo.stopping import Progress
from vsbo.study import Study

#: Seconds between two lines about a run that nobody watches at a terminal.
QUIET = 30.0
#: Variables that `show` prints unless all are asked for; and variables after a run, steps of progress, trials.
SHOWN, STEPS = 20, 10
#: Columns of a pipe or a file: rich would take 80, and break lines.
WIDE = 200


def console(*, stderr: bool = False) -> Console:
    """Where text goes. A study's own words are never taken for markup."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDE
    return Console(file=stream, markup=False, highlight=False, emoji=False, width=width, soft_wrap=not stream.isatty())


def plain(text: str) -> str:
    """Without anything that a terminal would obey: a name, a value."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """The same of a text of several lines, as a failure's reason."""
    return plain(" | ".join(part.strip() for part in text.splitlines() if part.strip()))


def number(value: float) -> str:
    """A value for reading."""
    return f"{value:.7g}"


def duration(seconds: float) -> str:
    """For reading: 35 ms, 2.1 s, 3 min 20 s, 4 h 5 min, 2 d 3 h."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 59.5:
        return f"{seconds:.2g} s"
    units = (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1))
    large, size, small, part = next(row for row in units if round(seconds / row[3]) >= row[1] // row[3])
    whole, rest = divmod(round(seconds / part), size // part)
    return f"{whole} {large} {rest} {small}" if rest else f"{whole} {large}"


def short_path(path: Path) -> str:
    """From where we are, if it is below."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


# -------------------------------------------------------------------------------------------------- while it runs


class ProgressLine:
    """One line about a run: kept up to date on a terminal, otherwise written now and then."""

    def __init__(self, study: Study, budget: int, workers: int) -> None:
        self._D, self._budget, self._workers = study.space.D, budget, workers
        self._progress: Progress | None = None
        states = [trial.status for trial in study.trials]
        self._before = states.count("done"), states.count("failed"), study.best
        self._began = self._written = self._updated = time.monotonic()
        self._console = console(stderr=True)

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """While the run goes on."""
        if not self._console.is_terminal:
            yield
            return
        with Live(get_renderable=self._text, console=self._console, refresh_per_second=4, transient=True):
            yield

    def update(self, progress: Progress) -> None:
        """After every evaluation."""
        self._progress, self._updated = progress, time.monotonic()
        if not self._console.is_terminal and self._updated - self._written >= QUIET:
            self._written = self._updated
            with contextlib.suppress(OSError):  # nobody reads it any more: no reason to end the run (rich would)
                sys.stderr.write(f"{self.line()}\n")
                sys.stderr.flush()

    def _text(self) -> Text:
        return Text(self.line(), no_wrap=True, overflow="ellipsis")

    def line(self) -> str:
        """Evaluations, best value, variables, times."""
        progress = self._progress
        if progress is None:
            done, failed, best = self._before
            parts = [self._counts(done, failed)]
            parts += [f"best {number(best.y)}"] if best else []
            return "   ".join([*parts, duration(time.monotonic() - self._began)])
        parts = [self._counts(progress.done, progress.failed)]
        if progress.best is not None:
            parts.append(f"best {number(progress.best)}")
        parts.append(f"{len(progress.selected)} of {self._D} variables")
        each = max(1, progress.evaluated)
        parts.append(f"evaluation {duration(progress.evaluating / each)}, vsbo {duration(progress.overhead / each)}")
        if progress.remaining is not None:
            left = max(0.0, progress.remaining - (time.monotonic() - self._updated))
            parts.append(f"{duration(left)} left" if left >= 1 else "almost done")
        return "   ".join(parts)

    def _counts(self, done: int, failed: int) -> str:
        # The run refills its workers at once: what runs is what can run.
        running = max(0, min(self._workers, self._budget - done - failed))
        return f"{done + failed}/{self._budget} evaluations ({failed} failed, {running} running)"


# ----------------------------------------------------------------------------------------------------- as data


def trial_data(trial: Trial) -> dict[str, Any]:
    """A trial as JSON-able values."""
    return {
        "number": trial.number,
        "status": trial.status,
        "value": trial.y if isfinite(trial.y) else None,
        "reason": trial.reason,
        "origin": trial.origin,
        "began": trial.began and trial.began.isoformat(),
        "ended": trial.ended and trial.ended.isoformat(),
        "params": trial.params,
    }


def study_data(study: Study) -> dict[str, Any]:
    """A study as JSON-able values; `progress` are the trials that were the best when they were told."""
    trials, best = study.trials, study.best
    finished = [trials[n] for n in study.state.finished]
    values = [trial.y for trial in finished if trial.status == "done"]
    return {
        "study": study.name,
        "file": str(study.path),
        "direction": study.direction,
        "variables": study.space.D,
        "done": len(values),
        "failed": sum(trial.status == "failed" for trial in trials),
        "pending": [trial.number for trial in trials if trial.status == "pending"],
        "best": None if best is None else trial_data(best),
        "selected": [study.space.names[j] for j in study.state.selected],
        "all_equal": len(set(values)) == 1 < len(values),
        "progress": [{"number": t.number, "value": t.y} for t in _improvements(finished, study.direction)],
        "failures": [{"number": t.number, "reason": t.reason} for t in finished if t.status == "failed"],
        "convergence": _best_so_far(finished, study.direction),
    }


def _best_so_far(finished: list[Trial], direction: str) -> list[float]:
    """The best value after each evaluation, from the first value on."""
    steps = {trial.number: trial.y for trial in _improvements(finished, direction)}
    best: list[float] = []
    for trial in finished:
        if trial.number in steps or best:
            best.append(steps.get(trial.number, best[-1] if best else 0.0))
    return best


def _improvements(finished: list[Trial], direction: str) -> Iterator[Trial]:
    best: float | None = None
    for trial in finished:
        if trial.status == "done" and (best is None or (trial.y > best if direction == "maximize" else trial.y < best)):
            best = trial.y
            yield trial


def importance_data(study: Study) -> dict[str, Any]:
    """The variables, the most important first, and why there is nothing to say, if so."""
    importance = study.importance()
    return {
        "note": importance.note,
        "evaluations": importance.n,
        "noise": importance.noise,
        "unseen": importance.unseen,
        "variables": importance.records(),
    }


# ----------------------------------------------------------------------------------------------------- as text


def print_study(data: dict[str, Any], *, everything: bool = False, more: str = "--all", shown: int = SHOWN) -> None:
    """What `show` says: counts, the best point, how it came, what failed. more: how to see what is left out."""
    out = console()
    best = data["best"]
    rows = [
        ("study", f"{data['study']!r} in {short_path(Path(data['file']))}: {data['direction']}, "
                  f"{data['variables']} variables"),
        ("evaluations", f"{data['done'] + data['failed']}, of which {data['failed']} failed; "
                        f"{len(data['pending'])} pending" + _listed(data["pending"])),
        ("best value", "none yet" if best is None else f"{best['value']!r} (trial {best['number']})"
                       + ("; all values are equal" if data["all_equal"] else "")),
        ("selected", _selection(data)),
    ]  # fmt: skip
    if len(data["convergence"]) > 1:
        start, end = number(data["convergence"][0]), number(data["convergence"][-1])
        rows.insert(3, ("convergence", f"{start} {sparkline(data['convergence'])} {end}"))
    print_rows(rows)
    if best is not None:
        # Those that the search has picked out come first: they are why it is the best.
        names = [*data["selected"], *(name for name in best["params"] if name not in data["selected"])]
        first = names if everything else names[:shown]
        out.print("\nbest point")
        _print_table(out, [(plain(name), plain(as_text(best["params"][name]))) for name in first])
        if len(names) > len(first):
            out.print(f"  ... and {len(names) - len(first)} more: {more}")
    if data["progress"]:
        out.print("\nprogress")
        steps = data["progress"] if everything else data["progress"][-STEPS:]
        _print_table(out, [(f"trial {step['number']}", number(step["value"])) for step in steps])
    if data["failures"]:
        out.print("\nfailures")
        failures = data["failures"] if everything else data["failures"][-STEPS // 2 :]
        most = 2000 if everything else 160
        _print_table(out, [(f"trial {one['number']}", one_line(one["reason"])[:most]) for one in failures])


def _selection(data: dict[str, Any]) -> str:
    names = data["selected"]
    return (
        "all variables"
        if len(names) == data["variables"] or data["all_equal"]
        else ", ".join(map(plain, names)) or "none"
    )


def print_rows(rows: list[tuple[str, str]]) -> None:
    """Words and what they mean, a line each."""
    width = max(len(word) for word, _ in rows)
    out = console()
    for word, meaning in rows:
        out.print(f"{word:<{width}}  {meaning}")


def print_importance(data: dict[str, Any], *, top: int) -> None:
    """A table with bars; * marks the variables that are picked out now."""
    out = console()
    if data["note"]:
        out.print(f"nothing is known yet: {data['note']}")
        return
    ranked = data["variables"]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title, side in (
        ("variable", "left"), ("share", "right"), ("90 % interval", "right"), ("effect", "right"),
        ("near the best", "right"), ("direction", "left"), ("", "left"),
    ):  # fmt: skip
        table.add_column(title, justify=side)  # type: ignore[arg-type]
    most = max(one["high"] for one in ranked[:top])
    for one in ranked[:top]:
        mark = " *" if one["selected"] else ""
        table.add_row(
            plain(one["variable"]) + mark,
            f"{100 * one['share']:.1f} %",
            f"{100 * one['low']:.1f} - {100 * one['high']:.1f}",
            f"{100 * one['probability']:.0f} %",
            f"{100 * one['local_share']:.1f} %",
            one["direction"] if one["important"] else "",
            _bar(one["low"], one["share"], one["high"], most),
        )
    out.print(table)
    rest = ranked[top:]
    if rest:
        largest = 100 * max(one["high"] for one in rest)
        out.print(f"... and {len(rest)} more, whose intervals end at {largest:.1f} % at most: --all")
    out.print(
        "share: of the variation of the value over the whole space, interactions included\n"
        "effect: the probability that it has one; * picked out now"
    )


def _bar(low: float, share: float, high: float, most: float, width: int = 16) -> str:
    """#### up to the lower end of the interval, ---- up to the upper, | at the share."""
    cells = [round(width * value / most) if most > 0.0 else 0 for value in (low, share, high)]
    line = ["#"] * cells[0] + ["-"] * (cells[2] - cells[0])
    if line:
        line[min(cells[1], len(line) - 1)] = "|"
    return "".join(line)


def print_list(studies: list[dict[str, Any]]) -> None:
    """A table of studies."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("study", "direction", "variables", "done", "failed", "pending", "best value"):
        table.add_column(title)
    for one in studies:
        best = "" if one["best"] is None else number(one["best"]["value"])
        counts = (one["variables"], one["done"], one["failed"], len(one["pending"]))
        table.add_row(plain(one["study"]), one["direction"], *map(str, counts), best)
    console().print(table)


def _print_table(out: Console, rows: list[tuple[str, str]]) -> None:
    width = min(40, max(len(left) for left, _ in rows))
    for left, right in rows:
        out.print(f"  {left:<{width}}  {right}")


def _listed(numbers: list[int]) -> str:
    return f" ({', '.join(map(str, numbers[:STEPS]))}{', ...' if len(numbers) > STEPS else ''})" if numbers else ""


@contextlib.contextmanager
def stdout_for_data() -> Iterator[None]:
    """What an objective prints goes to standard error, its processes' included: standard output is for JSON."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
