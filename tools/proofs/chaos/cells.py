"""The cells of the grid: each fault at each state of both machines, and each fault of training itself."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from belay.contract import tags
from belay.contract.run import execution_digest
from tools.definitions.error_names import error_names
from tools.local_cloud.faults import (
    ExportFails,
    Fault,
    FileSystemFails,
    ImportFails,
    KillTraining,
    LinkFails,
    NoCapacity,
    SpotInterruption,
    StateFails,
    StopsAt,
)
from tools.proofs.chaos.machines import State

TRAINING = "training"


@dataclass(frozen=True)
class Setup:
    """How a run is brought to a state that a run without faults never enters."""

    why: str = ""
    words: tuple[str, ...] = ()
    job: dict[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    stopped_in_training: bool = False
    torn_down_by_hand: Literal["never", "while it trains", "when all is over"] = "never"


PLAIN = Setup()
_STOPPED = Setup("stopped in training", ("--steps", "600"), stopped_in_training=True)
# A task that stops at once is gone before the teardown looks for it.
_IGNORES_SIGTERM = Setup(
    "stopped in training, SIGTERM ignored", ("--steps", "600", "--ignore-sigterm"), stopped_in_training=True
)
_CRASHED = Setup("training crashes", ("--crash-at", "5"))
_CRASHED_ONCE = Setup("training crashes once", ("--crash-at", "5"), {"retry": {"crash": 1}})
_NO_INSTANCE = Setup(
    "no instance", job={"limits": {"capacity": "2m"}, "retry": {"capacity": 0}}, faults=(NoCapacity(),)
)
_SOON = {"start": "45m"}
_WAITS = Setup(
    "FSx is away for a while",
    job={"limits": _SOON},
    faults=(StateFails(state="Create scratch file system", error="FSx.InternalServerErrorException", times=6),),
)
_WAITS_FOR_AN_INSTANCE = Setup(
    "no instance for a while",
    job={"limits": _SOON, "retry": {"capacity": 0}},
    faults=(StateFails(state="Run training", error="ECS.AmazonECSException", cause="RESOURCE:GPU", times=6),),
)
_NO_EXPORT = Setup("every export fails", faults=(ExportFails(),))
_LINK_FAILS_ONCE = Setup("a link fails once", faults=(LinkFails(lifecycle="FAILED", times=1),))
_SETUPS = {
    "Train": {
        "Link failed": _LINK_FAILS_ONCE,
        "Remove failed link": _LINK_FAILS_ONCE,
        "Removal of link": _LINK_FAILS_ONCE,
        "How did it end?": _CRASHED,
        "Try again?": _CRASHED_ONCE,
        "Not trained or not safe": _CRASHED,
        "Give up waiting": _NO_INSTANCE,
        "Training never started": Setup("no file system", faults=(StateFails(state="Link a folder", error="Refused"),)),
        "Capacity not watched": Setup(
            "the instance probe fails", faults=(StateFails(state="Instance: how far?", error="Unexpected"),)
        ),
        "Job refused": Setup("a faulty job", job={"datset": {}}),
        "Not accepted": Setup("accept fails", faults=(StateFails(state="Accept job", error="Unexpected"),)),
        "Earlier attempt": _CRASHED_ONCE,
        "Why did it not start?": _WAITS,
        "May it wait?": _WAITS,
        "Give back file system": _WAITS,
        "Wait to start again": _WAITS,
        "Instance missing?": _WAITS,
        "Find an instance": _WAITS_FOR_AN_INSTANCE,
    },
    "Teardown": {
        "Stop training": _IGNORES_SIGTERM,
        "Training": _IGNORES_SIGTERM,
        "File system there?": _IGNORES_SIGTERM,
        "Cannot be proven": _NO_EXPORT,
        "Anything to keep?": _NO_EXPORT,
        "Still there?": _NO_EXPORT,
        "Gone meanwhile?": _NO_EXPORT,
        "Keep file system": _NO_EXPORT,
        "Tell a person": _NO_EXPORT,
        "File system kept": _NO_EXPORT,
        "Run still alive": Setup("torn down while it trains", torn_down_by_hand="while it trains"),
        "File system given back": _WAITS_FOR_AN_INSTANCE,
        "Nothing left to do": Setup("torn down once more", torn_down_by_hand="when all is over"),
    },
}


@dataclass(frozen=True)
class Cell:
    machine: str
    state: str
    fault: str
    setup: Setup = PLAIN
    faults: tuple[Fault, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.machine}: {self.state}: {self.fault}"

    def faults_for(self, execution_arn: str) -> list[Fault]:
        """The faults, limited to one run: by execution or input at states, by the execution's tag elsewhere."""
        flow = {"execution": execution_arn} if self.machine == "Train" else {"execution_arn": execution_arn}
        rest = {tags.EXECUTION: execution_digest(execution_arn)}
        every = (*self.faults, *self.setup.faults)
        return [replace(one, where=flow if isinstance(one, StateFails | StopsAt) else rest) for one in every]


