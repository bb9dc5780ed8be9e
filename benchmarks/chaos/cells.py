"""What is tried: each fault at each state of both machines, and whatever may befall training itself."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from benchmarks.chaos.machines import State
from contract import tags
from contract.run import execution_digest
from local_cloud.faults import (
    ExportFails,
    Fault,
    FileSystemFails,
    KillTraining,
    LinkFails,
    NoCapacity,
    SpotInterruption,
    StateFails,
    StopsAt,
)

TRAINING = "training"


@dataclass(frozen=True)
class Way:
    """What it takes that a run comes to a state that a good run never enters."""

    why: str = ""
    words: tuple[str, ...] = ()
    job: dict[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    stopped_in_training: bool = False
    torn_down_by_hand: Literal["never", "while it trains", "when all is over"] = "never"


STRAIGHT = Way()
_STOPPED = Way("stopped in training", ("--steps", "600"), stopped_in_training=True)
# Stopped with its execution, a task is gone before a teardown looks, unless it is slow to go.
_DEAF = Way("stopped in training, which is deaf", ("--steps", "600", "--deaf"), stopped_in_training=True)
_CRASHED = Way("training crashes", ("--crash-at", "5"))
_CRASHED_ONCE = Way("training crashes once", ("--crash-at", "5"), {"retry": {"crash": 1}})
_NO_INSTANCE = Way("no instance", job={"limits": {"capacity": "2m"}, "retry": {"capacity": 0}}, faults=(NoCapacity(),))
_NO_EXPORT = Way("every export fails", faults=(ExportFails(),))
_WAYS = {
    "Train": {
        "How did it end?": _CRASHED,
        "Try again?": _CRASHED_ONCE,
        "Not trained or not safe": _CRASHED,
        "Give up waiting": _NO_INSTANCE,
        "Training never started": Way("no file system", faults=(StateFails(state="Link a folder", error="Refused"),)),
        "Capacity not watched": Way(
            "the watch fails", faults=(StateFails(state="Instance: how far?", error="Unexpected"),)
        ),
        "Job refused": Way("a faulty job", job={"datset": {}}),
        "Not accepted": Way("accept fails", faults=(StateFails(state="Accept job", error="Unexpected"),)),
        "Earlier attempt": _CRASHED_ONCE,
    },
    "Teardown": {
        "Stop training": _DEAF,
        "Training": _DEAF,
        "File system there?": _DEAF,
        "Cannot be proven": _NO_EXPORT,
        "Keep file system": _NO_EXPORT,
        "Tell a person": _NO_EXPORT,
        "File system kept": _NO_EXPORT,
        "Run still alive": Way("torn down while it trains", torn_down_by_hand="while it trains"),
        "Nothing left to do": Way("torn down once more", torn_down_by_hand="when all is over"),
    },
}


@dataclass(frozen=True)
class Cell:
    machine: str
    state: str
    fault: str
    way: Way = STRAIGHT
    faults: tuple[Fault, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.machine}: {self.state}: {self.fault}"

    def aimed(self, execution_arn: str) -> list[Fault]:
        """The faults for one run alone: flows are known by their execution or their input, the rest by its tag."""
        flow = {"execution": execution_arn} if self.machine == "Train" else {"execution_arn": execution_arn}
        rest = {tags.EXECUTION: execution_digest(execution_arn)}
        every = (*self.faults, *self.way.faults)
        return [replace(one, where=flow if isinstance(one, StateFails | StopsAt) else rest) for one in every]


def of_state(machine: str, state: State) -> Iterator[Cell]:
    way = _way(machine, state.name)
    yield Cell(machine, state.name, "StopExecution", way, (StopsAt(state=state.name),))
    if not state.calls:
        return
    failing: dict[str, StateFails] = {
        "throttled once": StateFails(state=state.name, error="ThrottlingException", times=1),
        "times out each time": StateFails(state=state.name, error="States.Timeout"),
        "fails for good": StateFails(state=state.name, error="Unexpected"),
        "reply lost once": StateFails(state=state.name, error="SdkClientException", after=True, times=1),
        "each reply lost": StateFails(state=state.name, error="SdkClientException", after=True),
    }
    for error in state.declared:
        failing[f"{error} once"] = StateFails(state=state.name, error=error, cause=_CAUSE, times=1)
    for fault, made in failing.items():
        yield Cell(machine, state.name, fault, way, (made,))


def of_training() -> Iterator[Cell]:
    """Faults that no state machine sees: they strike the processes, the disk, the instance and the exports."""
    again = {"retry": {"crash": 1, "interruption": 1}}
    ways: dict[str, tuple[Way, tuple[Fault, ...]]] = {
        "nothing": (STRAIGHT, ()),
        "raises": (_CRASHED, ()),
        "raises, and is tried again": (_CRASHED_ONCE, ()),
        "SIGKILL at a step": (STRAIGHT, (KillTraining(at_step=5, on=["step"]),)),
        "SIGKILL after a save": (STRAIGHT, (KillTraining(at_step=4, on=["saved"]),)),
        "SIGKILL, and is tried again": (Way(job=again), (KillTraining(at_step=5),)),
        "SIGKILL before anything is saved": (STRAIGHT, (KillTraining(at_step=1, on=["step"]),)),
        "Spot takes the instance": (Way(job={"retry": {"interruption": 0}}, words=_LONG), (_SPOT,)),
        "Spot takes it, and it is tried again": (Way(job=again, words=_LONG), (_SPOT,)),
        "Spot takes it from a deaf training": (
            Way(job={"retry": {"interruption": 0}}, words=(*_LONG, "--deaf")),
            (_SPOT,),
        ),
        "no instance": (_NO_INSTANCE, ()),
        "its time is spent": (Way(words=("--steps", "600"), job={"limits": {"train": "20s"}}), ()),
        "its time is spent, and it is deaf": (
            Way(words=("--steps", "600", "--deaf"), job={"limits": {"train": "20s"}}),
            (),
        ),
        "the disk is full": (Way(words=("--full-at", "3")), ()),
        "StopExecution": (_STOPPED, ()),
        "an export fails once": (STRAIGHT, (ExportFails(times=1),)),
        "an export skips a file once": (STRAIGHT, (ExportFails(how="skipped", times=1),)),
        "every export fails": (_NO_EXPORT, ()),
        "every export skips a file": (Way(faults=(ExportFails(how="skipped"),)), ()),
        "the file system fails": (STRAIGHT, (FileSystemFails(),)),
        "the file system is misconfigured": (STRAIGHT, (FileSystemFails(lifecycle="MISCONFIGURED"),)),
        "the file system takes for ever": (_HASTY, (FileSystemFails(lifecycle="CREATING"),)),
        "the link to S3 is misconfigured": (STRAIGHT, (LinkFails(),)),
        "SIGKILL, and every export fails": (_NO_EXPORT, (KillTraining(at_step=4, on=["saved"]),)),
    }
    for fault, (way, faults) in ways.items():
        yield Cell(TRAINING, "while it trains", fault, way, faults)


_HASTY = Way(job={"limits": {"scratch": "10m"}})
_LONG = ("--steps", "60")
_SPOT = SpotInterruption(at_step=4, on=["saved"])
# Causes of some errors are read by the flow; this is one that reads like Lambda's.
_CAUSE = '{"errorMessage": "a fault of the local cloud", "errorType": "Fault"}'


def _way(machine: str, state: str) -> Way:
    """By the state's own name, or by that of the group of states that it belongs to."""
    ways = _WAYS[machine]
    return ways.get(state) or ways.get(state.partition(":")[0], STRAIGHT)
