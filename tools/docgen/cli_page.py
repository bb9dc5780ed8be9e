"""`python -m tools.docgen.cli_page` writes docs/cli.md from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import typer

from belay.cli.main import app
from belay.cli.outcome import MEANINGS, Exit
from tools.console import without_options
from tools.repository import REPOSITORY

PAGE = REPOSITORY / "docs" / "cli.md"
_HEAD = """\
# The command line

<!-- Written by 'make reference' from belay/cli/main.py. -->

`belay` speaks to the account and Region of the ordinary AWS configuration (`AWS_PROFILE`, `AWS_REGION`, environment,
instance role), and to a local cloud when `AWS_ENDPOINT_URL` points to one, as `make cloud` prints it. `pip install .`
puts it on the path; in a checkout `make belay` makes `.venv/bin/belay`.

`RUN` is a run's id (`20261121t024455z-3f9a2c1b`), its execution's ARN, or a job's name, which means the newest run of
that job. With `--json` a verb prints one JSON document. `BELAY_DEPLOYMENT` or `--deployment` names the deployment if it
is not `belay`. `belay --version` prints the version of the command line.
"""


def text() -> str:
    return "\n".join([_HEAD, *_exits(), *_verbs("belay", typer.main.get_command(app))])


def _exits() -> Iterator[str]:
    yield "## Exit codes\n\n| Code | Means |\n|---|---|"
    for exit in Exit:
        yield f"| {int(exit)} | {MEANINGS[exit]} |"
    yield ""


def _verbs(name: str, command: Any) -> Iterator[str]:
    if hasattr(command, "commands"):
        for verb, inner in command.commands.items():
            yield from _verbs(f"{name} {verb}", inner)
        return
    parameters = [one for one in command.params if one.name != "help"]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option"]
    words = "".join(f" {_metavar(one)}" for one in arguments)
    words += "".join(f" {one.opts[0]} {one.name.upper()}" for one in options if one.required)
    yield f"## {name}\n\n`{name}{words}`\n\n{command.help}\n"
    rows = [(_metavar(one), one.help) for one in arguments if getattr(one, "help", None)]
    rows += [(", ".join(one.opts), _help(one)) for one in options]
    if rows:
        yield "| | |\n|---|---|"
        yield from (f"| `{word}` | {help} |" for word, help in rows)
        yield ""


def _metavar(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"


def _help(option: Any) -> str:
    default = option.default
    shown = f" Default: `{default}`." if default not in (None, False) and not callable(default) else ""
    return f"{option.help}{' Required.' if option.required else shown}"


if __name__ == "__main__":
    without_options(__doc__)
    PAGE.write_text(text())
    print(f"wrote {PAGE.name}")
