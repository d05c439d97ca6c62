"""A line of small bars: how values went, in one row of a terminal."""

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """One bar a value, from the smallest to the largest; of more than `width` values the last of each part.

    Equal values are bars of middle height: there is no smallest.
    """
    if not values:
        return ""
    count = min(width, len(values))
    shown = [values[(i + 1) * len(values) // count - 1] for i in range(count)]
    low, high = min(shown), max(shown)
    if not high > low:
        return BARS[3] * count
    # Halved first: the distance of two huge values need not be a number.
    parts = [(value / 2 - low / 2) / (high / 2 - low / 2) for value in shown]
    return "".join(BARS[min(int(part * len(BARS)), len(BARS) - 1)] for part in parts)
