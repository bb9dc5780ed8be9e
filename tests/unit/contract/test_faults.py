"""The door: every fault at once, each with its fix, and nothing hostile gets through."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belay.contract.faults import JobRefused, parse_job
from belay.contract.job import Job
from belay.contract.plan import RunPlan

JOB: dict[str, Any] = {
    "name": "digits",
    "dataset": {"s3": "datasets/digits/"},
    "train": {"recipe": "causal-lm", "model": "gpt2"},
}


def faults(raw: object) -> list[str]:
    with pytest.raises(JobRefused) as refused:
        parse_job(raw)
    return refused.value.faults


def test_a_short_job_is_enough() -> None:
    job = parse_job(JOB)
    assert (job.scratch.size_gib, job.checkpoint.every_seconds, job.checkpoint.every_steps) == (1200, 600, None)


RECIPE = JOB["train"]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        # unknown and missing
        ({"stepz": 1}, "stepz: unknown; known here: version, name, dataset"),
        ({"retrys": {}}, "retrys: unknown; did you mean 'retry'?"),
        ({"checkpoint": {"evry": "5m"}}, "checkpoint.evry: unknown; did you mean 'every'?"),
        ({"dataset": {"s3": "x/", "fromat": "csv"}}, "dataset.fromat: unknown; did you mean 'format'?"),
        ({"train": RECIPE | {"lora": {"rank": 8}}}, "train.lora.rank: unknown; known here: r, alpha, dropout"),
        ({"dataset": {}}, "dataset.s3: missing; add it"),
        # of the wrong kind
        ({"version": 2}, "version: 2 is not one of 1"),
        ({"name": 5}, "name: must be text; put it in quotes"),
        ({"resources": 5}, "resources: must be an object, as in {'key': 'value'}"),
        ({"resources": {"gpus": "3"}}, "resources.gpus: must be a whole number"),
        ({"resources": {"gpus": 1.5}}, "resources.gpus: must be a whole number"),
        ({"resources": {"gpus": True}}, "resources.gpus: must be a whole number"),
        ({"resources": {"spot": "yes"}}, "resources.spot: must be true or false"),
        ({"train": {"command": "python x.py"}}, "train.command: must be a list, as in ['data/train.py'"),
        ({"train": {"command": ["x", 5]}}, "train.command.1: must be text; put it in quotes"),
        ({"train": RECIPE | {"lora": {"dropout": "0.1"}}}, "train.lora.dropout: must be a number"),
        ({"train": RECIPE | {"model": 5}}, "train.model: must be text; put it in quotes"),
        ({"tags": {"team": 1}}, "tags.team: must be text; put it in quotes"),
        # out of bounds, in the unit that the field is written in
        ({"resources": {"gpus": 17}}, "resources.gpus: must be at most 16"),
        ({"resources": {"memory": "0MiB"}}, "resources.memory: must be at least 256MiB"),
        ({"limits": {"train": "31d"}}, "limits.train: must be at most 30d"),
        ({"limits": {"link": "0s"}}, "limits.link: must be more than 0s"),
        ({"scratch": {"stripe": {"size": "0MiB"}}}, "scratch.stripe.size: must be at least 1MiB"),
        ({"train": RECIPE | {"lora": {"dropout": 1.0}}}, "train.lora.dropout: must be less than 1.0"),
        ({"tags": {str(number): "" for number in range(21)}}, "tags: is too long; use at most 20 entries"),
        # each field's own sense
        ({"name": "Digits"}, "name: use 1 to 48 lower-case letters, digits and hyphens"),
        ({"dataset": {"s3": "data-1"}}, "dataset.s3: must end with '/', or 'data-1' would also match 'data-10'; use"),
        ({"dataset": {"s3": "jobs/a/"}}, "dataset.s3: lies among the runs' own results; put data under 'datasets/'"),
        ({"train": {}}, "train: needs either 'recipe' or 'command'; give exactly one of them"),
        ({"train": RECIPE | {"command": ["x"]}}, "train: needs either 'recipe' or 'command'; give exactly one"),
        ({"train": {"recipe": "causal-lm", "model": ""}}, "train: 'recipe' needs a 'model'; name one"),
        ({"train": {"recipe": "causal-lm", "model": {"n": 1}}}, "train: 'model' as a config needs a 'model_type'"),
        ({"train": {"command": ["x"], "model": "gpt2"}}, "train: 'model', 'arguments' and 'lora' belong to a recipe"),
        ({"train": {"command": [""]}}, "train.command: must name a program; write it like"),
        ({"train": RECIPE | {"arguments": {"save_steps": 5}}}, "train.arguments: 'save_steps': use checkpoint.every"),
        ({"scratch": {"size": "1000GiB"}}, "scratch.size: is not a size that FSx makes; use 1200GiB or a multiple"),
        ({"scratch": {"throughput": 125}}, "scratch: 'throughput' goes with type PERSISTENT_2; leave it out for"),
        ({"scratch": {"stripe": {"count": 0}}}, "scratch.stripe.count: 0 stripes hold nothing; use -1"),
        (
            {"checkpoint": {"every": "0 steps"}},
            "checkpoint.every: '0 steps' is not a cadence; write it like",
        ),
        ({"checkpoint": {"every": "often"}}, "checkpoint.every: 'often' is not a cadence; write it like"),
        ({"limits": {"train": "10 minutes"}}, "limits.train: '10 minutes' is not a duration; write it like '90s'"),
        ({"resources": {"memory": "12gb"}}, "resources.memory: '12gb' is not a size; write it like '512MiB'"),
        ({"resume": "latest"}, "resume: 'latest' is no checkpoint; use 'auto', 'never' or '<run>/checkpoint-<step>'"),
        ({"tags": {"aws:x": "y"}}, "tags: 'aws:x': 'aws:' and 'belay:' are taken; use another prefix"),
        ({"tags": {"Belay:state": "empty"}}, "tags: 'Belay:state': 'aws:' and 'belay:' are taken; use another"),
        ({"tags": {"": "y"}}, "tags: '': keys have 1 to 128 characters, values at most 256; shorten it"),
        (
            {"train": RECIPE | {"arguments": {"hub_token": "x"}}},
            "train.arguments: 'hub_token': leave it out; a job file is",
        ),
        ({"limits": {"export": "999999d"}}, "limits.export: must be at most 30d"),
        ({"scratch": {"stripe": {"size": "4GiB"}}}, "scratch.stripe.size: must be at most 2GiB"),
        # what JSON lets through and nothing behind it could write again
        ({"train": {"command": ["\ud800"]}}, "train.command.0: holds half a character; write it in valid Unicode"),
        ({"train": RECIPE | {"arguments": {"lr": float("inf")}}}, "train.arguments.lr: inf is no number that JSON can"),
    ],
)
def test_a_fault_names_its_place_and_its_fix(changes: dict[str, Any], fault: str) -> None:
    (told, *others) = faults(JOB | changes)
    assert told.startswith(fault)
    assert others == []
    assert ";" in told or " must be " in told or "is not one of" in told or "use " in told


def test_all_faults_are_told_at_once() -> None:
    told = faults({"name": "../x", "dataset": {"s3": "a"}, "train": {}, "resources": {"gpus": -1}, "x": 1})
    assert [fault.split(":")[0] for fault in told] == ["name", "dataset.s3", "train", "resources.gpus", "x"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"train": {"recipe": "gpt", "command": ["x"]}}, ["train.recipe", "train"]),
        ({"train": {"command": "python x.py", "model": "gpt2"}}, ["train.command", "train"]),
        ({"train": RECIPE | {"model": {"n": 1}, "lora": {"r": 0}}}, ["train.lora.r", "train"]),
        ({"scratch": {"size": "9GiB", "throughput": 125}}, ["scratch.size", "scratch"]),
        # What the unknown key was meant to be is open, and so is whether anything clashes.
        ({"train": {"recip": "causal-lm", "model": "gpt2"}}, ["train.recip"]),
        # A field that is wrong by itself is there all the same.
        ({"scratch": {"type": "LUSTRE", "throughput": 125}}, ["scratch.type"]),
    ],
)
def test_what_does_not_go_together_is_told_with_the_faults_of_its_fields(
    changes: dict[str, Any], told: list[str]
) -> None:
    assert [fault.split(":")[0] for fault in faults(JOB | changes)] == told


@pytest.mark.parametrize("raw", [None, [], "digits", 5, True])
def test_what_is_no_object_is_refused(raw: object) -> None:
    assert faults(raw) == ["the job must be a JSON object; see examples/"]


HOSTILE = [
    *("", " ", "/", "..", "../", "./", "a/..", "/etc/", "a//b/", "a/../b/", "~/", ".hidden/", "a/.b/", "a b/"),
    *("a\n", "a\n/", "a/\n", "a\r/", "a\0/", "a\t/", "a;b/", "$(x)/", "`x`/", "a*/", "a?/", "a%2e/", "ä/", "a\u2028/"),
    *("s3://", "s3:///a/", "s3://B/a/", "s3://bucket", "s3://bucket/", "s3://bucket/../a/", "s3://bu\ncket/a/"),
    *("http://bucket/a/", "arn:aws:s3:::b/a/", "{% $x %}/", "${x}/"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_prefix_is_refused_by_the_name_of_its_field(text: str) -> None:
    assert all(fault.startswith("dataset.s3: ") for fault in faults(JOB | {"dataset": {"s3": text}}))


@pytest.mark.parametrize("text", [*HOSTILE, "-a", "a-", "A", "a_b", "a.b", "a/b", "a" * 49, "belay:x"])
def test_a_hostile_name_is_refused_by_the_name_of_its_field(text: str) -> None:
    assert all(fault.startswith("name: ") for fault in faults(JOB | {"name": text}))


@pytest.mark.parametrize("text", [*HOSTILE, "20261121t024455z-3f9a2c1b/checkpoint-01", "x/checkpoint-1", "AUTO"])
def test_a_hostile_resume_is_refused_by_the_name_of_its_field(text: str) -> None:
    assert all(fault.startswith("resume: ") for fault in faults(JOB | {"resume": text}))


def test_a_fault_is_one_line_whatever_it_speaks_of() -> None:
    told = faults(JOB | {"a\nname: fine": 1, "tags": {"x\ny": "z"}, "resume": "a\nb"})
    assert len(told) == 3
    assert not any("\n" in fault for fault in told)


def test_a_fault_of_a_very_long_key_still_ends_with_its_fix() -> None:
    (told,) = faults(JOB | {"k" * 5000: 1})
    assert told.startswith("kkk") and told.endswith("resume, tags")
    assert len(told) <= 400


def test_a_number_that_a_reader_would_round_is_refused() -> None:
    (told,) = faults(JOB | {"train": RECIPE | {"arguments": {"seed": 2**53}}})
    assert told.startswith("train.arguments.seed: is too large for some of its readers; use at most ")
    assert parse_job(JOB | {"train": RECIPE | {"arguments": {"seed": 2**53 - 1}}})


def test_a_refusal_stays_short_enough_for_a_failed_execution() -> None:
    told = faults(JOB | {f"key-{number}": 1 for number in range(5000)} | {"resume": "x" * 100_000})
    assert len("\n".join(told)) < 32_768
    assert told[-1] == "and 4961 more; fix these first"


def test_a_job_that_is_nested_too_deeply_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    assert "is nested too deeply" in faults(JOB | {"train": RECIPE | {"arguments": deep}})[0]


# ---- anything at all

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _mixed(good: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The good one with some fields replaced by anything, and some added: refused by the few, not by the first."""
    fields = st.sampled_from(list(Job.model_fields)) | st.text(max_size=8)
    parts = {
        "dataset": st.fixed_dictionaries({"s3": st.text(alphabet="ab./:s3\n-", max_size=12)}),
        "checkpoint": st.fixed_dictionaries({"every": st.text(alphabet="0123 stepmh", max_size=9)}),
        "limits": st.dictionaries(st.sampled_from(["train", "link"]), st.text(alphabet="019dhms", max_size=6)),
        "scratch": st.fixed_dictionaries({"size": st.text(alphabet="0124GMTiB", max_size=8)}),
        "train": st.fixed_dictionaries({"command": st.lists(st.text(max_size=6), max_size=3)}),
        "tags": st.dictionaries(st.text(max_size=6), st.text(max_size=6), max_size=3),
    }
    near = st.sampled_from(list(parts)).flatmap(lambda name: parts[name].map(lambda value: {name: value}))
    return st.one_of(st.dictionaries(fields, json_values, max_size=3), near).map(lambda changes: good | changes)


