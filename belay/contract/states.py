"""The names of the states that a person sees in the two state machines.

A poll is named once here. Its own states are named after it: "Link: wait", "Link: how far?".
"""

from enum import StrEnum


class TrainState(StrEnum):
    ACCEPT_JOB = "Accept job"
    JOB_REFUSED = "Job refused"
    NOT_ACCEPTED = "Not accepted"
    CREATE_SCRATCH = "Create scratch file system"
    SCRATCH = "Scratch file system"
    LINK_TO_S3 = "Link to S3"
    LINK_A_FOLDER = "Link a folder"
    LINK = "Link"
    ALL_LINKED = "All linked?"
    LINK_FAILED = "Link failed"
    UNLINK = "Remove failed link"
    UNLINKING = "Removal of link"
    MARK_AS_IN_USE = "Mark as in use"
    TRAIN = "Train"
    RUN_TRAINING = "Run training"
    INSTANCE = "Instance"
    GIVE_UP_WAITING = "Give up waiting"
    CAPACITY_NOT_WATCHED = "Capacity not watched"
    TRAINING_NEVER_STARTED = "Training never started"
    HOW_DID_IT_END = "How did it end?"
    TRY_AGAIN = "Try again?"
    EARLIER_ATTEMPT = "Earlier attempt"
    WHY_NOT_STARTED = "Why did it not start?"
    MAY_IT_WAIT = "May it wait?"
    GIVE_BACK = "Give back file system"
    WAIT_TO_START = "Wait to start again"
    INSTANCE_MISSING = "Instance missing?"
    FIND_AN_INSTANCE = "Find an instance"
    TEARDOWN = "Teardown"
    IS_TRAINED_AND_SAFE = "Trained and safe?"
    TRAINED_AND_SAFE = "Trained and safe"
    NOT_TRAINED_OR_NOT_SAFE = "Not trained or not safe"


class TeardownState(StrEnum):
    FIND_WHAT_IS_LEFT = "Find what is left"
    ANYTHING_LEFT = "Anything left?"
    NOTHING_LEFT_TO_DO = "Nothing left to do"
    RUN_STILL_ALIVE = "Run still alive"
    STOP_TRAINING = "Stop training"
    TRAINING = "Training"
    IS_FILE_SYSTEM_THERE = "File system there?"
    FILE_SYSTEM = "File system"
    HOLDS_WORK = "Holds work?"
    EXPORT_TO_S3 = "Export to S3"
    EXPORT = "Export"
    VERIFY = "Verify"
    ALL_IN_S3 = "All in S3?"
    DELETE_FILE_SYSTEM = "Delete file system"
    DELETION = "Deletion"
    CANNOT_BE_PROVEN = "Cannot be proven"
    ANYTHING_TO_KEEP = "Anything to keep?"
    STILL_THERE = "Still there?"
    IS_GONE = "Gone meanwhile?"
    KEEP_FILE_SYSTEM = "Keep file system"
    TELL_A_PERSON = "Tell a person"
    WILL_START_AGAIN = "Will it start again?"
    GIVEN_BACK = "File system given back"
    CERTIFY = "Certify"
    IS_KEPT = "Kept?"
    FILE_SYSTEM_KEPT = "File system kept"
    TORN_DOWN = "Torn down"


State = TrainState | TeardownState


def state_named(name: str) -> State | None:
    """The state of this name, or that it belongs to: "Link: wait" belongs to "Link". None for an unknown name."""
    first = name.split(": ")[0]
    return next((state for state in (*TrainState, *TeardownState) if state == first), None)
