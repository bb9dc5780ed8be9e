from pathlib import Path

from goodput.buckets import MEANINGS, Bucket
from goodput.phases import BUCKET_OF_STATE

DOCS = Path(__file__).parents[2] / "docs" / "goodput.md"


def test_the_page_defines_every_bucket_as_the_code_does() -> None:
    table = DOCS.read_text().split("<!-- buckets -->\n")[1].split("<!-- /buckets -->")[0]
    told = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert told == [[bucket.value, MEANINGS[bucket]] for bucket in Bucket]


def test_every_state_that_time_is_told_by_is_one_of_the_flows() -> None:
    golden = Path(__file__).parents[1] / "stacks" / "golden"
    lines = [line for file in golden.glob("*.flow") for line in file.read_text().splitlines()]
    named = {line.split("  [")[0].strip() for line in lines if "  [" in line}
    assert BUCKET_OF_STATE.keys() - named == set()
