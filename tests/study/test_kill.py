"""`kill -9` at fifty instants of one run: nothing told is lost, and the search is the one that nobody killed."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from statistics import median

import pytest

from tests.study.common import ROOT, read, trajectory
from tests.study.killed import CONFIG, SPACE, f
from vsbo import Study

KILLS = 50


class Killed:
    """The study of `tests.study.killed`, in a process whose children can be killed at a phase of one's choice."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.study.killed", str(path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "OMP_NUM_THREADS": "1"},
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        self.lengths = {phase: [0.01] for phase in "oeta"}  # of each phase, in seconds, as seen

    def start(self, budget):
        self.marks, self.changed = "", time.monotonic()
        self.process.stdin.write(f"{budget}\n".encode())
        (self.child,) = map(int, self._until(r"\[(\d+)\]"))

    def until(self, phase, times):
        """Wait until the phase has begun so many times; whether it came to that."""
        self._until(rf"(?:{phase}[^{phase}]*){{{times}}}|<")
        return "<" not in self.marks

    def kill(self):
        """The exit code of the child, and the phase in which it ended."""
        os.kill(self.child, signal.SIGKILL)
        return self.wait()

    def wait(self):
        (code,) = map(int, self._until(r"<(-?\d+)>"))
        return code, re.sub(r"[^oeta]", "", self.marks)[-1]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def _until(self, pattern):
        while not (found := re.search(pattern, self.marks)):
            new = os.read(self.process.stdout.fileno(), 1).decode()
            assert new, "the process ended"
            last, began, self.changed = self.marks[-1:], self.changed, time.monotonic()
            if last in self.lengths and new in self.lengths:
                self.lengths[last].append(self.changed - began)
            self.marks += new
        return found.groups()


@pytest.mark.slow
def test_fifty_kills_and_the_trajectory_is_the_same(tmp_path):
    """Each time: which phase, after how many of it, and how far into it are drawn."""
    path = tmp_path / "study.db"
    dice = random.Random(5)
    killed = Killed(path)
    hits, told = Counter(), []
    while hits.total() < KILLS:
        phase, times = dice.choice("oeta"), dice.randint(1, 3)
        killed.start(10**6)
        assert killed.until(phase, 1 if phase == "o" else times)
        began = time.monotonic()
        # Beyond the phase's end, too: a kill between two phases is a kill in the next one.
        wait = dice.uniform(0.0, 1.5) * median(killed.lengths[phase])
        while (left := wait - (time.monotonic() - began)) > 0:
            time.sleep(min(left, 0.001))
        code, ended_in = killed.kill()
        assert code == -signal.SIGKILL
        hits[ended_in] += 1
        acknowledged = len(told) + killed.marks.count("a")
        now = read(path) if path.exists() and path.stat().st_size else []
        done = [trial for trial in now if trial[3] == "done"]
        assert done[: len(told)] == told, "a value that had been told is lost or has changed"
        assert len(done) >= acknowledged
        assert len(now) - len(done) <= 1, "with one worker one trial at the most is pending"
        told = done
    for phase in "eta":
        assert hits[phase] >= 5, hits
    budget = len(told) + 5
    killed.start(budget)
    assert killed.wait()[0] == 0
    killed.close()
    with Study.open(tmp_path / "whole.db", SPACE, seed=11, config=CONFIG) as whole:
        whole.run(f, budget)
        assert len(whole.state.selections) >= 3
        assert read(path) == trajectory(whole)
