"""What `belay doctor --live` does before it pays anything, and when it is stopped."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from belay.cli.commands import doctor_live
from belay.cli.main import app
from belay.cli.outcome import Exit, Refused
from belay.client.live import job
from belay.contract.faults import parse_job
from belay.contract.prices import Prices
from tests.unit.cli.fake import Aws
from tests.unit.client.samples import DEPLOYED


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Aws:
    made = Aws()
    monkeypatch.setattr(doctor_live, "connect", lambda name: made.cloud)
    monkeypatch.chdir(tmp_path)
    return made


def live(*, yes: bool = True, answer: bool = True) -> Exit:
    return doctor_live.live(out=None, confirm=lambda question: answer, yes=yes, deployment_name="belay", as_json=False)


def refuse(*_: Any) -> None:
    raise AssertionError("nothing may be asked for")


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_without_a_terminal_it_wants_to_be_told_that_it_may_cost_money(aws: Aws) -> None:
    with pytest.raises(Refused, match="say --yes") as refused:
        live(yes=False)
    assert refused.value.exit is Exit.USAGE


def test_a_no_starts_nothing_after_it_was_said_what_it_would_make_and_cost(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor_live._Live, "run_to_the_end", refuse)
    assert live(answer=False) is Exit.INTERRUPTED
    said = capsys.readouterr().out
    expected = job.expected_usd(DEPLOYED.model_copy(update={"prices": aws.prices}))
    assert "1200 GiB" in said and "g6.xlarge" in said and f"about {expected:.2f} USD" in said
    assert not Path("belay-facts.json").exists()


def test_an_error_before_anything_began_is_written_down_and_ends_the_command(
    aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any) -> None:
        raise Refused("arn:aws:iam::123456789012:role/jane may not")

    monkeypatch.setattr(doctor_live._Live, "_ask", fail)
    monkeypatch.setattr(doctor_live._Live, "_end", lambda self: None)
    with pytest.raises(Refused):
        live()
    document = json.loads(Path("belay-facts.json").read_text())
    assert document["outcome"] == "Refused: arn:aws:iam:... may not"
    assert {fact["held"] for fact in document["facts"]} == {"not seen"}


def test_a_second_ctrl_c_says_what_may_be_left_and_how_to_remove_it(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor_live._Live, "_ask", interrupt)
    monkeypatch.setattr(doctor_live._Live, "_end", interrupt)
    assert live() is Exit.INTERRUPTED
    document = json.loads(Path("belay-facts.json").read_text())
    assert document["outcome"] == "interrupted" and len(document["left"]) == 1
    assert f"aws s3 rm --recursive s3://BUCKET/{job.PREFIX}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--yes"], ["--out", "x.json"]])
def test_its_options_go_with_live_alone(words: list[str]) -> None:
    assert CliRunner().invoke(app, ["doctor", *words]).exit_code == Exit.USAGE


def test_its_job_is_one_that_belay_accepts_on_an_instance_without_a_gpu() -> None:
    made = parse_job(job.job_of(f"{job.PREFIX}0a1b/"))
    assert made.resources.gpus == 0 and made.name == job.NAME and made.resume == "never"


def test_on_a_small_instance_it_costs_about_thirty_cents() -> None:
    cheap = DEPLOYED.model_copy(update={"prices": Prices(instance_hour=0.1008)})
    expected = job.expected_usd(cheap)
    assert expected and 0.2 < expected < 0.35
    assert job.expected_usd(DEPLOYED.model_copy(update={"prices": Prices()})) is None


def test_the_inspection_stands_alone() -> None:
    """It runs in the trainer's image, where nothing of the command line is."""
    files = dict(job.data_files())
    assert b"import belay" not in files["inspection.py"] and b"from belay" not in files["inspection.py"]
    assert len(files["large.bin"]) == 16 * 1024 * 1024
