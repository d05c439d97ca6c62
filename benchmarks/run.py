"""Runs jobs: each in a fresh process, a few at a time; what is recorded already is not done again.

A recorded run counts as done if it ended well with at least the evaluations asked for now, or was stopped by a time
limit that is not larger now. A longer budget is another run, because some methods plan with it: it is done anew, and
replaces the shorter one when it has ended. Failed runs stay as they are, unless they are to be retried.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO

from benchmarks import records
from benchmarks.errors import BenchError
from benchmarks.experiment import Job
from benchmarks.progress import Progress, duration
from benchmarks.records import Run, Writer
from benchmarks.worker import MARK, MODULE, NOT_RUN, ROOT, SETTINGS, arguments, without_folders

POLL = 0.05  # seconds between two looks at the workers
PATIENCE = 5.0  # seconds a worker has to end once it is told to
LAST_WORDS = 15  # lines kept of what a crashed worker wrote
KILLED = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGTERM)


@dataclass(frozen=True)
class Failure:
    """A job that has no good record, and why."""

    job: Job
    text: str


@dataclass(frozen=True)
class Summary:
    """skipped: recorded before. done: ended well now. failures: now and before. interrupted: the user broke it off."""

    skipped: int
    done: int
    failures: list[Failure]
    interrupted: bool
    seconds: float

    def __str__(self) -> str:
        lines = [f"\n{failure.job.name} failed: {failure.text}" for failure in self.failures]
        counted = f"{self.done} done in {duration(self.seconds)}, {self.skipped} before, {len(self.failures)} failed"
        kept = "; broken off, the same command goes on from here" if self.interrupted else ""
        return "\n".join([*lines, "\n" * bool(lines) + counted + kept])


@dataclass
class Plan:
    """What is to be done, what need not, what failed before, and the seconds that (problem, method) took so far."""

    waiting: list[Job] = field(default_factory=list)
    skipped: int = 0
    failures: list[Failure] = field(default_factory=list)
    took: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def guess(self, job: Job) -> float | None:
        """Seconds for a job: what the same took, or else the method elsewhere, or else all; None if that is unknown."""
        for alike in (
            [seconds for key, seconds in self.took.items() if key == (job.problem, job.method)],
            [seconds for key, seconds in self.took.items() if key[1] == job.method],
            list(self.took.values()),
        ):
            if alike:
                return sum(map(sum, alike)) / sum(map(len, alike))
        return None


@dataclass(frozen=True)
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    began: float


def run(
    jobs: Sequence[Job], results: Path, *, workers: int = 2, retry: bool = False, stream: TextIO | None = None
) -> Summary:
    """Do what is missing of the jobs, `workers` at a time; progress and news go to `stream`, stderr by default."""
    began = time.monotonic()
    progress = Progress(stream or sys.stderr, max(1, len(jobs)))
    plan = _plan(jobs, results, retry, progress)
    done = 0
    running: list[_Running] = []
    with _interruptible() as interrupted:
        try:
            while (plan.waiting or running) and not interrupted:
                while plan.waiting and len(running) < workers:
                    running.append(_start(plan.waiting.pop(0), results))
                time.sleep(POLL)
                for ended in [each for each in running if each.process.poll() is not None]:
                    running.remove(ended)
                    failure = _settle(ended, results, progress)
                    if failure is None:
                        done += 1
                        key = (ended.job.problem, ended.job.method)
                        plan.took.setdefault(key, []).append(time.monotonic() - ended.began)
                    else:
                        plan.failures.append(failure)
                        progress.say(f"{failure.job.name} failed: {failure.text.partition(chr(10))[0]}")
                count = plan.skipped + done + len(plan.failures)
                progress.update(count, [each.job.name for each in running], _left(plan, running, workers))
        finally:
            _end(running)
            progress.leave()
    return Summary(plan.skipped, done, plan.failures, bool(interrupted), time.monotonic() - began)


def is_done(job: Job, recorded: Run) -> bool:
    """Whether the record is what the job would give."""
    if recorded.initial != job.initial or recorded.status not in ("finished", "stopped"):
        return False
    if recorded.evaluations >= job.evaluations:
        return True
    limit = recorded.header.get("seconds")
    as_long = recorded.header["evaluations"] >= job.evaluations
    return as_long and limit is not None and job.seconds is not None and limit >= job.seconds


def _plan(jobs: Sequence[Job], results: Path, retry: bool, progress: Progress) -> Plan:
    plan = Plan()
    for job in jobs:
        path = records.ended_path(results, job.problem, job.method, job.seed)
        try:
            recorded = records.read(path) if path.exists() else None
        except records.BrokenRecordError as broken:
            progress.say(f"{broken}; it is run again")
            recorded = None
        if recorded is not None and recorded.status != "failed":
            plan.took.setdefault((job.problem, job.method), []).append(float(recorded.wall.sum()))
        if recorded is not None and recorded.status == "failed" and not retry:
            plan.failures.append(Failure(job, f"(before; --retry runs it again) {recorded.error}"))
        elif recorded is not None and is_done(job, recorded):
            plan.skipped += 1
        else:
            plan.waiting.append(job)
    order = {seed: i for i, seed in enumerate(dict.fromkeys(job.seed for job in jobs))}
    # Seed by seed, so that every method has its first seeds early; the quick ones first, so that much is there soon.
    plan.waiting.sort(key=lambda job: (order[job.seed], plan.guess(job) or 0.0))
    return plan


def _left(plan: Plan, running: Sequence[_Running], workers: int) -> float | None:
    """Seconds until all is done, as far as one can tell."""
    now, total = time.monotonic(), 0.0
    for job, spent in [*((each.job, now - each.began) for each in running), *((job, 0.0) for job in plan.waiting)]:
        guess = plan.guess(job)
        if guess is None:
            return None
        total += max(0.0, guess - spent)
    return total / max(1, min(workers, len(running) + len(plan.waiting)))


def _start(job: Job, results: Path) -> _Running:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    log = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the job is settled
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE, *arguments(job), f"--results={results.absolute()}"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, **SETTINGS, "PYTHONPATH": os.pathsep.join(paths)},
        # A session of its own: Ctrl-C in the terminal is for the runner, which then ends its workers one by one.
        start_new_session=True,
    )
    return _Running(job, process, log, time.monotonic())


def _settle(ended: _Running, results: Path, progress: Progress) -> Failure | None:
    """What came of a job whose process has ended; its news are passed on."""
    ended.log.seek(0)
    lines = ended.log.read().decode(errors="replace").splitlines()
    ended.log.close()
    news = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
    if ended.process.returncode == NOT_RUN:
        return Failure(ended.job, "\n".join(news or lines[-LAST_WORDS:]))
    for line in news:
        progress.say(line)
    try:
        text = _failure(ended.job, ended.process.returncode, lines, results)
    except BenchError as error:
        text = str(error)
    return None if text is None else Failure(ended.job, text)


def _failure(job: Job, code: int, lines: Sequence[str], results: Path) -> str | None:
    """How a job failed whose worker ended with this code and wrote these lines; None if it did not."""
    if code == 0:
        recorded = records.read(records.ended_path(results, job.problem, job.method, job.seed))
        return str(recorded.error) if recorded.status == "failed" else None
    if code in KILLED:
        number = code - 128 if code > 0 else -code
        return f"ended by {signal.Signals(number).name}; the same command goes on with it"
    how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    text = without_folders("\n".join([f"its process {how}", *lines[-LAST_WORDS:]]))
    # A worker that crashes does not get to write its end line.
    known = records.read_unfinished(records.running_path(results, job.problem, job.method, job.seed))
    if known is not None:
        Writer(results, known.header, known).end("failed", text)
    return text


def _end(running: Sequence[_Running]) -> None:
    """End these workers, each with the processes of its session; their files stay, to be resumed."""
    for each in running:
        _signal(each, signal.SIGTERM)
    until = time.monotonic() + PATIENCE
    for each in running:
        try:
            each.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            _signal(each, signal.SIGKILL)
            each.process.wait()
        each.log.close()


def _signal(each: _Running, number: signal.Signals) -> None:
    if each.process.poll() is None:
        os.killpg(each.process.pid, number)


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM are only noted, in the list: wherever they come, no worker is forgotten."""
    noted: list[int] = []
    old = {number: signal.signal(number, lambda n, _: noted.append(n)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield noted
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
