import copy
import re
from typing import Any

import boto3
import pytest
from botocore.validate import ParamValidator

from belay.aws import resuming
from belay.contract.faults import JobRefused
from belay.contract.paths import MANIFEST, RunPrefix
from belay.contract.plan import RunPlan
from lambdas.training import accept
from tools.docgen.command_check import check
from tools.proofs.fakes.fake import Refused
from tools.proofs.fakes.world import ARN, BUCKET, DIGEST, FILES, JOB, JOB_FILE, PREFIX, RUN, World

EARLIEST, EARLIER = RunPrefix(JOB, "20261119t010101z-bbbbbbbb"), RunPrefix(JOB, "20261120t010101z-aaaaaaaa")
LATER = RunPrefix(JOB, "20261122t010101z-cccccccc")


@pytest.fixture(autouse=True)
def data(world: World) -> None:
    world.put("datasets/digits/train.parquet")


def _accept(world: World, **changes: Any) -> dict[str, Any]:
    job = copy.deepcopy(JOB_FILE) | changes
    return world.ask(accept, {"job": job, "execution_arn": ARN, "started_at": "2026-11-21T02:44:55.123Z"})


def _faults(world: World, **changes: Any) -> list[str]:
    with pytest.raises(JobRefused) as refused:
        _accept(world, **changes)
    return refused.value.faults


def _resumed(world: World, **changes: Any) -> str | None:
    """What the run is linked to beside its own prefix and its data."""
    links = _accept(world, **changes)["links"]
    return links[2]["DataRepositoryPath"] if len(links) == 3 else None


def test_a_budget_becomes_the_moment_until_which_money_may_be_spent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELAY_PRICES", '{"instance_hour": 1.0}')
    _accept(world, limits={"budget_usd": 10})
    plan = RunPlan.model_validate_json(world.body(PREFIX.plan))
    assert plan.spend_until is not None and plan.spend_until > plan.started_at
    assert plan.rates is not None and plan.rates.instance_usd_per_hour == 1.0


def test_a_budget_without_prices_is_refused_with_the_other_faults(world: World) -> None:
    faults = _faults(world, limits={"budget_usd": 10}, resume="20260101t000000z-00000000/checkpoint-1")
    assert faults[0].startswith("limits.budget_usd: this deployment does not know its prices")
    assert len(faults) == 2


def test_a_loss_in_dollars_becomes_the_time_that_they_pay_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELAY_PRICES", '{"instance_hour": 1.0}')
    _accept(world, checkpoint={"max_loss": "$5"})
    plan = RunPlan.model_validate_json(world.body(PREFIX.plan))
    assert plan.rates is not None and plan.rates.usd_per_hour is not None
    assert plan.max_loss_seconds == pytest.approx(5 / plan.rates.usd_per_hour * 3600)


def test_a_loss_in_dollars_without_prices_is_refused_with_the_other_faults(world: World) -> None:
    faults = _faults(world, checkpoint={"max_loss": "$5"}, resume="20260101t000000z-00000000/checkpoint-1")
    assert faults[0].startswith("checkpoint.max_loss: this deployment does not know its prices")
    assert len(faults) == 2


# ---- what comes out


