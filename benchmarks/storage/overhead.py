"""CPU time of the storage in one `ask` and one `tell`."""

import time
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.speed.report import Row, table
from benchmarks.storage.synthetic import Search
from vsbo import Space, Study
from vsbo.storage import Storage

PART = "ask and tell"
D, EVALUATIONS, TARGET = 1000, 205, 2e-3


def measure(quick: bool) -> list[Row]:
    """A search of 205 evaluations: two snapshots of the evolution strategy, ten selections."""
    n = 45 if quick else EVALUATIONS
    with TemporaryDirectory() as folder:
        costs = storage_seconds(Path(folder) / "storage.db", n)
        by_hand = study_seconds(Path(folder) / "study.db", n)
    each = {name: mean(spent) for name, spent in costs.items()}
    cost = each["ask"] + each["tell"]
    plain = median(np.add(costs["ask"], costs["tell"]))
    lines = [
        ("transaction of an ask, mean", each["ask"]),
        ("transaction of a tell, mean", each["tell"]),
        ("both, median: an evaluation without selection and snapshot", plain),
        ("another process reads what they wrote, mean", each["read"]),
        ("Study.ask(x) and tell, median: with units, state and locks, without a model", median(by_hand)),
    ]
    notes = table(("CPU ms", f"D = {D}"), [(what, f"{1e3 * seconds:.2f}") for what, seconds in lines])
    return [
        Row(
            PART,
            f"storage of one ask and tell, D = {D}, mean of {n} evaluations",
            f"< {1e3 * TARGET:g} ms of CPU",
            f"{1e3 * cost:.2f} ms",
            cost < TARGET,
            notes,
            {"seconds": dict(lines)},
        )
    ]


def storage_seconds(path: Path, evaluations: int) -> dict[str, list[float]]:
    """Of each evaluation: CPU seconds to write the events of its ask and of its tell, and for another to read them."""
    search = Search(D)
    storage, other = Storage(path), Storage(path)
    with storage.write():
        study = storage.create("study", search.state)
    spent: dict[str, list[float]] = {"ask": [], "tell": [], "read": []}
    seq = seen = 0
    for number in range(evaluations):
        for name, act in (("ask", search.ask), ("tell", search.tell)):
            before = search.state.strategy
            events = act()
            began = time.process_time()
            with storage.write():
                storage.read(study, seq)
                new = storage.append(study, seq, events)
                if search.state.strategy is not before:
                    storage.keep_strategy(study, before, search.state)
                if name == "ask":
                    storage.lease(study, number, "host 0-0 1 1 1")
                else:
                    storage.release(study, number)
            spent[name].append(time.process_time() - began)
            seq = new[-1].seq
        began = time.process_time()
        seen = other.read(study, seen)[-1].seq
        spent["read"].append(time.process_time() - began)
    storage.close()
    other.close()
    return spent


def study_seconds(path: Path, evaluations: int) -> list[float]:
    """CPU seconds of Study.ask at a given point and tell, each."""
    spent = []
    with Study.open(path, Space.box(D), seed=0) as study:
        for x in np.random.default_rng(0).random((evaluations, D)):
            began = time.process_time()
            study.tell(study.ask(x), 1.0)
            spent.append(time.process_time() - began)
    return spent
