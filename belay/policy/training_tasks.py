"""The training tasks of a run: which of them may still write, and whether all are there. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from belay.contract.messages.probes import Phase
from belay.policy.phases import Reading


@dataclass(frozen=True)
class TrainingTask:
    """One attempt of one node."""

    id: str
    node: int
    attempt: int
    reading: Reading

    @property
    def may_write(self) -> bool:
        return self.reading.phase is not Phase.GONE


def reading_of(tasks: Iterable[TrainingTask], *, expected: int) -> Reading:
    """One word for all tasks of a run: gone only when none can write any more, ready only when as many nodes as
    expected have a task on an instance, and no task waits for one."""
    tasks = list(tasks)
    alive = [task for task in tasks if task.may_write]
    for phase in (Phase.FAILED, Phase.PENDING):
        if worst := next((task for task in alive if task.reading.phase is phase), None):
            return worst.reading
    if not alive:
        return Reading(Phase.GONE, "no training task is alive")
    ready = {task.node for task in alive}
    if len(ready) < expected:
        return Reading(Phase.PENDING, f"{len(ready)} of {expected} nodes have a training task that is ready")
    return alive[0].reading
