"""Rows, and how they become a table on the screen, JSON that later runs add to, and a page of Markdown."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One line of the table.

    part: the part of the benchmark that measured it; met: None where there is no target; notes: Markdown, shown
    below the table; numbers: everything measured, JSON-able.
    """

    part: str
    title: str
    target: str
    measured: str
    met: bool | None
    notes: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


def saved(path: Path) -> list[Row]:
    """The rows of an earlier run; none if there was no run."""
    if not path.exists():
        return []
    return [Row(**plain) for plain in json.loads(path.read_text(encoding="utf-8"))["rows"]]


def merged(old: Sequence[Row], new: Sequence[Row], order: Sequence[str]) -> list[Row]:
    """The new rows, and the old ones of the parts that were not measured now; parts in the given order."""
    fresh = {row.part for row in new}
    rows = [row for row in old if row.part not in fresh and row.part in order] + list(new)
    return sorted(rows, key=lambda row: order.index(row.part))


def save(rows: Sequence[Row], name: str) -> tuple[Path, Path]:
    """Write results/<name>.json and results/<name>.md; where they are."""
    RESULTS.mkdir(exist_ok=True)
    data, page = RESULTS / f"{name}.json", RESULTS / f"{name}.md"
    data.write_text(json.dumps({"rows": [asdict(row) for row in rows]}, indent=1) + "\n", encoding="utf-8")
    page.write_text(markdown(rows), encoding="utf-8")
    return data, page


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose columns also line up on a screen."""
    cells = [list(header), *(list(line) for line in lines)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    drawn = ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in cells]
    return "\n".join([drawn[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *drawn[1:]])


def summary(rows: Sequence[Row]) -> str:
    """Target, measured and whether it is met."""
    told = {True: "yes", False: "NO", None: "-"}
    lines = [(row.title, row.target, row.measured, told[row.met]) for row in rows]
    return table(("what", "target", "measured", "met"), lines)


def markdown(rows: Sequence[Row]) -> str:
    """The page."""
    environments: list[dict[str, str]] = []
    parts: dict[str, list[Row]] = {}
    for row in rows:
        if row.environment not in environments:
            environments.append(row.environment)
        parts.setdefault(row.part, []).append(row)
    text = [
        "# Speed",
        "Written by `python -m benchmarks.speed`. CPU seconds, medians, contestants alternated in one process, "
        "one thread. A ratio above 1 means that vsbo is faster where the target is a lower limit.",
        summary(rows),
        "## Where it was measured",
    ]
    for number, known in enumerate(environments, 1):
        measured = [part for part, own in parts.items() if own[0].environment == known]
        listed = ", ".join(f"{name} {value}" for name, value in known.items())
        text.append(f"{number}. {', '.join(measured)}: {listed}")
    text.append("## Details")
    for part, own in parts.items():
        text.append(f"### {part}")
        text.extend(f"**{row.title}**: {row.measured}\n\n{row.notes}".rstrip() for row in own if row.notes)
    return "\n\n".join(text) + "\n"
