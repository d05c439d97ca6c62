"""Dask: a connection to a cluster. `study.run(f, budget, executor=client)` does the rest.

>>> with connect("tcp://head-node:8786") as client:
...     study.run(f, budget=500, executor=client)
"""

from pathlib import Path
from typing import Any

from vsbo.errors import InputError
from vsbo.interfaces.extras import needs

with needs("dask", "distributed", "dask"):
    from distributed import Client

#: Seconds in which a scheduler must answer.
PATIENCE = 30


def connect(address: str) -> Any:
    """A `distributed.Client` of the cluster whose scheduler is at an address (tcp://host:8786), or has written it to a
    file (dask scheduler --scheduler-file scheduler.json). Close it, or use it in a `with`.
    """
    where = {"scheduler_file": address} if Path(address).is_file() else {"address": address}
    try:
        return Client(**where, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call, unused-ignore]
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"dask: no scheduler answers at {address!r}: {error}; it should be as tcp://host:8786, or a scheduler file"
        ) from None
