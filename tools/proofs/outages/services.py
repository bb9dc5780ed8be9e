"""The services that can be away, as faults of the local cloud, and the phases of a run that each of them meets."""

from collections.abc import Mapping

from tools.local_cloud.faults import ApiError, Fault, NoCapacity

_UNAVAILABLE = "the service is unavailable"


def _away(service: str, error: str, status: int) -> ApiError:
    return ApiError(service=service, action="*", error=error, message=_UNAVAILABLE, status=status)


_FSX = _away("fsx", "InternalServerError", 500)
_S3 = _away("s3", "ServiceUnavailable", 503)
_LOGS = _away("logs", "ServiceUnavailableException", 503)
_STATES = _away("states", "ServiceUnavailable", 503)
SERVICES: Mapping[str, tuple[Fault, ...]] = {
    "EC2 launches": (NoCapacity(),),
    "FSx": (_FSX,),
    "S3": (_S3,),
    "CloudWatch Logs": (_LOGS,),
    "Step Functions": (_STATES,),
    "all of these": (NoCapacity(), _FSX, _S3, _LOGS, _STATES),
}
PHASES: Mapping[str, str | None] = {
    "is accepted": "Accept job",
    "gets a file system": "Create scratch file system",
    "is linked to S3": "Link a folder",
    "gets an instance": "Train",
    "trains": None,
    "is torn down": "Teardown",
}
"""The state of Train at which a run is when the outage begins. None: it trains, all through the outage and beyond."""
