"""The bucket: what outlives every file system, every run, and the training stack itself."""

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_s3 as s3
from constructs import Construct


class DataStack(Stack):
    """Datasets go in under `datasets/`; runs leave their checkpoints and certificates under `jobs/`."""

    def __init__(self, scope: Construct, id: str, *, description: str) -> None:
        super().__init__(scope, id, description=description)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            versioned=True,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            # `cdk destroy` leaves it: checkpoints are deleted by people, knowingly.
            removal_policy=RemovalPolicy.RETAIN,
            # Only leftovers expire. No rule names a live object, so no checkpoint ever ages out.
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="leftovers",
                    abort_incomplete_multipart_upload_after=Duration.days(7),
                    noncurrent_version_expiration=Duration.days(30),
                    expired_object_delete_marker=True,
                )
            ],
        )
