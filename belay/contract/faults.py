"""Every fault of a job file at once, each with its fix: one round is enough, not five."""

import difflib
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from belay.contract import wire
from belay.contract.job import Job, Part
from belay.contract.units import duration_of, size_of

_FIXES = {
    "model_type": "must be an object, as in {'key': 'value'}",
    "string_type": "must be text; put it in quotes",
    "string_unicode": "must be valid Unicode",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list, as in ['data/train.py', '--lr', '1e-4']",
    "dict_type": "must be an object, as in {'key': 'value'}",
}

_BOUNDS = {
    "greater_than": ("gt", "must be more than"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be less than"),
    "less_than_equal": ("le", "must be at most"),
}
_TOO_LONG = {"too_long": "entries", "string_too_long": "characters"}
# A fault must fit into the cause of a failed execution, whatever was sent.
_LONGEST_FAULT = 400
_MOST_FAULTS = 40


class JobRefused(Exception):
    """The job file has faults; nothing was created and nothing costs money."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


def parse_job(raw: object) -> Job:
    """The one door: a valid job, or JobRefused with every fault."""
    if not isinstance(raw, dict):
        raise JobRefused(["the job must be a JSON object; see examples/"])
    faults = list(wire.faults_of(raw))
    try:
        job = Job.model_validate(raw)
    except ValidationError as error:
        errors = _one_per_place(error.errors())
        faults += [*map(_sentence, errors), *_clashes(raw, errors)]
    if faults:
        raise JobRefused(_bounded(faults))
    return job


def _clashes(raw: dict[str, Any], errors: list[ErrorDetails]) -> Iterator[str]:
    """pydantic looks at what goes together only once each field is right by itself: that would be one more round."""
    places = [(_place(fault["loc"]), fault["type"]) for fault in errors]
    faulty = {place[0] for place, _ in places if len(place) > 1}
    # What an unknown key was meant to be is open, and with it whether anything clashes.
    unclear = {place[0] for place, kind in places if len(place) == 2 and kind == "extra_forbidden"}
    for name in Job.model_fields:
        part, given = _model_in(Job.model_fields[name].annotation), raw.get(name)
        if name in faulty - unclear and part is not None and issubclass(part, Part) and isinstance(given, dict):
            clash = part.clash(given)
            if clash:
                yield f"{name}: {clash}"


def _bounded(faults: list[str]) -> list[str]:
    named = [_shortened(fault) for fault in faults]
    rest = len(named) - _MOST_FAULTS
    return named[:_MOST_FAULTS] + ([f"and {rest} more; fix these first"] if rest > 0 else [])


def _shortened(fault: str) -> str:
    """Cut in the middle: the field stands at the beginning, the fix at the end."""
    head, tail = _LONGEST_FAULT // 3, _LONGEST_FAULT - _LONGEST_FAULT // 3 - 1
    return fault if len(fault) <= _LONGEST_FAULT else f"{fault[:head]}…{fault[-tail:]}"


def _one_per_place(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Drop the 'tried this type, tried that type' echoes of a field that may have several types."""
    seen: dict[tuple[str, ...], ErrorDetails] = {}
    for error in errors:
        seen.setdefault(_place(error["loc"]), error)
    return list(seen.values())


def _place(loc: tuple[int | str, ...]) -> tuple[str, ...]:
    """The path in the file. Behind a field of several types pydantic names the type it tried: no file has that."""
    place: list[str] = []
    model: type[BaseModel] | None = Job
    for step in loc:
        place.append(str(step))
        if model is not None and step in model.model_fields:
            annotation = model.model_fields[str(step)].annotation
            model = _model_in(annotation)
            if model is None and _has_several_types(annotation):
                break
    return tuple(place)


def _has_several_types(annotation: Any) -> bool:
    return len([kind for kind in get_args(annotation) if kind is not NoneType]) > 1 and _is_union(annotation)


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model of a field of type `Model` or `Model | None`."""
    kinds = get_args(annotation) if _is_union(annotation) else (annotation,)
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _known_keys(place: tuple[str, ...]) -> list[str]:
    model: type[BaseModel] = Job
    for step in place[:-1]:
        model = _model_in(model.model_fields[step].annotation) or model
    return list(model.model_fields)


def _as_written(place: tuple[str, ...], number: Any) -> str:
    """A bound in the unit that the field is written in."""
    if place[0] == "limits" and place[-1] != "budget_usd":
        return duration_of(number)
    return size_of(number) if place[-1] in ("memory", "size") else str(number)


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # Python does not write out numbers of thousands of digits.
        return "a number of thousands of digits"


def _sentence(fault: ErrorDetails) -> str:
    place = _place(fault["loc"])
    path = wire.escaped(".".join(place)) or "job"
    kind = fault["type"]
    if kind == "extra_forbidden":
        known = _known_keys(place)
        near = difflib.get_close_matches(place[-1], known, n=1)
        return f"{path}: unknown; " + (f"did you mean '{near[0]}'?" if near else f"known here: {', '.join(known)}")
    if kind == "missing":
        return f"{path}: missing; add it"
    if path == "name" and kind == "string_pattern_mismatch":
        return "name: use 1 to 48 lower-case letters, digits and hyphens, as in 'digits-vit'"
    if kind == "value_error":
        return f"{path}: {fault['ctx']['error']}"
    if kind in _BOUNDS:
        bound, must = _BOUNDS[kind]
        return f"{path}: {must} {_as_written(place, fault['ctx'][bound])}"
    if kind in _TOO_LONG:
        return f"{path}: is too long; use at most {fault['ctx']['max_length']} {_TOO_LONG[kind]}"
    if kind == "literal_error":
        return f"{path}: {_shown(fault['input'])} is not one of {fault['ctx']['expected']}"
    return f"{path}: {_FIXES.get(kind) or fault['msg'][0].lower() + fault['msg'][1:]}"
