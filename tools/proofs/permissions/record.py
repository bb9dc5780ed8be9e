"""Records the AWS calls of runs on a local cloud that together end in every way, as the golden file of calls.

`python -m tools.proofs.permissions.record` takes minutes. Review what changed before you commit it.
"""

import tempfile
from pathlib import Path

from belay.contract.tags import JOB
from tools.console import without_options
from tools.definitions.synth import synth
from tools.definitions.templates import Assembly
from tools.local_cloud.cloud import LocalCloud
from tools.local_cloud.faults import ExportFails, LinkFails, NoCapacity, SpotInterruption
from tools.local_runs.deploy import deployed_on, upload_digits
from tools.local_runs.jobs import TIME_SCALE, digits
from tools.local_runs.runs import Deployed
from tools.proofs.permissions import recorded_calls


def main() -> None:
    without_options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        assembly = Assembly(synth(Path(folder) / "synth"))
        cloud = LocalCloud(state_dir=Path(folder), time_scale=TIME_SCALE)
        with deployed_on(cloud, assembly.directory) as deployed:
            print("deployed; running ...")
            upload_digits(deployed, Path(folder) / "data")
            _run_all(deployed)
            calls = recorded_calls.calls_of(cloud, assembly)
    recorded_calls.GOLDEN.write_text("\n".join(calls) + "\n")
    print(f"written: {recorded_calls.GOLDEN.name}, {len(calls)} calls")


def _run_all(deployed: Deployed) -> None:
    where = [{JOB: name} for name in ("kept", "no-capacity", "spot", "linked-again")]
    spot = {"gpus": 0, "cpus": 1, "memory": "2GiB", "spot": True}
    finishing = [
        deployed.start(digits("success", steps=30)),
        deployed.start(digits("kept", steps=30), faults=(ExportFails(where=where[0]),)),
        deployed.start(
            digits("no-capacity", limits={"capacity": "10m"}, retry={"capacity": 0}),
            faults=(NoCapacity(where=where[1]),),
        ),
        deployed.start(digits("spot", resources=spot), faults=(SpotInterruption(at_step=10, where=where[2]),)),
        deployed.start(
            digits("linked-again", steps=30), faults=(LinkFails(lifecycle="FAILED", times=1, where=where[3]),)
        ),
    ]
    stopped = deployed.start(digits("stopped", steps=100_000))
    stopped.until(lambda: stopped.living_tasks != [], "training runs")
    deployed.states.stop_execution(executionArn=stopped.arn)
    print(f"stopped: {stopped.until_certified().certificate.sentence}")
    for run in finishing:
        print(f"{run.job['name']}: {run.finish().certificate.sentence}")
    resumed = deployed.start(digits("success", steps=40)).finish()
    print(f"resumed: {resumed.certificate.sentence}")
    deployed.cloud.client("lambda").invoke(FunctionName=f"{deployed.deployment.name}-reread")


if __name__ == "__main__":
    main()
