"""Runs on a local cloud, several at once, that end in every way there is; what they call becomes the golden file.

`python -m tests.permissions.record` takes minutes. Review what changed before you commit it.
"""

import tempfile
from pathlib import Path

from contract.tags import JOB
from examples.data import digits as data
from local_cloud.cloud import LocalCloud
from local_cloud.faults import ExportFails, NoCapacity, SpotInterruption
from tests.permissions import recorded
from tests.support.synth import synth
from tests.support.templates import Assembly
from tests.workflow.conftest import TIME_SCALE, free_port
from tests.workflow.jobs import DATASET, digits
from tests.workflow.runs import Deployed


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCloud(state_dir=Path(folder), port=free_port(), time_scale=TIME_SCALE) as cloud,
    ):
        cloud.bootstrap()
        assembly = Assembly(synth(Path(folder) / "synth"))
        cloud.deploy(assembly.directory)
        print("deployed; running ...")
        deployed = Deployed(cloud)
        _upload(deployed, Path(folder) / "data")
        _run_all(deployed)
        calls = recorded.calls_of(cloud, assembly)
    recorded.GOLDEN.write_text("\n".join(calls) + "\n")
    print(f"written: {recorded.GOLDEN.name}, {len(calls)} calls")


def _upload(deployed: Deployed, folder: Path) -> None:
    folder.mkdir()
    data.write(folder, of_each=8)
    for file in folder.rglob("*"):
        if file.is_file():
            key = f"{DATASET}{file.relative_to(folder)}"
            deployed.s3.put_object(Bucket=deployed.bucket, Key=key, Body=file.read_bytes())


def _run_all(deployed: Deployed) -> None:
    where = [{JOB: name} for name in ("kept", "no-capacity", "spot")]
    spot = {"gpus": 0, "cpus": 1, "memory": "2GiB", "spot": True}
    finishing = [
        deployed.start(digits("success", steps=30)),
        deployed.start(digits("kept", steps=30), faults=(ExportFails(where=where[0]),)),
        deployed.start(
            digits("no-capacity", limits={"capacity": "10m"}, retry={"capacity": 0}),
            faults=(NoCapacity(where=where[1]),),
        ),
        deployed.start(digits("spot", resources=spot), faults=(SpotInterruption(at_step=10, where=where[2]),)),
    ]
    stopped = deployed.start(digits("stopped", steps=100_000))
    stopped.until(lambda: stopped.living_tasks != [], "training runs")
    deployed.states.stop_execution(executionArn=stopped.arn)
    print(f"stopped: {stopped.until_certified().certificate.sentence}")
    for run in finishing:
        print(f"{run.job['name']}: {run.finish().certificate.sentence}")
    resumed = deployed.start(digits("success", steps=40)).finish()
    print(f"resumed: {resumed.certificate.sentence}")


if __name__ == "__main__":
    main()
