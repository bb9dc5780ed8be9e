"""Synthesized stacks with all intrinsics resolved: resources by construct path, both state machines as plain ASL."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.definitions.resolve import Resolver

_MACHINE = "AWS::StepFunctions::StateMachine"


@dataclass(frozen=True)
class Resource:
    path: str
    type: str
    properties: dict[str, Any]
    raw: dict[str, Any]


class Assembly:
    """All stacks of one synth."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        manifest = json.loads((directory / "manifest.json").read_text())
        self.stacks: list[str] = sorted(
            name for name, artifact in manifest["artifacts"].items() if artifact["type"] == "aws:cloudformation:stack"
        )
        self.templates: dict[str, dict[str, Any]] = {
            stack: json.loads((directory / f"{stack}.template.json").read_text()) for stack in self.stacks
        }
        self._resolvers: dict[str, Resolver] = {}
        for stack, template in self.templates.items():
            self._resolvers[stack] = Resolver(template, self._resolvers)
        self.resources = [
            Resource(resolver.path(logical_id), raw["Type"], resolver.resolve(raw.get("Properties", {})), raw)
            for stack, resolver in self._resolvers.items()
            for logical_id, raw in self.templates[stack]["Resources"].items()
        ]

    def of_type(self, type: str) -> list[Resource]:
        return [resource for resource in self.resources if resource.type == type]

    def at(self, path: str, type: str | None = None) -> Resource:
        """The resource whose path ends so; with `type` where a construct holds several."""
        found = [r for r in self.resources if f"/{r.path}".endswith(f"/{path}") and type in (None, r.type)]
        assert len(found) == 1, f"{path}: {[r.path for r in found]}"
        return found[0]

    def identity(self, stack: str, logical_id: str) -> tuple[str, str, str]:
        """Path, name and type of a resource by its logical id."""
        resolver, raw = self._resolvers[stack], self.templates[stack]["Resources"][logical_id]
        return resolver.path(logical_id), resolver.name(logical_id), raw["Type"]

    def machine(self, name: str) -> dict[str, Any]:
        """A new copy of the ASL of the machine in this construct."""
        definition: dict[str, Any] = json.loads(self.at(f"{name}/Machine", _MACHINE).properties["DefinitionString"])
        return definition

    def asset(self, s3_key: str) -> Path:
        """The folder that was staged for this key."""
        return self.directory / f"asset.{s3_key.removesuffix('.zip')}"

    def with_readable_machines(self, stack: str) -> dict[str, Any]:
        """The template with the machines' definitions as plain text, for linters."""
        template: dict[str, Any] = json.loads((self.directory / f"{stack}.template.json").read_text())
        for logical_id, raw in template["Resources"].items():
            if raw["Type"] == _MACHINE:
                raw["Properties"]["DefinitionString"] = self._resolvers[stack].resolve(
                    self.templates[stack]["Resources"][logical_id]["Properties"]["DefinitionString"]
                )
        return template
