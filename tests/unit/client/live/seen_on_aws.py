"""What a whole run would see on AWS if everything were as Belay assumes."""

from datetime import datetime

from belay.client.live.seen import (
    Definition,
    Export,
    FileSystem,
    Instance,
    Link,
    Right,
    RunTask,
    Seen,
    StateResult,
    Stored,
)
from belay.contract.ledger import LedgerEntry, Proof
from belay.contract.verdict import Durability, Training, Verdict
from tests.unit.client.samples import at

_PROGRAMS = {"mount": "/usr/bin/mount", "setpriv": "/usr/bin/setpriv", "lfs": "/usr/bin/lfs"}


def seen_on_aws() -> Seen:
    return Seen(
        region="us-east-1",
        definitions=[Definition(machine="Train", errors=[]), Definition(machine="Teardown", errors=[])],
        link_without_file_system=StateResult(
            status="FAILED",
            error="FSx.FSxException",
            cause="User: arn:aws:sts::123456789012:assumed-role/belay-train is not authorized to perform: fsx:...",
        ),
        delete_without_file_system=StateResult(status="FAILED", error="FSx.FSxException"),
        fault_in_output=StateResult(status="CAUGHT_ERROR", error="States.QueryEvaluationError"),
        rights=[Right(action="s3:PutObject", on="objects", decision="allowed")],
        unknown_member="InvalidNetworkSettings: The subnet ID 'subnet-0' does not exist",
        file_system_prices=[0.14, 0.29],
        file_system_price_assumed=0.14,
        instance_prices=[0.1008],
        instance_price_assumed=0.1008,
        started_at=at(0),
        described_at=at(0.2),
        file_system=FileSystem(
            created_at=at(4),
            first_seen_at=at(6),
            tagged_at=at(6),
            ready_at=at(360),
            deletion_asked_at=at(1500),
            gone_at=at(1800),
        ),
        links={"dra-1": link("/run", 400), "dra-2": link("/data", 700)},
        export_beside_another_task=StateResult(status="FAILED", error="FSx.DataRepositoryTaskExecutingException"),
        run_task=RunTask(has_token=True),
        instance=Instance(type="m7i.large", installed_mib=8192, most_mib=8064, registered_mib=7620),
        inspection={
            "programs": dict(_PROGRAMS),
            "mount": {"type": "lustre", "options": ["flock", "lazystatfs", "noatime", "rw"]},
            "identity": {"user": 10001, "groups": [], "effective": "", "bounding": "", "no_new_privileges": True},
            "direct": {"is_right": True, "fallocate": "ENOTSUP"},
            "exchange": {"refused": "EINVAL"},
            "lock": {"excludes": True},
            "data": {"before": "(0x0000000d) released exists archived", "after": "(0x00000009)", "is_right": True},
            "exported": {"state": "(0x00000009) exists archived, archive_id:1", "archived": True, "seconds": 90.0},
        },
        ledger=[proven(10, written=1000, verified=1130), proven(20, written=1140, verified=1250)],
        exports=[export(1010, 1100), export(1145, 1230)],
        verdict=Verdict(
            training=Training.COMPLETED,
            durability=Durability.VERIFIED,
            reason="the trainer exited with code 0",
            last_verified_step=20,
            where="s3://bucket/jobs/belay-doctor/run/checkpoints/",
        ),
        stored=[Stored(bytes=100, parts=1, checksums=["CRC64NVME"], type="FULL_OBJECT")],
        teardown_failures=[],
        left=[],
    )


def link(path: str, seconds: float) -> Link:
    return Link(
        path=path,
        created_at=at(seconds),
        ready_at=at(seconds + 240),
        import_created_at=at(seconds + 241),
        import_listed_at=at(seconds + 250),
        import_ended_at=at(seconds + 290),
    )


def proven(step: int, *, written: float, verified: float) -> LedgerEntry:
    asked: datetime = at(written + 20)
    return LedgerEntry(
        step=step, written_at=at(written), asked_at=asked, verified_at=at(verified), proof=Proof.CRC64NVME
    )


def export(begin: float, end: float) -> Export:
    return Export(created_at=at(begin), ended_at=at(end), succeeded=True)
