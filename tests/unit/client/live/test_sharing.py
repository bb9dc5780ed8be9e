"""A document that goes into a public issue names nobody."""

from belay.client.live.sharing import shareable

REFUSAL = (
    "User: arn:aws:sts::123456789012:assumed-role/Admin/jane@example.com is not authorized to perform:"
    " iam:SimulatePrincipalPolicy on resource: arn:aws:iam::123456789012:role/belay-train"
)


def test_a_refusal_of_iam_names_neither_account_nor_person_nor_role() -> None:
    said = shareable({"seen": [REFUSAL]}, names=["bucket"])["seen"][0]
    assert not [one for one in ("123456789012", "jane", "Admin", "belay-train") if one in said]
    assert "iam:SimulatePrincipalPolicy" in said and "arn:aws:sts:..." in said


def test_buckets_and_keys_are_left_out_and_numbers_of_another_length_stay() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    said = shareable(
        {"a": f"s3://my-data/x and my-bucket-1 by {key}", "b": 16777216, "c": "1763829282123 ms"},
        names=["my-bucket-1"],
    )
    assert said == {"a": "s3://.../x and ... by ...", "b": 16777216, "c": "1763829282123 ms"}
