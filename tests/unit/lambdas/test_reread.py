"""What was proven long ago is read again, within a bound; rot is told once, and nothing resumes from it."""

import tracemalloc
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from belay.aws import resuming
from belay.aws.bucket import Bucket
from belay.aws.exceptions import RereadFailed
from belay.aws.rereading import Reader
from belay.contract.faults import JobRefused, parse_job
from belay.contract.ledger import Ledger, LedgerEntry, Proof
from belay.contract.manifest import ManifestFile
from belay.contract.paths import RunPrefix, checkpoint_folder
from belay.contract.reread import REREAD, Reread
from belay.policy.ledgers import document
from belay.policy.rereading import REST, Proven
from lambdas.safety import pump, reread
from tools.proofs.fakes.fake import HttpAnswer, answering
from tools.proofs.fakes.world import BUCKET, FILES, JOB, JOB_FILE, PREFIX, RUN, Context, World, checksum, manifest_of

LATER = "20261222t000000z-00000000"
BIG = {"a.bin": b"a" * 600_000, "b.bin": b"b" * 600_000, "empty": b""}


@pytest.fixture
def proven(world: World) -> World:
    """Steps 10 and 20 were exported and proven by the pump; then a month and a day go by."""
    world.accept()
    world.scratch()
    world.start_training()
    for step, minute in ((10, 5), (20, 6)):
        world.save(step, minute=minute)
        world.export(step, minute=minute)
    world.now = world.at(7)
    world.ask(pump, {})
    assert world.ledger.last_verified_step == 20
    world.now += REST + timedelta(days=1)
    return world


def round_of(world: World) -> Reread:
    return Reread.model_validate(world.ask(reread, {}))


def entry(world: World, step: int) -> LedgerEntry:
    return next(one for one in world.ledger.entries if one.step == step)


