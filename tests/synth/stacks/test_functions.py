"""The Lambdas: small, alike, outside the VPC; and what they import is what was tested here."""

import importlib
import importlib.metadata
import re
from pathlib import Path

import pytest

from belay.aws import backend, ecs
from tools.definitions.asl import tasks
from tools.definitions.handlers import function_name, handler_module
from tools.definitions.imports import modules_in, reachable
from tools.definitions.templates import Assembly, Resource
from tools.repository import REPOSITORY

AARCH64 = 183


@pytest.fixture
def functions(assembly: Assembly) -> dict[str, Resource]:
    """By the name of the module with the handler."""
    found = {str(f.properties["Handler"]).split(".")[2]: f for f in assembly.of_type("AWS::Lambda::Function")}
    assert found
    return found


@pytest.fixture
def layer(assembly: Assembly) -> Path:
    [layer] = assembly.of_type("AWS::Lambda::LayerVersion")
    return assembly.asset(layer.properties["Content"]["S3Key"])


def test_there_is_a_function_for_every_handler_and_a_handler_for_every_function(functions: dict[str, Resource]) -> None:
    handlers = {path.stem for path in (REPOSITORY / "lambdas").glob("*/*.py") if "def handler(" in path.read_text()}
    assert set(functions) == handlers


def test_functions_are_arm64_outside_the_vpc_and_traced(functions: dict[str, Resource]) -> None:
    for function in functions.values():
        assert function.properties["Architectures"] == ["arm64"]
        assert function.properties["Runtime"] == "python3.14"
        assert function.properties["TracingConfig"] == {"Mode": "Active"}
        assert "VpcConfig" not in function.properties


def test_every_function_has_a_role_and_a_log_of_its_own(functions: dict[str, Resource]) -> None:
    for part in ("Role", "LoggingConfig"):
        assert len({str(function.properties[part]) for function in functions.values()}) == len(functions)


def test_every_function_gets_the_settings_that_it_reads_and_no_others(functions: dict[str, Resource]) -> None:
    for name, function in functions.items():
        module = handler_module(name)
        read = [module.Settings] if hasattr(module, "Settings") else []
        # What asks about training tasks reads the back end's settings.
        read += [ecs.Settings] if getattr(module, "backend", None) is backend else []
        fields = {field: info for settings in read for field, info in settings.model_fields.items()}
        given = {key for key in function.properties["Environment"]["Variables"] if key.startswith("BELAY_")}
        needed = {f"BELAY_{field.upper()}" for field, info in fields.items() if info.is_required()}
        assert needed <= given <= {f"BELAY_{field.upper()}" for field in fields}, name


def test_every_function_says_whose_logs_and_metrics_these_are(functions: dict[str, Resource]) -> None:
    for function in functions.values():
        variables = function.properties["Environment"]["Variables"]
        assert (variables["POWERTOOLS_SERVICE_NAME"], variables["POWERTOOLS_METRICS_NAMESPACE"]) == ("belay", "Belay")


def test_the_archive_holds_our_own_code_and_nothing_else(assembly: Assembly, functions: dict[str, Resource]) -> None:
    archives = {function.properties["Code"]["S3Key"] for function in functions.values()}
    assert len(archives) == 1
    archive = assembly.asset(archives.pop())
    assert {path.name for path in archive.iterdir()} == {"belay", "lambdas"}
    assert [path for path in archive.rglob("*") if path.name == "__pycache__" or path.suffix in (".so", ".pyc")] == []


def test_every_file_of_the_archive_is_used(assembly: Assembly, functions: dict[str, Resource]) -> None:
    archive = assembly.asset(next(iter(functions.values())).properties["Code"]["S3Key"])
    modules = modules_in(archive)
    handlers = {str(function.properties["Handler"]).removesuffix(".handler") for function in functions.values()}
    assert modules.keys() - reachable(modules, handlers) == set(), "in the archive, and no handler imports it"
    assert "lambdas.planted" not in reachable({**modules, "lambdas.planted": modules["lambdas"]}, handlers)


def test_every_binary_of_the_layer_is_for_arm64(layer: Path) -> None:
    machines = {path.name: _elf_machine(path) for path in layer.rglob("*.so*")}
    assert machines
    assert {name: machine for name, machine in machines.items() if machine != AARCH64} == {}


def test_the_layer_is_where_lambda_looks(layer: Path) -> None:
    for package in ("aws_lambda_powertools", "pydantic", "pydantic_core"):
        assert (layer / "python" / package).is_dir()


def test_the_layer_holds_what_was_pinned(layer: Path) -> None:
    pins = dict(
        re.findall(r"^([\w-]+)(?:\[.*\])?==(\S+)$", (REPOSITORY / "requirements/lambdas.txt").read_text(), re.M)
    )
    held = _versions(layer / "python")
    pinned = {name.lower(): version for name, version in pins.items()}
    assert "aws-lambda-powertools" in pinned
    assert {name: held.get(name) for name in pinned if name != "boto3"} == {
        n: v for n, v in pinned.items() if n != "boto3"
    }


def test_here_the_functions_are_tested_with_the_versions_of_the_layer(layer: Path) -> None:
    """The local cloud has no layers: it runs them with what is installed here."""
    held = _versions(layer / "python")
    assert {"pydantic", "pydantic-core", "aws-lambda-powertools"} <= set(held)
    assert {name: importlib.metadata.version(name) for name in held} == held


def test_the_sdk_comes_with_the_runtime(layer: Path) -> None:
    assert not (layer / "python" / "boto3").exists()
    assert not (layer / "python" / "botocore").exists()


def test_what_takes_longer_than_a_minute_is_given_longer(assembly: Assembly, functions: dict[str, Resource]) -> None:
    """And no state gives up on a function before the function's own time is over."""
    for name in ("verify", "certify", "pump"):
        assert functions[name].properties["Timeout"] >= 300
        assert functions[name].properties["MemorySize"] >= 512
    for machine in ("Train", "Teardown"):
        for state in tasks(assembly.machine(machine)).values():
            if state["Resource"].endswith("lambda:invoke") and "TimeoutSeconds" in state:
                [function] = [
                    f
                    for f in functions.values()
                    if function_name(state["Arguments"]["FunctionName"]) == f.properties["FunctionName"]
                ]
                assert state["TimeoutSeconds"] > function.properties["Timeout"]


def _elf_machine(path: Path) -> int:
    header = path.read_bytes()[:20]
    assert header[:4] == b"\x7fELF", path
    return int.from_bytes(header[18:20], "little")


def _versions(folder: Path) -> dict[str, str]:
    return {
        distribution.metadata["Name"].lower().replace("_", "-"): distribution.version
        for distribution in importlib.metadata.distributions(path=[str(folder)])
    }
