"""The bucket: what outlives every file system, every run, and the training stack itself."""

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.encryption import CustomerKey
from stacks.settings import Settings


class DataStack(Stack):
    """Datasets go in under `datasets/`; runs leave their checkpoints and certificates under `jobs/`."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, description: str) -> None:
        super().__init__(scope, id, description=description)
        self.key = (
            CustomerKey(self, "Encryption", deployment=settings.deployment).key if settings.customer_key else None
        )
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            versioned=True,
            encryption=s3.BucketEncryption.KMS if self.key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=self.key,
            # One call to KMS for many objects: a checkpoint has thousands of parts.
            bucket_key_enabled=True if self.key else None,
            server_access_logs_bucket=self._audit() if settings.audit else None,
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

    def _audit(self) -> s3.Bucket:
        """Who read, wrote or deleted what, a year long. S3 delivers it with keys of its own alone."""
        return s3.Bucket(
            self,
            "Audit",
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=RemovalPolicy.RETAIN,
            lifecycle_rules=[s3.LifecycleRule(id="a year", expiration=Duration.days(365))],
        )
