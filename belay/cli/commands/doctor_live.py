"""`belay doctor --live`: a small run on the real account, and what it shows of the assumptions that Belay makes."""

import json
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

import belay
from belay.aws.clients import error_code
from belay.cli import output
from belay.cli.commands.runs import snapshots
from belay.cli.connection import Cloud, connect
from belay.cli.outcome import Exit, Refused
from belay.client.estimate import estimate_of
from belay.client.live import cleaning, job
from belay.client.live.judging.assumptions import facts_of
from belay.client.live.questions import ask_before
from belay.client.live.seen import Seen
from belay.client.live.sharing import shareable
from belay.client.live.watching import Watcher
from belay.client.reading import Run
from belay.client.show import Display
from belay.contract.facts import Fact, Facts
from belay.contract.verdict import Durability

_FILE = Path("belay-facts.json")
_MARKS = {"yes": "[green]✓[/]", "no": "[red]✗[/]", "not seen": "[yellow]?[/]"}
_COMPLETE, _INTERRUPTED = "complete", "interrupted"
_LOOK_AGAIN_SECONDS = 0.5
_TWO_ROUNDS_OF_THE_SWEEP = timedelta(minutes=15)
# The limits of the job add up to more; on AWS it takes about half an hour, and a teardown a quarter of one.
_LONGEST_RUN, _LONGEST_TEARDOWN = timedelta(hours=2), timedelta(hours=1)


def live(*, out: Path | None, confirm: Callable[[str], bool], yes: bool, deployment_name: str, as_json: bool) -> Exit:
    if not yes and not sys.stdin.isatty():
        raise Refused("this costs money, and there is no terminal to ask in; say --yes", Exit.USAGE)
    cloud = connect(deployment_name)
    one = _Live(cloud, output.console(error=as_json))
    one.announce()
    if not confirm("Start?"):
        return Exit.INTERRUPTED
    error = one.run_to_the_end()
    facts = one.facts()
    file = out or _FILE
    document = shareable(facts.model_dump(mode="json"), names=[cloud.deployment.bucket])
    file.write_text(json.dumps(document, indent=2) + "\n")
    if as_json:
        output.print_json(document)
    else:
        _show(Facts.model_validate(document), file)
    if error:
        raise error
    if facts.outcome == _INTERRUPTED:
        return Exit.INTERRUPTED
    return Exit.FINDINGS if facts.broken or facts.left else Exit.OK


