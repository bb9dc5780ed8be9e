"""What the rules about calls see: one that AWS does not have, a wrong parameter, an error that never comes."""

from collections.abc import Callable

import pytest

from tools.definitions.asl import Json, states
from tools.definitions.integrations import unknown_errors, wrong_calls
from tools.definitions.templates import Assembly


@pytest.mark.parametrize(
    ("plant", "fault"),
    [
        (lambda s: s["Export to S3"].update(Resource="arn:aws:states:::aws-sdk:fsx:createDataTask"), "is not an API"),
        (
            lambda s: s["Export to S3"].update(Resource="arn:aws:states:::aws-sdk:fxs:createDataRepositoryTask"),
            "is not an API",
        ),
        (
            lambda s: s["Export to S3"].update(Resource="arn:aws:states:::aws-sdk:fsx:CreateDataRepositoryTask"),
            "is not an API",
        ),
        (lambda s: s["Export to S3"]["Arguments"].update(Path=["run"]), "Arguments: no parameter Path"),
        (lambda s: s["Export to S3"]["Arguments"].update(Paths="run"), "Arguments.Paths: 'run' is not of type list"),
        (lambda s: s["Export to S3"]["Arguments"].update(Type="EXPORT"), "Arguments.Type: 'EXPORT' is not one of"),
        (lambda s: s["Export to S3"]["Arguments"].pop("FileSystemId"), "Arguments: FileSystemId is required"),
        (
            lambda s: s["Export to S3"]["Arguments"].update(FileSystemId="$found.file_system.id"),
            "Arguments.FileSystemId: '$found.file_system.id' does not match",
        ),
        (
            lambda s: s["Export to S3"]["Arguments"]["Report"].update(Enabled="no"),
            "Report.Enabled: 'no' is not of type boolean",
        ),
        (
            lambda s: s["Export to S3"]["Arguments"].update(Report={"Enabled": True, "Scope": "ALL"}),
            "Report.Scope: 'ALL' is not one of",
        ),
        (
            lambda s: s["Stop training"]["ItemProcessor"]["States"]["Stop training: stop task"]["Arguments"].update(
                task="{% $states.input %}"
            ),
            "Arguments: no parameter task",
        ),
        (lambda s: s["Verify"]["Arguments"].pop("FunctionName"), "Arguments: FunctionName is required"),
    ],
)
def test_a_wrong_call_is_seen(assembly: Assembly, plant: Callable[[dict[str, Json]], object], fault: str) -> None:
    teardown = assembly.machine("Teardown")
    plant(teardown["States"])
    assert any(fault in found for found in wrong_calls(teardown)), wrong_calls(teardown)


def test_wrong_parameters_of_an_optimized_integration_are_seen(assembly: Assembly) -> None:
    train = assembly.machine("Train")
    override = states(train)["Run training"]["Arguments"]["Overrides"]["ContainerOverrides"][0]
    override.update(Cpu="3072", Secrets=[])
    assert wrong_calls(train) == [
        "Run training: Arguments.Overrides.ContainerOverrides[].Cpu: '3072' is not of type integer",
        "Run training: Arguments.Overrides.ContainerOverrides[]: no parameter Secrets",
    ]


@pytest.mark.parametrize(
    ("state", "error"),
    [
        # The model says BadRequest; the SDK of Step Functions appends Exception and puts the service before it.
        ("Delete file system", "FSx.BadRequest"),
        ("Delete file system", "Fsx.BadRequestException"),
        ("Delete file system", "FSx.DataRepositoryTaskExecutingException"),
        ("Delete file system", "FileSystemNotFound"),
        ("Verify", "ExportIncomplete"),
        ("Verify", "States.Oops"),
    ],
)
def test_an_error_that_never_comes_is_seen(assembly: Assembly, state: str, error: str) -> None:
    teardown = assembly.machine("Teardown")
    teardown["States"][state]["Catch"].append({"ErrorEquals": [error], "Next": "Certify"})
    resource = teardown["States"][state]["Resource"]
    assert unknown_errors(teardown) == [f"{state}: {error} is not an error of {resource}"]


def test_the_file_system_is_made_with_the_tags_and_the_token_that_accept_gave(assembly: Assembly) -> None:
    arguments = states(assembly.machine("Train"))["Create scratch file system"]["Arguments"]
    assert arguments["Tags"] == "{% $request.scratch.Tags %}"
    assert arguments["ClientRequestToken"].startswith("{% $request.scratch.ClientRequestToken & ")
    assert (arguments["FileSystemType"], arguments["FileSystemTypeVersion"]) == ("LUSTRE", "2.15")


def test_a_task_gets_capacity_from_a_provider_and_an_instance_of_its_own(assembly: Assembly) -> None:
    arguments = states(assembly.machine("Train"))["Run training"]["Arguments"]
    assert "LaunchType" not in arguments
    assert arguments["CapacityProviderStrategy"]
    assert arguments["PlacementConstraints"] == [{"Type": "distinctInstance"}]
