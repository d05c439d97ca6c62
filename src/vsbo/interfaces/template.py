"""Texts with `{...}` in them: `{lr}` stands for a value, `{0..49}` for fifty texts; `{{` and `}}` are braces."""

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vsbo.errors import InputError

_TOKEN = re.compile(r"(?P<double>\{\{|\}\})|\{(?P<inside>[^{}]*)\}|(?P<brace>[{}])|(?P<literal>[^{}]+)")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
#: Variables that one pattern may stand for: beyond it, it is a slip.
MOST_NAMES = 100_000


@dataclass(frozen=True)
class Template:
    """A text in pieces: (False, a literal) or (True, the name of what is put there)."""

    pieces: tuple[tuple[bool, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What is put in."""
        return tuple(piece for is_name, piece in self.pieces if is_name)

    @property
    def literal(self) -> str | None:
        """The text, if nothing is put in."""
        return None if self.names else "".join(piece for _, piece in self.pieces)

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with the values put in; braces in a value are nothing but braces."""
        return "".join(values[piece] if is_name else piece for is_name, piece in self.pieces)


def parse(key: str, text: str) -> Template:
    """The pieces of a text; an InputError that names the key if a brace is left over."""
    pieces: list[tuple[bool, str]] = []
    for token in _TOKEN.finditer(text):
        if token["brace"]:
            raise InputError(
                f"{key}: {token['brace']!r} at character {token.start() + 1} of {text!r} stands alone; "
                "{name} puts a value in, and {{ and }} are braces"
            )
        if token["inside"] is not None:
            pieces.append((True, token["inside"]))
        else:
            pieces.append((False, token["literal"] or token["double"][0]))
    return Template(tuple(pieces))


def expand(key: str, pattern: str) -> Iterable[str]:
    """The names that a pattern stands for: "x{0..49}" for x0 ... x49, "x{00..49}" for x00 ... x49."""
    choices: list[Iterable[str]] = []
    count = 1
    for is_range, piece in parse(key, pattern).pieces:
        if not is_range:
            choices.append([piece])
            continue
        found = _RANGE.fullmatch(piece)
        if found is None or int(found[1]) > int(found[2]):
            raise InputError(f"{key}: {{{piece}}} must be a range that goes up, as {{0..49}}; a brace itself is {{{{")
        width = len(found[1]) if found[1].startswith("0") else 0
        numbers = range(int(found[1]), int(found[2]) + 1)
        count *= len(numbers)
        if count > MOST_NAMES:
            raise InputError(f"{key}: {pattern!r} stands for more than {MOST_NAMES} variables")
        choices.append([str(number).zfill(width) for number in numbers])
    return ("".join(chosen) for chosen in itertools.product(*choices))


def as_text(value: Any) -> str:
    """A variable's value as a program gets it: a string as it is, anything else as JSON writes it (0.001, true)."""
    return value if isinstance(value, str) else json.dumps(value)


def for_shell(key: str, template: Template) -> Template:
    """The program text for `sh`, in which the n-th name stands as the n-th positional parameter.

    A value is so never part of the program: whatever is in it, the shell does not read it. Outside quotes the
    parameter gets double quotes, so that it stays one word; inside double quotes it has them already.
    """
    pieces: list[tuple[bool, str]] = []
    quotes = [""]
    for is_name, piece in template.pieces:
        if not is_name:
            _read_quotes(quotes, piece)
            pieces.append((False, piece))
        elif quotes[-1] == "'":
            raise InputError(
                f"{key}: {{{piece}}} stands within single quotes, where the shell puts nothing in; use double quotes, "
                "or none: a value stays one word without them"
            )
        else:
            number = 1 + sum(is_parameter for is_parameter, _ in pieces)
            pieces.append((True, f"${{{number}}}" if quotes[-1] else f'"${{{number}}}"'))
    return Template(tuple((False, piece) for _, piece in pieces))


def _read_quotes(quotes: list[str], text: str) -> None:
    """Which quotes are open behind a piece of a shell's program: "", ', " or # (a comment), one a level of $(...).

    Not the whole of the shell's grammar: a mistake here may split a value into words, and never runs it.
    """
    escaped, before = False, "\n"
    for character in text:
        quote = quotes[-1]
        if escaped:
            escaped = False
        elif quote in ("'", "#"):
            quotes[-1] = "" if character == {"'": "'", "#": "\n"}[quote] else quote
        elif character == "#" and not quote and before.isspace():
            quotes[-1] = "#"
        elif character == "\\":
            escaped = True
        elif character == "(" and (not quote or before == "$"):
            quotes.append("")
        elif character == ")" and not quote and len(quotes) > 1:
            quotes.pop()
        elif character == '"':
            quotes[-1] = "" if quote else character
        elif character == "'" and not quote:
            quotes[-1] = character
        before = character