def of_state(machine: str, state: State) -> Iterator[Cell]:
    setup = _setup(machine, state.name)
    yield Cell(machine, state.name, "StopExecution", setup, (StopsAt(state=state.name),))
    if not state.calls:
        return
    names = error_names(state.calls)
    failing: dict[str, StateFails] = {
        "throttled once": StateFails(state=state.name, error=names.throttled, times=1),
        "times out each time": StateFails(state=state.name, error="States.Timeout"),
        "fails for good": StateFails(state=state.name, error="Unexpected"),
        "reply lost once": StateFails(state=state.name, error=names.lost, after=True, times=1),
        "each reply lost": StateFails(state=state.name, error=names.lost, after=True),
    }
    for error in state.declared:
        failing[f"{error} once"] = StateFails(state=state.name, error=error, cause=_CAUSE, times=1)
    for fault, made in failing.items():
        yield Cell(machine, state.name, fault, setup, (made,))


def of_training() -> Iterator[Cell]:
    """Faults below the state machines: of processes, disk, instance, file system and exports."""
    again = {"retry": {"crash": 1, "interruption": 1}}
    cells: dict[str, tuple[Setup, tuple[Fault, ...]]] = {
        "nothing": (PLAIN, ()),
        "training raises": (_CRASHED, ()),
        "training raises, and is retried": (_CRASHED_ONCE, ()),
        "SIGKILL at a step": (PLAIN, (KillTraining(at_step=5, on=["step"]),)),
        "SIGKILL after a save": (PLAIN, (KillTraining(at_step=4, on=["saved"]),)),
        "SIGKILL, and is retried": (Setup(job=again), (KillTraining(at_step=5),)),
        "SIGKILL before anything is saved": (PLAIN, (KillTraining(at_step=1, on=["step"]),)),
        "Spot interruption": (Setup(job={"retry": {"interruption": 0}}, words=_LONG), (_SPOT,)),
        "Spot interruption, and is retried": (Setup(job=again, words=_LONG), (_SPOT,)),
        "Spot interruption, SIGTERM ignored": (
            Setup(job={"retry": {"interruption": 0}}, words=(*_LONG, "--ignore-sigterm")),
            (_SPOT,),
        ),
        "no instance": (_NO_INSTANCE, ()),
        "no instance for a while": (_WAITS_FOR_AN_INSTANCE, ()),
        "FSx is away for a while": (_WAITS, ()),
        "its time is spent": (Setup(words=("--steps", "600"), job={"limits": {"train": "20s"}}), ()),
        "its time is spent, SIGTERM ignored": (
            Setup(words=("--steps", "600", "--ignore-sigterm"), job={"limits": {"train": "20s"}}),
            (),
        ),
        "the disk is full": (Setup(words=("--full-at", "3")), ()),
        "StopExecution": (_STOPPED, ()),
        "an export fails once": (PLAIN, (ExportFails(times=1),)),
        "an export skips a file once": (PLAIN, (ExportFails(how="skipped", times=1),)),
        "every export fails": (_NO_EXPORT, ()),
        "every export skips a file": (Setup(faults=(ExportFails(how="skipped"),)), ()),
        "the file system fails": (PLAIN, (FileSystemFails(),)),
        "the file system is misconfigured": (PLAIN, (FileSystemFails(lifecycle="MISCONFIGURED"),)),
        "the file system is never ready": (_HASTY, (FileSystemFails(lifecycle="CREATING"),)),
        "the link to S3 is misconfigured": (PLAIN, (LinkFails(),)),
        "a link fails, and is made again": (PLAIN, (LinkFails(lifecycle="FAILED", times=1),)),
        "the import of names fails once": (PLAIN, (ImportFails(times=1),)),
        "SIGKILL, and every export fails": (_NO_EXPORT, (KillTraining(at_step=4, on=["saved"]),)),
    }
    for fault, (setup, faults) in cells.items():
        yield Cell(TRAINING, "while it trains", fault, setup, faults)


_HASTY = Setup(job={"limits": {"scratch": "10m"}})
_LONG = ("--steps", "60")
_SPOT = SpotInterruption(at_step=4, on=["saved"])
# The flow parses the causes of some errors; this one has the form of Lambda's.
_CAUSE = '{"errorMessage": "a fault of the local cloud", "errorType": "Fault"}'


def _setup(machine: str, state: str) -> Setup:
    """By the name of the state, or of its group: `Export` for `Export: how far?`."""
    setups = _SETUPS[machine]
    return setups.get(state) or setups.get(state.partition(":")[0], PLAIN)
