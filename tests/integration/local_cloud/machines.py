"""Small state machines, made through the API."""

from __future__ import annotations

import json
import uuid
from typing import Any

from tools.local_cloud.cloud import LocalCloud

from .waiting import eventually

Machine = dict[str, Any]


def say(output: Any) -> Machine:
    """A state that ends with this output."""
    return {"Type": "Pass", "Output": output, "End": True}


class Machines:
    """Makes machines, starts them and waits for them."""

    def __init__(self, cloud: LocalCloud, role: str) -> None:
        self.cloud, self.role, self.states = cloud, role, cloud.client("stepfunctions")

    def make(self, start_at: str, states: Machine, **more: Any) -> str:
        definition = {"QueryLanguage": "JSONata", "StartAt": start_at, "States": states, **more}
        name = f"m-{uuid.uuid4().hex[:8]}"
        made = self.states.create_state_machine(name=name, definition=json.dumps(definition), roleArn=self.role)
        return str(made["stateMachineArn"])

    def start(self, machine: str, **given: Any) -> str:
        return str(self.states.start_execution(stateMachineArn=machine, input=json.dumps(given))["executionArn"])

    def end(self, execution: str) -> dict[str, Any]:
        def ended() -> Any:
            answer = self.states.describe_execution(executionArn=execution)
            return answer["status"] != "RUNNING" and answer

        return dict(eventually(ended))

    def run(self, start_at: str, states: Machine, given: Machine | None = None, **more: Any) -> dict[str, Any]:
        return self.end(self.start(self.make(start_at, states, **more), **(given or {})))
