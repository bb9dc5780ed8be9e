"""Job files that nobody would write, from strategies written by hand: refused by field, or harmless all the way."""

import json
import math
from datetime import UTC, datetime
from typing import Any, cast

import botocore.session
import regex
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from belay.contract.faults import JobRefused, parse_job
from belay.contract.job import Job, Part, Train
from belay.contract.plan import RunPlan
from belay.contract.run import run_id
from belay.policy import requests
from tests.unit.contract.test_faults import JOB

ARN = "arn:aws:states:us-east-1:123456789012:execution:belay-train:first"
MOMENT = datetime(2026, 11, 21, 2, 44, 55, tzinfo=UTC)
RUN = run_id(ARN, MOMENT)
BOUNDED = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# ---- strategies: what breaks parsers, paths, shells, templates and eyes

NASTY = st.sampled_from(
    [
        *("../../etc/passwd", "jobs/other/", "s3://bucket/../x/", "datasets//x/", "/", "~", "%2e%2e/", "data/./x/"),
        *(
            "{% $states.input %}",
            "${AWS::AccountId}",
            "States.Format('{}')",
            "$(reboot)",
            "`id`",
            "'; DROP TABLE x; --",
        ),
        *("a\x00b", "a\nb", "a\r\nSet-Cookie: x", "\x1b[2J", "a\tb", "\ufeffname", "a\u202egnp.exe", "a\u200bb"),
        *(
            "\ud800",
            "x\udfff",
            "é",
            "e\u0301",
            "ﬁ",
            "DİGİTS",
            "\uff11\uff12",
            "\u0663 steps",
            "\U0001d485igits",
            "\uff533://a/",
            "a" * 5_000,
        ),
        *("belay:state", "aws:x", "BELAY:run", "--config", "-", ".", "..", "CON", "__proto__", "null", "NaN", "1e400"),
    ]
)
TEXT = NASTY | st.text(max_size=12) | st.builds("{}{}".format, NASTY, st.sampled_from(["/", "", "-1", " steps", "GiB"]))
NUMBER = st.one_of(
    st.integers(),
    st.integers(min_value=0, max_value=5000).map(lambda digits: 10**digits),
    st.integers(min_value=0, max_value=400).map(lambda digits: -(10**digits)),
    st.sampled_from([0, -0.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, 2**31, 2**53, 2**63, 2**64]),
    st.floats(),
)
SCALAR = st.none() | st.booleans() | NUMBER | TEXT


def nested(depth: int, wide: int) -> Any:
    value: Any = {"end": ["x"] * wide}
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


DEEP = st.builds(nested, st.integers(0, 60), st.integers(0, 50))
ANYTHING = SCALAR | DEEP | st.lists(SCALAR, max_size=4) | st.dictionaries(TEXT, SCALAR, max_size=3)


def parts(model: type[Part]) -> st.SearchStrategy[dict[str, Any]]:
    """A part with its own keys, mostly, and with values that are near the right ones or nowhere near."""
    keys = st.sampled_from(list(model.model_fields)) | TEXT
    return st.dictionaries(keys, NEAR | ANYTHING, max_size=4)


NEAR = st.sampled_from(
    [
        *("causal-lm", "gpt2", {"model_type": "gpt2"}, ["data/train.py", "--lr", "1e-4"], {"max_steps": 5}, {"r": 8}),
        *("200 steps", "10m", "1h30m", "0s", "29d", "12GiB", "1200GiB", "2400GiB", "512MiB", 125, "PERSISTENT_2"),
        *(
            "auto",
            "never",
            "20261121t024455z-3f9a2c1b/checkpoint-40",
            "datasets/digits/",
            "s3://corpora/text/",
            1,
            True,
        ),
    ]
)


# Right, but for what a person may freely choose: most of these are accepted.
WORDS = st.text(max_size=20) | NASTY
FREE: dict[str, st.SearchStrategy[Any]] = {
    "name": st.text(alphabet="abc-019", min_size=1, max_size=48),
    "dataset": st.builds(
        lambda parts, columns: {"s3": "".join(f"{part}/" for part in parts), "columns": columns},
        st.lists(st.text(alphabet="aZ9._=-", min_size=1, max_size=9), min_size=1, max_size=4),
        st.dictionaries(WORDS, WORDS, max_size=2),
    ),
    "train": st.one_of(
        st.lists(WORDS, min_size=1, max_size=4).map(lambda words: {"command": words}),
        st.builds(
            lambda model, arguments: {"recipe": "causal-lm", "model": model, "arguments": arguments},
            WORDS | st.dictionaries(WORDS, SCALAR, max_size=2).map(lambda config: {"model_type": "gpt2", **config}),
            st.dictionaries(WORDS, SCALAR | DEEP, max_size=3),
        ),
    ),
    "tags": st.dictionaries(st.text(min_size=1, max_size=128), st.text(max_size=256), max_size=4),
    "limits": st.dictionaries(
        st.sampled_from(["scratch", "link", "capacity", "train", "export"]),
        st.builds("{}{}".format, st.integers(1, 10**6), st.sampled_from("smhd")),
    ),
    "scratch": st.builds(lambda times: {"size": f"{2400 * times}GiB", "type": "PERSISTENT_2"}, st.integers(0, 50)),
    "checkpoint": st.builds("{} steps".format, st.integers(0, 10**12)).map(lambda every: {"every": every}),
}


