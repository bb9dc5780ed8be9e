"""An error of AWS's own gets one name, by which the flows know what to wait for."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from botocore.exceptions import ClientError, HTTPClientError

from belay.contract.errors import ServiceAway

Handler = Callable[..., dict[str, Any]]


def names_services_away(handler: Handler) -> Handler:
    """A 5xx answer, or none: ServiceAway. Every other error stays what it is."""

    @wraps(handler)
    def named(*asked: Any, **more: Any) -> dict[str, Any]:
        try:
            return handler(*asked, **more)
        except HTTPClientError as error:
            raise ServiceAway(str(error)) from error
        except ClientError as error:
            if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) < 500:
                raise
            raise ServiceAway(str(error)) from error

    return named
