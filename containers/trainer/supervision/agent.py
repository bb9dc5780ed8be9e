"""The agent of this instance, at an address of this machine alone: the task may ask nothing of AWS itself."""

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

_ADDRESS = "ECS_CONTAINER_METADATA_URI_V4"
# The agent asks AWS twice for one answer.
_PATIENCE_SECONDS = 3.0
# It is on this machine, whatever proxy the image has for others.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def metadata(environ: Mapping[str, str], path: str = "") -> dict[str, Any]:
    """Empty without an answer: nothing that it says is worth more than training."""
    if not (address := environ.get(_ADDRESS)):
        return {}
    try:
        with _OPENER.open(f"{address}{path}", timeout=_PATIENCE_SECONDS) as response:
            document = json.load(response)
    except Exception:
        return {}
    return document if isinstance(document, dict) else {}
