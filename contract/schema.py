"""`python -m contract.schema` writes docs/job.schema.json, so that editors complete and check job files."""

import json
from pathlib import Path

from contract.job import Job

SCHEMA = Path(__file__).parent.parent / "docs" / "job.schema.json"


def text() -> str:
    schema = Job.model_json_schema(mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA.parent.mkdir(exist_ok=True)
    SCHEMA.write_text(text())
    print(f"wrote {SCHEMA.name}")
