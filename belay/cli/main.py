"""`belay`: its verbs and options. The code of a verb is imported only when it runs, so that help is quick."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from belay import __version__

if TYPE_CHECKING:
    from belay.cli.outcome import Exit

_BEFORE, _RUN, _STAYS = "Before a run", "A run", "What stays"

app = typer.Typer(
    name="belay",
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


def _version(asked: bool) -> None:
    if asked:
        print(f"belay {__version__}")
        raise typer.Exit


@app.command(rich_help_panel=_BEFORE)
def init(file: Annotated[Path, typer.Argument(metavar="FILE")] = Path("job.json")) -> None:
    """Write a job file with a comment at each part."""
    from belay.cli.commands import jobs

    _end(jobs.init(file))


@app.command(rich_help_panel=_BEFORE)
def schema() -> None:
    """Print the JSON Schema of a job file, for editors."""
    from belay.cli.commands import jobs

    _end(jobs.print_schema())


@app.command(rich_help_panel=_BEFORE)
def validate(file: File, as_json: AsJson = False) -> None:
    """Say everything that is wrong with a job file, where, and what would fix it."""
    from belay.cli.commands import jobs

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
    from belay.cli.commands import jobs

    _end(jobs.plan(file, parameters=parameters, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def submit(file: File, follow: Follow = False, deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """Start a run."""
    from belay.cli.commands import runs

    _end(runs.submit(file, follow=follow, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def watch(run: RunName, deployment: Deployment = "belay") -> None:
    """Follow a run until its certificate is there. Ctrl-C does not stop the run."""
    from belay.cli.commands import runs

    _end(runs.watch(run, deployment_name=deployment))


@app.command(rich_help_panel=_RUN)
def ps(
    most: Annotated[int, typer.Option(help="How many, the newest first.", min=1)] = 20,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """List runs."""
    from belay.cli.commands import runs

    _end(runs.ps(most=most, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def status(run: RunName, deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """Say where a run stands, what it has cost, and what would be lost if everything broke now."""
    from belay.cli.commands import runs

    _end(runs.status(run, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def events(run: RunName, deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """List what happened in a run, when, and who did it."""
    from belay.cli.commands import events

    _end(events.events(run, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_RUN)
def logs(
    run: RunName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run is over.")] = False,
    deployment: Deployment = "belay",
) -> None:
    """Print everything that a run's tasks printed."""
    from belay.cli.commands import events

    _end(events.logs(run, follow=follow, deployment_name=deployment))


@app.command(rich_help_panel=_RUN)
def cancel(run: RunName, deployment: Deployment = "belay") -> None:
    """Stop a run: it saves, is exported and proven, and its file system goes."""
    from belay.cli.commands import control

    _end(control.cancel(run, deployment_name=deployment))


@app.command(rich_help_panel=_RUN)
def kill(
    run: RunName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    deployment: Deployment = "belay",
) -> None:
    """End a run at once, without its last save. What it had saved is still exported and proven.

    'belay cancel' saves first, for up to 100 seconds. This does not wait for a save, and may follow a cancel that does.
    """
    from belay.cli.commands import control

    _end(control.kill(run, confirm=_confirm(yes), deployment_name=deployment))


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
    from belay.cli.commands import control

    _end(control.resume(run, step=step, follow=follow, deployment_name=deployment, as_json=as_json))