def test_an_accepted_job_comes_back_as_what_the_flow_needs(world: World) -> None:
    assert _accept(world) == {
        "run": RUN,
        "scratch": {
            "StorageCapacity": 1200,
            # Saturday, two hours ago: the next such window is most of a week away.
            "LustreConfiguration": {"DeploymentType": "SCRATCH_2", "WeeklyMaintenanceStartTime": "6:00:44"},
            "Tags": [
                {"Key": "Name", "Value": f"{JOB} {RUN}"},
                {"Key": "belay:deployment", "Value": "belay"},
                {"Key": "belay:execution", "Value": DIGEST},
                {"Key": "belay:run", "Value": RUN},
                {"Key": "belay:job", "Value": JOB},
                {"Key": "belay:state", "Value": "empty"},
            ],
            "ClientRequestToken": f"{DIGEST}-scratch",
        },
        "links": [
            {
                "FileSystemPath": "/run",
                "DataRepositoryPath": f"s3://{BUCKET}/jobs/{JOB}/{RUN}/",
                "Tags": [{"Key": "belay:deployment", "Value": "belay"}],
                "ClientRequestToken": f"{DIGEST}-link-run",
            },
            {
                "FileSystemPath": "/data",
                "DataRepositoryPath": f"s3://{BUCKET}/datasets/digits/",
                "Tags": [{"Key": "belay:deployment", "Value": "belay"}],
                "ClientRequestToken": f"{DIGEST}-link-data",
            },
        ],
        "task": {
            "Cpu": 3072,
            "Memory": 12288,
            "ResourceRequirements": [{"Type": "GPU", "Value": "1"}],
            "spot": False,
        },
        "limits": {"start": 86400, "scratch": 1800, "link": 3600, "capacity": 1800, "train": 86400},
        "retry": {"capacity": 0, "interruption": 10, "crash": 0},
    }


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scratch": {"type": "PERSISTENT_2", "throughput": 500, "size": "2400GiB"}},
        {"scratch": {"type": "PERSISTENT_2"}},
        {"resources": {"gpus": 0}, "tags": {"team": "vision", "Name": "mine"}},
        {"resume": f"{EARLIER.run}/checkpoint-40"},
    ],
)
def test_what_is_asked_of_fsx_and_ecs_fits_their_models(world: World, changes: dict[str, Any]) -> None:
    world.export(40, minute=-600, prefix=EARLIER)
    answer = _accept(world, **changes)
    create = answer["scratch"] | {"FileSystemType": "LUSTRE", "SubnetIds": ["subnet-1234abcd"]}
    _check("fsx", "CreateFileSystem", create)
    for link in answer["links"]:
        _check("fsx", "CreateDataRepositoryAssociation", link | {"FileSystemId": "fs-0123456789abcdef0"})
    task = {key[0].lower() + key[1:]: value for key, value in answer["task"].items() if key != "spot"}
    task["resourceRequirements"] = [
        {"type": one["Type"], "value": one["Value"]} for one in task["resourceRequirements"]
    ]
    _check("ecs", "RunTask", {"taskDefinition": "trainer", "overrides": {"containerOverrides": [task]}})
    assert len({tag["Key"] for tag in create["Tags"]}) == len(create["Tags"])


def _check(service: str, operation: str, params: dict[str, Any]) -> None:
    model = boto3.client(service).meta.service_model
    shape = model.operation_model(operation).input_shape
    report = ParamValidator().validate(params, shape)
    assert not report.has_errors(), report.generate_report()
    _check_patterns(shape, params)


def _check_patterns(shape: Any, value: Any) -> None:
    """Which botocore leaves to the service."""
    if shape.type_name == "structure":
        for key, inner in value.items():
            _check_patterns(shape.members[key], inner)
    elif shape.type_name == "list":
        for inner in value:
            _check_patterns(shape.member, inner)
    elif shape.type_name == "string":
        pattern = shape.metadata.get("pattern", "")
        # Unicode classes, which only tags have, are not in Python's language.
        assert r"\p{" in pattern or re.search(pattern, value), value
        assert shape.metadata.get("min", 0) <= len(value) <= shape.metadata.get("max", len(value)), value


def test_persistent_scratch_always_names_its_throughput(world: World) -> None:
    lustre = _accept(world, scratch={"type": "PERSISTENT_2"})["scratch"]["LustreConfiguration"]
    assert lustre["PerUnitStorageThroughput"] == 125


def test_persistent_scratch_has_no_backups_which_would_forbid_its_links(world: World) -> None:
    lustre = _accept(world, scratch={"type": "PERSISTENT_2"})["scratch"]["LustreConfiguration"]
    assert lustre["AutomaticBackupRetentionDays"] == 0


def test_scratch_says_nothing_of_backups_which_it_does_not_have(world: World) -> None:
    assert "AutomaticBackupRetentionDays" not in _accept(world)["scratch"]["LustreConfiguration"]


def test_a_job_without_gpus_asks_for_none(world: World) -> None:
    assert _accept(world, resources={"gpus": 0, "spot": True})["task"] == {
        "Cpu": 3072,
        "Memory": 12288,
        "ResourceRequirements": [],
        "spot": True,
    }


def test_the_plan_lies_in_s3_for_the_trainer_to_read(world: World) -> None:
    world.export(40, minute=-600, prefix=EARLIER)
    _accept(world)
    plan = RunPlan.model_validate_json(world.body(PREFIX.plan))
    assert (plan.run, plan.execution_arn, plan.prefix) == (RUN, ARN, PREFIX.root)
    assert plan.resume is not None
    assert (plan.resume.run, plan.resume.step, plan.resume.mount_path) == (EARLIER.run, 40, "resume/checkpoint-40")


