"""Runs each `belay` and `aws` command of the documents, word for word, on runs that are over and on living ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from awscli.clidriver import create_clidriver

from belay.cli.outcome import Exit
from tools.docgen.documented_commands import on_the_local_cloud
from tools.local_runs.jobs import digits
from tools.local_runs.runs import Deployed, Run

Belay = Callable[..., tuple[int, str]]
# Run in test_the_command_line.py and test_doctor_live.py.
_ELSEWHERE = {
    ("submit", "job.json", "--follow"),
    ("drill", "job.json"),
    ("kill", "RUN"),
    ("doctor", "--live"),
    ("doctor", "--live", "--deployment", "canary"),
}
_OF_LIVING_RUNS = {("submit", "job.json"), ("resume", "RUN"), ("cancel", "RUN")}
# A local cloud has no real quotas, and other tests leave file systems that are kept.
_MAY_HAVE_FINDINGS = {"doctor", "kept", "sweep"}


def run_all(deployed: Deployed, belay: Belay, over: Run, *, step: int) -> None:
    """In a folder with job.json. `over`: a run that is over; `step`: a checkpoint of it that may be removed."""
    _at_a_run_that_is_over(belay, over.run, step)
    Path("job.json").write_text(json.dumps(digits("typed", steps=100_000)))
    assert belay("submit", "job.json")[0] == belay("resume", over.run)[0] == Exit.OK
    resumed, submitted = (deployed.run_of(one["execution_arn"], over.job) for one in _newest(belay))
    # It has nothing left to train, so it is cancelled first.
    _until_it_is_accepted(resumed)
    assert belay("cancel", resumed.run)[0] == Exit.OK
    _until_it_is_accepted(submitted)
    _with_the_aws_cli(deployed, over, stopped=submitted.arn)
    for run in (resumed, submitted):
        assert belay("watch", run.run)[0] == Exit.NOT_TRAINED and run.status == "ABORTED"


def _newest(belay: Belay) -> list[dict[str, Any]]:
    newest: list[dict[str, Any]] = json.loads(belay("ps", "--json")[1])[:2]
    return newest


def _until_it_is_accepted(run: Run) -> None:
    run.until(lambda: f"{run.prefix}run.json" in run.keys, "it is accepted")


def _at_a_run_that_is_over(belay: Belay, run: str, step: int) -> None:
    job = Path("job.json")
    kept = job.read_text()
    job.unlink()
    assert belay("init", "job.json")[0] == Exit.OK and job.exists()
    job.write_text(kept)
    elsewhere = _ELSEWHERE | _OF_LIVING_RUNS | {("init", "job.json")}
    commands = [words for words in on_the_local_cloud("belay") if words not in elsewhere]
    # What removes a checkpoint comes last.
    for words in sorted(commands, key=lambda words: "rm" in words):
        code, output = belay(*({"RUN": run, "STEP": str(step)}.get(word, word) for word in words))
        assert code == Exit.OK or (code == Exit.FINDINGS and words[0] in _MAY_HAVE_FINDINGS), (words, output)


def _with_the_aws_cli(deployed: Deployed, over: Run, *, stopped: str) -> None:
    Path("my-data").mkdir()
    (Path("my-data") / "rows.csv").write_text("one,two\n")
    machines = {one["name"]: one["stateMachineArn"] for one in deployed.states.list_state_machines()["stateMachines"]}
    subnet = deployed.cloud.client("ec2").describe_subnets()["Subnets"][0]["SubnetId"]
    made = deployed.fsx.create_file_system(FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=[subnet])
    values = {
        "BUCKET": deployed.bucket,
        "TEARDOWN_MACHINE_ARN": machines["belay-teardown"],
        "ARN of the run": over.arn,
        "ARN": stopped,
        "ID": made["FileSystem"]["FileSystemId"],
    }
    for words in on_the_local_cloud("aws"):
        filled = list(words)
        for name, value in values.items():
            filled = [value if word == name else word for word in filled]
            filled = [word.replace(f"//{name}/", f"//{value}/").replace(f'"{name}"', f'"{value}"') for word in filled]
        assert create_clidriver().main(filled) == 0, words
    assert deployed.keys("datasets/my-data/") == ["datasets/my-data/rows.csv"]
