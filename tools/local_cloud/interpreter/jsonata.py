"""JSONata as in Step Functions: the language, six more functions, and one error for all failures."""

from __future__ import annotations

import hashlib
import json
import math
import random
import uuid
from collections.abc import Mapping
from typing import Any

from jsonata import Jsonata
from jsonata.utils import Utils

ALGORITHMS = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}


class QueryEvaluationError(Exception):
    """The expression failed, or its value is not JSON."""


def evaluate(expression: str, bindings: Mapping[str, Any]) -> Any:
    """The value of an expression; `bindings` are $states and the variables."""
    try:
        query = Jsonata(expression)
        query.set_output_convert_nulls(False)
        for name, function in FUNCTIONS.items():
            query.register_lambda(name, function)
        # None means undefined to the engine; a JSON null is NULL_VALUE.
        found = query.evaluate(None, {name: _null(value) for name, value in bindings.items()})
    except Exception as error:
        code = getattr(error, "error", None)
        reason = f"{code}: {error}" if isinstance(code, str) else str(error)
        raise QueryEvaluationError(f"The JSONata expression '{expression}' failed: {reason}") from error
    if found is None:
        raise QueryEvaluationError(f"The JSONata expression '{expression}' returned nothing (undefined).")
    try:
        # A round trip leaves plain JSON: no sequences, no functions, no NULL_VALUE.
        return json.loads(json.dumps(Utils.convert_nulls(found)))
    except (TypeError, ValueError) as error:
        kind = type(found).__name__
        raise QueryEvaluationError(f"The JSONata expression '{expression}' returned a {kind}, not JSON.") from error


def _null(value: Any) -> Any:
    return Utils.NULL_VALUE if value is None else value


def _partition(array: list[Any], size: float) -> list[list[Any]]:
    step = math.floor(size)
    if step <= 0:
        raise ValueError("$partition: the chunk size must be a positive integer")
    return [list(array[start : start + step]) for start in range(0, len(array), step)]


def _range(first: float, last: float, delta: float) -> list[int]:
    start, end, step = math.floor(first), math.floor(last), math.floor(delta)
    if step == 0:
        raise ValueError("$range: the delta must not be zero")
    return list(range(start, end + (1 if step > 0 else -1), step))


def _hash(text: str, algorithm: str) -> str:
    if algorithm not in ALGORITHMS or not isinstance(text, str):
        raise ValueError(f"$hash: a string and one of {', '.join(ALGORITHMS)}")
    return hashlib.new(ALGORITHMS[algorithm], text.encode()).hexdigest()


def _random(seed: float | None = None) -> float:
    return random.random() if seed is None else random.Random(math.floor(seed)).random()


def _uuid() -> str:
    return str(uuid.uuid4())


def _parse(text: str) -> Any:
    return _null(json.loads(text))


def _no_eval(*_arguments: Any) -> Any:
    raise ValueError("$eval is not there in Step Functions; use $parse")


FUNCTIONS = {
    "partition": _partition,
    "range": _range,
    "hash": _hash,
    "random": _random,
    "uuid": _uuid,
    "parse": _parse,
    "eval": _no_eval,
}
