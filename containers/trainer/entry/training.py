"""One attempt to train, from the command to the event that says how it ended."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from belay.contract import exit_codes
from belay.contract.events import Failed, Finished, Stopping, events_in
from belay.contract.plan import RunPlan
from containers.trainer.entry.allowance import allowance_of
from containers.trainer.entry.environment import Environment
from containers.trainer.entry.progress import ENOUGH, Reached, end_of_file, same_place
from containers.trainer.entry.recorder import Recorder
from containers.trainer.launch.command import command_of
from containers.trainer.launch.settings import hook_settings
from containers.trainer.launch.variables import variables_of
from containers.trainer.mount.answering import answer_within
from containers.trainer.mount.folders import Folders, give
from containers.trainer.supervision.end_now import end_now_asked
from containers.trainer.supervision.pace import Pace
from containers.trainer.supervision.reason import reason_of
from containers.trainer.supervision.supervisor import Supervisor

# A Lustre server that was lost may be back within a minute. After a stop there is no such time left.
_LAST_LOOK_SECONDS, _LAST_LOOK_SECONDS_AFTER_STOP = 60.0, 3.0


def train(
    environment: Environment,
    plan: RunPlan,
    folders: Folders,
    recorder: Recorder,
    *,
    prefix: list[str],
    owner: int,
    scratch: Path,
) -> int:
    stop_seconds = environment.stop_seconds
    settings = hook_settings(
        plan,
        folders,
        node=environment.node,
        attempt=environment.attempt,
        scratch=scratch,
        stop_seconds=stop_seconds,
    )
    settings.trainers.mkdir()
    for folder in (scratch, settings.trainers):
        give(folder, owner)

    allowance = allowance_of(
        plan, began=environment.attempt_began, waited=environment.waited, stop_seconds=stop_seconds
    )

    def stopping() -> None:
        why = allowance.spent if supervisor.all_spent else None
        if supervisor.silent_seconds is not None:
            why = "training hangs: the stacks of its threads are in the log"
        recorder.record(Stopping, signal="SIGTERM", deadline_seconds=stop_seconds, why=why)

    pace = Pace(settings.trainers, plan.job.limits.hang)
    supervisor = Supervisor(
        seconds_left=allowance.seconds_left(datetime.now(UTC)),
        stop_seconds=stop_seconds,
        on_stop=stopping,
        end_now_asked=lambda: end_now_asked(os.environ),
        pace=pace,
    )
    code = supervisor.run(
        [*prefix, *command_of(plan.job, folders, stop_seconds=stop_seconds)],
        variables=variables_of(plan.job, settings, os.environ),
    )
    if code == 0:
        seconds = _LAST_LOOK_SECONDS_AFTER_STOP if supervisor.stop_asked else _LAST_LOOK_SECONDS
        return finish(folders, recorder, within_seconds=seconds)
    reason, step = reason_of(code, supervisor, settings.first_error), pace.last_step()
    end = 1 if code in exit_codes.RESERVED else code
    if supervisor.all_spent:
        reason, end = allowance.spent, allowance.exit_code
    elif supervisor.silent_seconds is not None:
        end = exit_codes.HUNG
    elif not supervisor.stop_asked and (place := _same_place(folders, environment.attempt, step)):
        end = exit_codes.NO_PROGRESS
        reason += f" ({ENOUGH} attempts failed at step {place.step}, with no checkpoint after {place.checkpoint})"
    recorder.record(Failed, exit_code=code, reason=reason, step=step)
    return end


def _same_place(folders: Folders, attempt: int, step: int | None) -> Reached | None:
    if attempt < ENOUGH or step is None:
        return None
    try:
        text = answer_within(_LAST_LOOK_SECONDS_AFTER_STOP, lambda: end_of_file(folders.events))
    except OSError:
        # A mount that does not answer says nothing of progress.
        return None
    return same_place(events_in(text), attempt=attempt, step=step)


def finish(folders: Folders, recorder: Recorder, *, within_seconds: float) -> int:
    try:
        step = answer_within(within_seconds, folders.newest_step)
    except OSError as error:
        recorder.record(Failed, exit_code=1, reason=f"training finished, but its checkpoints cannot be listed: {error}")
        return 1
    if step == 0:
        print("No checkpoint was saved: no Trainer trained in a Python of the image.", file=sys.stderr)
    recorder.record(Finished, step=step)
    return 0
