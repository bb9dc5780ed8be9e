"""Third-party linters: cfn-lint for templates, asl-validator for state machines, parliament for policies."""

import copy
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.definitions.asl import Json, is_expression, tasks
from tools.repository import REPOSITORY


def cfn_lint(templates: dict[str, Json], folder: Path) -> list[str]:
    """`<rule> <place>: <message>` for each finding that `.cfnlintrc` does not leave."""
    paths = [
        _written(folder / f"{name}.template.json", _with_plain_timeouts(template))
        for name, template in templates.items()
    ]
    command = [str(Path(sys.executable).parent / "cfn-lint"), "--format", "json", *paths]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    findings: list[Any] = json.loads(done.stdout or "[]")
    # Without findings it prints nothing and exits with 0; any other exit without output is a failure.
    assert findings or done.returncode == 0, done.stderr
    return [
        f"{found['Rule']['Id']} {'/'.join(map(str, found['Location']['Path'] or []))}: {found['Message']}"
        for found in findings
    ]


def asl_validator(definitions: dict[str, Json], folder: Path) -> str:
    """Its findings as text; empty when there are none."""
    command = [str(REPOSITORY / "node_modules" / ".bin" / "asl-validator")]
    for name, definition in definitions.items():
        command += ["--json-path", _written(folder / f"{name}.asl.json", definition)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr + f"exit code {done.returncode}"


def parliament(policies: dict[str, list[Json]]) -> Iterator[str]:
    """`<holder>: <issue> <detail>` for each finding in the policies of roles and resources."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # It imports pkg_resources, which is deprecated.
        from parliament import analyze_policy_string
    for holder, documents in policies.items():
        for document in documents:
            for finding in analyze_policy_string(json.dumps(document)).findings:
                yield f"{holder}: {finding.issue} {finding.detail}"


def _with_plain_timeouts(template: Json) -> Json:
    """cfn-lint does not know that a time-out may be an expression, and crashes on it."""
    plain = copy.deepcopy(template)
    for resource in plain["Resources"].values():
        if resource["Type"] == "AWS::StepFunctions::StateMachine":
            definition = json.loads(resource["Properties"]["DefinitionString"])
            for state in tasks(definition).values():
                if is_expression(state.get("TimeoutSeconds")):
                    state["TimeoutSeconds"] = 1
            resource["Properties"]["DefinitionString"] = json.dumps(definition)
    return plain


def _written(path: Path, content: Json) -> str:
    path.write_text(json.dumps(content))
    return str(path)
