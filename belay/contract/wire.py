"""What a JSON document may hold so that every part of Belay can read it and write it again."""

import math
from collections.abc import Iterator
from typing import Any

# Beyond any real job file, and well within what every JSON reader on the way can follow.
_DEEPEST = 32
# JSONata and JavaScript hold every whole number as a float.
_LARGEST = 2**53 - 1


def faults_of(value: Any, place: str = "") -> Iterator[str]:
    """One sentence for each part that JSON lets through and that would break later."""
    if place.count(".") >= _DEEPEST:
        yield f"{place[:60]}…: is nested too deeply; flatten it to at most {_DEEPEST} levels"
    elif isinstance(value, dict):
        for key, inner in value.items():
            # Escaped, because a fault is one line, whatever it speaks of.
            yield from faults_of(inner, f"{place}.{escaped(str(key))}" if place else escaped(str(key)))
            if not _is_text(str(key)):
                yield f"{place or 'job'}: a key holds half a character; write it in valid Unicode"
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from faults_of(inner, f"{place}.{index}" if place else str(index))
    elif isinstance(value, str) and not _is_text(value):
        yield f"{place or 'job'}: holds half a character; write it in valid Unicode"
    elif isinstance(value, int) and abs(value) > _LARGEST:
        yield f"{place or 'job'}: is too large for some of its readers; use at most {_LARGEST}"
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{place or 'job'}: {value} is no number that JSON can hold; use a finite one"


def escaped(text: str) -> str:
    """Printable, and on one line."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _is_text(text: str) -> bool:
    """JSON can escape one half of a surrogate pair, which no UTF-8 file can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
