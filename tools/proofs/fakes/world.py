"""One run as the handlers see it: S3 by moto, other services by fakes, and a fixed clock."""

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

from awscrt.checksums import crc64nvme
from moto.sns.models import sns_backends

from belay.contract import tags
from belay.contract.events import AnyEvent, Removed, Saved, Started
from belay.contract.faults import parse_job
from belay.contract.ledger import Ledger
from belay.contract.paths import MANIFEST, RunPrefix
from belay.contract.plan import RunPlan
from belay.contract.run import execution_digest, run_id
from tools.proofs.fakes.fake import FakeEc2, FakeEcs, FakeFsx, FakeLogs, FakeQuotas, FakeStates

BUCKET = "belay-runs"
LOG_GROUP = "/belay/trainer"
JOB = "digits"
STARTED_AT = datetime(2026, 11, 21, 2, 44, 55, 123000, tzinfo=UTC)
NOW = STARTED_AT + timedelta(hours=1)
ARN = "arn:aws:states:us-east-1:123456789012:execution:belay-train:first"
TRAIN = "arn:aws:states:us-east-1:123456789012:stateMachine:belay-train"
TEARDOWN = "arn:aws:states:us-east-1:123456789012:stateMachine:belay-teardown"
NOTICES = "arn:aws:sns:us-east-1:123456789012:belay-notices"
RUN = run_id(ARN, STARTED_AT)
DIGEST = execution_digest(ARN)
PREFIX = RunPrefix(JOB, RUN)
FILE_SYSTEM = "fs-0123456789abcdef0"

JOB_FILE: dict[str, Any] = {
    "name": JOB,
    "dataset": {"s3": "datasets/digits/"},
    "train": {"recipe": "image-classification", "model": {"model_type": "vit"}},
}
FILES = {"model.safetensors": b"weights" * 100, "optimizer.pt": b"moments" * 50, "rng/state.pth": b""}


@dataclass
class Context:
    function_name: str = "function"
    memory_limit_in_mb: int = 256
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:function"
    aws_request_id: str = "00000000-0000-0000-0000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


def checksum(body: bytes) -> str:
    return base64.b64encode(crc64nvme(body).to_bytes(8, "big")).decode()


def manifest_of(step: int, files: dict[str, bytes], committed_at: datetime) -> bytes:
    listed = [{"path": path, "bytes": len(body), "crc64nvme": checksum(body)} for path, body in files.items()]
    moment = committed_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"version": 1, "step": step, "committed_at": moment, "files": listed}).encode()


class World:
    def __init__(self, s3: Any) -> None:
        self.s3 = s3
        self.fsx, self.ecs, self.states = FakeFsx(), FakeEcs(), FakeStates()
        self.ec2, self.quotas = FakeEc2(), FakeQuotas()
        self.logs = FakeLogs(LOG_GROUP)
        self.now = NOW
        s3.create_bucket(Bucket=BUCKET)

    def ask(self, handler: ModuleType, event: dict[str, Any]) -> dict[str, Any]:
        """As in Lambda: JSON in, JSON out."""
        answer = handler.handler(json.loads(json.dumps(event)), Context())
        plain: dict[str, Any] = json.loads(json.dumps(answer))
        return plain

    # ---- S3

    def put(self, key: str, body: bytes | str = b"x", **more: Any) -> None:
        """With S3's default checksum, which boto3 would replace by its own."""
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=body, **({"ChecksumAlgorithm": "CRC64NVME"} | more))

    def accept(self, job: dict[str, Any] | None = None, **more: Any) -> None:
        """Writes the plan, as `accept` does."""
        plan = RunPlan(
            run=RUN,
            execution_arn=ARN,
            started_at=STARTED_AT,
            bucket=BUCKET,
            prefix=PREFIX.root,
            job=parse_job(job or JOB_FILE),
            resume=None,
            **more,
        )
        self.put(PREFIX.plan, plan.model_dump_json())

    def drop(self, key: str) -> None:
        self.s3.delete_object(Bucket=BUCKET, Key=key)

    def body(self, key: str) -> bytes:
        body: bytes = self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return body

    def json(self, key: str) -> Any:
        return json.loads(self.body(key))

    def keys(self, prefix: str = "") -> list[str]:
        return [one["Key"] for one in self.s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])]

    @property
    def ledger(self) -> Ledger:
        return Ledger.model_validate_json(self.body(PREFIX.ledger))

    # ---- notices

    @property
    def mails(self) -> list[str]:
        """Subject and text of each notice."""
        topic = sns_backends["123456789012"]["us-east-1"].topics[NOTICES]
        return [f"{subject}\n{text}" for _id, text, subject, *_more in topic.sent_notifications]

    # ---- the trainer

    def at(self, minute: float) -> datetime:
        return STARTED_AT + timedelta(minutes=minute)

    def say(self, event: AnyEvent, *, stream: str = "run/trainer/1") -> None:
        self.logs.lines.append((event.at, stream, event.line()))

    def start_training(self, *, minute: float = 1, run: str = RUN, stream: str = "run/trainer/1") -> None:
        self.say(Started(at=self.at(minute), run=run, attempt=1, job=JOB, processes=1), stream=stream)

    def saved(self, step: int, *, minute: float, files: dict[str, bytes] | None = None) -> Saved:
        manifest = manifest_of(step, FILES if files is None else files, self.at(minute))
        return Saved(
            at=self.at(minute) + timedelta(milliseconds=5),
            run=RUN,
            attempt=1,
            step=step,
            path=f"/fsx/run/checkpoints/checkpoint-{step}",
            files=3,
            bytes=1050,
            stall_seconds=0.01,
            durable_seconds=1.0,
            manifest_crc64nvme=checksum(manifest),
        )

    def save(self, step: int, *, minute: float, files: dict[str, bytes] | None = None) -> None:
        """The log line of a whole checkpoint on the mount."""
        self.say(self.saved(step, minute=minute, files=files))

    def remove(self, step: int, *, minute: float) -> None:
        self.say(Removed(at=self.at(minute), run=RUN, attempt=1, step=step))

    def export(
        self, step: int, *, minute: float, files: dict[str, bytes] | None = None, prefix: RunPrefix = PREFIX, **put: Any
    ) -> None:
        """The objects that an export writes for the checkpoint that was committed at this minute."""
        files = FILES if files is None else files
        folder = prefix.checkpoint(step)
        self.put(folder, b"")
        for path, body in files.items():
            self.put(f"{folder}{path}", body, **put)
        self.put(f"{folder}{MANIFEST}", manifest_of(step, files, self.at(minute)))

    # ---- the file system

    def scratch(self, id: str = FILE_SYSTEM, *, lifecycle: str = "AVAILABLE", minute: float = 0, **more: str) -> None:
        labels = {
            tags.DEPLOYMENT: "belay",
            tags.EXECUTION: DIGEST,
            tags.RUN: RUN,
            tags.JOB: JOB,
            tags.STATE: "in-use",
        }
        renamed = {f"belay:{key}": value for key, value in more.items()}
        self.fsx.add(id, tags=labels | renamed, created_at=self.at(minute), lifecycle=lifecycle)
