"""The pipe to the peers, with small adapters under this Python; and, marked `peers`, every peer that is set up."""

import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.errors import BenchError
from benchmarks.experiment import Job
from benchmarks.peers import HOMES, PEERS, environments
from benchmarks.peers.client import Peer
from benchmarks.peers.environments import ENVIRONMENTS, Environment
from benchmarks.problems import problem
from benchmarks.problems.synthetic import hartmann6
from benchmarks.worker import header

ADAPTERS = Path(environments.__file__).parent / "adapters"

ODD = """
import os, signal, subprocess, sys, time
import numpy as np

class Uniform:
    def __init__(self, *, D, seed, budget):
        self.rng, self.D = np.random.default_rng(seed), D
    def ask(self):
        return self.rng.random(self.D)
    def tell(self, x, y):
        pass

class Global(Uniform):
    def ask(self):
        return np.random.rand(self.D)

class Talkative(Uniform):
    def ask(self):
        print('{"x": [0.5, 0.5, 0.5]}', flush=True)
        os.write(1, b"no newline at the end")
        subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
        assert sys.stdin.read() == ""
        return super().ask()

class Strict(Uniform):
    def tell(self, x, y):
        raise ValueError(f"the matrix is not positive definite at y = {y}")

class Slow(Uniform):
    def ask(self):
        time.sleep(60.0)

class Dying(Uniform):
    def ask(self):
        print("these were my last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

class Quitting(Uniform):
    def ask(self):
        os._exit(3)

class Outside(Uniform):
    def ask(self):
        return np.full(self.D, 1.01)

class Rounded(Uniform):
    def ask(self):
        return np.array([1.0 + 1e-9, -1e-9, 0.5])

class Short(Uniform):
    def ask(self):
        return np.zeros(self.D - 1)

class Costly(Uniform):
    def ask(self):
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        self.kept = np.ones(100 * 2**17)
        return super().ask()
    def tell(self, x, y):
        time.sleep(0.3)

class Settings(Uniform):
    def ask(self):
        return np.array([os.environ[name] == value for name, value in
                         [("OMP_NUM_THREADS", "1"), ("PYTHONHASHSEED", "0")]] + ["PYTHONPATH" not in os.environ], float)

METHODS = {kind.__name__: kind for kind in Uniform.__subclasses__() + [Uniform]}
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Makes a Peer of one of the classes above, under this Python; closes them all."""
    folder, made = tmp_path_factory.mktemp("adapters"), []
    (folder / "odd.py").write_text(ODD)

    def make(name, seed=0, timeout=30.0, module="odd"):
        python = Path(sys.executable)
        made.append(Peer(name, python=python, module=module, D=3, seed=seed, budget=9, timeout=timeout, folder=folder))
        return made[-1]

    yield make
    for peer in made:
        peer.close()


def points(peer, n, f=lambda x: float(np.sum(x))):
    """The first n points it asks for."""
    asked = []
    for _ in range(n):
        asked.append(peer.ask())
        peer.tell(asked[-1], f(asked[-1]))
    return np.array(asked)


