"""FSx for Lustre: a folder behind each file system, associations with S3, data repository tasks, tags."""

from local_cloud.services.fsx.service import Fsx
from local_cloud.services.fsx.store import Delays

__all__ = ["Delays", "Fsx"]
