"""FSx for Lustre: a folder behind each file system, associations with S3, data repository tasks, tags."""

from tools.local_cloud.services.fsx.service import Fsx

__all__ = ["Fsx"]
