"""Drives one peer in the peer's own process: reads a JSON object a line from stdin, answers with one line on stdout.

It runs under the peer's Python, whose numpy may be old, so it imports nothing of vsbo or of the other benchmarks.
  {"do": "start", "module": ..., "method": ..., "D": ..., "seed": ..., "budget": ...}   first, once; costs nothing yet;
                                           gives "takes_failures" besides: whether "y" may be NaN
  {"do": "ask"}                            gives "x" and the costs
  {"do": "tell", "x": [...], "y": ...}     gives the costs
  {"do": "stop"}                           ends the process; so does the end of the input
The costs are "wall" and "cpu" (seconds inside the peer's call, all threads) and "memory" (peak of the process so far,
MB). Whatever the peer raises is answered with {"error": the traceback's text}.
"""

import importlib
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np


def main() -> None:
    """Serve until the end of the input. The first argument is the folder the adapters are imported from."""
    requests, replies = _own_pipe()
    # Last, so that nothing here hides a module of the peer.
    sys.path.append(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parent))
    optimizer: Any = None
    for line in requests:
        request = json.loads(line)
        if request["do"] == "stop":
            break
        try:
            if request["do"] == "start":
                optimizer = _start(request)
                reply: dict[str, Any] = {"wall": 0.0, "cpu": 0.0, "memory": _peak_memory()}
                reply["takes_failures"] = getattr(optimizer, "takes_failures", False)
            elif request["do"] == "ask":
                x, reply = _measured(optimizer.ask)
                reply["x"] = [float(value) for value in x]
            else:
                x, y = np.array(request["x"], dtype=np.float64), float(request["y"])
                _, reply = _measured(optimizer.tell, x, y)
        except Exception:
            reply = {"error": traceback.format_exc()}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    # A peer's threads may still be at work; nobody waits for them.
    os._exit(0)


def _own_pipe() -> tuple[TextIO, TextIO]:
    """The two ends of the pipe, moved where no library prints or reads: its prints go to stderr."""
    requests, replies = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def _start(request: dict[str, Any]) -> Any:
    """Import the adapter (and with it the peer), seed every generator there is, and make the optimizer."""
    module = importlib.import_module(request["module"])
    seed = int(request["seed"])
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the peers draw from the global generator
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.manual_seed(seed)
        torch.set_num_threads(1)
    return module.METHODS[request["method"]](D=int(request["D"]), seed=seed, budget=int(request["budget"]))


def _measured(call: Callable[..., Any], *arguments: Any) -> tuple[Any, dict[str, Any]]:
    """What the call gives, and what it cost."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = call(*arguments)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return value, {"wall": wall, "cpu": cpu, "memory": _peak_memory()}


def _peak_memory() -> float:
    """Peak resident memory in MB.

    getrusage comes second: what it tells on Linux starts from the memory of the process that started this one.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
