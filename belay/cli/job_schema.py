"""The JSON Schema of a job file, so that editors complete and check it."""

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from belay.contract.job import Job


class _AsWritten(GenerateJsonSchema):
    """Shows a default the way a person writes it: '30m', where Python holds 1800."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        shown = super().default_schema(schema)
        inner: Any = schema["schema"]
        while "serialization" not in inner and "schema" in inner:
            inner = inner["schema"]
        written_by = inner.get("serialization", {}).get("function")
        if written_by and shown.get("default") is not None:
            shown["default"] = written_by(shown["default"])
        return shown


def text() -> str:
    schema = Job.model_json_schema(mode="validation", schema_generator=_AsWritten)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2) + "\n"
