"""`python -m tools.docgen.job_schema` writes docs/job.schema.json."""

from belay.cli import job_schema
from tools.console import without_options
from tools.repository import REPOSITORY

SCHEMA = REPOSITORY / "docs" / "job.schema.json"


if __name__ == "__main__":
    without_options(__doc__)
    SCHEMA.write_text(job_schema.text())
    print(f"wrote {SCHEMA.name}")
