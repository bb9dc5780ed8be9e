"""Can training read its data? Asked before anything costs money."""

from botocore.exceptions import ClientError

from belay.aws.bucket import Bucket
from belay.aws.clients import error_code
from belay.contract.job import Dataset
from belay.policy.requests import place_of


def faults_of(dataset: Dataset, own: Bucket, foreign_buckets: frozenset[str]) -> list[str]:
    name, prefix = place_of(dataset, own.name)
    uri = f"s3://{name}/{prefix}"
    if name == own.name and prefix.startswith("jobs/"):
        # FSx refuses two links whose prefixes overlap, and one job has no business in another's results.
        return [f"dataset.s3: {uri} lies among the runs' own results; put data under 'datasets/'"]
    if name != own.name and name not in foreign_buckets:
        return [f"dataset.s3: this deployment may not read bucket '{name}'; add it to the setting dataset_buckets"]
    try:
        if Bucket(own.s3, name).has_any(prefix):
            return []
    except ClientError as error:
        match error_code(error):
            case "NoSuchBucket":
                return [f"dataset.s3: there is no bucket '{name}'; check its name"]
            case "AccessDenied":
                return [f"dataset.s3: '{name}' does not let Belay list {uri}; allow it in that bucket's policy"]
        raise
    return [f"dataset.s3: nothing lies under {uri}; upload the data first: aws s3 sync <folder> {uri}"]