class _Live:
    """What was begun, so that it can be ended at any moment."""

    def __init__(self, cloud: Cloud, out: Console) -> None:
        self._cloud, self._out = cloud, out
        self._seen = Seen()
        self._began = datetime.now(UTC)
        self._data = f"{job.PREFIX}{secrets.token_hex(6)}/"
        self._expected = job.expected_usd(cloud.deployment)
        self._run: Run | None = None
        self._watcher: Watcher | None = None
        self._display: Display | None = None
        self._spent: float | None = None
        self._outcome = _COMPLETE
        self._left: list[str] = []

    def announce(self) -> None:
        deployed, price = self._cloud.deployment, output.usd(self._expected)
        lines = (
            f"This makes, in the deployment {deployed.name} and for about {job.MINUTES} minutes:",
            "  a file system of 1200 GiB, linked to the bucket twice;",
            f"  a training of a minute on {deployed.instance_type} (two are started if none runs, and each ends a"
            " quarter of an hour after its last task);",
            f"  20 MB under {self._data} and a run of the job {job.NAME}.",
            f"It costs about {price}. Everything is removed at the end, and after Ctrl-C; the run's few small documents"
            " stay.",
        )
        for line in lines:
            self._out.print(line, markup=False, soft_wrap=True)

    def run_to_the_end(self) -> Exception | None:
        """An error that ended it, once everything is cleaned up."""
        failed = None
        try:
            self._ask()
            self._train()
        except KeyboardInterrupt:
            self._outcome = _INTERRUPTED
            self._say("\nCtrl-C: what was begun is ended and removed. Once more, and it is left as it is.")
        except Exception as error:
            self._outcome, failed = f"{type(error).__name__}: {error}", error
        try:
            self._end()
        except KeyboardInterrupt:
            self._outcome = _INTERRUPTED
            self._say("\nLeft as it is.")
            self._left = self._left or self._may_be_left()
        except Exception as error:
            failed = failed or error
            self._left = self._left or self._may_be_left()
        return failed

    def facts(self) -> Facts:
        deployed, name, ended = self._cloud.deployment, None, None
        with suppress(ClientError, BotoCoreError):
            name = self._run.prefix.run if self._run else None
            certificate = self._run.certificate() if self._run else None
            ended = certificate.ended if certificate else None
        return Facts(
            belay_version=deployed.belay_version,
            command_line_version=belay.__version__,
            region=self._seen.region,
            instance_type=deployed.instance_type,
            availability_zone=deployed.availability_zone,
            host=ended.host_of_node.get(0) if ended else None,
            started_at=self._began,
            ended_at=datetime.now(UTC),
            run=name,
            outcome=self._outcome,
            expected_usd=_rounded(self._expected),
            spent_usd=_rounded(self._spent),
            left=self._left,
            facts=facts_of(self._seen),
        )

    def _ask(self) -> None:
        self._say("1 of 3: what AWS answers for nothing")
        ask_before(self._cloud.clients, self._cloud.deployment, self._seen)

    def _train(self) -> None:
        self._say("2 of 3: the run")
        s3, bucket = self._cloud.clients("s3"), self._cloud.deployment.bucket
        for name, body in job.data_files():
            s3.put_object(Bucket=bucket, Key=f"{self._data}{name}", Body=body)
        machine, name = self._cloud.deployment.train_machine_arn, f"doctor-{secrets.token_hex(8)}"
        # Known before it is started: a Ctrl-C at this very moment must find it too.
        self._run = self._cloud.run(f"{machine.replace(':stateMachine:', ':execution:')}:{name}")
        self._cloud.clients("stepfunctions").start_execution(
            stateMachineArn=machine, name=name, input=json.dumps(job.job_of(self._data))
        )
        self._seen.started_at = datetime.now(UTC)
        self._until_described(self._run)
        self._watcher = Watcher(self._cloud.clients, self._cloud.deployment, self._run, self._seen)
        self._follow(self._run, self._watcher, within=_LONGEST_RUN)

    def _until_described(self, run: Run) -> None:
        while not _was_started(run):
            if datetime.now(UTC) - self._began > _LONGEST_TEARDOWN:
                raise Refused("the execution that was started cannot be described")
            time.sleep(_LOOK_AGAIN_SECONDS)
        self._seen.described_at = datetime.now(UTC)

    def _follow(self, run: Run, watcher: Watcher, *, within: timedelta) -> None:
        """Until it is over."""
        began = datetime.now(UTC)
        # The same one after a Ctrl-C: what it has shown is not shown again.
        self._display = self._display or Display(self._out, started_at=run.started_at)
        with self._display as display:
            for snapshot, plan in snapshots(run):
                watcher.look(snapshot)
                now = datetime.now(UTC)
                estimate = estimate_of(snapshot, plan.rates if plan else None, begin=run.started_at, now=now)
                self._spent = estimate.spent_usd
                display.show(snapshot, estimate)
                if now - began > within:
                    raise Refused(f"the run has not ended within {output.duration(within)}")

    def _end(self) -> None:
        """Cancelled if it still runs: the rescue tears it down as after any cancel."""
        self._say("3 of 3: clean up")
        clients, deployed = self._cloud.clients, self._cloud.deployment
        self._run = run = self._run if self._run and _was_started(self._run) else None
        if run is not None:
            if run.describe()["status"] == "RUNNING":
                self._seen.was_stopped = True
                clients("stepfunctions").stop_execution(
                    executionArn=run.execution_arn, error="Cancelled", cause="belay doctor --live was stopped"
                )
            self._watcher = watcher = self._watcher or Watcher(clients, deployed, run, self._seen)
            self._follow(run, watcher, within=_LONGEST_TEARDOWN)
            self._until_gone(run, watcher)
            watcher.at_the_end()
        known = self._watcher.file_system_id if self._watcher else None
        cleaning.clean(clients, deployed, run, self._data, known=known)
        self._left = cleaning.left_of(clients, deployed, run, self._data, known=known)
        self._seen.left = self._left

    def _until_gone(self, run: Run, watcher: Watcher) -> None:
        """A teardown that did not find the file system is followed by the sweep's, unless that is to be kept."""
        certificate, began = run.certificate(), datetime.now(UTC)
        is_kept = certificate is not None and certificate.verdict.durability is Durability.KEPT
        while not is_kept and cleaning.file_systems_of(self._cloud.clients, run, watcher.file_system_id):
            if datetime.now(UTC) - began > _TWO_ROUNDS_OF_THE_SWEEP:
                return
            time.sleep(4 * _LOOK_AGAIN_SECONDS)

    def _may_be_left(self) -> list[str]:
        of_run = (
            [f"the newest run of {job.NAME}, which tears itself down: belay status {job.NAME}"] if self._run else []
        )
        return [*of_run, f"objects under {self._data}: aws s3 rm --recursive s3://BUCKET/{self._data}"]

    def _say(self, text: str) -> None:
        self._out.print(text, markup=False, soft_wrap=True)


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 4)


def _was_started(run: Run) -> bool:
    try:
        run.describe()
    except ClientError as error:
        if error_code(error) != "ExecutionDoesNotExist":
            raise
        return False
    return True


def _show(facts: Facts, file: Path) -> None:
    out = output.console()
    for fact in facts.facts:
        _show_fact(out, fact)
    for one in facts.left:
        out.print("[red]left[/] ", end="")
        out.print(one, markup=False, soft_wrap=True)
    held = [sum(fact.held == held for fact in facts.facts) for held in ("yes", "no", "not seen")]
    output.line(f"{held[0]} held, {held[1]} did not, {held[2]} could not be seen; spent {output.usd(facts.spent_usd)}")
    output.line(f"Wrote {file}. It names no account, bucket, role or person: it can be shared, as in an issue report.")


def _show_fact(out: Console, fact: Fact) -> None:
    out.print(f"{_MARKS[fact.held]} [bold]{fact.name}[/]: ", end="")
    out.print(f"{fact.assumed}: {fact.seen}" if fact.held == "no" else fact.seen, markup=False, soft_wrap=True)
    if fact.held == "no":
        out.print(f"    see {fact.where}", markup=False, soft_wrap=True)
