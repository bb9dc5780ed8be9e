"""Can the runs of a recorded version go on beneath this one? Each part gives what stands against it, in words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from belay.contract.messages import MESSAGES_VERSION
from tools.definitions.asl import tasks
from tools.definitions.handlers import function_name
from tools.definitions.templates import Assembly
from tools.proofs.model.explore import Explorer
from tools.proofs.model.flows import Flows, flows_of
from tools.proofs.permissions.recorded_calls import questions
from tools.proofs.permissions.simulator import ALLOWED, ask, policies_of
from tools.proofs.upgrade import documents
from tools.proofs.upgrade.going_on import Upgraded, ends_of
from tools.proofs.upgrade.lambdas import earlier_lambdas
from tools.proofs.upgrade.recording import Recording

# Pump, sweep and interruption are always this version's.
_REPLACED = ("sweep-role", "pump-role", "interrupt-role", "deploy_check-role")
# Of a function: not the one that this deployment makes.
_VERSION = re.compile(r"(:function:[^:]+):\d+$")


@dataclass(frozen=True)
class Part:
    """`wrong`: one line for each thing that does not hold."""

    name: str
    count: int
    unit: str
    wrong: list[str]


class ThisVersion(NamedTuple):
    assembly: Assembly
    flows: Flows

    @classmethod
    def of(cls, assembly: Assembly) -> "ThisVersion":
        return cls(assembly, flows_of(assembly))


def may_differ(recording: Recording) -> bool:
    """Another number of the messages: a deployment over living runs is refused, and nothing needs to go on."""
    return recording.messages_version != MESSAGES_VERSION


def check(recording: Recording, deployed: ThisVersion, *, faults: int = 1) -> Iterator[Part]:
    code = earlier_lambdas(recording.code)
    upgraded = Upgraded(recording, code, deployed.flows)
    yield _runs(recording, upgraded)
    if faults:
        yield _schedules(recording, upgraded, faults=faults)
    yield _functions(recording, deployed.assembly)
    yield _calls(recording, deployed.assembly)
    yield _documents(recording)


def _runs(recording: Recording, model: Upgraded) -> Part:
    """From where it was at the deployment, each run comes to the end that it would have come to without one."""
    wrong, count = [], 0
    for one in recording.suspended:
        found = ends_of(model, one.system)
        count += len(one.ends)
        wrong += [
            f"{one.at}: it {way}: {found.get(way, 'nothing')} (without a deployment: {end})"
            for way, end in one.ends.items()
            if found.get(way) != end
        ]
    return Part("runs come to the same end", count, "ways to go on", wrong)


def _schedules(recording: Recording, model: Upgraded, *, faults: int) -> Part:
    """With faults after the deployment too, the promises hold."""
    explorer = Explorer(model, faults=faults)
    count = sum(explorer.walk((one.system, faults)).schedules for one in recording.suspended)
    wrong = [f"{promise}: after {path[0]}, {path[-1].strip()}" for promise, path in explorer.broken.items()]
    return Part("promises hold with another fault", count, "schedules", wrong)


def _functions(recording: Recording, assembly: Assembly) -> Part:
    """With a function, all its versions are deleted."""
    there = {one.properties["FunctionName"] for one in assembly.of_type("AWS::Lambda::Function")}
    states = [state for one in recording.definitions.values() for state in tasks(one).values()]
    asked = {function_name(state["Arguments"]["FunctionName"]) for state in states if _is_asked(state)}
    return Part("functions are there", len(asked), "functions", [f"{name}: is gone" for name in sorted(asked - there)])


def _is_asked(state: dict[str, object]) -> bool:
    return str(state["Resource"]).endswith("lambda:invoke")


def _calls(recording: Recording, assembly: Assembly) -> Part:
    """Definitions and code stay as they were; their roles are as the deployment made them."""
    calls = [one for one in recording.calls if not one["role"].endswith(_REPLACED) and one.get("allowed", True)]
    asked = questions([{**one, "resource": _VERSION.sub(r"\1:earlier", one["resource"])} for one in calls])
    verdicts = zip(asked, ask(policies_of(assembly), asked), strict=True)
    wrong = [f"{one.role}: {one.action} on {one.resource}: {said}" for one, said in verdicts if said != ALLOWED]
    return Part("calls are allowed", len(asked), "calls", wrong)


def _documents(recording: Recording) -> Part:
    held = [(kind, one) for kind, several in recording.documents.items() for one in several]
    wrong = [fault for kind, one in held for fault in documents.unread(kind, one)]
    return Part("documents say the same", len(held), "documents", wrong)
