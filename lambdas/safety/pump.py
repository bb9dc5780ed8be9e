"""Each minute, for every living file system: prove what is in S3, and export what is not. So a loss costs minutes.

The log is read first, for all runs and within a part of the minute. Then the runs are served side by side. To compare
a checkpoint of very many files takes minutes: its run is leased meanwhile, and other rounds serve the other runs.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from belay.aws import clock, pump_states, scratch
from belay.aws.bucket import Bucket
from belay.aws.clients import client
from belay.aws.environment import Environment
from belay.aws.exceptions import PumpFailed
from belay.aws.log_group import CallRate, LogGroup
from belay.aws.pump_run import PumpedRun, Served
from belay.aws.pump_states import StoredState
from belay.aws.run_logs import Reading
from belay.aws.telemetry import logger, metrics, tracer
from belay.contract import tags
from belay.contract.messages.probes import Phase
from belay.contract.paths import RunPrefix
from belay.policy.file_system import FileSystem

_SIDE_BY_SIDE = 16
# The rest of the minute is for proofs and exports.
_READING_SECONDS = 40.0
_Answer = TypeVar("_Answer")


class Settings(Environment):
    bucket: str
    deployment: str
    trainer_log_group: str
    notices_topic_arn: str
    # FilterLogEvents allows 5 calls a second in the slowest Regions, 10 in most, 25 in us-east-1.
    log_calls_per_second: float = 5.0


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
@tracer.capture_lambda_handler
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    wanted = {tags.DEPLOYMENT: settings.deployment, tags.STATE: tags.State.IN_USE}
    living = {one.id: one for one in scratch.tagged(client("fsx"), wanted) if one.reading.phase is Phase.READY}
    round_ = _Round()
    # boto3's clients may be used by many threads, but not made by them.
    bucket, fsx, sns = Bucket(client("s3"), settings.bucket), client("fsx"), client("sns")

    stored = round_.side_by_side(living, lambda id: _remembered(bucket, living[id]))
    rate = CallRate(calls_per_second=settings.log_calls_per_second, seconds=_READING_SECONDS)
    states = {one.state.run: one.state for one in stored.values()}
    reading = Reading(LogGroup(client("logs"), settings.trainer_log_group, rate), states, clock.now())
    reading.read()

    def serve(id: str) -> Served | None:
        one = stored[id]
        state = reading.states[one.state.run]
        run = PumpedRun(fsx, sns, bucket, settings.notices_topic_arn, id, one, state, clock.now())
        try:
            return run.serve()
        except fsx.exceptions.FileSystemNotFound:
            # Teardown was quicker, and it verifies before it deletes.
            logger.info("the file system went away while we looked", extra={"file_system": id})
            return None

    served = [one for one in round_.side_by_side(stored, serve).values() if one]
    round_.failed |= {
        id: reading.failed[one.state.run] for id, one in stored.items() if one.state.run in reading.failed
    }
    metrics.add_metric(name="LivingFileSystems", unit=MetricUnit.Count, value=len(living))
    for one in served:
        logger.info("pumped", extra=one.answer)
        for measure in one.measures:
            # Powertools' metrics are not for several threads: past a hundred values it writes them out and begins anew.
            metrics.add_metric(name=measure.name, unit=measure.unit, value=measure.value)
    if round_.failed:
        raise PumpFailed("; ".join(f"{id}: {why}" for id, why in sorted(round_.failed.items())))
    return {"file_systems": [one.answer for one in served]}


@dataclass
class _Round:
    """One run's trouble must not cost another its export. It is not hidden: the round ends as an error."""

    failed: dict[str, str] = field(default_factory=dict)

    def side_by_side(self, ids: Iterable[str], ask: Callable[[str], _Answer]) -> dict[str, _Answer]:
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            asked = {id: pool.submit(ask, id) for id in ids}
        answers: dict[str, _Answer] = {}
        for id, future in asked.items():
            try:
                answers[id] = future.result()
            except Exception as error:
                logger.exception("could not serve a file system", extra={"file_system": id})
                self.failed[id] = str(error) or type(error).__name__
        return answers


def _remembered(bucket: Bucket, file_system: FileSystem) -> StoredState:
    return pump_states.read(bucket, RunPrefix(file_system.tags[tags.JOB], file_system.tags[tags.RUN]))
