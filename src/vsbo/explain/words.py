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


def listed(names: Sequence[str], gains: Mapping[str, float] | None = None) -> str:
    """The first names, with what each gained where that is known, and how many more there are."""
    known = gains or {}
    shown = [f"{name} (loss {-known[name]:+.3g})" if name in known else name for name in names[:SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
