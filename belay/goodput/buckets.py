"""The names of time: each moment of a run belongs to exactly one of them."""

from enum import StrEnum


class Bucket(StrEnum):
    QUEUE = "queue"
    FILE_SYSTEM = "file system creation"
    IMPORT = "import"
    INSTANCE = "instance and image"
    INIT = "init"
    COMPUTE = "compute"
    SLOWDOWN = "slowdown"
    SAVE = "save blocking"
    EVALUATION = "evaluation"
    LOST = "lost work"
    RECOVERY = "recovery gap"
    EXPORT = "export"
    VERIFICATION = "verification"
    DELETION = "deletion"
    UNKNOWN = "unknown"


MEANINGS = {
    Bucket.QUEUE: "from the request until the file system is asked for: the job is checked and accepted",
    Bucket.FILE_SYSTEM: "until FSx says that the file system is there",
    Bucket.IMPORT: "until it is linked to S3 and shows the data's names and sizes",
    Bucket.INSTANCE: "until an instance has taken the task, pulled its image and mounted; at the end, giving it back",
    Bucket.INIT: "the program's own beginning and end: imports, model, data, resume, what its first step takes longer",
    Bucket.COMPUTE: "steps that are kept, at the reference step time",
    Bucket.SLOWDOWN: "what kept steps took beyond that, where they took half as much again or more",
    Bucket.SAVE: "training stood still for a save, or had ended and waited for the last one to be on disk",
    Bucket.EVALUATION: "training stood still for an evaluation",
    Bucket.LOST: "steps that are not in the result: they were trained again, or were never saved",
    Bucket.RECOVERY: "from where an attempt stopped training until another one trains again",
    Bucket.EXPORT: "after training: finding what is left, and exporting it to S3",
    Bucket.VERIFICATION: "after training: comparing S3 with the manifests, and certifying",
    Bucket.DELETION: "until the file system is gone",
    Bucket.UNKNOWN: "nothing that is on record says what happened",
}

# While these last, an instance is paid for.
ON_THE_INSTANCE = frozenset(
    {
        Bucket.INSTANCE,
        Bucket.INIT,
        Bucket.COMPUTE,
        Bucket.SLOWDOWN,
        Bucket.SAVE,
        Bucket.EVALUATION,
        Bucket.LOST,
        Bucket.RECOVERY,
    }
)
