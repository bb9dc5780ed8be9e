"""`python -m tools.docgen.job_page` writes docs/job.md, the job file part by part, from its JSON Schema."""

import json
from collections.abc import Iterator
from typing import Any

from belay.cli import job_schema
from tools.console import without_options
from tools.repository import REPOSITORY

PAGE = REPOSITORY / "docs" / "job.md"
_HEAD = """\
# The job file

<!-- Written by 'make reference' from belay/contract/job.py. -->

Every key, its default, and what it may be; a key that is not here is a fault. The [guide](guide.md) says what they are
for, and [job.schema.json](job.schema.json) tells editors. `belay init` writes a file to start from. `belay validate`
says each fault of one, its place and its fix; a job with faults is refused before anything is created.
"""
# In place of the two patterns of the schema.
_WORDS = {"dhms": "a duration such as `90s`, `30m` or `1h30m`", "MiB|GiB|TiB": "a size such as `512MiB` or `1200GiB`"}
_TYPES = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "`true` or `false`"}
_BOUNDS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}


def text() -> str:
    return "\n".join([_HEAD, *_part("", json.loads(job_schema.text()))])


def _part(path: str, part: dict[str, Any], defs: dict[str, Any] | None = None) -> Iterator[str]:
    """A part with its own keys, and then the parts within it."""
    defs = part.get("$defs", {}) if defs is None else defs
    yield f"## {path or 'The whole file'}\n\n{part['description']}\n"
    yield "| Key | Default | May be | Means |\n|---|---|---|---|"
    for key, value in part["properties"].items():
        yield f"| `{key}` | {_default(key, value, part)} | {_may_be(path, key, value)} | {_means(value, defs)} |"
    yield ""
    for key, value in part["properties"].items():
        if inner := _named(value):
            yield from _part(f"{path}.{key}".lstrip("."), defs[inner], defs)


def _default(key: str, value: dict[str, Any], part: dict[str, Any]) -> str:
    if key in part.get("required", ()):
        return "required"
    if "$ref" in value or value["default"] is None:
        return ""
    return f"`{json.dumps(value['default'])}`"


def _may_be(path: str, key: str, value: dict[str, Any]) -> str:
    if name := _named(value):
        inner = f"{path}.{key}".lstrip(".")
        return f"[{name}](#{inner.replace('.', '')})"
    kinds = [kind for kind in value.get("anyOf", [value]) if kind.get("type") != "null"]
    return ", or ".join(_kind(kind) for kind in kinds)


def _kind(kind: dict[str, Any]) -> str:
    if choices := kind.get("enum") or ([kind["const"]] if "const" in kind else None):
        return ", ".join(f"`{json.dumps(choice)}`" for choice in choices)
    if kind["type"] == "array":
        return "a list of " + _kind(kind["items"])
    if kind["type"] == "object":
        most = f", at most {kind['maxProperties']}" if "maxProperties" in kind else ""
        inner = kind.get("additionalProperties")
        return ("an object of text" if isinstance(inner, dict) else "an object") + most
    for sign, words in _WORDS.items():
        if sign in kind.get("pattern", ""):
            return words
    bounds = " ".join(f"{word} {kind[bound]}" for bound, word in _BOUNDS.items() if bound in kind)
    return f"{_TYPES[kind['type']]} {bounds}".rstrip()


def _means(value: dict[str, Any], defs: dict[str, Any]) -> str:
    inner = _named(value)
    text = value.get("description") or defs[inner or ""]["description"]
    return str(text).replace("|", "\\|").replace("<", "\\<")


def _named(value: dict[str, Any]) -> str | None:
    """The part that a key holds, if it holds one."""
    refs = (kind["$ref"] for kind in value.get("anyOf", [value]) if "$ref" in kind)
    return next((ref.removeprefix("#/$defs/") for ref in refs), None)


if __name__ == "__main__":
    without_options(__doc__)
    PAGE.write_text(text())
    print(f"wrote {PAGE.name}")
