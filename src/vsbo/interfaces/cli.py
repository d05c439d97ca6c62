"""`vsbo`: the command line. Exit codes: 0 fine; 2 wrong use or input, with one line "error: ..."; 130 after Ctrl-C,
128 + its number after another signal; 141 if the reader of the output has gone.

What needs NumPy, rich or a file is imported by the command that needs it: `vsbo --help` should be quick.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from vsbo._version import __version__
from vsbo.errors import InputError, ObjectiveError, StorageError, VsboError

if TYPE_CHECKING:
    from vsbo.interfaces.study_file import StudyFile
    from vsbo.runner import Outcome
    from vsbo.space import Space
    from vsbo.stopping import Progress
    from vsbo.study import Study

WRONG, BROKEN_PIPE = 2, 141


class _InOrder(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="vsbo", message="%(prog)s %(version)s")
def cli() -> None:
    """Tune a program with tens to thousands of settings, and learn which of them matter.

    STUDY is a study's file (study.db), or the study.toml that describes it.
    """


_study = click.argument("study", type=click.Path(path_type=Path))
_name = click.option("--name", help="Which study of the file (default: the one that study.toml names; the only one).")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
_all = click.option("--all", "everything", is_flag=True, help="Print all of it.")
#: -0.5 is a value here, not an option.
_VALUES: dict[str, Any] = {"ignore_unknown_options": True}


# -------------------------------------------------------------------------------------------------------------- run


@cli.command()
@click.argument("file", metavar="STUDY.TOML", type=click.Path(path_type=Path))
@click.option("--workers", type=click.IntRange(min=1), help="Evaluations at a time (default: study.workers).")
@click.option(
    "--dask", metavar="ADDRESS", help="Evaluate on a Dask cluster: the address, or the file, of its scheduler."
)
@click.option("--budget", type=click.IntRange(min=1), help="Evaluations to come to (default: study.budget).")
@_name
@_json
@click.pass_context
def run(
    ctx: click.Context,
    file: Path,
    workers: int | None,
    dask: str | None,
    budget: int | None,
    name: str | None,
    as_json: bool,
) -> None:
    """Evaluate until the budget is spent; begins a study, or goes on with it.

    The budget counts what the study has already, so the same command finishes a job that was interrupted. Ctrl-C stops
    it, and running commands; nothing that was told is lost. On a Dask cluster there are by default as many evaluations
    at a time as it has threads.
    """
    from vsbo.interfaces import display
    from vsbo.interfaces.study_file import read_study_file

    if file.suffix != ".toml":
        raise InputError(f"run takes a study.toml, which says what to run; got {file}")
    described = read_study_file(file).named(name)
    budget = budget or described.budget
    if dask is None:
        workers = workers or described.workers
    if described.objective is None:
        raise InputError(f"{file}: [objective] is missing: run needs one (ask and tell do not)")
    if budget is None:
        raise InputError(f"{file}: study.budget is missing; set it, or give --budget")
    with _opened(described) as study, _signals() as caught, _cluster(dask) as client:
        line = display.ProgressLine(study, budget, workers or max(1, sum(client.nthreads().values())))
        with display.stdout_for_data() if as_json else contextlib.nullcontext(), line.shown():
            try:
                outcome = _evaluate(described, study, budget, workers, client, line.update)
            except ObjectiveError as error:
                raise ObjectiveError(
                    f"{error} (these failures are kept; to begin anew once the objective is mended, remove "
                    f"{display.short_path(described.file)} or change study.name)"
                ) from None
        data = {**display.study_data(study), "run": _outcome_data(outcome)}
    if as_json:
        _print_json(data)
    else:
        _print_run(data, outcome)
    if outcome.interrupted:
        ctx.exit(128 + (caught[0] if caught else signal.SIGINT))


@contextlib.contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """A client of a Dask cluster; None without an address."""
    if address is None:
        yield None
        return
    from vsbo.interfaces.dask import connect

    with connect(address) as client:
        yield client


def _evaluate(
    file: "StudyFile",
    study: "Study",
    budget: int,
    workers: int | None,
    client: Any,
    callback: "Callable[[Progress], None]",
) -> "Outcome":
    from concurrent.futures import ThreadPoolExecutor

    from vsbo.interfaces.command import Command

    objective = file.objective
    if not isinstance(objective, Command):
        if objective is None:
            raise InputError(f"{file.path}: [objective] is missing")
        f = objective.load()  # on a cluster, too: what is wrong with it is best said here
        return study.run(
            f if client is None else objective,
            budget,
            workers=workers,
            executor=client,
            timeout=file.timeout,
            stop=file.stop,
            callback=callback,
        )
    objective.prepare(f"study {file.name!r} in {os.path.relpath(file.file, objective.runs)}")
    if client is not None:  # each command has the timeout itself, wherever it runs
        return study.run(objective, budget, workers=workers, executor=client, stop=file.stop, callback=callback)
    # A thread waits for each command, which is a process already, and has the timeout itself.
    with ThreadPoolExecutor(workers, thread_name_prefix="vsbo-command") as threads:
        try:
            return study.run(objective, budget, workers=workers, executor=threads, stop=file.stop, callback=callback)
        finally:
            objective.stop()


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """The polite requests to end, from a scheduler or a closed terminal, are Ctrl-C; which one came is noted."""
    caught: list[int] = []

    def interrupt(number: int, frame: Any) -> NoReturn:
        caught.append(number)
        raise KeyboardInterrupt

    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in kept.items():
        if handler is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, interrupt)
    try:
        yield caught
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _outcome_data(outcome: "Outcome") -> dict[str, Any]:
    return {
        "reason": outcome.reason,
        "evaluations": outcome.evaluations,
        "failed": outcome.failed,
        "seconds": outcome.seconds,
        "interrupted": outcome.interrupted,
    }


def _print_run(data: dict[str, Any], outcome: "Outcome") -> None:
    from vsbo.interfaces import display

    ended = "interrupted; the same command goes on" if outcome.interrupted else outcome.reason
    took = f"{outcome.evaluations} evaluations in {display.duration(outcome.seconds)}"
    display.print_rows([("ended", f"{ended}; {took}" if outcome.evaluations else f"{ended}; nothing was left to do")])
    brief = {**data, "progress": [], "failures": data["failures"][-3:]}
    display.print_study(brief, more=f"vsbo show {display.short_path(Path(data['file']))}", shown=display.STEPS)


# ------------------------------------------------------------------------------------------- looking at a study


@cli.command()
@_study
@_name
@_all
@_json
def show(study: Path, name: str | None, everything: bool, as_json: bool) -> None:
    """The best point, progress, selected variables, failures."""
    from vsbo.interfaces import display

    with _found(study, name) as found:
        data = display.study_data(found)
    if as_json:
        _print_json(data)
    else:
        display.print_study(data, everything=everything)


@cli.command()
@_study
@_name
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="Variables to print.")
@_all
@_json
def importance(study: Path, name: str | None, top: int, everything: bool, as_json: bool) -> None:
    """How much each variable matters, with 90 % intervals, the most important first."""
    from vsbo.interfaces import display

    with _found(study, name) as found:
        data = display.importance_data(found)
    if as_json:
        _print_json(data["variables"])
    else:
        display.print_importance(data, top=len(data["variables"]) if everything else top)


@cli.command()
@_study
@_name
@click.option("--output", type=click.Path(path_type=Path), help="The file to write (default: standard output).")
@click.option("--json", "as_json", is_flag=True, help="JSON, one object a line, instead of CSV.")
def export(study: Path, name: str | None, output: Path | None, as_json: bool) -> None:
    """All trials, as CSV or JSON lines."""
    import shutil
    import tempfile

    with _found(study, name) as found, tempfile.TemporaryDirectory() as folder:
        table = output or Path(folder) / "table"
        (found.to_json_lines if as_json else found.to_csv)(table)
        if output is None:
            with table.open(encoding="utf-8", newline="") as file:
                shutil.copyfileobj(file, sys.stdout)


@cli.command()
@click.argument("picture", metavar="NAME")
@_study
@_name
@click.option("-o", "--output", type=click.Path(path_type=Path), help="PNG, SVG or PDF (default: NAME.png).")
@click.option("--variable", "variables", multiple=True, help="Of effect, or twice of contour: along which.")
@click.option("--top", type=click.IntRange(min=1), help="Variables to show.")
def plot(
    picture: str, study: Path, name: str | None, output: Path | None, variables: tuple[str, ...], top: int | None
) -> None:
    """A picture as a file; needs matplotlib. NAME is one of: convergence, importance, importance_over_time, selected,
    effect, contour, predictions, parallel.
    """
    from vsbo.interfaces.picture_file import save_picture

    with _found(study, name) as found:
        save_picture(found.plot, picture, output or Path(f"{picture}.png"), variables, top)


@cli.command()
@_study
@_name
@click.option("-o", "--output", type=click.Path(path_type=Path), default="report.html", show_default=True)
def report(study: Path, name: str | None, output: Path) -> None:
    """All that is known of a study, as one HTML file that needs nothing else."""
    from vsbo.interfaces.report import report_html

    with _found(study, name) as found:
        output.write_text(report_html(found), encoding="utf-8")


@cli.command()
@_study
@_name
@click.option("--port", type=click.IntRange(0, 65535), default=8420, show_default=True, help="0: any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With another address, others can read it too.")
def dashboard(study: Path, name: str | None, port: int, host: str) -> None:
    """The report as a page that keeps itself up to date; read-only. Ctrl-C ends it."""
    from vsbo.interfaces.dashboard import serve

    serve(_database(study), name, host, port)


@cli.command("list")
@_study
@_json
def list_(study: Path, as_json: bool) -> None:
    """The studies of a file."""
    from vsbo.interfaces import display

    path = _database(study)
    data = []
    for name in _names(path):
        with _found(path, name) as found:
            data.append(display.study_data(found))
    if as_json:
        brief = ("study", "direction", "variables", "done", "failed", "pending", "best")
        _print_json([{key: one[key] for key in brief} for one in data])
    else:
        display.print_list(data)


# ------------------------------------------------------------------------------------------------- driven by hand


@cli.command()
@_study
@_name
@_json
def ask(study: Path, name: str | None, as_json: bool) -> None:
    """The next point to evaluate: its number, for tell, and its values. Creates the study of a study.toml."""
    with _found(study, name, create=True) as found:
        trial = found.ask()
    if as_json:
        _print_json({"number": trial.number, "params": trial.params})
    else:
        _print_point(trial.number, trial.params)


@cli.command(context_settings=_VALUES)
@_study
@click.argument("number", type=int)
@click.argument("value", type=float)
@_name
@_json
def tell(study: Path, number: int, value: float, name: str | None, as_json: bool) -> None:
    """The value of a trial; nan is a failure."""
    with _found(study, name) as found:
        found.tell(number, value)
        _print_trial(found, number, as_json)


@cli.command()
@_study
@click.argument("number", type=int)
@click.argument("reason", default="")
@_name
@_json
def fail(study: Path, number: int, reason: str, name: str | None, as_json: bool) -> None:
    """The evaluation of a trial failed, and why. The search learns to avoid the point."""
    with _found(study, name) as found:
        found.fail(number, reason)
        _print_trial(found, number, as_json)


@cli.command(context_settings=_VALUES)
@_study
@click.argument("value", type=float)
@click.argument("assignments", metavar="NAME=VALUE ...", nargs=-1)
@click.option("--params", type=click.File(encoding="utf-8"), help="A file with the point as JSON instead (-: stdin).")
@_name
@_json
def add(study: Path, value: float, assignments: tuple[str, ...], params: Any, name: str | None, as_json: bool) -> None:
    """A point that was evaluated elsewhere, and its value. Creates the study of a study.toml."""
    if bool(assignments) == (params is not None):
        raise InputError("the point must be given as NAME=VALUE ..., or with --params")
    with _found(study, name, create=True) as found:
        point = _json_point(params) if params is not None else _assigned(found.space, assignments)
        trial = found.add(point, value)
        _print_trial(found, trial.number, as_json)


def _json_point(file: Any) -> Any:
    try:
        return json.load(file)
    except ValueError as error:
        raise InputError(f"--params must be a JSON object; {error}") from None


def _assigned(space: "Space", assignments: Sequence[str]) -> dict[str, Any]:
    """The point of NAME=VALUE ...; a value is read as its variable needs it."""
    from vsbo.interfaces.template import as_text
    from vsbo.space import Choice

    point: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{text!r} must be NAME=VALUE")
        variable = space.variables.get(name)
        known = variable.values if isinstance(variable, Choice) else (space.fixed[name],) if name in space.fixed else ()
        same = [one for one in known if as_text(one) == value]
        if known and not same:
            raise InputError(f"{name} must be one of {', '.join(map(as_text, known))}; got {value!r}")
        if name in point or len(same) > 1:
            raise InputError(
                f"{name} " + ("is given twice" if name in point else f"={value} is ambiguous: use --params")
            )
        try:
            point[name] = same[0] if same else float(value)
        except ValueError:
            raise InputError(f"{name} must be a number; got {value!r}") from None
    return point


# ------------------------------------------------------------------------------------------------------- within


def _database(path: Path) -> Path:
    from vsbo.interfaces.study_file import read_study_file

    return read_study_file(path).file if path.suffix == ".toml" else path


def _names(path: Path) -> tuple[str, ...]:
    from vsbo.storage import Storage

    with contextlib.closing(Storage(path, create=False)) as storage:
        return storage.names()


@contextlib.contextmanager
def _opened(file: "StudyFile") -> "Iterator[Study]":
    """The study that a study.toml describes; made, if it is not there."""
    from vsbo.errors import StudyError

    try:
        study = file.open()
    except StudyError as error:
        raise StudyError(f"{error}\nto begin another study, change study.name or study.file in {file.path}") from None
    with study:
        yield study


@contextlib.contextmanager
def _found(path: Path, name: str | None, *, create: bool = False) -> "Iterator[Study]":
    """The study of a file, study.db or study.toml; only the latter can make it."""
    from vsbo.interfaces.study_file import read_study_file
    from vsbo.study import Study

    if path.suffix == ".toml":
        described = read_study_file(path).named(name)
        if create:
            with _opened(described) as study:
                yield study
            return
        if not described.file.exists():
            raise StorageError(f"{described.file} does not exist; vsbo run, ask or add with {path} creates it")
        path, name = described.file, described.name
    if name is None:
        names = _names(path)
        if len(names) != 1:
            told = f"{path} has {len(names)} studies" + (f", {', '.join(map(repr, names))}" if names else "")
            raise InputError(f"{told}: give --name" if names else told)
        (name,) = names
    with Study.open(path, name=name) as study:
        yield study


def _print_json(data: Any) -> None:
    click.echo(json.dumps(data, indent=2 if sys.stdout.isatty() else None, allow_nan=False, ensure_ascii=False))


def _print_trial(study: "Study", number: int, as_json: bool) -> None:
    from vsbo.interfaces import display

    trial = study.trials[number]
    if as_json:
        _print_json(display.trial_data(trial))
    else:
        what = f"y = {trial.y!r}" if trial.status == "done" else f"failed: {display.one_line(trial.reason)}"
        click.echo(f"trial {number}: {what}")


def _print_point(number: int, params: dict[str, Any]) -> None:
    from vsbo.interfaces import display
    from vsbo.interfaces.template import as_text

    click.echo(f"trial {number}")
    for name, value in params.items():
        click.echo(f"{display.plain(name)} = {display.plain(as_text(value))}")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The program: exits with a code."""
    sys.exit(_main(arguments))


def _main(arguments: Sequence[str] | None) -> int:
    try:
        code = cli.main(arguments, prog_name="vsbo", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return WRONG
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except click.UsageError as error:
        hint = f" (vsbo {error.ctx.info_name} --help)" if error.ctx is not None and error.ctx.parent else ""
        return _complain(f"{error.format_message()}{hint}")
    except click.ClickException as error:
        return _complain(error.format_message())
    except BrokenPipeError:
        # Whoever read has read enough. What is left to be written at the end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except VsboError as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "))


def _complain(message: str) -> int:
    click.echo(f"error: {message}", err=True)
    return WRONG
