"""`belay doctor --live` whole, on the deployed stacks: what it says of AWS, when it is stopped, and what it leaves."""

from pathlib import Path

import pytest

from belay.cli.outcome import Exit
from belay.client.live import job
from belay.client.live.watching import Watcher
from belay.client.progress import Snapshot
from belay.contract.facts import Facts
from belay.contract.states import TrainState
from tests.e2e.documents import Belay
from tools.local_cloud.faults import ExportFails, TagsAppearLate
from tools.local_cloud.settings import ACCOUNT
from tools.local_runs.runs import Deployed

# What a local cloud cannot honestly show: Lustre, the kernel, prices, and what the interpreter does in its own way.
NOT_SEEN = {
    "fault in Output",
    "PutObject for a link that is only read",
    "unknown member",
    "price of the file system",
    "price of the instance",
    "task that fits nowhere",
    "mount",
    "identity",
    "direct I/O",
    "exchange",
    "lock",
    "released file",
}
# A matter of the moment: another task is active for less than a second here.
BY_CHANCE = {"error of a second task"}


def live(belay: Belay) -> tuple[int, Facts]:
    code, output = belay("doctor", "--live", "--yes", "--out", "facts.json")
    text = Path("facts.json").read_text()
    assert ACCOUNT not in text and "arn:aws:iam::" not in text, output
    return code, Facts.model_validate_json(text)


def leaves_nothing(deployed: Deployed, facts: Facts) -> None:
    assert facts.left == []
    assert deployed.keys(job.PREFIX) == []
    assert [key for key in deployed.keys(f"jobs/{job.NAME}/{facts.run}/") if "checkpoint" in key] == []
    tagged = [tag for one in deployed.fsx.describe_file_systems()["FileSystems"] for tag in one["Tags"]]
    assert facts.run not in [tag["Value"] for tag in tagged]


def test_every_fact_that_a_local_cloud_can_show_holds_and_nothing_stays(deployed: Deployed, belay: Belay) -> None:
    code, facts = live(belay)
    assert (facts.broken, facts.outcome, code) == ([], "complete", Exit.OK)
    not_seen = {fact.name for fact in facts.facts if fact.held == "not seen"}
    assert not_seen - BY_CHANCE == NOT_SEEN
    assert deployed.bucket not in Path("facts.json").read_text()
    assert facts.spent_usd and facts.host and facts.host.kernel
    leaves_nothing(deployed, facts)


def test_an_export_that_left_a_file_out_is_the_one_fact_that_is_named(deployed: Deployed, belay: Belay) -> None:
    deployed.cloud.inject(ExportFails(how="skipped", times=1))
    code, facts = live(belay)
    assert (code, [fact.name for fact in facts.broken]) == (Exit.FINDINGS, ["export of a renamed folder"])
    leaves_nothing(deployed, facts)


def test_stopped_while_it_trains_it_says_what_it_had_seen_and_leaves_nothing(
    deployed: Deployed, belay: Belay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before that, the tags of its file system were late: that is the one fact that is named."""
    deployed.cloud.inject(TagsAppearLate(seconds=2000, times=1))
    look = Watcher.look
    stopped: list[bool] = []

    def look_until_it_trains(self: Watcher, snapshot: Snapshot) -> None:
        look(self, snapshot)
        entered = [one.state for one in snapshot.entered]
        if TrainState.RUN_TRAINING in entered and not stopped:
            stopped.append(True)
            raise KeyboardInterrupt

    monkeypatch.setattr(Watcher, "look", look_until_it_trains)
    code, facts = live(belay)
    assert (code, facts.outcome) == (Exit.INTERRUPTED, "interrupted")
    assert [fact.name for fact in facts.broken] == ["tags"]
    leaves_nothing(deployed, facts)
