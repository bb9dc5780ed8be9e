"""Every command that a document names is one that its program understands. They are run as well:
test_commands_run.py, and tests/e2e/documents.py against the deployed stacks."""

from pathlib import Path

import pytest

from tools.docgen.command_check import PAGES, Command, WrongCommand, check, commands_of

COMMANDS = [command for page in PAGES for command in commands_of(page)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command.page}:{command.line}-{command.text[:40]}")
def test_a_command_in_the_docs_would_be_understood(command: Command) -> None:
    check(command.text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("make dmeo", "no target dmeo"),
        ("make chaos OPTION=--help", "no OPTION"),
        ("belay sumbit job.json", "no verb sumbit"),
        ("belay plan job.json --price", "No such option"),
        ("belay resume RUN --step newest", "valid integer"),
        ("belay checkpoints rm RUN", "'--step'"),
        ("aws stepfunction list-state-machines", "no service stepfunction"),
        ("aws fsx remove-file-system --file-system-id ID", "no operation remove-file-system"),
        ("aws fsx delete-file-system --id ID", "no ['--id']"),
        ("aws fsx delete-file-system", "--file-system-id"),
        ("aws s3 sync here", "with 1 paths"),
        ("python -m tools.schemas", "no module"),
        ("npx cdk destory --all", "no verb destory"),
        ("npx cdk deploy --every", "no --every"),
        ("npx cdk deploy -c belay:instance=m7i.large", "no setting belay:instance"),
        ("pip install torch==1.0", "torch==1.0"),
        ("kubectl get pods", "no check knows this program"),
    ],
)
def test_a_wrong_command_is_noticed(text: str, why: str) -> None:
    with pytest.raises(WrongCommand) as noticed:
        check(text)
    assert why in str(noticed.value)


def test_commands_are_found_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.docgen.command_check.REPOSITORY", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "Say `make demo`, not `make`.\n```console\n$ belay ps\nRUN  STATE\n```\n"
        "```sh\naws fsx \\\n  describe-file-systems\nmake cloud\n```\n```json\nmake nothing\n```\n"
    )
    found = [command.text.split() for command in commands_of(page)]
    assert found == [["belay", "ps"], ["aws", "fsx", "describe-file-systems"], ["make", "cloud"], ["make", "demo"]]
