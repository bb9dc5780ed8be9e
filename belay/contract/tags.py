"""What a file system says about itself. Teardown, rescue and sweep know it by these tags and by nothing else."""

from enum import StrEnum

DEPLOYMENT = "belay:deployment"
EXECUTION = "belay:execution"
RUN = "belay:run"
JOB = "belay:job"
STATE = "belay:state"
KEPT_WHY = "belay:kept-why"
KEPT_SINCE = "belay:kept-since"
KEPT_USD_A_DAY = "belay:kept-usd-a-day"


class State(StrEnum):
    """`empty` is a proof: training is only ever started after the tag says `in-use`."""

    EMPTY = "empty"
    IN_USE = "in-use"
    KEPT = "kept"
