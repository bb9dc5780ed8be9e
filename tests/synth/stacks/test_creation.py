"""AWS would create both state machines: nothing in their definitions breaks a rule of CreateStateMachine."""

import json

import pytest

from tools.definitions.creation import refusals
from tools.definitions.templates import Assembly


@pytest.mark.parametrize("machine", ["Train", "Teardown"])
def test_aws_would_create_the_machine(assembly: Assembly, machine: str) -> None:
    assert refusals(json.dumps(assembly.machine(machine))) == []
