"""`make demo`: a whole run on a local cloud, from the job file to a checkpoint that is used."""

from rich.console import Console

from belay.client import checkpoints
from belay.client.progress import bytes_text
from belay.client.reading import Run
from belay.contract.paths import checkpoint_folder
from belay.contract.verdict import Durability, Training
from tools.console import Unexpected, doing, heading, run_command
from tools.demo.example import JOB_FILE, Example, deployed_example
from tools.demo.show import show_certificate, watch
from tools.repository import REPOSITORY

STATE = REPOSITORY / "build" / "demo"


def demo(console: Console) -> None:
    heading(console, "Belay on this machine: no AWS account, nothing to pay")
    with deployed_example(console, state_dir=STATE) as example:
        heading(console, f"Run {JOB_FILE.relative_to(REPOSITORY)}")
        run = example.start()
        watch(console, run)
        verdict = show_certificate(console, run).verdict
        if (verdict.training, verdict.durability) != (Training.COMPLETED, Durability.VERIFIED):
            raise Unexpected(verdict.sentence)
        heading(console, "Use it: from_pretrained on what lies in S3")
        assert verdict.last_verified_step is not None
        _use(console, example, run, verdict.last_verified_step)
    console.print("\nThe local cloud is shut down. Next: [bold]make drill[/] kills the training half-way;")
    console.print("[bold]make cloud[/] keeps a local cloud up for the AWS command line.")


def _use(console: Console, example: Example, run: Run, step: int) -> None:
    folder = STATE / checkpoint_folder(step)
    with doing(console, f"Download {folder.name} from S3, each file against its checksum"):
        deployed = example.deployed
        manifest = checkpoints.get(deployed.s3, bucket=deployed.bucket, prefix=run.prefix, step=step, into=folder)
    with doing(console, f"from_pretrained({str(folder.relative_to(REPOSITORY))!r})"):
        # Only now: torch and transformers take seconds to import, in which there would be nothing to see.
        from tools.demo import classify

        predictions = classify.predict(folder, example.test_images)
    classify.show(console, predictions)
    console.print(
        f"{len(manifest.files)} files, {bytes_text(manifest.total_bytes)}. Of {len(predictions)} digits that training"
        f" never saw, [bold]{classify.accuracy(predictions):.1%}[/] are read right."
    )


if __name__ == "__main__":
    run_command(demo, description=__doc__)
