"""`belay`: the verbs and their words. What a verb does is imported when it is asked for, so that help is quick."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from client.cli.outcome import Exit

_BEFORE, _RUN, _STAYS = "Before a run", "A run", "What stays"

app = typer.Typer(
    name="belay",
    help="Keeps a training run on AWS from ever losing a checkpoint.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
checkpoints = typer.Typer(help="A run's checkpoints in S3.", no_args_is_help=True)
app.add_typer(checkpoints, name="checkpoints", rich_help_panel=_STAYS)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A job file: JSON, in which // comments are allowed.")]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id, its execution's ARN, or a job's name for its newest run.")
]
Step = Annotated[
    int | None, typer.Option("--step", help="The checkpoint of this step; the newest proven one if left out.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document for programs.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Watch it until it is over.")]
Deployment = Annotated[str, typer.Option(envvar="BELAY_DEPLOYMENT", help="The name of the deployment, as in cdk.json.")]


@app.command(rich_help_panel=_BEFORE)
def init(file: Annotated[Path, typer.Argument(metavar="FILE")] = Path("job.json")) -> None:
    """Write a job file with a comment at each part."""
    from client.cli import jobs

    _end(jobs.init(file))


@app.command(rich_help_panel=_BEFORE)
def schema() -> None:
    """Print the JSON Schema of a job file, for editors."""
    from client.cli import jobs

    _end(jobs.print_schema())


@app.command(rich_help_panel=_BEFORE)
def validate(file: File, as_json: AsJson = False) -> None:
    """Say everything that is wrong with a job file, where, and what would mend it."""
    from client.cli import jobs

    _end(jobs.validate(file, as_json=as_json))


@app.command(rich_help_panel=_BEFORE)
def plan(
    file: File,
    parameters: Annotated[
        float | None, typer.Option(help="How many the model has, as in 7e9.", min=1, max=1e15)
    ] = None,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """Say what a job would do and cost, before it does."""
    from client.cli import jobs

    _end(jobs.plan(file, parameters=parameters, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def submit(file: File, follow: Follow = False, deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """Start a run."""
    from client.cli import runs

    _end(runs.submit(file, follow=follow, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def watch(run: RunName, deployment: Deployment = "belay") -> None:
    """Follow a run until its certificate is there. Ctrl-C leaves the run alone."""
    from client.cli import runs

    _end(runs.watch(run, deployment_name=deployment))


@app.command(rich_help_panel=_RUN)
def ps(
    most: Annotated[int, typer.Option(help="How many, the newest first.", min=1)] = 20,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """List runs."""
    from client.cli import runs

    _end(runs.ps(most=most, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def status(run: RunName, deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """Say where a run stands, what it has cost, and what would be lost if everything broke now."""
    from client.cli import runs

    _end(runs.status(run, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def events(run: RunName, deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """Tell what happened in a run, when, and who did it."""
    from client.cli import told

    _end(told.events(run, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def logs(
    run: RunName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run is over.")] = False,
    deployment: Deployment = "belay",
) -> None:
    """Print everything that a run's tasks printed."""
    from client.cli import told

    _end(told.logs(run, follow=follow, deployment_name=deployment))


@app.command(rich_help_panel=_RUN)
def cancel(run: RunName, deployment: Deployment = "belay") -> None:
    """Stop a run: it saves, is exported and proven, and its file system goes."""
    from client.cli import steering

    _end(steering.cancel(run, deployment_name=deployment))


@app.command(rich_help_panel=_RUN)
def kill(
    run: RunName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    deployment: Deployment = "belay",
) -> None:
    """End a run at once, without its last save. What it had saved is exported and proven all the same.

    'belay cancel' saves first, for up to 100 seconds. This does not wait for a save, and may follow a cancel that does.
    """
    from client.cli import steering

    _end(steering.kill(run, sure=lambda question: yes or _says_yes(question), deployment_name=deployment))


@app.command(rich_help_panel=_RUN)
def resume(
    run: RunName,
    step: Annotated[
        int | None, typer.Option(help="From this checkpoint of that run; the newest whole one if left out.")
    ] = None,
    follow: Follow = False,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """Start the job of a run again, from a checkpoint."""
    from client.cli import steering

    _end(steering.resume(run, step=step, follow=follow, deployment_name=deployment, as_json=as_json))


@checkpoints.command("ls")
def checkpoints_ls(run: RunName, deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """List a run's checkpoints, and which are proven in S3."""
    from client.cli import stored

    _end(stored.ls(run, deployment_name=deployment, as_json=as_json))


@checkpoints.command("get")
def checkpoints_get(
    run: RunName,
    step: Step = None,
    into: Annotated[Path | None, typer.Option(help="The folder; checkpoint-STEP here if left out.")] = None,
    deployment: Deployment = "belay",
) -> None:
    """Bring a checkpoint home, each file compared with its checksum."""
    from client.cli import stored

    _end(stored.get(run, step=step, into=into, deployment_name=deployment))


@checkpoints.command("verify")
def checkpoints_verify(
    run: RunName,
    step: Annotated[int | None, typer.Option(help="Only this one; every proven one if left out.")] = None,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """Read every byte in S3 again and compute its checksum anew."""
    from client.cli import stored

    _end(stored.verify(run, step=step, deployment_name=deployment, as_json=as_json))


@checkpoints.command("rm")
def checkpoints_rm(
    run: RunName,
    step: Annotated[int, typer.Option(help="The step whose checkpoint goes. The newest proven one stays.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    deployment: Deployment = "belay",
) -> None:
    """Remove a checkpoint from S3 for good."""
    from client.cli import stored

    _end(stored.rm(run, step=step, sure=lambda question: yes or _says_yes(question), deployment_name=deployment))


@app.command(rich_help_panel=_STAYS)
def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="One run, or several to be put side by side.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file; belay-RUN.html here if left out.")] = None,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """Write one HTML page about a run: verdict, where time and money went, losses, checkpoints."""
    from client.cli import reporting

    _end(reporting.report(runs, out=out, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_STAYS)
def kept(deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """List file systems that were kept because an export could not be proven: why, and what a day costs."""
    from client.cli import upkeep

    _end(upkeep.kept(deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_STAYS)
def sweep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """Tear down every file system whose run is over: export, prove, delete."""
    from client.cli import upkeep

    _end(upkeep.sweep(dry_run=dry_run, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_BEFORE)
def doctor(deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """Look for what would make a run fail: credentials, quotas, roles, zones, deployment."""
    from client.cli import doctor

    _end(doctor.doctor(deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_STAYS)
def drill(
    file: File,
    fault: Annotated[
        str, typer.Option(help="abort or spot; on a local cloud crash, export or capacity as well.")
    ] = "abort",
    deployment: Deployment = "belay",
) -> None:
    """Run a job, make this fault happen to it, and see whether anything that was saved is lost.

    It runs as NAME-drill, from its first step: no run of the job itself goes on from what a drill left.
    """
    from client.cli import drilling

    _end(drilling.drill(file, fault=fault, deployment_name=deployment))


def _says_yes(question: str) -> bool:
    """Ctrl-C is a no, and so is nobody there to answer."""
    try:
        return typer.confirm(question)
    except typer.Abort:
        print()
        return False


def _end(exit: "Exit") -> None:
    raise typer.Exit(int(exit))


def main() -> None:
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        from client.cli.failures import told

        sys.exit(told(error))


if __name__ == "__main__":
    main()
