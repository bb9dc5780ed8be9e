"""What the two state machines were at, by the names of their states."""

from dataclasses import dataclass
from datetime import datetime

from goodput.buckets import Bucket


@dataclass(frozen=True)
class Phase:
    """From here on, as long as the trainer says nothing of itself, time belongs to this bucket."""

    at: datetime
    bucket: Bucket
    task_has_ended: bool = True
    """False: a trainer may still be at work beside it."""


# The states that a person sees; those in between (waits, questions) belong to the one before them.
BUCKET_OF_STATE = {
    "Accept job": Bucket.QUEUE,
    "Create scratch file system": Bucket.FILE_SYSTEM,
    "Link to S3": Bucket.IMPORT,
    "Mark as in use": Bucket.IMPORT,
    "Train": Bucket.INSTANCE,
    "How did it end?": Bucket.INSTANCE,
    "Teardown": Bucket.INSTANCE,
    "Find what is left": Bucket.INSTANCE,
    "Stop training": Bucket.INSTANCE,
    "Export to S3": Bucket.EXPORT,
    "Verify": Bucket.VERIFICATION,
    "Keep file system": Bucket.VERIFICATION,
    "Tell a person": Bucket.VERIFICATION,
    "Delete file system": Bucket.DELETION,
    "Certify": Bucket.VERIFICATION,
}
# A teardown that somebody else started finds the trainer alive, and gives it time to save.
BESIDE_A_TRAINER = frozenset({"Train", "Find what is left", "Stop training"})


def phase_of(at: datetime, state: str) -> Phase | None:
    """None for a state that says nothing new about where time goes."""
    bucket = BUCKET_OF_STATE.get(state)
    return Phase(at, bucket, task_has_ended=state not in BESIDE_A_TRAINER) if bucket else None
