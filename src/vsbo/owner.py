"""Who works on a trial: a run of a process, named so that another process can tell whether it still lives."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

_numbers = count(1)
_alive: set[str] = set()


@contextmanager
def new_owner() -> Iterator[str]:
    """A name that is alive within the block: machine, boot, process number, when that began (numbers are used again),
    and a number within the process, which may outlive its run (a notebook).
    """
    name = f"{_machine()} {os.getpid()} {_began(os.getpid())} {next(_numbers)}"
    _alive.add(name)
    try:
        yield name
    finally:
        _alive.discard(name)


def is_foreign(owner: str) -> bool:
    """Whether the owner of that name is, or was, on another machine: nothing can be known of it but its heartbeat."""
    return owner.split(" ")[0] != _machine().split(" ")[0]


def is_dead(owner: str) -> bool:
    """Whether the owner of that name, on this machine, has ended."""
    machine, number, began, _ = owner.rsplit(" ", 3)
    if machine != _machine() or _began(int(number)) != began:
        return True
    return int(number) == os.getpid() and owner not in _alive


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