@settings(max_examples=400, deadline=None)
@given(_mixed(JOB))
def test_any_job_is_accepted_whole_or_refused_by_field(raw: dict[str, Any]) -> None:
    try:
        job = parse_job(raw)
    except JobRefused as refused:
        assert refused.faults
        for fault in refused.faults:
            assert "\n" not in fault
            assert re.match(r".+: .|and \d+ more", fault), fault
        return
    # What was accepted can be written and read again, and can do no harm where it becomes part of a path.
    assert Job.model_validate_json(job.model_dump_json()) == job
    assert re.fullmatch(r"[a-z0-9-]+", job.name)
    assert job.dataset.s3.endswith("/")
    assert not {"", ".", ".."} & set(job.dataset.s3.removeprefix("s3://")[:-1].split("/"))


def test_an_accepted_plan_comes_back_from_its_file() -> None:
    changes = {"limits": {"train": "1h30m"}, "scratch": {"size": "2400GiB"}, "checkpoint": {"every": "200 steps"}}
    plan = RunPlan.model_validate(
        {
            "run": "20261121t024455z-3f9a2c1b",
            "execution_arn": "arn",
            "started_at": "2026-11-21T02:44:55.123Z",
            "bucket": "b",
            "prefix": "jobs/digits/20261121t024455z-3f9a2c1b/",
            "job": JOB | changes,
            "resume": None,
        }
    )
    assert RunPlan.model_validate_json(plan.model_dump_json()) == plan
    written = json.loads(plan.model_dump_json())["job"]
    assert (written["limits"]["train"], written["scratch"]["size"]) == ("1h30m", "2400GiB")


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[3].glob("examples/*.json")), ids=lambda path: path.name)
def test_every_example_is_accepted(path: Path) -> None:
    parse_job(json.loads(path.read_text()))
