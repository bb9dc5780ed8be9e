"""Whether a person wants training ended without its last save: then they have tagged its task so."""

from collections.abc import Mapping

from belay.contract.stop_reasons import END_NOW_TAG
from containers.trainer.supervision.agent import metadata


def end_now_asked(environ: Mapping[str, str]) -> bool:
    """False without an answer: then training saves, as always."""
    tags = metadata(environ, "/taskWithTags").get("TaskTags")
    return isinstance(tags, dict) and END_NOW_TAG in tags
