"""What a program needs in its environment to talk to a local cloud instead of AWS."""

from __future__ import annotations

from tools.local_cloud.settings import ACCESS_KEY, ACCOUNT, HOST_PROGRAMS, REGION, SECRET_KEY, Settings


def for_aws(settings: Settings) -> dict[str, str]:
    """Enough for the AWS CLI and every SDK."""
    return {
        "AWS_ENDPOINT_URL": settings.endpoint,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        # SDKs put "sync-" before the host of some calls, as TestState: no such name leads here.
        "AWS_DISABLE_HOST_PREFIX_INJECTION": "true",
    }


def for_cdk(settings: Settings) -> dict[str, str]:
    """Enough for the CDK CLI, which also caches accounts in its HOME and builds images with docker."""
    return {
        **for_aws(settings),
        "HOME": str(settings.home),
        "CDK_DOCKER": str(HOST_PROGRAMS / "docker"),
        "CDK_DEFAULT_ACCOUNT": ACCOUNT,
        "CDK_DEFAULT_REGION": REGION,
        "BELAY_LOCAL_IMAGES": str(settings.images),
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_VERSION_CHECK": "1",
        "CI": "1",
    }
