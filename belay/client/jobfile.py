"""A job file on disk: JSON in which `//` comments are allowed, and of which every part knows its line."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from belay.contract.faults import JobRefused, parse_job
from belay.contract.job import Job

_COMMENT_OR_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
_TOKEN = re.compile(r'\s*("(?:[^"\\\n]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)')


class Unreadable(Exception):
    """There is no such file, or no text in it."""


@dataclass(frozen=True)
class Fault:
    """What is wrong, with its fix, and where: lines and columns count from 1."""

    line: int
    column: int
    message: str


@dataclass(frozen=True)
class JobFile:
    path: Path
    raw: Any
    text: str
    """Without its comments; everything stands where it stood."""
    no_json: Fault | None = None

    def faults(self) -> list[Fault]:
        """Every fault of the file itself."""
        if self.no_json:
            return [self.no_json]
        try:
            parse_job(self.raw)
        except JobRefused as refused:
            return self.placed(refused.faults)
        return []

    def placed(self, messages: list[str]) -> list[Fault]:
        """Each where it stands, in the order of the file."""
        places = _places(self.text)
        found = (_fault(message, places, self.text) for message in messages)
        return sorted(found, key=lambda fault: (fault.line, fault.column))

    def job(self) -> Job:
        return parse_job(self.raw)


def read(path: Path) -> JobFile:
    try:
        # Some editors begin a file with a byte order mark.
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Unreadable(f"{path}: no such file; 'belay init {path}' writes one to start from") from None
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: is no text in UTF-8: {error.reason} at byte {error.start}") from None
    text = _COMMENT_OR_STRING.sub(lambda found: " " * len(found[0]) if found[0][0] == "/" else found[0], text)
    try:
        return JobFile(path, json.loads(text, object_pairs_hook=_once), text)
    except json.JSONDecodeError as error:
        fault = Fault(error.lineno, error.colno, f"no JSON: {error.msg}")
    except _Twice as error:
        fault = Fault(1, 1, f"the key {str(error)!r} is twice in one object; keep one")
    except RecursionError:
        fault = Fault(1, 1, "is nested too deeply to be a job")
    return JobFile(path, None, text, no_json=fault)


class _Twice(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Twice(key)
        found[key] = value
    return found


def _fault(message: str, places: dict[str, int], text: str) -> Fault:
    """A fault begins with its path; what is missing stands in the innermost part that is there."""
    path = message.split(": ")[0]
    while path and path not in places:
        path = path.rpartition(".")[0]
    offset = places.get(path, 0)
    line = text.count("\n", 0, offset) + 1
    return Fault(line, offset - text.rfind("\n", 0, offset), message)


def _places(text: str) -> dict[str, int]:
    """Where each key of the file stands, by its path with dots: 'train.recipe'. `text` is JSON for certain."""
    places: dict[str, int] = {}
    path: list[str | int] = []
    key_next = False
    for token in _TOKEN.finditer(text):
        word, offset = token[1], token.start(1)
        if word == "{":
            path.append("")
            key_next = True
        elif word == "[":
            path.append(0)
            places.setdefault(_dotted(path), offset)
        elif word in "}]":
            path.pop()
        elif word == ",":
            key_next = isinstance(path[-1], str)
            if not key_next:
                path[-1] = int(path[-1]) + 1
        elif key_next:
            path[-1] = json.loads(word)
            places[_dotted(path)] = offset
            key_next = False
    return places


def _dotted(path: list[str | int]) -> str:
    return ".".join(str(step) for step in path)
