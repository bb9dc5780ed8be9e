"""Whether a person wants training ended without its last save: then they have tagged its task so.

The task may ask nothing of AWS. The agent of its instance reads the tags for it, at an address of this machine alone.
"""

import json
import urllib.request
from collections.abc import Mapping

from contract.stop_reasons import END_NOW_TAG

_ADDRESS = "ECS_CONTAINER_METADATA_URI_V4"
# The agent asks AWS twice for one answer.
_PATIENCE_SECONDS = 3.0
# It is on this machine, whatever proxy the image has for others.
_ASK = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def wanted_at_once(environ: Mapping[str, str]) -> bool:
    """Without an answer nobody has said so: then it saves, as always."""
    if not (address := environ.get(_ADDRESS)):
        return False
    try:
        with _ASK.open(f"{address}/taskWithTags", timeout=_PATIENCE_SECONDS) as answer:
            told = json.load(answer)
    except Exception:
        # Whatever it is: it may not cost the save that is under way.
        return False
    tags = told.get("TaskTags") if isinstance(told, dict) else None
    return isinstance(tags, dict) and END_NOW_TAG in tags
