from pathlib import Path

from belay.goodput.buckets import MEANINGS, Bucket

DOCS = Path(__file__).parents[3] / "docs" / "goodput.md"


def test_the_page_defines_every_bucket_as_the_code_does() -> None:
    table = DOCS.read_text().split("<!-- buckets -->\n")[1].split("<!-- /buckets -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert rows == [[bucket.value, MEANINGS[bucket]] for bucket in Bucket]
