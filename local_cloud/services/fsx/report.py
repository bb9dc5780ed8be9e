"""The completion report of a data repository task."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from local_cloud.services.fsx import rules
from local_cloud.services.fsx.model import Association, RepositoryTask
from local_cloud.services.fsx.repository import Repository


def check_report(report: Any, links: Sequence[Association]) -> None:
    """Refuses a report that FSx could not write."""
    if not isinstance(report, dict) or "Enabled" not in report:
        raise rules.bad("A Report with Enabled must be specified.")
    if not report["Enabled"]:
        return
    if report.get("Format") != "REPORT_CSV_20191124" or report.get("Scope") != "FAILED_FILES_ONLY":
        raise rules.bad("The report needs Format REPORT_CSV_20191124 and Scope FAILED_FILES_ONLY.")
    path = str(report.get("Path", "")).rstrip("/") + "/"
    if not any(path.startswith(f"s3://{link.bucket}/{link.prefix}") for link in links):
        raise rules.bad("The report Path must be inside the data repository path of an association.")


def write_report(task: RepositoryTask, failed: Sequence[str], repository: Repository) -> None:
    """Writes which files failed, where the task asked for it and there is something to say."""
    report = task.request["Report"]
    if not report["Enabled"] or not failed:
        return
    bucket, _, prefix = report["Path"].removeprefix("s3://").partition("/")
    text = io.StringIO()
    csv.writer(text).writerows([["Path", "ErrorCode"], *([name, "ResourceBusy"] for name in failed)])
    key = f"{prefix.strip('/')}/{task.id}/failures.csv".lstrip("/")
    repository.store(bucket, key, text.getvalue().encode(), {})
