"""What a door says when the library behind it is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from vsbo.errors import MissingExtraError


@contextmanager
def needs(extra: str, *packages: str) -> Iterator[None]:
    """Around the imports of `packages`, which `pip install "vsbo[extra]"` brings."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in packages:
            raise  # it is installed, and broken
        raise MissingExtraError(f'{missing} is not installed: pip install "vsbo[{extra}]"', name=missing) from None
