"""What the two state machines were at, by the names of their states."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from belay.contract.states import State, TeardownState, TrainState, state_named
from belay.goodput.buckets import Bucket


@dataclass(frozen=True)
class FlowState:
    """A state was entered: from here on, as long as the trainer says nothing of itself, time belongs to this bucket."""

    at: datetime
    bucket: Bucket
    task_has_ended: bool = True
    """False: a trainer may still be at work beside it."""


# Every state of both flows. None: its time belongs to the state before it, as that of waits, questions and ends does.
BUCKET_OF_STATE: Mapping[State, Bucket | None] = {
    TrainState.ACCEPT_JOB: Bucket.QUEUE,
    TrainState.JOB_REFUSED: None,
    TrainState.NOT_ACCEPTED: None,
    TrainState.CREATE_SCRATCH: Bucket.FILE_SYSTEM,
    TrainState.SCRATCH: None,
    TrainState.LINK_TO_S3: Bucket.IMPORT,
    TrainState.LINK_A_FOLDER: None,
    TrainState.LINK: None,
    TrainState.ALL_LINKED: None,
    TrainState.LINK_FAILED: None,
    TrainState.UNLINK: None,
    TrainState.UNLINKING: None,
    TrainState.MARK_AS_IN_USE: Bucket.IMPORT,
    TrainState.TRAIN: Bucket.INSTANCE,
    TrainState.RUN_TRAINING: None,
    TrainState.INSTANCE: None,
    TrainState.GIVE_UP_WAITING: None,
    TrainState.CAPACITY_NOT_WATCHED: None,
    TrainState.TRAINING_NEVER_STARTED: None,
    TrainState.HOW_DID_IT_END: Bucket.INSTANCE,
    TrainState.TRY_AGAIN: None,
    TrainState.EARLIER_ATTEMPT: None,
    TrainState.WHY_NOT_STARTED: None,
    TrainState.GIVE_BACK: Bucket.INSTANCE,
    TrainState.MAY_IT_WAIT: None,
    TrainState.WAIT_TO_START: Bucket.QUEUE,
    TrainState.INSTANCE_MISSING: None,
    TrainState.FIND_AN_INSTANCE: Bucket.QUEUE,
    TrainState.TEARDOWN: Bucket.INSTANCE,
    TrainState.IS_TRAINED_AND_SAFE: None,
    TrainState.TRAINED_AND_SAFE: None,
    TrainState.NOT_TRAINED_OR_NOT_SAFE: None,
    TeardownState.FIND_WHAT_IS_LEFT: Bucket.INSTANCE,
    TeardownState.ANYTHING_LEFT: None,
    TeardownState.NOTHING_LEFT_TO_DO: None,
    TeardownState.RUN_STILL_ALIVE: None,
    TeardownState.STOP_TRAINING: Bucket.INSTANCE,
    TeardownState.TRAINING: None,
    TeardownState.IS_FILE_SYSTEM_THERE: None,
    TeardownState.FILE_SYSTEM: None,
    TeardownState.HOLDS_WORK: None,
    TeardownState.EXPORT_TO_S3: Bucket.EXPORT,
    TeardownState.EXPORT: None,
    TeardownState.VERIFY: Bucket.VERIFICATION,
    TeardownState.ALL_IN_S3: None,
    TeardownState.DELETE_FILE_SYSTEM: Bucket.DELETION,
    TeardownState.DELETION: None,
    TeardownState.CANNOT_BE_PROVEN: None,
    TeardownState.ANYTHING_TO_KEEP: None,
    TeardownState.STILL_THERE: None,
    TeardownState.IS_GONE: None,
    TeardownState.KEEP_FILE_SYSTEM: Bucket.VERIFICATION,
    TeardownState.TELL_A_PERSON: Bucket.VERIFICATION,
    TeardownState.WILL_START_AGAIN: None,
    TeardownState.GIVEN_BACK: None,
    TeardownState.CERTIFY: Bucket.VERIFICATION,
    TeardownState.IS_KEPT: None,
    TeardownState.FILE_SYSTEM_KEPT: None,
    TeardownState.TORN_DOWN: None,
}
# A teardown that Train did not start finds the trainer alive, and gives it time to save.
BESIDE_A_TRAINER = frozenset({TrainState.TRAIN, TeardownState.FIND_WHAT_IS_LEFT, TeardownState.STOP_TRAINING})


def flow_state_of(at: datetime, name: str) -> FlowState | None:
    """None for a state that says nothing new about where time goes, and for one that this version does not know."""
    state = state_named(name)
    bucket = BUCKET_OF_STATE[state] if state else None
    return FlowState(at, bucket, task_has_ended=state not in BESIDE_A_TRAINER) if bucket else None
