"""The bucket: nothing in it is lost by accident, by age, or with the stack."""

import pytest

from tools.definitions.templates import Assembly, Resource


@pytest.fixture
def bucket(assembly: Assembly) -> Resource:
    [bucket] = assembly.of_type("AWS::S3::Bucket")
    return bucket


def test_the_bucket_outlives_its_stack(bucket: Resource) -> None:
    assert (bucket.raw["DeletionPolicy"], bucket.raw["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_what_was_overwritten_can_be_had_back(bucket: Resource) -> None:
    assert bucket.properties["VersioningConfiguration"] == {"Status": "Enabled"}


def test_the_bucket_is_encrypted_and_closed_to_the_public(bucket: Resource) -> None:
    [rule] = bucket.properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] in ("AES256", "aws:kms")
    assert set(bucket.properties["PublicAccessBlockConfiguration"].values()) == {True}


def test_no_rule_ever_removes_or_moves_a_current_object(bucket: Resource) -> None:
    harmless = {
        "Id",
        "Status",
        "AbortIncompleteMultipartUpload",
        "NoncurrentVersionExpiration",
        "ExpiredObjectDeleteMarker",
    }
    rules = bucket.properties["LifecycleConfiguration"]["Rules"]
    assert rules
    assert [set(rule) - harmless for rule in rules if set(rule) - harmless] == []


def test_leftovers_of_uploads_do_not_cost_money_for_ever(bucket: Resource) -> None:
    rules = bucket.properties["LifecycleConfiguration"]["Rules"]
    assert any(rule.get("AbortIncompleteMultipartUpload") for rule in rules)
    assert any(rule.get("NoncurrentVersionExpiration") for rule in rules)
