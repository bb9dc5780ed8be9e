import io

import pytest
from rich.console import Console

from belay.client.history import Entered, Trouble
from belay.client.progress import Snapshot
from belay.client.show import Display, certificate_panel, checkpoints_table
from belay.contract.certificate import EndedBy, FileSystemEnd, TrainingEnd, WorkLost
from belay.contract.ledger import Ledger, LedgerEntry
from belay.contract.verdict import Durability, Training
from tests.unit.client.samples import RUN, START, at, certificate, proven, saved, step


def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=160)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_without_a_terminal_a_run_is_plain_lines_with_a_step_line_for_each_tenth() -> None:
    out = console()
    with Display(out, started_at=START) as display:
        display.show(Snapshot("RUNNING", entered=[Entered(at(1.5), "Train")]))
        for number in range(1, 31):
            events = [step(n, seconds=2 + n / 10, loss=2.0) for n in range(1, number + 1)]
            display.show(Snapshot("RUNNING", entered=[Entered(at(1.5), "Train")], events=events))

    lines = said(out).splitlines()
    assert lines[0] == "   1.5 s  Train    Train"
    assert [line.split()[1] for line in lines[1:]] == ["10/100", "20/100", "30/100"]
    assert "\x1b" not in said(out)


def test_a_failing_run_shows_what_failed_what_was_proven_and_how_much_is_at_risk() -> None:
    out = console()
    with Display(out, started_at=START) as display:
        display.show(
            Snapshot(
                "RUNNING",
                troubles=[Trouble(at(9), "States.TaskFailed", "Essential container in task exited (exit code 137)")],
                events=[saved(20, seconds=3), step(35, seconds=8, loss=1.25)],
                ledger=Ledger(run=RUN, entries=[proven(20, seconds=6)]),
            )
        )

    text = said(out)
    assert "error    States.TaskFailed: Essential container in task exited (exit code 137)" in text
    assert "Belay    step 20 is proven in S3 (crc64nvme)" in text
    assert "step 35/100   loss 1.250   saved 20   proven 20   at risk 15 steps" in text


@pytest.mark.parametrize(
    ("training", "durability", "wanted"),
    [
        (Training.CRASHED, Durability.VERIFIED, ["Crashed", "Verified", "fs-1 deleted", "exit code 137"]),
        (Training.CRASHED, Durability.KEPT, ["Crashed", "Kept", "fs-1 kept", "goes on costing money"]),
        (Training.COMPLETED, Durability.VERIFIED, ["Completed", "Verified", "last verified step", "40"]),
    ],
)
def test_the_certificate_gives_both_answers(training: Training, durability: Durability, wanted: list[str]) -> None:
    out = console()
    out.print(certificate_panel(certificate(training, durability, proven(40, seconds=9))))

    assert [word for word in wanted if word not in said(out)] == []


def test_it_shows_who_ended_training_what_was_lost_and_what_a_kept_file_system_costs() -> None:
    kept = FileSystemEnd(id="fs-1", fate="kept", kept_since=START, usd_a_day=5.52)
    plain = certificate(Training.STOPPED, Durability.KEPT, proven(40, seconds=9))
    ended = TrainingEnd(by=EndedBy.REQUEST, last_heard_at=None, attempts=1)
    lost = WorkLost(steps=9, minutes=15, usd=0.35)
    out = console()
    out.print(certificate_panel(plain.model_copy(update={"ended": ended, "lost": lost, "file_system": kept})))
    wanted = ["Stopped, by a request to stop", "9 steps, 15 minutes, 0.35 USD", "fs-1 kept since", "5.52 USD a day"]
    assert [words for words in wanted if words not in said(out)] == []


def test_a_checkpoint_that_could_not_be_proven_shows_its_problem_in_place_of_a_proof() -> None:
    out = console()
    broken = LedgerEntry(step=60, files=9, bytes=10, problem="model.safetensors: missing in S3")
    out.print(checkpoints_table(certificate(Training.CRASHED, Durability.KEPT, proven(40, seconds=9), broken)))

    rows = [line for line in said(out).splitlines() if " 40 " in line or " 60 " in line]
    assert "crc64nvme" in rows[0]
    assert "model.safetensors: missing in S3" in rows[1]
