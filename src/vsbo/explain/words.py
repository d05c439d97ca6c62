"""Numbers and lists in sentences."""

from collections.abc import Mapping, Sequence

#: Names that a sentence lists before it counts the rest.
SHOWN = 6


def number(value: float) -> str:
    """Four digits: enough for a sentence."""
    return f"{value:.4g}"


def plural(count: int, word: str) -> str:
    """A count and what is counted: 1 evaluation, 20 evaluations."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def times(count: int) -> str:
    """How often: once, 3 times."""
    return "once" if count == 1 else f"{count} times"


def listed(names: Sequence[str], notes: Mapping[str, str] | None = None) -> str:
    """The first names, each with what there is to say of it, and how many more there are."""
    known = notes or {}
    shown = [f"{name} ({known[name]})" if name in known else name for name in names[:SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