# ---- a retry


def test_a_retry_gives_the_same_answer_whatever_was_saved_meanwhile(world: World) -> None:
    world.export(40, minute=-600, prefix=EARLIER)
    first = _accept(world)
    world.export(50, minute=-590, prefix=EARLIER)
    world.drop("datasets/digits/train.parquet")
    assert _accept(world) == first


# ---- what is refused


def test_every_fault_of_the_job_file_is_named_at_once(world: World) -> None:
    faults = _faults(world, name="../x", resume="latest", extra=1)
    assert len(faults) == 3
    assert world.keys("jobs/") == []


def test_a_refusal_names_every_fault_of_the_world_too(world: World) -> None:
    faults = _faults(world, dataset={"s3": "datasets/none/"}, resume=f"{EARLIER.run}/checkpoint-40")
    assert faults == [
        f"dataset.s3: nothing lies under s3://{BUCKET}/datasets/none/; upload the data first:"
        f" aws s3 sync <folder> s3://{BUCKET}/datasets/none/",
        f"resume: {EARLIER.run}/checkpoint-40 is not there, or not whole;"
        f" no run of '{JOB}' has one; use 'auto' or 'never'",
    ]
    assert world.keys("jobs/") == []


def test_a_prefix_is_not_matched_by_a_longer_one(world: World) -> None:
    world.put("datasets/digits-2/train.parquet")
    world.drop("datasets/digits/train.parquet")
    assert "nothing lies under" in _faults(world)[0]


def test_a_folder_alone_is_no_data(world: World) -> None:
    world.drop("datasets/digits/train.parquet")
    world.put("datasets/digits/", b"")
    assert "nothing lies under" in _faults(world)[0]


@pytest.mark.parametrize("prefix", [f"jobs/{JOB}/{RUN}/", f"jobs/{JOB}/{EARLIER.run}/checkpoints/", "jobs/other/"])
def test_the_runs_own_results_are_no_dataset_however_the_bucket_is_written(world: World, prefix: str) -> None:
    assert "lies among the runs' own results" in _faults(world, dataset={"s3": f"s3://{BUCKET}/{prefix}"})[0]


def test_a_bucket_of_others_has_to_be_in_the_settings(world: World) -> None:
    world.s3.create_bucket(Bucket="lab-data")
    world.s3.put_object(Bucket="lab-data", Key="set/a.csv", Body=b"x")
    assert (
        _accept(world, dataset={"s3": "s3://lab-data/set/"})["links"][1]["DataRepositoryPath"] == "s3://lab-data/set/"
    )
    assert _faults(world, name="two", dataset={"s3": "s3://their-data/set/"}) == [
        "dataset.s3: this deployment may not read bucket 'their-data'; add it to the setting dataset_buckets"
    ]
    assert "no bucket 'shared-data'" in _faults(world, name="two", dataset={"s3": "s3://shared-data/set/"})[0]


# ---- what no instance could take


def test_what_no_instance_can_take_is_refused_with_the_other_faults(world: World) -> None:
    faults = _faults(world, resources={"gpus": 4, "cpus": 8, "memory": "16GiB"}, dataset={"s3": "datasets/none/"})
    assert [fault.split(": ")[0] for fault in faults] == [
        "dataset.s3",
        "resources.gpus",
        "resources.cpus",
        "resources.memory",
    ]
    assert world.keys("jobs/") == []


@pytest.mark.parametrize(("spot", "code"), [(False, "L-DB2E81BA"), (True, "L-3819A6DF")])
def test_an_account_without_room_for_one_instance_is_told_what_to_ask_for(world: World, spot: bool, code: str) -> None:
    world.quotas.vcpus[code] = 0
    [fault] = _faults(world, resources={"spot": spot})
    assert f"'quota {code}' is 0" in fault
    check(fault[fault.index("aws service-quotas") :])
    assert _accept(world, resources={"spot": not spot})["task"]["spot"] is not spot


