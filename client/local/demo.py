"""`make demo`: a whole run on a local cloud, from the job file to a checkpoint that is used."""

from rich.console import Console

from client import checkpoints
from client.local.house import JOB_FILE, House, house
from client.local.runs import certified, watch
from client.local.telling import Unexpected, doing, heading, run_command
from client.progress import bytes_text
from client.reading import Run
from contract.paths import checkpoint_folder
from contract.verdict import Durability, Training
from local_cloud.cloud import REPOSITORY

STATE = REPOSITORY / "build" / "demo"


def demo(console: Console) -> None:
    heading(console, "Belay on this machine: no AWS account, nothing to pay")
    with house(console, state_dir=STATE) as here:
        heading(console, f"Run {JOB_FILE.relative_to(REPOSITORY)}")
        run = here.start()
        watch(console, run)
        verdict = certified(console, run).verdict
        if (verdict.training, verdict.durability) != (Training.COMPLETED, Durability.VERIFIED):
            raise Unexpected(verdict.sentence)
        heading(console, "Use it: from_pretrained on what lies in S3")
        assert verdict.last_verified_step is not None
        _use(console, here, run, verdict.last_verified_step)
    console.print("\nThe local cloud is shut down. Next: [bold]make drill[/] kills the training half-way;")
    console.print("[bold]make cloud[/] keeps a local cloud up for the AWS command line.")


def _use(console: Console, here: House, run: Run, step: int) -> None:
    folder = STATE / checkpoint_folder(step)
    with doing(console, f"Download {folder.name} from S3, each file against its checksum"):
        bucket = here.deployment.bucket
        manifest = checkpoints.get(here.clients("s3"), bucket=bucket, prefix=run.prefix, step=step, into=folder)
    with doing(console, f"from_pretrained({str(folder.relative_to(REPOSITORY))!r})"):
        # Only now: torch and transformers take seconds to import, in which there would be nothing to see.
        from client.local import tryout

        readings = tryout.read(folder, here.held_out)
    tryout.show(console, readings)
    console.print(
        f"{len(manifest.files)} files, {bytes_text(manifest.total_bytes)}. Of {len(readings)} digits that training"
        f" never saw, [bold]{tryout.accuracy(readings):.1%}[/] are read right."
    )


if __name__ == "__main__":
    run_command(demo)
