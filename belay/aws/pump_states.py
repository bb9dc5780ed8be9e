"""pump.json of a run: read, leased to one round at a time, and written."""

from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from belay.aws.bucket import Bucket
from belay.aws.telemetry import logger
from belay.contract.max_loss import PUMP_AT_MOST
from belay.contract.paths import RunPrefix
from belay.contract.pump_state import PumpState
from belay.policy import pump_state


@dataclass(frozen=True)
class StoredState:
    """A run's state as it is in S3, of which another round may have written a newer one."""

    bucket: Bucket
    prefix: RunPrefix
    state: PumpState
    etag: str | None

    def is_leased(self, now: datetime) -> bool:
        return self.state.leased_until is not None and self.state.leased_until > now

    def leased(self, state: PumpState, now: datetime) -> "StoredState | None":
        """None if another round was quicker. A lease outlives only a function that was killed."""
        return self._written(state.model_copy(update={"leased_until": now + PUMP_AT_MOST}))

    def released(self, state: PumpState) -> None:
        free = state.model_copy(update={"leased_until": None})
        if pump_state.is_worth_writing(self.state, free):
            # Where another round wrote meanwhile, its lines and cursors stand together, and so do these: none is lost.
            self._written(free)

    def _written(self, state: PumpState) -> "StoredState | None":
        etag = self.bucket.write_if(self.prefix.pump_state, state.model_dump_json().encode(), self.etag)
        return StoredState(self.bucket, self.prefix, state, etag) if etag else None


def read(bucket: Bucket, prefix: RunPrefix) -> StoredState:
    found = bucket.read(prefix.pump_state)
    try:
        state = PumpState.model_validate_json(found.body) if found else pump_state.new(prefix.run)
    except ValidationError:
        # Damaged, or of another version: all of the log is read again, and this is written over.
        logger.warning("what the pump remembered cannot be read", extra={"key": prefix.pump_state})
        state = pump_state.new(prefix.run)
    return StoredState(bucket, prefix, state, found.etag if found else None)