def rot(world: World, step: int, path: str = "optimizer.pt") -> None:
    """One bit, which neither its size nor a checksum of S3 shows: an upload with another checksum has none."""
    key = f"{PREFIX.checkpoint(step)}{path}"
    body = bytearray(world.body(key))
    body[len(body) // 2] ^= 1
    world.put(key, bytes(body), ChecksumAlgorithm="CRC32")


def test_every_byte_is_read_and_when_is_written_down(proven: World) -> None:
    found = round_of(proven)
    size = sum(map(len, FILES.values()))
    assert (found.checkpoints, found.read_bytes, found.damaged) == (2, 2 * size, [])
    assert entry(proven, 10).read_again_at == entry(proven, 20).read_again_at == proven.now
    assert Reread.model_validate(proven.json(REREAD)) == found


def test_nothing_is_read_twice_within_a_month(proven: World) -> None:
    round_of(proven)
    proven.now += REST - timedelta(days=1)
    assert round_of(proven).checkpoints == 0
    proven.now += timedelta(days=2)
    assert round_of(proven).checkpoints == 2


def test_one_damaged_byte_is_noticed_told_once_and_stays_known(
    proven: World, capsys: pytest.CaptureFixture[str]
) -> None:
    rot(proven, 20)
    assert round_of(proven).damaged == [f"{JOB}/{RUN}/checkpoint-20"]
    assert '"DamagedCheckpoints":[1.0]' in capsys.readouterr().out.replace(" ", "")
    assert entry(proven, 20).damage == "optimizer.pt has other content than was saved"
    assert entry(proven, 20).damaged_since == proven.now and entry(proven, 10).damage is None
    # The newest whole one is 10, for whoever asks.
    assert proven.ledger.last_verified_step == 10
    [mail] = proven.mails
    for words in (f"Run {RUN} of job {JOB}: step 20 was proven", "Last verified step: 10.", "CheckpointDamaged"):
        assert words in mail

    proven.now += timedelta(days=1)
    again = round_of(proven)
    assert (again.damaged, again.read_bytes, again.checkpoints) == ([f"{JOB}/{RUN}/checkpoint-20"], 0, 0)
    assert len(proven.mails) == 1


@pytest.mark.parametrize("lost", ["optimizer.pt", "rng/state.pth"])
def test_a_file_that_is_missing_is_damage(proven: World, lost: str) -> None:
    proven.drop(f"{PREFIX.checkpoint(20)}{lost}")
    round_of(proven)
    assert entry(proven, 20).damage == f"{lost} is missing"


def test_a_manifest_that_changed_is_damage(proven: World) -> None:
    proven.put(PREFIX.manifest(20), manifest_of(20, {"other": b"x"}, proven.now))
    round_of(proven)
    assert entry(proven, 20).damage == "S3 holds another save of this step"


def test_what_a_person_removed_is_not_damaged(proven: World) -> None:
    proven.drop(PREFIX.manifest(20))
    assert round_of(proven).damaged == [] and proven.mails == []


def written_since(world: World) -> None:
    """S3's clock here is the machine's own: damage that was found before it makes all objects newer."""
    ledger = world.ledger
    entries = [
        one.model_copy(update={"damaged_since": one.damaged_since and one.damaged_since - timedelta(days=9999)})
        for one in ledger.entries
    ]
    world.put(PREFIX.ledger, document(ledger.model_copy(update={"entries": entries})))


def test_what_was_restored_is_whole_again(proven: World) -> None:
    rot(proven, 20)
    round_of(proven)
    proven.now += timedelta(days=1)
    proven.put(f"{PREFIX.checkpoint(20)}optimizer.pt", FILES["optimizer.pt"])
    written_since(proven)
    assert round_of(proven).damaged == []
    assert entry(proven, 20).damage is None and proven.ledger.last_verified_step == 20


def test_what_was_written_again_and_is_still_damaged_is_read_and_not_told_twice(proven: World) -> None:
    rot(proven, 20)
    round_of(proven)
    written_since(proven)
    since = entry(proven, 20).damaged_since
    proven.now += timedelta(days=1)
    assert round_of(proven).read_bytes > 0
    assert (entry(proven, 20).damaged_since, entry(proven, 20).read_again_at) == (since, proven.now)
    assert len(proven.mails) == 1


def test_nothing_resumes_from_a_damaged_checkpoint(proven: World) -> None:
    rot(proven, 20)
    round_of(proven)
    bucket = Bucket(proven.s3, BUCKET)
    chosen = resuming.choose(bucket, parse_job(JOB_FILE), LATER)
    assert chosen is not None and (chosen.run, chosen.step) == (RUN, 10)
    named = parse_job(JOB_FILE | {"resume": f"{RUN}/{checkpoint_folder(20)}"})
    with pytest.raises(JobRefused) as refused:
        resuming.choose(bucket, named, LATER)
    [fault] = refused.value.faults
    assert f"{RUN}/checkpoint-20 is damaged in S3 since {proven.now:%Y-%m-%d}: optimizer.pt has other content" in fault
    assert fault.endswith(f"the newest whole ones are {RUN}/checkpoint-10")


def test_one_that_cannot_be_read_does_not_keep_the_others_and_is_not_damaged(proven: World) -> None:
    def refuse(params: dict[str, Any], **_: Any) -> tuple[HttpAnswer, dict[str, Any]] | None:
        if "checkpoint-10/model" not in params["url_path"]:
            return None
        return HttpAnswer(403), {"Error": {"Code": "AccessDenied", "Message": "no"}, "ResponseMetadata": {}}

    with answering(proven.s3, "GetObject", refuse), pytest.raises(RereadFailed, match=r"checkpoint-10: .*AccessDenied"):
        round_of(proven)
    assert entry(proven, 10).read_again_at is None and entry(proven, 10).damage is None
    assert entry(proven, 20).read_again_at == proven.now


# ---- the bound


@pytest.fixture
def big(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """One checkpoint of 1.2 MB, read in pieces of 100 kB."""
    monkeypatch.setattr("belay.aws.rereading._CHUNK_BYTES", 100_000)
    world.export(10, minute=5, files=BIG)
    save = checksum(manifest_of(10, BIG, world.at(5)))
    verified = LedgerEntry(step=10, verified_at=world.at(6), proof=Proof.CRC64NVME, manifest_crc64nvme=save)
    world.put(PREFIX.ledger, document(Ledger(run=RUN, entries=[verified])))
    world.now += REST + timedelta(days=1)
    return world


@pytest.mark.parametrize("damaged", [None, "a.bin", "b.bin"])
def test_a_round_goes_on_where_the_last_one_stopped(
    big: World, monkeypatch: pytest.MonkeyPatch, damaged: str | None
) -> None:
    if damaged:
        rot(big, 10, damaged)
    monkeypatch.setattr(reread, "_BYTES_IN_A_GIB", 350_000)
    read = list[Reread]()
    while not read or read[-1].stopped_at:
        read.append(round_of(big))
        big.now += timedelta(days=1)
        assert len(read) < 10
    last = {None: [400_000, 400_000, 400_000], "a.bin": [400_000, 200_000], "b.bin": [400_000, 400_000, 400_000]}
    assert [one.read_bytes for one in read] == last[damaged]
    assert entry(big, 10).damage == (f"{damaged} has other content than was saved" if damaged else None)


def test_a_round_ends_before_its_time_is_up(big: World, monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([900_000] * 4)
    monkeypatch.setattr(Context, "get_remaining_time_in_millis", lambda _self: next(left, 59_000))
    found = round_of(big)
    assert found.stopped_at and 0 < found.read_bytes < 1_200_000 and found.checkpoints == 0
    assert entry(big, 10).read_again_at is None


def test_a_file_of_gigabytes_is_read_in_little_memory(world: World) -> None:
    """A body of 2 GB that is never there as a whole."""
    size, piece = 2 * 1024**3, b"x" * (8 * 1024 * 1024)

    class Body:
        def iter_chunks(self, chunk: int) -> Iterator[bytes]:
            assert chunk == len(piece)
            return (piece for _ in range(size // chunk))

        def close(self) -> None:
            pass

    class S3:
        def get_object(self, **asked: Any) -> dict[str, Any]:
            return {"Body": Body()}

    reader = Reader(Bucket(S3(), BUCKET), most_bytes=size, has_time=lambda: True)
    one = Proven(RunPrefix(JOB, RUN), LedgerEntry(step=10, verified_at=world.now))
    file = ManifestFile(path="model.safetensors", bytes=size, crc64nvme="AAAAAAAAAAA=")
    tracemalloc.start()
    try:
        reader._read_on(one, file, reader._beginning(one, file))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reader.read_bytes == size and peak < 1024 * 1024
