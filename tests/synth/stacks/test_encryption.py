"""At rest and on its way, everything is encrypted; with one key of the customer's own where the setting says so."""

from typing import Any

from jsonata import jsonata

from tools.definitions.asl import bare, states
from tools.definitions.grants import grants_at_resources
from tools.definitions.templates import Assembly
from tools.proofs.permissions.simulator import ALLOWED, Policies, Question, ask, policies_of

FUNCTIONS = "Team1xTraining/Functions"
IN_BUCKET = {"accept", "find", "verify", "certify", "sweep", "pump", "reread"}
VIA_S3 = {"kms:ViaService": "s3.us-east-1.amazonaws.com"}


def key_of(assembly: Assembly) -> str:
    [key] = assembly.of_type("AWS::KMS::Key")
    return f"arn:aws:kms:us-east-1:123456789012:key/{key.path.replace('/', '-')}"


def test_the_setting_puts_one_key_on_everything_that_is_kept(existing: Assembly) -> None:
    key = key_of(existing)
    kept = {
        "AWS::Logs::LogGroup": "KmsKeyId",
        "AWS::SNS::Topic": "KmsMasterKeyId",
        "AWS::SQS::Queue": "KmsMasterKeyId",
    }
    for type, name in kept.items():
        assert existing.of_type(type)
        assert {resource.properties.get(name) for resource in existing.of_type(type)} == {key}, type
    encryption = existing.at("Team1xData/Bucket", "AWS::S3::Bucket").properties["BucketEncryption"]
    [rule] = encryption["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}


def test_the_key_turns_by_itself_and_outlives_the_stacks(existing: Assembly) -> None:
    [key] = existing.of_type("AWS::KMS::Key")
    assert key.properties["EnableKeyRotation"] is True
    assert (key.raw["DeletionPolicy"], key.raw["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_without_the_setting_there_is_no_key_to_pay_for(assembly: Assembly) -> None:
    assert assembly.of_type("AWS::KMS::Key") == []


def create_arguments(assembly: Assembly, type: str) -> dict[str, Any]:
    """What Train would send, for a file system of this type."""
    arguments = states(assembly.machine("Train"))["Create scratch file system"]["Arguments"]
    scratch = {
        "StorageCapacity": 1200,
        "LustreConfiguration": {"DeploymentType": type},
        "Tags": [{"Key": "belay:job", "Value": "digits"}],
        "ClientRequestToken": "token",
    }
    expression = jsonata.Jsonata(bare(arguments))
    expression.assign("request", {"scratch": scratch})
    answer: dict[str, Any] = expression.evaluate(None)
    return answer


def test_a_persistent_file_system_gets_the_key_and_a_scratch_one_cannot(existing: Assembly, assembly: Assembly) -> None:
    persistent, scratch = (create_arguments(existing, type) for type in ("PERSISTENT_2", "SCRATCH_2"))
    assert persistent.pop("KmsKeyId") == key_of(existing)
    persistent["LustreConfiguration"] = scratch["LustreConfiguration"]
    assert persistent == scratch
    plain = states(assembly.machine("Train"))["Create scratch file system"]["Arguments"]
    assert set(scratch) == set(plain)
    assert scratch["FileSystemTypeVersion"] == plain["FileSystemTypeVersion"]
    assert isinstance(scratch["SubnetIds"], list)


def test_roles_use_the_key_through_the_service_that_they_need_it_for(existing: Assembly) -> None:
    key, policies = key_of(existing), policies_of(existing)
    roles = [role for role in policies.of_roles if role.startswith(FUNCTIONS)]
    through = {name: {"kms:ViaService": f"{name}.us-east-1.amazonaws.com"} for name in ("s3", "sns", "fsx", "ec2")}
    for_aws = {**through["fsx"], "kms:GrantIsForAWSResource": "true"}
    train, teardown = (f"Team1xTraining/{name}/Machine/Role" for name in ("Train", "Teardown"))
    questions = [
        *(Question(role, "kms:Decrypt", key, through["s3"]) for role in roles),
        *(Question(role, "kms:Decrypt", key, {}) for role in policies.of_roles),
        *(Question(role, "kms:Decrypt", key, through["ec2"]) for role in policies.of_roles),
        Question(teardown, "kms:GenerateDataKey", key, through["sns"]),
        Question(train, "kms:CreateGrant", key, for_aws),
        Question(train, "kms:CreateGrant", key, through["fsx"]),
    ]
    verdicts = ask(_with_key_policy(policies, existing), questions)
    allowed = {
        (q.role, q.action, *q.context) for q, verdict in zip(questions, verdicts, strict=True) if verdict == ALLOWED
    }
    assert allowed == {
        *((f"{FUNCTIONS}/{name}-role", "kms:Decrypt", "kms:ViaService") for name in IN_BUCKET),
        (teardown, "kms:GenerateDataKey", "kms:ViaService"),
        (train, "kms:CreateGrant", "kms:ViaService", "kms:GrantIsForAWSResource"),
    }


def _with_key_policy(policies: Policies, assembly: Assembly) -> Policies:
    [key] = assembly.of_type("AWS::KMS::Key")
    said = {"arn": key_of(assembly), "policy": key.properties["KeyPolicy"]}
    return Policies(policies.of_roles, [*policies.of_resources, said])


def test_fsx_exports_under_the_key_by_the_role_that_it_makes_itself(existing: Assembly) -> None:
    said = [grant for grant in grants_at_resources(existing) if "Encryption/Key" in grant.holder]
    [exporting] = [grant for grant in said if grant.action == "kms:GenerateDataKey" and grant.holder.endswith(": *")]
    assert (
        "aws:PrincipalArn = arn:aws:iam::123456789012:role/aws-service-role/s3.data-source.lustre"
        in exporting.condition
    )
    assert "kms:CallerAccount = 123456789012" in exporting.condition
    heard = {grant.holder.rpartition(": ")[2] for grant in said}
    assert {"cloudwatch.amazonaws.com", "events.amazonaws.com", "logs.us-east-1.amazonaws.com"} <= heard


def test_undelivered_events_reach_their_queue_under_the_key(existing: Assembly) -> None:
    """AWS says that keys know neither aws:SourceAccount nor aws:SourceArn of EventBridge: a statement with either would
    never hold. Whose rule it is, the queue asks."""
    said = grants_at_resources(existing)
    by_events = [grant for grant in said if grant.holder.endswith(": events.amazonaws.com")]
    at_the_key = {grant.action: grant.condition for grant in by_events if "Encryption/Key" in grant.holder}
    assert at_the_key == {"kms:Decrypt": "", "kms:GenerateDataKey": ""}
    [sending] = [grant for grant in by_events if grant.action == "sqs:SendMessage"]
    assert "aws:SourceArn" in sending.condition


def test_nothing_of_ours_is_reached_without_encryption_on_the_way(assembly: Assembly, existing: Assembly) -> None:
    for deployed in (assembly, existing):
        refusing = {
            grant.holder.partition(": ")[0]
            for grant in grants_at_resources(deployed)
            if grant.effect == "Deny" and "Bool aws:SecureTransport = false" in grant.condition
        }
        policies = ("AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy")
        assert refusing == {resource.path for type in policies for resource in deployed.of_type(type)}


def test_audited_every_access_to_the_bucket_is_written_down_beside_it(existing: Assembly, assembly: Assembly) -> None:
    bucket, audit = (existing.at(f"Team1xData/{name}", "AWS::S3::Bucket") for name in ("Bucket", "Audit"))
    assert bucket.properties["LoggingConfiguration"]["DestinationBucketName"] == audit.path.replace("/", "-").lower()
    assert audit.raw["DeletionPolicy"] == "Retain"
    assert set(audit.properties["PublicAccessBlockConfiguration"].values()) == {True}
    writing = [g for g in grants_at_resources(existing) if g.action == "s3:PutObject" and "Audit/Policy" in g.holder]
    assert [grant.holder.rpartition(": ")[2] for grant in writing] == ["logging.s3.amazonaws.com"]
    assert "LoggingConfiguration" not in assembly.at("BelayData/Bucket", "AWS::S3::Bucket").properties
