"""`python -m benchmarks list | setup | run | table | figure | page`; see --help."""

import argparse
import sys
from pathlib import Path

from benchmarks import experiment, page, records, run, tables
from benchmarks.errors import BenchError, NoResultsError
from benchmarks.figures import FIGURES, figure
from benchmarks.methods import METHODS
from benchmarks.peers import environments
from benchmarks.problems import PROBLEMS

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DRAWN = HERE.parent / "docs" / "figures"
INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0; 1 if a run failed; 2 if what was asked for cannot be done; 130 after Ctrl-C."""
    told = _parser().parse_args(arguments)
    try:
        code: int = told.command(told)
    except BenchError as error:
        print(f"python -m benchmarks: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Problems, methods, experiments: run them, and see what came out."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="the problems, methods, environments and experiments there are")
    listing.set_defaults(command=_list)

    setup = commands.add_parser("setup", help="make the environments of peers: each has its own packages")
    setup.add_argument("names", nargs="+", metavar="NAME", help=f"of {', '.join(environments.ENVIRONMENTS)}")
    setup.add_argument("--fresh", action="store_true", help="also those that are up to date")
    setup.set_defaults(command=_setup)

    running = commands.add_parser(
        "run",
        help="do the runs of an experiment that are not there yet",
        description="Do the runs of an experiment that are not there yet. Killed ones are resumed. Exit code 1 if any "
        "failed.",
    )
    _experiment_argument(running)
    running.add_argument("--workers", type=_at_least_one, default=2, help="runs at a time; default: %(default)s")
    running.add_argument("--retry", action="store_true", help="also runs that failed before")
    running.set_defaults(command=_run)

    table = commands.add_parser(
        "table",
        help="best values with intervals, paired tests, ranks, evaluations to targets; also as CSV and Markdown",
    )
    _experiment_argument(table)
    table.add_argument("--at", type=_at_least_one, nargs="+", metavar="N", help="after so many evaluations")
    table.add_argument("--against", default="vsbo", metavar="METHOD", help="of the paired tests; default: %(default)s")
    table.add_argument("--also", nargs="+", default=[], metavar="METHOD", help="recorded for other experiments")
    table.set_defaults(command=_table)

    drawing = commands.add_parser(
        "figure",
        help="draw figures from recorded runs (needs matplotlib)",
        description="Draw what the recorded results suffice for, and name what they do not. Exit code 2 if a figure "
        "asked for by name was not drawn, or none at all.",
    )
    drawing.add_argument("names", nargs="+", metavar="NAME", help=f"`all`, or of {', '.join(FIGURES)}")
    drawing.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="default: %(default)s")
    drawing.add_argument("--out", type=Path, default=DRAWN, metavar="DIR", help="default: %(default)s")
    drawing.set_defaults(command=_figure)

    writing = commands.add_parser("page", help="write the tables of docs/*.md anew, from the recorded runs")
    writing.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="default: %(default)s")
    writing.set_defaults(command=_page)
    return parser


def _experiment_argument(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which runs."""
    parser.add_argument("experiment", help="a TOML file, or the name of one in benchmarks/experiments/")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--seeds", metavar="FIRST:END", help="instead of the experiment's; its limits still hold")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="default: %(default)s")


def _experiment(told: argparse.Namespace) -> experiment.Experiment:
    seeds = None if told.seeds is None else experiment.seeds(told.seeds, "--seeds")
    return experiment.read(experiment.find(told.experiment)).only(told.problems, told.methods, seeds)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0; got {text!r}")
    return int(text)


def _list(_: argparse.Namespace) -> int:
    ready = {True: "", False: " (not set up)"}
    for kind, names in (
        ("problems", PROBLEMS),
        ("methods", METHODS),
        ("environments", [name + ready[environments.ready(name)] for name in environments.ENVIRONMENTS]),
        ("experiments", experiment.known()),
    ):
        print(f"{kind}:", *names, sep="\n  ")
    return 0


def _setup(told: argparse.Namespace) -> int:
    environments.setup(told.names, fresh=told.fresh)
    return 0


def _run(told: argparse.Namespace) -> int:
    summary = run.run(_experiment(told).jobs(), told.results, workers=told.workers, retry=told.retry)
    print(summary)
    return INTERRUPTED if summary.interrupted else int(bool(summary.failures))


def _table(told: argparse.Namespace) -> int:
    chosen = _experiment(told).including(told.against, *told.also)
    runs = records.load(told.results, chosen.problems, chosen.methods, chosen.seeds)
    if not runs:
        raise BenchError(f"there are no runs of {chosen.name!r} in {told.results}; `run {told.experiment}` makes them")
    made = tables.tabulate(chosen, runs, told.at, told.against)
    print(tables.markdown(made))
    for path in tables.write(made, told.results / "tables"):
        print(f"written: {path}")
    return 0


def _figure(told: argparse.Namespace) -> int:
    """Draws what can be drawn and names the rest. 2 if a figure asked for by name is among it, or all of them are."""
    every = told.names == ["all"]
    missing: list[str] = []
    chosen = [figure(name) for name in (FIGURES if every else told.names)]
    for draw in chosen:
        try:
            written = draw(told.results, told.out)
        except NoResultsError as error:
            missing.append(str(error))
            continue
        except ModuleNotFoundError as absent:
            if str(absent.name).partition(".")[0] != "matplotlib":
                raise
            raise BenchError("figures need matplotlib, which is not installed here: pip install matplotlib") from absent
        for path in written:
            print(f"written: {path}")
    for why in missing:
        print(f"not drawn: {why}", file=sys.stderr)
    return 2 if len(missing) == len(chosen) or (missing and not every) else 0


def _page(told: argparse.Namespace) -> int:
    runs = records.load(told.results)
    for file in page.PAGES:
        file.write_text(page.fill(file.read_text(encoding="utf-8"), runs), encoding="utf-8")
        print(f"written: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
