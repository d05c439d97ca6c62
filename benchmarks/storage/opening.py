"""How long it takes to open a long study."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.speed.report import Row
from benchmarks.storage.synthetic import Search
from vsbo import Study
from vsbo.storage import Storage

PART = "opening"
D, TRIALS, TARGET = 500, 2000, 1.0
REPETITIONS = 5


def measure(quick: bool) -> list[Row]:
    """Four generations since the last snapshot of the evolution strategy are computed again: the most there can be."""
    trials = 200 if quick else TRIALS
    with TemporaryDirectory() as folder:
        path = Path(folder) / "study.db"
        build(path, trials)
        size = path.stat().st_size
        spent = sorted(opened(path, trials) for _ in range(REPETITIONS))
    wall, cpu = spent[len(spent) // 2]
    return [
        Row(
            PART,
            f"opening a study of {trials} trials, D = {D}",
            f"< {TARGET:g} s",
            f"{wall:.2f} s ({cpu:.2f} s of CPU)",
            wall < TARGET,
            f"Median of {REPETITIONS}, in one process; the file has {size / 1e6:.0f} MB.",
            {"seconds": spent, "bytes": size},
        )
    ]


def build(path: Path, trials: int) -> None:
    """The file of a search that had so many evaluations."""
    search = Search(D)
    storage = Storage(path)
    with storage.write():
        study = storage.create("study", search.state)
    seq = 0
    for _ in range(trials):
        before = search.state.strategy
        with storage.write():
            seq = storage.append(study, seq, (*search.ask(), *search.tell()))[-1].seq
            if search.state.strategy is not before:
                storage.keep_strategy(study, before, search.state)
    storage.close()


def opened(path: Path, trials: int) -> tuple[float, float]:
    """Seconds of wall clock and of CPU until the study is there and knows its best."""
    wall, cpu = time.perf_counter(), time.process_time()
    with Study.open(path) as study:
        if study.best is None or len(study.state.finished) != trials:
            raise RuntimeError("the study is not what was built")
        return time.perf_counter() - wall, time.process_time() - cpu