def test_a_deployment_without_gpus_takes_jobs_without_gpus(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELAY_INSTANCE_TYPE", "m7i.large")
    assert _accept(world, resources={"gpus": 0, "cpus": 1, "memory": "4GiB"})["task"]["Memory"] == 4096
    assert _faults(world, name="two", resources={"gpus": 1, "cpus": 1, "memory": "4GiB"})[0].startswith(
        "resources.gpus: m7i.large has no NVIDIA GPU"
    )


@pytest.mark.parametrize("service", ["ec2", "quotas"])
def test_what_aws_does_not_say_refuses_no_job(world: World, service: str) -> None:
    getattr(world, service).broken = Refused("AccessDeniedException")
    assert _accept(world)["run"] == RUN


def test_what_does_not_fit_is_refused_though_the_quota_cannot_be_asked(world: World) -> None:
    world.quotas.broken = Refused("AccessDeniedException")
    assert [fault.split(": ")[0] for fault in _faults(world, resources={"gpus": 2})] == ["resources.gpus"]


def test_a_run_that_was_accepted_is_not_refused_by_a_retry(world: World) -> None:
    first = _accept(world)
    world.quotas.vcpus["L-DB2E81BA"] = 0
    assert _accept(world) == first


# ---- where it resumes


def test_a_first_run_starts_afresh(world: World) -> None:
    assert _resumed(world) is None


def test_it_resumes_from_the_highest_step_of_the_newest_run(world: World) -> None:
    world.export(90, minute=-3000, prefix=EARLIEST)
    for step in (9, 40, 20):
        world.export(step, minute=-600, prefix=EARLIER)
    assert _resumed(world) == f"s3://{BUCKET}/{EARLIER.checkpoint(40)}"


def test_never_means_never(world: World) -> None:
    world.export(40, minute=-600, prefix=EARLIER)
    assert _resumed(world, resume="never") is None


def test_a_run_without_a_checkpoint_is_passed_over(world: World) -> None:
    world.export(90, minute=-3000, prefix=EARLIEST)
    world.put(EARLIER.plan, b"{}")
    assert _resumed(world) == f"s3://{BUCKET}/{EARLIEST.checkpoint(90)}"


def test_another_jobs_checkpoints_and_a_later_run_of_this_one_do_not_count(world: World) -> None:
    world.export(40, minute=-600, prefix=RunPrefix(f"{JOB}-2", EARLIER.run))
    world.export(50, minute=600, prefix=LATER)
    assert _resumed(world) is None


@pytest.mark.parametrize("damage", ["no manifest", "a file is missing", "a file is cut", "other bytes"])
def test_a_checkpoint_that_is_not_whole_is_passed_over_for_the_one_before(world: World, damage: str) -> None:
    world.export(30, minute=-700, prefix=EARLIER)
    world.export(40, minute=-600, prefix=EARLIER)
    folder = EARLIER.checkpoint(40)
    match damage:
        case "no manifest":
            world.drop(f"{folder}{MANIFEST}")
        case "a file is missing":
            world.drop(f"{folder}optimizer.pt")
        case "a file is cut":
            world.put(f"{folder}optimizer.pt", FILES["optimizer.pt"][:-1])
        case "other bytes":
            world.put(f"{folder}optimizer.pt", FILES["optimizer.pt"][:-1] + b"!")
    assert _resumed(world) == f"s3://{BUCKET}/{EARLIER.checkpoint(30)}"


def test_a_named_checkpoint_is_taken_though_newer_ones_exist(world: World) -> None:
    world.export(30, minute=-3000, prefix=EARLIEST)
    world.export(40, minute=-600, prefix=EARLIER)
    named = f"{EARLIEST.run}/checkpoint-30"
    assert _resumed(world, resume=named) == f"s3://{BUCKET}/{EARLIEST.checkpoint(30)}"


def test_a_named_checkpoint_that_is_not_whole_is_refused_with_those_that_are(world: World) -> None:
    world.export(30, minute=-3000, prefix=EARLIEST)
    world.export(40, minute=-600, prefix=EARLIER)
    world.drop(f"{EARLIER.checkpoint(40)}optimizer.pt")
    assert _faults(world, resume=f"{EARLIER.run}/checkpoint-40") == [
        f"resume: {EARLIER.run}/checkpoint-40 is not there, or not whole;"
        f" the newest whole ones are {EARLIEST.run}/checkpoint-30"
    ]


def test_the_search_for_a_whole_checkpoint_ends_and_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "MOST_TRIED", 2)
    for step in (10, 20, 30):
        world.put(f"{EARLIER.checkpoint(step)}model.safetensors")
    assert _faults(world) == [
        f"resume: none of the newest 2 checkpoints of '{JOB}' is whole;"
        " look at them, then say 'never' or '<run>/checkpoint-<step>'"
    ]
