import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belay.client import jobfile
from belay.client.jobfile import Unreadable

GOOD = Path(__file__).parents[3] / "examples" / "digits.json"


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "job.json"
    file.write_text(text)
    return file


def test_each_fault_is_told_with_its_line(tmp_path: Path) -> None:
    train = '  "train": {\n    "recipe": "gpt", // a comment, with "quotes"\n    "modle": {}\n  }'
    text = f'{{\n  "name": "digits",\n{train}\n}}'
    faults = jobfile.read(written(tmp_path, text)).faults()

    places = {(fault.line, fault.column, fault.message.split(":")[0]) for fault in faults}
    assert places >= {(4, 5, "train.recipe"), (5, 5, "train.modle"), (1, 1, "dataset")}


def test_a_comment_changes_nothing_and_an_address_is_no_comment(tmp_path: Path) -> None:
    job = json.loads(GOOD.read_text())
    job["dataset"]["s3"] = "s3://bucket/digits/"
    text = json.dumps(job, indent=1).replace("\n", " // c\n")

    assert jobfile.read(written(tmp_path, text)).raw == job


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n"name": }', "2:9 no JSON"),
        ('{"name": "a", "name": "b"}', "1:1 the key 'name' is twice"),
        ("[" * 99999, "1:1 is nested too deeply"),
    ],
)
def test_what_is_no_json_is_a_fault_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    [fault] = jobfile.read(written(tmp_path, text)).faults()
    assert f"{fault.line}:{fault.column} {fault.message}".startswith(says)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_bytes(b"\xef\xbb\xbf" + GOOD.read_bytes())
    assert jobfile.read(tmp_path / "job.json").faults() == []


def test_a_file_that_cannot_be_read_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"job\.json: no such file; 'belay init .*job\.json' writes one"):
        jobfile.read(tmp_path / "job.json")
    (tmp_path / "job.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(Unreadable, match="is no text in UTF-8: invalid start byte at byte 0"):
        jobfile.read(tmp_path / "job.json")


_TEXT = st.text('ab.{"\\/é', max_size=4)
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(raw=st.dictionaries(st.sampled_from(["name", "train", "datset", "limits", "tags"]), _JSON, max_size=4))
def test_whatever_stands_in_it_every_fault_has_a_place_in_the_file(tmp_path_factory: Any, raw: dict[str, Any]) -> None:
    file = tmp_path_factory.mktemp("job") / "job.json"
    file.write_text(json.dumps(raw, indent=2))
    lines = file.read_text().splitlines()
    for fault in jobfile.read(file).faults():
        assert 1 <= fault.line <= len(lines)
        assert 1 <= fault.column <= len(lines[fault.line - 1])