@checkpoints.command("ls")
def checkpoints_ls(run: RunName, deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """List a run's checkpoints, and which are proven in S3."""
    from belay.cli.commands import checkpoints

    _end(checkpoints.ls(run, deployment_name=deployment, as_json=as_json))


@checkpoints.command("get")
def checkpoints_get(
    run: RunName,
    step: Step = None,
    into: Annotated[Path | None, typer.Option(help="The folder; checkpoint-STEP here if left out.")] = None,
    deployment: Deployment = "belay",
) -> None:
    """Download a checkpoint, each file compared with its checksum."""
    from belay.cli.commands import checkpoints

    _end(checkpoints.get(run, step=step, into=into, deployment_name=deployment))


@checkpoints.command("verify")
def checkpoints_verify(
    run: RunName,
    step: Annotated[int | None, typer.Option(help="Only this one; every proven one if left out.")] = None,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """Read every byte in S3 again and compute its checksum anew."""
    from belay.cli.commands import checkpoints

    _end(checkpoints.verify(run, step=step, deployment_name=deployment, as_json=as_json))


@checkpoints.command("rm")
def checkpoints_rm(
    run: RunName,
    step: Annotated[int, typer.Option(help="The step whose checkpoint goes. The newest proven one stays.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    deployment: Deployment = "belay",
) -> None:
    """Remove a checkpoint from S3 for good."""
    from belay.cli.commands import checkpoints

    _end(checkpoints.rm(run, step=step, confirm=_confirm(yes), deployment_name=deployment))


@app.command(rich_help_panel=_STAYS)
def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="One run, or several to be put side by side.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file; belay-RUN.html here if left out.")] = None,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """Write one HTML page about a run: verdict, where time and money went, losses, checkpoints."""
    from belay.cli.commands import report

    _end(report.report(runs, out=out, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_STAYS)
def kept(deployment: Deployment = "belay", as_json: AsJson = False) -> None:
    """List file systems that were kept because an export could not be proven: why, and what a day costs."""
    from belay.cli.commands import kept

    _end(kept.kept(deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_STAYS)
def sweep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """Tear down every file system whose run is over: export, prove, delete."""
    from belay.cli.commands import kept

    _end(kept.sweep(dry_run=dry_run, deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_BEFORE)
def doctor(
    live: Annotated[
        bool,
        typer.Option("--live", help="Run a small job, and see which assumptions about AWS hold. It costs money."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --live: do not ask.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="With --live: the file; belay-facts.json here if left out.")
    ] = None,
    deployment: Deployment = "belay",
    as_json: AsJson = False,
) -> None:
    """Check what would make a run fail: credentials, quotas, roles, zones, deployment.

    With --live it runs a small job instead, says of each thing that Belay assumes of AWS whether it held, writes that
    into a file that can be shared, and removes what it made. It says first how long that takes and what it costs, and
    asks. Ctrl-C ends the run and cleans up.
    """
    from belay.cli.commands import doctor, doctor_live

    if live:
        _end(doctor_live.live(out=out, confirm=_confirm(yes), yes=yes, deployment_name=deployment, as_json=as_json))
    if yes or out:
        raise typer.BadParameter("--yes and --out go with --live")
    _end(doctor.doctor(deployment_name=deployment, as_json=as_json))


@app.command(rich_help_panel=_STAYS)
def drill(
    file: File,
    fault: Annotated[
        str, typer.Option(help="abort or spot; on a local cloud crash, export or capacity as well.")
    ] = "abort",
    deployment: Deployment = "belay",
) -> None:
    """Run a job, inject this fault, and check that nothing that was saved is lost.

    It runs as NAME-drill, from its first step: no run of the job itself resumes from a drill.
    """
    from belay.cli.commands import drill

    _end(drill.drill(file, fault=fault, deployment_name=deployment))


@app.callback()
def belay(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_version, help="Print the version of this command line."),
    ] = False,
) -> None:
    """Keeps a training run on AWS from ever losing a checkpoint."""


def _confirm(yes: bool) -> Callable[[str], bool]:
    """Ctrl-C is a no, and so is a closed input."""

    def confirm(question: str) -> bool:
        try:
            return yes or typer.confirm(question)
        except typer.Abort:
            print()
            return False

    return confirm


def _end(exit: "Exit") -> None:
    raise typer.Exit(int(exit))


def main() -> None:
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        from belay.cli.failures import report

        sys.exit(report(error))


if __name__ == "__main__":
    main()
