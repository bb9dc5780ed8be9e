"""A part of a ledger is changed, and the document comes out as if all of it had been read."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from belay.contract.ledger import Ledger, LedgerEntry, Proof
from belay.policy.ledgers import Finding, document, document_with, merged, recent, with_told

RUN = "20261121t024455z-3f9a2c1b"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STEPS = st.integers(1, 30)
MOMENTS = st.none() | st.integers(0, 100).map(lambda minutes: NOW - timedelta(minutes=minutes))


@st.composite
def entries(draw: st.DrawFn) -> LedgerEntry:
    verified_at = draw(MOMENTS)
    return LedgerEntry(
        step=draw(STEPS),
        written_at=draw(MOMENTS),
        asked_at=draw(MOMENTS),
        verified_at=verified_at,
        proof=Proof.CRC64NVME if verified_at else None,
        problem=None if verified_at else draw(st.none() | st.text(max_size=20)),
        manifest_crc64nvme=draw(st.sampled_from(["AAAAAAAAAAA=", "BBBBBBBBBBB="])),
    )


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    problem = draw(st.none() | st.text(min_size=1, max_size=20))
    return Finding(draw(STEPS), problem, manifest_crc64nvme="AAAAAAAAAAA=", proof=None if problem else Proof.CRC64NVME)


def ledger_of(found: list[LedgerEntry]) -> Ledger:
    by_step = {entry.step: entry for entry in found}
    return Ledger(run=RUN, entries=[by_step[step] for step in sorted(by_step)])


@given(
    found=st.lists(entries(), min_size=1, max_size=20),
    news=st.lists(findings(), max_size=5),
    notices=st.sets(st.text()),
)
def test_a_change_of_a_part_is_that_change_of_the_whole(
    found: list[LedgerEntry], news: list[Finding], notices: set[str]
) -> None:
    whole = ledger_of(found)
    part = recent(whole, {finding.step for finding in news})

    def change(ledger: Ledger) -> Ledger:
        return with_told(merged(ledger, news, {}, set(), NOW), sorted(notices), NOW)

    assert document_with(document(whole), change(part), known=part) == document(change(whole))
    assert Ledger.model_validate_json(document(change(whole))) == change(whole)


def test_an_entry_that_the_part_did_not_know_is_not_overwritten() -> None:
    whole = ledger_of([LedgerEntry(step=step, verified_at=NOW) for step in range(1, 20)])
    part = recent(whole, {19})
    assert 2 not in {entry.step for entry in part.entries}
    assert document_with(document(whole), merged(part, [Finding(2, None)], {}, set(), NOW), known=part) is None


def test_a_document_of_another_form_is_read_whole() -> None:
    ledger = ledger_of([LedgerEntry(step=1)])
    for text in (ledger.model_dump_json(indent=1), ledger.model_dump_json(), "", "{"):
        assert document_with(text.encode(), ledger, known=ledger) is None
