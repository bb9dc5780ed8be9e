"""`python -m contract.schema` writes docs/job.schema.json, so that editors complete and check job files."""

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from contract.job import Job

SCHEMA = Path(__file__).parent.parent / "docs" / "job.schema.json"


class _AsWritten(GenerateJsonSchema):
    """Shows a default the way a person writes it: '30m', where Python holds 1800."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        shown = super().default_schema(schema)
        inner: Any = schema["schema"]
        while "serialization" not in inner and "schema" in inner:
            inner = inner["schema"]
        written_by = inner.get("serialization", {}).get("function")
        if written_by and "default" in shown:
            shown["default"] = written_by(shown["default"])
        return shown


def text() -> str:
    schema = Job.model_json_schema(mode="validation", schema_generator=_AsWritten)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA.parent.mkdir(exist_ok=True)
    SCHEMA.write_text(text())
    print(f"wrote {SCHEMA.name}")
