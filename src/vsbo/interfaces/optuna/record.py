"""What a proposal leaves in Optuna's storage, so that any worker can go on from it without fitting anything again.

It is kept with the proposal's trial as system attributes vsbo:0, vsbo:1, ...: a JSON text in pieces that every storage
takes. Events hold the point, fits, selections, fallbacks; numbers of trials in it are Optuna's.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vsbo.errors import StateError
from vsbo.state import Event
from vsbo.storage import decode_event, encode_event

VERSION = 1
PREFIX = "vsbo:"
#: Characters in one attribute: what Optuna's relational storages take, whatever the database.
LONGEST = 2000


@dataclass(frozen=True, eq=False)
class Record:
    """key: of the search it belongs to; seed: of that search; base: the trial whose record had the last selection that
    it knew, -1 before the first; told: the trials whose end it took in since the proposal before; events: what it came
    to, the last of which is the point.
    """

    key: str
    seed: int
    base: int
    told: tuple[int, ...]
    events: tuple[Event, ...]

    def to_attributes(self) -> dict[str, str]:
        """As system attributes of a trial."""
        events = [[text, base64.b85encode(numbers).decode()] for text, numbers in map(encode_event, self.events)]
        plain = {"version": VERSION, "key": self.key, "seed": self.seed, "base": self.base, "told": self.told}
        text = json.dumps({**plain, "events": events})
        pieces = [text[first : first + LONGEST] for first in range(0, len(text), LONGEST)]
        return {f"{PREFIX}{i}": f"{len(pieces)}|{piece}" if i == 0 else piece for i, piece in enumerate(pieces)}

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, Any]) -> "Record | None":
        """The record of a trial; None if there is none, or it is another version's, or it is not whole yet."""
        first = attributes.get(f"{PREFIX}0")
        if not isinstance(first, str):
            return None
        try:
            count, _, piece = first.partition("|")
            text = piece + "".join(attributes[f"{PREFIX}{i}"] for i in range(1, int(count)))
            plain = json.loads(text)
            if plain["version"] != VERSION:
                return None
            events = tuple(decode_event(event, base64.b85decode(numbers)) for event, numbers in plain["events"])
            return cls(plain["key"], int(plain["seed"]), int(plain["base"]), tuple(plain["told"]), events)
        except (KeyError, TypeError, ValueError, StateError):
            return None
