"""The completion report of a data repository task."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from tools.local_cloud.services.fsx import rules
from tools.local_cloud.services.fsx.model import Association, RepositoryTask, Wire
from tools.local_cloud.services.fsx.repository import Repository


def check_report(report: Wire, links: Sequence[Association]) -> None:
    """Refuses a report that FSx could not write."""
    if not report["Enabled"]:
        return
    if report.get("Format") != "REPORT_CSV_20191124" or report.get("Scope") != "FAILED_FILES_ONLY":
        raise rules.bad("The report needs Format REPORT_CSV_20191124 and Scope FAILED_FILES_ONLY.")
    path = str(report.get("Path", "")).rstrip("/") + "/"
    if not any(path.startswith(f"s3://{link.bucket}/{link.prefix}") for link in links):
        raise rules.bad("The report Path must be inside the data repository path of an association.")


def write_report(task: RepositoryTask, failed: Sequence[str], repository: Repository) -> None:
    """Lists the files that failed, if the task asked for a report and some did."""
    report = task.request["Report"]
    if not report["Enabled"] or not failed:
        return
    bucket, _, prefix = report["Path"].removeprefix("s3://").partition("/")
    text = io.StringIO()
    csv.writer(text).writerows([["Path", "ErrorCode"], *([name, "ResourceBusy"] for name in failed)])
    key = f"{prefix.strip('/')}/{task.id}/failures.csv".lstrip("/")
    repository.store(bucket, key, text.getvalue().encode(), {})
