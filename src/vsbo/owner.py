"""Who works on a trial: a process, named so that another one can tell whether it still lives."""

import os
import socket
from functools import cache
from pathlib import Path


def this_process() -> str:
    """The name of this process: machine, boot, process number, and when it began (numbers are used again)."""
    return f"{_machine()} {os.getpid()} {_began(os.getpid())}"


def is_foreign(owner: str) -> bool:
    """Whether the process of that name is, or was, on another machine: nothing can be known of it but its heartbeat."""
    return owner.split(" ")[0] != _machine().split(" ")[0]


def is_dead(owner: str) -> bool:
    """Whether the process of that name, on this machine, has ended."""
    machine, number, began = owner.rsplit(" ", 2)
    return machine != _machine() or _began(int(number)) != began


@cache
def _machine() -> str:
    """The host, and its boot where the system tells: after a restart nobody of before is alive."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = "-"
    return f"{socket.gethostname()} {boot}"


def _began(number: int) -> str:
    """When a process began, in the system's ticks; "alive" or "dead" where that is not told."""
    try:
        # The command's name, in parentheses, may hold anything: what follows the last parenthesis is safe to split.
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return "dead" if fields[0] in "ZX" else fields[19]
    except OSError:
        pass
    if Path("/proc/self/stat").exists():
        return "dead"
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return "dead"
    except PermissionError:
        pass
    return "alive"