def is_alive(pid):
    """Whether the process is there and not merely waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_points_arrive_to_the_last_digit(odd):
    expected = np.random.default_rng(7).random((4, 3))
    np.testing.assert_array_equal(points(odd("Uniform", seed=7), 4), expected)


def test_the_global_generator_is_seeded(odd):
    first, again, other = (points(odd("Global", seed=seed), 2) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.any(first == other)


def test_what_a_peer_prints_or_reads_does_not_touch_the_pipe(odd):
    np.testing.assert_array_equal(points(odd("Talkative"), 3), points(odd("Uniform"), 3))


def test_costs_are_those_of_the_peers_call(odd):
    peer = odd("Costly")
    assert (peer.spent.wall, peer.spent.cpu) == (0.0, 0.0)
    before = peer.spent.memory
    assert before > 5.0
    x = peer.ask()
    asked = peer.spent
    assert asked.cpu >= 0.3
    assert asked.wall >= 0.29
    assert 95.0 < asked.memory - before < 150.0
    peer.tell(x, 0.0)
    assert peer.spent.wall >= 0.3
    assert peer.spent.cpu < 0.1


def test_memory_does_not_begin_with_that_of_this_process(odd):
    ballast = np.ones(150 * 2**17)  # 150 MB
    assert odd("Uniform").spent.memory < 100.0
    del ballast


def test_one_thread_and_no_foreign_packages(odd, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    np.testing.assert_array_equal(odd("Settings").ask(), np.ones(3))


def test_a_peers_exception_arrives_with_its_text(odd):
    peer = odd("Strict")
    with pytest.raises(BenchError, match=r"(?s)Strict: tell failed.*odd\.py.*ValueError: .*definite at y = 2\.5"):
        peer.tell(np.zeros(3), 2.5)


@pytest.mark.parametrize(("name", "module", "text"), [("Uniform", "odder", "odder"), ("Nobody", "odd", "Nobody")])
def test_what_cannot_be_started_says_so(odd, name, module, text):
    with pytest.raises(BenchError, match=f"(?s)start failed.*Error: .*{text}"):
        odd(name, module=module)


def test_a_killed_process_says_how_and_its_last_words(odd):
    peer = odd("Dying")
    with pytest.raises(BenchError, match="(?s)ask: its process ended by SIGKILL.*these were my last words"):
        peer.ask()
    with pytest.raises(BenchError, match="cannot tell, its process ended"):
        peer.tell(np.zeros(3), 0.0)


def test_a_process_that_quits_tells_its_code(odd):
    with pytest.raises(BenchError, match="its process ended with code 3"):
        odd("Quitting").ask()


def test_too_slow_an_answer_ends_the_process(odd):
    peer = odd("Slow", timeout=2.0)
    began = time.monotonic()
    with pytest.raises(BenchError, match="ask: no answer within 2 s"):
        peer.ask()
    assert time.monotonic() - began < 20.0
    assert not is_alive(peer.pid)


def test_ask_and_tell_alternate(odd):
    peer = odd("Uniform")
    for x in np.eye(3):
        peer.tell(x, 0.0)
    x = peer.ask()
    with pytest.raises(BenchError, match="asked again before"):
        peer.ask()
    with pytest.raises(BenchError, match="did not just ask for"):
        peer.tell(1.0 - x, 0.0)
    with pytest.raises(BenchError, match=r"x must be \(3,\); got \(2,\)"):
        peer.tell(x[:2], 0.0)
    peer.tell(x, 0.0)
    with pytest.raises(BenchError, match="did not just ask for"):
        peer.tell(x, 0.0)


@pytest.mark.parametrize("name", ["Outside", "Short"])
def test_a_point_that_is_none_is_refused(odd, name):
    with pytest.raises(BenchError, match=rf"{name}: proposed .* a point \(3,\) in \[0, 1\] is needed"):
        odd(name).ask()


def test_rounding_at_the_border_is_clipped(odd):
    peer = odd("Rounded")
    x = peer.ask()
    np.testing.assert_array_equal(x, [1.0, 0.0, 0.5])
    peer.tell(x, 0.0)


def test_close_ends_the_process_and_its_folder(odd):
    peer = odd("Uniform")
    folder = Path(os.readlink(f"/proc/{peer.pid}/cwd"))
    assert is_alive(peer.pid)
    peer.close()
    peer.close()
    assert not is_alive(peer.pid)
    assert not folder.exists()
    with pytest.raises(BenchError, match="cannot ask, it was closed"):
        peer.ask()


def test_the_process_does_not_outlive_the_runner(tmp_path):
    (tmp_path / "odd.py").write_text(ODD)
    program = f"""
