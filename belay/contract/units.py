"""Human durations and sizes: '1h30m' and '1200GiB' in a job file, seconds and MiB everywhere else."""

import re
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:[0-9]{1,6}[dhms])+")
_DURATION_PART = re.compile(r"([0-9]+)([dhms])")
_MIB = {"TiB": 1024 * 1024, "GiB": 1024, "MiB": 1}
_SIZE = re.compile(r"([0-9]{1,9})(MiB|GiB|TiB)")


def seconds_of(text: object) -> int:
    """'1h30m' -> 5400."""
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration; write it like '90s', '30m', '1h30m' or '2d'")
    return sum(int(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(text))


def duration_of(seconds: int) -> str:
    """5400 -> '1h30m'."""
    parts = []
    for unit, size in _SECONDS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def mib_of(text: object) -> int:
    """'16GiB' -> 16384."""
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"{text!r} is not a size; write it like '512MiB', '1200GiB' or '2TiB'")
    return int(match[1]) * _MIB[match[2]]


def size_of(mib: int) -> str:
    """16384 -> '16GiB'."""
    unit = next(unit for unit, size in _MIB.items() if mib % size == 0)
    return f"{mib // _MIB[unit]}{unit}"


# In a job file these are text; in Python they are numbers; dumped again they are the same text.
Seconds = Annotated[
    int,
    BeforeValidator(seconds_of),
    PlainSerializer(duration_of),
    WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$", "examples": ["90s", "1h30m"]}),
]
Mib = Annotated[
    int,
    BeforeValidator(mib_of),
    PlainSerializer(size_of),
    WithJsonSchema({"type": "string", "pattern": f"^{_SIZE.pattern}$", "examples": ["16GiB", "1200GiB"]}),
]
