"""What needs no cloud: help, job files, exit codes, the page about all of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from belay import __version__
from belay.cli import connection, failures
from belay.cli.main import app
from belay.cli.outcome import MEANINGS, Exit, Refused, of_verdict
from belay.client.jobfile import Unreadable
from belay.contract.verdict import Durability, Training, Verdict
from tools.docgen import cli_page

GOOD = Path(__file__).parents[3] / "examples" / "digits.json"


def belay(*words: str) -> tuple[int, str]:
    answer = CliRunner().invoke(app, list(words))
    return answer.exit_code, answer.output


def test_help_imports_nothing_that_takes_long() -> None:
    slow = {"boto3", "botocore", "pydantic", "rich.live"}
    script = f"import sys, belay.cli.main; print(sorted({slow} & set(sys.modules)))"
    imported = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert imported.strip() == "[]"


def test_its_version_is_the_packages_and_needs_no_cloud() -> None:
    assert belay("--version") == (Exit.OK, f"belay {__version__}\n")


def test_the_page_about_the_commands_is_made_from_them() -> None:
    assert cli_page.PAGE.read_text() == cli_page.text(), "run 'make reference'"


def test_a_job_file_from_init_is_one_that_validate_accepts(tmp_path: Path) -> None:
    file = str(tmp_path / "job.json")
    assert belay("init", file)[0] == Exit.OK
    assert belay("validate", file)[0] == Exit.OK


def test_init_writes_over_nothing(tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text("mine")
    answer = CliRunner().invoke(app, ["init", str(file)])
    assert isinstance(answer.exception, Refused)
    assert file.read_text() == "mine"


def test_validate_says_each_fault_with_its_place_and_ends_in_its_own_code(tmp_path: Path) -> None:
    job = json.loads(GOOD.read_text())
    job["scratch"] = {"size": "1000GiB"}
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job, indent=2))

    code, said = belay("validate", str(file))
    assert code == Exit.JOB_REFUSED
    assert re.search(r"job\.json:\d+:\d+  scratch\.size: is not a size", said)
    code, said = belay("validate", str(file), "--json")
    [fault] = json.loads(said)["faults"]
    assert file.read_text().splitlines()[fault["line"] - 1].strip().startswith('"size"')


def test_the_schema_is_json() -> None:
    code, said = belay("schema")
    assert code == Exit.OK and "properties" in json.loads(said)


@pytest.mark.parametrize(
    ("training", "durability", "exit"),
    [
        (Training.COMPLETED, Durability.VERIFIED, Exit.OK),
        (Training.CRASHED, Durability.VERIFIED, Exit.NOT_TRAINED),
        (Training.STOPPED, Durability.NOTHING_SAVED, Exit.NOT_TRAINED),
        (Training.COMPLETED, Durability.KEPT, Exit.NOT_SAFE),
        (Training.CRASHED, Durability.LOST, Exit.NOT_SAFE),
    ],
)
def test_what_is_not_safe_outweighs_what_is_not_trained(training: Training, durability: Durability, exit: Exit) -> None:
    verdict = Verdict(training=training, durability=durability, reason="r", last_verified_step=None, where="s3://b/")
    assert of_verdict(verdict) is exit


def test_every_exit_code_is_documented_and_distinct() -> None:
    assert MEANINGS.keys() == set(Exit)


@pytest.mark.parametrize(
    ("error", "exit"),
    [
        (Unreadable("job.json: no such file"), Exit.JOB_REFUSED),
        (Refused("no", Exit.NOT_FOUND), Exit.NOT_FOUND),
        (OSError("disk full"), Exit.FAILED),
    ],
)
def test_what_was_foreseen_is_one_sentence(error: Exception, exit: Exit, capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(error) == exit
    assert capsys.readouterr().err == f"belay: {error}\n"


def test_a_file_that_is_refused_is_named_without_pythons_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(FileNotFoundError(2, "No such file or directory", "reports/a.html")) == Exit.FAILED
    assert capsys.readouterr().err == "belay: reports/a.html: No such file or directory\n"


def test_the_region_is_read_where_the_aws_command_line_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert connection.clients()("sts").meta.region_name == "eu-west-1"
    monkeypatch.delenv("AWS_REGION")
    assert connection.clients()("sts").meta.region_name == "us-east-1"