import os, sys
from pathlib import Path
from benchmarks.peers.client import Peer
peer = Peer("Uniform", python=Path(sys.executable), module="odd", D=3, seed=0, budget=9, folder=Path({str(tmp_path)!r}))
print(peer.pid, flush=True)
"""
    runners = [
        subprocess.Popen([sys.executable, "-c", program + end], stdout=subprocess.PIPE, text=True)
        for end in ("", "os.kill(os.getpid(), 9)")
    ]
    pids, deadline = [int(runner.communicate(timeout=60)[0]) for runner in runners], time.monotonic() + 20.0
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


def test_every_peer_has_an_environment_and_an_adapter():
    assert set(PEERS) == set(HOMES)
    for name, (environment, adapter) in HOMES.items():
        assert environment in ENVIRONMENTS
        assert f'"{name}": ' in (ADAPTERS / f"{adapter}.py").read_text()


def test_an_unknown_environment_lists_the_known():
    with pytest.raises(BenchError, match=r"unknown environment 'botorch'; known: alebo, ax, .*smac"):
        environments.setup(["botorch"])


def test_a_peer_that_is_not_set_up_says_how(monkeypatch, tmp_path):
    monkeypatch.setenv("VSBO_PEERS", str(tmp_path))
    assert environments.folder("smac") == tmp_path / "smac"
    with pytest.raises(BenchError, match="smac needs the environment 'smac'.*`python -m benchmarks setup smac`"):
        PEERS["smac"](D=3, seed=0, budget=5)


@pytest.mark.slow
def test_setup_makes_an_environment_once(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("VSBO_PEERS", str(tmp_path))
    # pip is there without a network
    monkeypatch.setitem(ENVIRONMENTS, "tiny", Environment((("pip",),), ("pip",)))
    environments.setup(["tiny"])
    assert "tiny: ready after" in capsys.readouterr().out
    assert environments.ready("tiny")
    with pytest.raises(
        BenchError, match=r"(?s)start failed.*No module named 'numpy'|its process ended with code 1.*numpy"
    ):
        Peer("a", python=environments.python("tiny"), module="b", D=3, seed=0, budget=9)
    mark = environments.folder("tiny") / "mark"
    mark.touch()
    environments.setup(["tiny"])
    assert mark.exists()
    assert "up to date" in capsys.readouterr().out
    environments.setup(["tiny"], fresh=True)
    assert not mark.exists()

    monkeypatch.setitem(ENVIRONMENTS, "tiny", Environment((("pip",),), ("vsbo_is_not_here",)))
    (environments.folder("tiny") / environments.STAMP).write_text("{")
    assert not environments.ready("tiny")
    with pytest.raises(BenchError, match="(?s)environment 'tiny': .*No module named 'vsbo_is_not_here'"):
        environments.setup(["tiny"])
    assert not environments.ready("tiny")


# --- the real packages

D = 20
EVALUATIONS = 30

#: Fewer where thirty take over ten minutes.
FEWER = {"saasbo": 8, "dragonfly": 8}

#: Dragonfly's proposals lie on a grid, and it proposes some of them again.
REPEATS = ("dragonfly", "dragonfly-ml")

#: Points before the first that depends on values, if it is not the first: five of an embedding of their own; in all
#: D + 1, of which five are told.
DESIGN = {"baxus": 5, "alebo": 5, "alebo-4": 5, "hebo": D + 1 - 5}

#: The package that an environment is for, where it has another name.
PACKAGES = {
    "modern": "botorch",
    "saas": "botorch",
    "ax": "ax-platform",
    "alebo": "ax-platform",
    "baxus": "BAxUS",
    "hebo": "HEBO",
    "dragonfly": "dragonfly-opt",
}


def is_set_up(name):
    return environments.ready(HOMES[name][0])


def each(names):
    """The names as parameters, skipped where the environment is missing."""
    return [
        pytest.param(
            name,
            marks=[
                pytest.mark.peers,
                pytest.mark.skipif(
                    not is_set_up(name), reason=f"run `python -m benchmarks setup {HOMES[name][0]}` for {name}"
                ),
            ],
        )
        for name in names
    ]


every_peer = pytest.mark.parametrize("name", each(PEERS))


def told(name, seed, sign=1.0):
    """A peer that knows the five initial points."""
    peer = PEERS[name](D=D, seed=seed, budget=EVALUATIONS)
    for x in np.random.default_rng(99).random((5, D)):
        peer.tell(x, sign * float(hartmann6(x[:6])))
    return peer


@cache
def trajectory(name, seed, n, sign=1.0):
    """The first n points of a run (n, D), and what each cost; the process is gone afterwards."""
    peer = told(name, seed, sign)
    try:
        asked, costs = [], []
        for _ in range(n):
            asked.append(peer.ask())
            costs.append(peer.spent)
            peer.tell(asked[-1], sign * float(hartmann6(asked[-1][:6])))
    finally:
        peer.close()
    assert not is_alive(peer.pid)
    return np.array(asked), costs


@every_peer
def test_survives_and_stays_in_the_box(name):
    asked, costs = trajectory(name, 0, FEWER.get(name, EVALUATIONS))
    assert np.all((asked >= 0.0) & (asked <= 1.0))
    assert len(np.unique(asked, axis=0)) >= len(asked) * (0.5 if name in REPEATS else 1.0)
    assert all(cost.wall > 0.0 and cost.memory > 20.0 for cost in costs)
    # one thread: CPU time is no longer than the clock's (which it may exceed by its resolution)
    assert sum(cost.cpu for cost in costs) <= 1.05 * sum(cost.wall for cost in costs) + 0.1


@every_peer
def test_same_seed_same_points(name):
    n = 3 if name in FEWER else max(8, DESIGN.get(name, 0) + 2)
    first, _ = trajectory(name, 0, FEWER.get(name, EVALUATIONS))
    again, _ = trajectory(name, 0, n)
    np.testing.assert_array_equal(again, first[:n])


@every_peer
def test_a_record_names_the_versions_that_its_process_has(name):
    environment = HOMES[name][0]
    peer = PEERS[name](D=D, seed=0, budget=EVALUATIONS)
    try:
        recorded = header(Job("Branin50", name, 0, 1, 5), problem("Branin50"), peer)["versions"]
    finally:
        peer.close()
    packages = {PACKAGES.get(environment, environment), *peer.versions}
    program = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    asked = subprocess.run(
        [environments.python(environment), "-c", program, *packages], check=True, capture_output=True, text=True
    )
    assert {package: recorded[package] for package in packages} == dict(
        zip(packages, asked.stdout.split(), strict=True)
    )


@every_peer
def test_order_and_exceptions(name):
    peer = told(name, 1)
    try:
        x = peer.ask()
        assert not np.array_equal(x, trajectory(name, 0, FEWER.get(name, EVALUATIONS))[0][0])
        with pytest.raises(BenchError, match="asked again before"):
            peer.ask()
        with pytest.raises(BenchError, match="did not just ask for"):
            peer.tell(1.0 - x, 0.0)
    finally:
        peer.close()
    environment, adapter = HOMES[name]
    with pytest.raises(BenchError, match="(?s)start failed in the peer.*KeyError: 'nobody'"):
        Peer("nobody", python=environments.python(environment), module=f"adapters.{adapter}", D=D, seed=0, budget=9)


@every_peer
def test_learns_from_the_values(name):
    """The very first point that can depend on them does: of the told points, or of its own design."""
    n = DESIGN.get(name, 0)
    upside_down, _ = trajectory(name, 0, n + 1, -1.0)
    points, _ = trajectory(name, 0, FEWER.get(name, EVALUATIONS))
    np.testing.assert_array_equal(upside_down[:n], points[:n])
    assert not np.array_equal(upside_down[n], points[n])


@pytest.mark.parametrize("name", each(["botorch"]))
def test_a_real_exception_arrives(name):
    peer = PEERS[name](D=D, seed=0, budget=EVALUATIONS)
    try:
        with pytest.raises(BenchError, match=r"(?s)botorch: ask failed.*adapters/botorch\.py.*Error"):
            peer.ask()
    finally:
        peer.close()
