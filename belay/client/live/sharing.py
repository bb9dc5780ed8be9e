"""A document that is meant to be shared names no account, no bucket, no role and no person. Pure."""

import re
from typing import Any

_ARN = re.compile(r"arn:(aws[a-z-]*):([a-z0-9-]*):[^\s\"',;()\[\]{}]*")
_ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b")
_ACCOUNT = re.compile(r"(?<![0-9])[0-9]{12}(?![0-9])")
_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]*")


def shareable(value: Any, *, names: list[str]) -> Any:
    """The same document; `names` are those that no pattern finds, such as the bucket's."""
    if isinstance(value, dict):
        return {key: shareable(inner, names=names) for key, inner in value.items()}
    if isinstance(value, list):
        return [shareable(inner, names=names) for inner in value]
    return _without(value, names) if isinstance(value, str) else value


def _without(text: str, names: list[str]) -> str:
    text = _ARN.sub(r"arn:\1:\2:...", text)
    text = _BUCKET.sub("s3://...", text)
    # The longest first: one name may be a part of another.
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = text.replace(name, "...")
    return _ACCOUNT.sub("...", _ACCESS_KEY.sub("...", text))
