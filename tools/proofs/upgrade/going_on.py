"""Runs go on beneath a deployment: in the definitions and with the Lambdas that they began with, beside new ones."""

from collections.abc import Callable, Iterator, Mapping

from tools.proofs.model import functions, properties, s3
from tools.proofs.model.aws_state import AwsState
from tools.proofs.model.definition import Block, load
from tools.proofs.model.environment import AwsEnvironment
from tools.proofs.model.execution import Answer, Fault
from tools.proofs.model.flows import Flows
from tools.proofs.model.functions import Code
from tools.proofs.model.interpreter import EndlessLoop
from tools.proofs.model.schedules import MOST_STATES, next_steps
from tools.proofs.model.system import SLOTS, Model, System
from tools.proofs.model.values import EMPTY, Frozen
from tools.proofs.upgrade.recording import Recording

SAVES = 2


def trainer_lines() -> dict[str, str]:
    """Every line that the model's trainer writes."""
    saved = {f"saved {step}": s3.saved(step) for step in range(1, SAVES + 1)}
    return {"started": s3.started(), **saved, "finished": s3.finished(), "failed": s3.failed()}


class Upgraded(Model):
    """After the deployment. Train, and the teardowns that ran, go on as they began; what starts from now on is new."""

    slots = ("third", "fourth")
    first_slots = (SLOTS[0], "third")

    def __init__(self, recording: Recording, code: Code, flows: Flows) -> None:
        began_with = recording.definitions
        definitions = {"Train": began_with["Train"], "Teardown": flows.definitions["Teardown"]}
        super().__init__(definitions, flows.rescued, _AfterTheDeployment(recording, code))
        self._earlier = load("teardown", began_with["Teardown"]).block

    def block_of(self, slot: str) -> Block:
        return self.teardown.block if slot in self.slots else self._earlier

    def start(self, system: System, order: Frozen, *, is_child: bool = False) -> System:
        """As many at once as in the model of one version."""
        if len(system.teardowns) == len(self.slots):
            return system
        return super().start(system, order, is_child=is_child)


class _AfterTheDeployment(AwsEnvironment):
    def __init__(self, recording: Recording, code: Code) -> None:
        super().__init__(exact=True, most_saves=SAVES)
        self._code = code
        # The trainer's image is named by the definition that started it. A line that the model did not have then stays.
        self._lines = {line: recording.lines.get(name, line) for name, line in trainer_lines().items()}

    def code_of(self, execution: str) -> Code:
        return functions.HERE if execution in Upgraded.slots else self._code

    def next_of(self, resource: tuple[str, str], aws: AwsState) -> Iterator[Answer]:
        for answer in super().next_of(resource, aws):
            yield answer._replace(aws=self._as_written(answer.aws))

    def _as_written(self, aws: AwsState) -> AwsState:
        mounts = tuple(one._replace(events=self._said(one.events)) for one in aws.file_systems)
        return aws._replace(log=self._said(aws.log), file_systems=mounts)

    def _said(self, lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._lines.get(line, line) for line in lines))


# ---- ways to go on


class PumpFailed(Exception):
    """The pump cannot serve a run of the version before."""


def _pumped(model: Model, system: System) -> System:
    aws, answer = functions.ask("pump", EMPTY, system.aws)
    if isinstance(answer, Fault):
        raise PumpFailed(answer.cause)
    return system._replace(aws=aws)


def _stopped(model: Model, system: System) -> System | None:
    return next(model.stop_train(system, "ABORTED")).to if system.train else None


def _stopped_unheard(model: Model, system: System) -> System | None:
    stopped = _stopped(model, system)
    return stopped and stopped._replace(event_pending=False)


WAYS: Mapping[str, Callable[[Model, System], System | None]] = {
    "goes on": lambda _model, system: system,
    "goes on, the pump came by": _pumped,
    "is stopped": _stopped,
    "is stopped, its event is lost": _stopped_unheard,
}


def ends_of(model: Model, system: System) -> dict[str, str]:
    """How it ends, for each way in which it may go on from here."""
    begun = {name: _begun(way, model, system) for name, way in WAYS.items()}
    return {name: one if isinstance(one, str) else _end(model, one) for name, one in begun.items() if one}


def _begun(way: Callable[[Model, System], System | None], model: Model, system: System) -> System | str | None:
    try:
        return way(model, system)
    except PumpFailed as error:
        return f"the pump fails: {error}"


def _end(model: Model, system: System) -> str:
    model.environment.faults = False
    for _ in range(MOST_STATES):
        ahead = next_steps(model, system, stops=False)
        if not ahead:
            return facts_of(system)
        system = ahead[0].to
    raise EndlessLoop(facts_of(system))


def facts_of(system: System) -> str:
    """What a person would call the same end, whatever the sentences say."""
    aws = system.aws
    if aws.train is None or (wrong := aws.broken or properties.at_any_time(aws) or properties.at_the_end(system)):
        return f"BROKEN: {'Train never ends' if aws.train is None else wrong}"
    certificate = properties.certificate_of(aws)
    said = "no certificate"
    if certificate:
        verdict = certificate.verdict
        said = (
            f"{verdict.training}, {verdict.durability} to {verdict.last_verified_step}, {certificate.file_system.fate}"
        )
    whole = sum(s3.is_whole(aws.s3, step) for step in range(1, aws.saved + 1))
    left = f"{len(aws.file_systems)} file systems, {whole} of {aws.saved} checkpoints in S3"
    return f"{aws.train.status} {aws.train.error or ''}: {said}; {left}"
