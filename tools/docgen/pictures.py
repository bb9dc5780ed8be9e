"""State machines as Mermaid diagrams, inserted into docs/architecture.md."""

from collections.abc import Iterator

from tools.definitions.asl import Arrow, Json, Scope, in_flow_order, inner_blocks
from tools.definitions.templates import Assembly
from tools.repository import REPOSITORY

PAGE = REPOSITORY / "docs" / "architecture.md"
MACHINES = ("Train", "Teardown")
_SHAPES = {"Choice": '{"%s"}', "Succeed": '(["%s"])', "Fail": '(["%s"])', "poll": '[["%s"]]'}
_ARROWS = {"next": "-->", "when": "-->", "default": "-->", "catch": "-.->"}


def mermaid(definition: Json) -> str:
    return "\n".join(["```mermaid", "flowchart TB", *_block(definition, ""), "```"])


def with_pictures(page: str, assembly: Assembly) -> str:
    """The page, with each machine's picture between its two marks."""
    for name in MACHINES:
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}{mermaid(assembly.machine(name))}\n{end}{rest.split(end)[1]}"
    return page


def _block(block: Json, indent: str) -> Iterator[str]:
    indent += "    "
    scope = Scope(block["StartAt"], block["States"], ())
    nodes = {name: _node(name, scope) for name in in_flow_order(scope)}
    for node in dict.fromkeys(nodes.values()):
        state = scope.states.get(node, {"Type": "poll"})
        if "Branches" in state:
            yield f'{indent}subgraph {_id(node)}["{node}"]'
            for branch in inner_blocks(state):
                yield from _block(branch, indent)
            yield f"{indent}end"
        else:
            yield indent + _id(node) + _SHAPES.get(state["Type"], '["%s"]') % _text(node)
    drawn = {
        _line(arrow, nodes): None
        for name in nodes
        for arrow in Scope(name, {name: scope.states[name]}, ()).arrows()
        if nodes[arrow.source] != nodes[arrow.target]
    }
    yield from (indent + line for line in drawn)


def _node(name: str, scope: Scope) -> str:
    """The states of a poll ('Export: wait', 'Export: how far?' ...) are drawn as one node."""
    head = name.split(":")[0]
    return head if f"{head}: wait" in scope.states else name


def _line(arrow: Arrow, nodes: dict[str, str]) -> str:
    source, target = nodes[arrow.source], nodes[arrow.target]
    label = "otherwise" if arrow.kind == "default" else ""
    if arrow.kind == "when" and source == arrow.source:
        label = arrow.condition.replace("$states.input.", "").replace("$", "")
    if arrow.kind == "catch" and arrow.rule["ErrorEquals"] != ["States.ALL"]:
        label = " ".join(arrow.rule["ErrorEquals"])
    shown = f'|"{_text(label)}"|' if label else ""
    return f"{_id(source)} {_ARROWS[arrow.kind]}{shown} {_id(target)}"


def _id(name: str) -> str:
    return "".join(letter for letter in name.replace("?", " asked").title() if letter.isalnum())


def _text(text: str) -> str:
    """Without the characters that mean something to Mermaid."""
    return text.replace('"', "'").replace(" < ", " below ").replace(" > ", " above ")
