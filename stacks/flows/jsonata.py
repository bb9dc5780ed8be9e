"""JSONata, written down through the models of what it reads: a field that no model has fails at synth, not in a run.

found = Variable("found", FindAnswer)
f"{found.file_system.id}"    is $found.file_system.id
found.filesystem             raises UnknownField
"""

from collections.abc import Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel


class UnknownField(AttributeError):
    """No model of the contract has this field; the message says which it has."""


class Expression:
    """JSONata without its fences: as text it can be a part of another expression."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        raise TypeError(f"{self} has a value only in an execution; write the condition in JSONata")


class Place(Expression):
    """Where a value is found, and the model that says which fields it has. None: a value without fields."""

    def __init__(self, text: str, model: type[BaseModel] | None = None) -> None:
        super().__init__(text)
        self._model = model

    def __getattr__(self, field: str) -> "Place":
        fields = self._model.model_fields if self._model else {}
        if field not in fields:
            known = f"{self._model.__name__} has {', '.join(fields)}" if self._model else "it is a value without fields"
            raise UnknownField(f"{self}.{field}: {known}")
        return Place(f"{self}.{field}", _model_in(fields[field].annotation))


class Variable(Place):
    """A variable of a state machine. In `assign` it stands for its name."""

    def __init__(self, name: str, model: type[BaseModel] | None = None) -> None:
        super().__init__(f"${name}", model)
        self._name = name


NULL = Expression("null")
ENTERED = Expression("$states.context.State.EnteredTime")
"""When the state began."""


def given(model: type[BaseModel]) -> Place:
    """The input of a state."""
    return Place("$states.input", model)


def error(field: str) -> Expression:
    """`Error` or `Cause` of what a Catch took."""
    return Expression(f"$states.errorOutput.{field}")


def condition(text: object) -> str:
    return f"{{% {text} %}}"


def rendered(value: Any) -> Any:
    """The same, with each expression in its fences, and each variable that is assigned by its name."""
    if isinstance(value, Expression):
        return condition(value)
    if isinstance(value, Mapping):
        return {_key(key): rendered(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rendered(inner) for inner in value]
    return value


def assigned(values: Mapping[Variable, object]) -> dict[str, Any]:
    """For Assign. What fills a variable has the fields of the variable's model."""
    for variable, value in values.items():
        model = variable._model
        if model and isinstance(value, Mapping):
            filled(model, value)
        elif model and isinstance(value, Place) and value._model is not model:
            raise UnknownField(f"{variable} holds {model.__name__}, and {value} is none")
    return dict(rendered(values))


def filled(model: type[BaseModel], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message: all that the model requires, and none that it does not have."""
    if unknown := fields.keys() - model.model_fields.keys():
        raise UnknownField(f"{model.__name__} has no {', '.join(sorted(unknown))}")
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    if missing := required - fields.keys():
        raise UnknownField(f"{model.__name__} needs {', '.join(sorted(missing))}")
    return dict(rendered(fields))


def record(model: type[BaseModel], **fields: object) -> Expression:
    """Some fields of a model as one expression, for where it has to be built within another."""
    if unknown := fields.keys() - model.model_fields.keys():
        raise UnknownField(f"{model.__name__} has no {', '.join(sorted(unknown))}")
    return Expression("{" + ", ".join(f"'{name}': {value}" for name, value in fields.items()) + "}")


def _key(key: object) -> object:
    return key._name if isinstance(key, Variable) else key


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model of a field of type `Model` or `Model | None`."""
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
