import pytest

from belay.aws.bucket import Bucket
from belay.aws.exceptions import Overtaken
from tools.proofs.fakes.world import BUCKET, World

KEY = "jobs/digits/run/ledger.json"


def test_a_document_is_created_and_then_changed(world: World) -> None:
    bucket = Bucket(world.s3, BUCKET)
    assert bucket.update(KEY, lambda before: (before or b"") + b"a") == b"a"
    assert bucket.update(KEY, lambda before: (before or b"") + b"b") == b"ab"
    assert world.body(KEY) == b"ab"


@pytest.mark.parametrize("there_before", [True, False])
def test_what_another_writes_meanwhile_is_not_lost(world: World, there_before: bool) -> None:
    if there_before:
        world.put(KEY, b"1")
    others = iter([b"2", b"3"])

    def change(before: bytes | None) -> bytes:
        other = next(others, None)
        if other:
            world.put(KEY, other)
        return (before or b"") + b"+mine"

    assert Bucket(world.s3, BUCKET).update(KEY, change) == b"3+mine"


def test_a_document_that_is_removed_meanwhile_is_written_anew(world: World) -> None:
    world.put(KEY, b"1")
    removals = iter([KEY])

    def change(before: bytes | None) -> bytes:
        for key in removals:
            world.drop(key)
        return (before or b"") + b"mine"

    assert Bucket(world.s3, BUCKET).update(KEY, change) == b"mine"


def test_endless_competition_is_an_error_and_not_a_loss(world: World) -> None:
    def change(before: bytes | None) -> bytes:
        world.put(KEY, (before or b"") + b"x")
        return b"mine"

    with pytest.raises(Overtaken, match=KEY):
        Bucket(world.s3, BUCKET).update(KEY, change)


def test_a_document_that_stays_as_it_is_is_not_written_again(world: World) -> None:
    world.put(KEY, b"1")
    before = world.s3.head_object(Bucket=BUCKET, Key=KEY)["LastModified"]
    Bucket(world.s3, BUCKET).update(KEY, lambda body: body or b"")
    assert world.s3.head_object(Bucket=BUCKET, Key=KEY)["LastModified"] == before


@pytest.mark.parametrize(("kind", "known"), [("FULL_OBJECT", "abc="), (None, "abc="), ("COMPOSITE", None)])
def test_a_checksum_of_parts_says_nothing_about_the_whole(kind: str | None, known: str | None) -> None:
    class S3:
        def head_object(self, **asked: str) -> dict[str, str]:
            assert asked["ChecksumMode"] == "ENABLED"
            return {"ChecksumCRC64NVME": "abc="} | ({"ChecksumType": kind} if kind else {})

    assert Bucket(S3(), BUCKET).checksum(KEY).crc64nvme == known


def test_only_the_newest_part_of_a_long_file_is_read(world: World) -> None:
    bucket = Bucket(world.s3, BUCKET)
    world.put("long", b"0123456789")
    world.put("empty", b"")
    assert bucket.read_end("long", most_bytes=4) == b"6789"
    assert bucket.read_end("long", most_bytes=100) == b"0123456789"
    assert bucket.read_end("empty", most_bytes=4) == b""
    assert bucket.read_end("absent", most_bytes=4) is None


def test_the_empty_objects_that_stand_for_folders_are_no_content(world: World) -> None:
    bucket = Bucket(world.s3, BUCKET)
    world.put("datasets/digits/", b"")
    assert not bucket.has_any("datasets/digits/")
    world.put("datasets/digits/train.parquet")
    assert bucket.has_any("datasets/digits/")
    assert not bucket.exists("datasets/digits/train")
    assert bucket.exists("datasets/digits/train.parquet")
