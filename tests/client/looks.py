"""Looks at runs, as the tests need them."""

from datetime import UTC, datetime, timedelta

from contract.events import Saved, Step
from contract.ledger import LedgerEntry, Proof

START = datetime(2026, 11, 21, 2, 44, 55, tzinfo=UTC)
RUN = "20261121t024455z-3f9a2c1b"


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def step(number: int, *, seconds: float, loss: float | None = None, attempt: int = 1) -> Step:
    return Step(at=at(seconds), run=RUN, attempt=attempt, step=number, total_steps=100, loss=loss)


def saved(number: int, *, seconds: float, attempt: int = 1, stall_seconds: float = 0.0034) -> Saved:
    return Saved(
        at=at(seconds),
        run=RUN,
        attempt=attempt,
        step=number,
        path=f"run/checkpoints/checkpoint-{number}",
        files=9,
        bytes=1_234_567,
        stall_seconds=stall_seconds,
        durable_seconds=0.2,
        manifest_crc64nvme="AAAAAAAAAAA=",
    )


def proven(number: int, *, seconds: float) -> LedgerEntry:
    return LedgerEntry(step=number, verified_at=at(seconds), proof=Proof.CRC64NVME, files=9, bytes=1_234_567)