@st.composite
def job_files(draw: st.DrawFn) -> dict[str, Any]:
    raw: dict[str, Any] = dict(JOB)
    for name in draw(st.lists(st.sampled_from(sorted(FREE)), max_size=2, unique=True)):
        raw[name] = draw(FREE[name])
    if draw(st.booleans()):
        return raw
    for name in draw(st.lists(st.sampled_from(list(Job.model_fields)), max_size=4, unique=True)):
        annotation = Job.model_fields[name].annotation
        is_part = isinstance(annotation, type) and issubclass(annotation, Part)
        raw[name] = draw((parts(cast(type[Part], annotation)) if is_part else NEAR) | ANYTHING)
    if draw(st.booleans()):
        raw["tags"] = draw(st.dictionaries(TEXT, TEXT, max_size=4))
    return {**raw, **draw(st.dictionaries(TEXT, SCALAR, max_size=1))}


# ---- what holds for all of them


def accepted(raw: Any) -> Job | None:
    try:
        return parse_job(raw)
    except JobRefused as refused:
        assert refused.faults
        for fault in refused.faults:
            assert fault.isprintable(), "one line that every log can hold"
            assert len(fault) <= 400
            place, _, told = fault.partition(": ")
            by_field = place and told
            assert by_field or fault.startswith(("and ", "the job must be")), "it names its field and what to do"
        return None


@BOUNDED
@given(job_files())
def test_what_is_accepted_survives_every_reader_on_the_way(raw: dict[str, Any]) -> None:
    job = accepted(raw)
    if job is None:
        return
    plan = RunPlan(
        run=RUN,
        execution_arn=ARN,
        started_at=MOMENT,
        bucket="belay-data",
        prefix=f"jobs/{job.name}/{RUN}/",
        job=job,
        resume=None,
    )
    written = plan.model_dump_json().encode()
    assert RunPlan.model_validate_json(written) == plan
    json.dumps(json.loads(written), allow_nan=False)

    fsx = botocore.session.get_session().get_service_model("fsx")
    scratch = {
        "FileSystemType": "LUSTRE",
        "SubnetIds": ["subnet-0123456789abcdef0"],
        **requests.scratch(plan, "belay").model_dump(mode="json"),
    }
    assert faults_in(scratch, fsx.operation_model("CreateFileSystem").input_shape) == []
    for link in requests.links(plan, "belay"):
        asked = {"FileSystemId": "fs-0123456789abcdef0", **link.model_dump(mode="json")}
        assert faults_in(asked, fsx.operation_model("CreateDataRepositoryAssociation").input_shape) == []
    # The longest time that a state may be given.
    assert all(0 < seconds <= 99_999_999 for _, seconds in requests.limits_in_seconds(job.limits))


@BOUNDED
@given(ANYTHING | st.lists(ANYTHING, max_size=3))
def test_what_is_no_job_at_all_is_refused(raw: Any) -> None:
    assert accepted(raw) is None


@BOUNDED
@given(TEXT, st.sampled_from(["name", "resume", "dataset"]))
def test_a_text_that_becomes_a_path_stays_inside(text: str, field: str) -> None:
    job = accepted(JOB | {field: {"s3": text} if field == "dataset" else text})
    if job is not None:
        paths = [f"jobs/{job.name}/", job.dataset.s3.removeprefix("s3://"), f"{job.resume}/"]
        for path in paths:
            assert path.isascii() and path.isprintable() and " " not in path
            assert not {"", ".", ".."} & set(path[:-1].split("/"))


@BOUNDED
@given(parts(Train).filter(lambda train: set(train) <= set(Train.model_fields)))
def test_what_does_not_go_together_is_told_in_the_first_round(train: dict[str, Any]) -> None:
    """With the fields that are wrong by themselves, and not once these are fixed."""
    try:
        parse_job(JOB | {"train": train})
    except JobRefused as refused:
        exactly_one = (train.get("recipe") is None) != (train.get("command") is None)
        told = any(fault.startswith("train: needs either") for fault in refused.faults)
        assert told != exactly_one


def faults_in(value: Any, shape: Shape | None, place: str = "") -> list[str]:
    """What AWS's own model of the call says against it: patterns, lengths and bounds, to any depth."""
    if isinstance(shape, StructureShape):
        return [f for key, inner in value.items() for f in faults_in(inner, shape.members[key], f"{place}.{key}")]
    if isinstance(shape, ListShape):
        return [f for inner in value for f in faults_in(inner, shape.member, f"{place}[]")]
    assert shape is not None and not isinstance(shape, MapShape)
    told = shape.metadata
    size = len(value) if isinstance(shape, StringShape) else value
    low, high = told.get("min", -math.inf), told.get("max", math.inf)
    fits = isinstance(value, bool) or low <= size <= high
    matches = not isinstance(value, str) or "pattern" not in told or regex.search(told["pattern"], value)
    return [] if fits and matches else [f"{place}: {value!r} against {told}"]
