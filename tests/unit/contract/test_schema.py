import json

from belay.cli import job_schema
from belay.contract.job import Job
from belay.contract.units import mib_of, seconds_of
from tools.docgen import job_page
from tools.docgen.job_schema import SCHEMA


def test_the_schema_in_docs_is_the_one_of_the_models() -> None:
    assert SCHEMA.read_text() == job_schema.text(), "run: python -m tools.docgen.job_schema"


def test_an_editor_refuses_the_same_unknown_keys() -> None:
    told = json.loads(job_schema.text())
    parts = [told, *told["$defs"].values()]
    assert all(part["additionalProperties"] is False for part in parts)


def test_the_defaults_are_shown_as_people_write_them() -> None:
    told = json.loads(job_schema.text())["$defs"]
    assert seconds_of(told["Limits"]["properties"]["train"]["default"]) == 86400
    assert mib_of(told["Resources"]["properties"]["memory"]["default"]) == 12288
    assert mib_of(told["Scratch"]["properties"]["size"]["default"]) == 1200 * 1024


def test_every_part_of_the_job_says_what_it_is() -> None:
    told = json.loads(job_schema.text())
    assert all(part.get("description") for part in [told, *told["$defs"].values()])
    assert set(told["properties"]) == set(Job.model_fields)


def test_the_page_about_the_job_file_is_made_from_the_models() -> None:
    assert job_page.PAGE.read_text() == job_page.text(), "run 'make reference'"


def test_the_page_has_every_key_of_every_part_with_what_it_means() -> None:
    rows = [line.split(" | ") for line in job_page.text().splitlines() if line.startswith("| `")]
    told = json.loads(job_schema.text())
    keys = [key for part in [told, *told["$defs"].values()] for key in part["properties"]]
    assert sorted(row[0].strip("|` ") for row in rows) == sorted(keys)
    assert [row for row in rows if len(row) != 4 or row[3].strip("| ") == ""] == []
