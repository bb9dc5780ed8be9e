"""`make conformance`: each AWS operation that Belay uses, its rules, their sources, and the tests that show them."""

import argparse
import sys

from rich.console import Console
from rich.table import Table

from tools.figures import Figure, publish
from tools.proofs.conformance.operations import used
from tools.proofs.conformance.rules import faults_of, rules
from tools.proofs.model.flows import synthesized


def main() -> int:
    argparse.ArgumentParser(prog="make conformance", description=__doc__).parse_args()
    console = Console()
    console.print("Synthesizing the stacks ...")
    operations, known = used(synthesized().definitions.values()), rules()
    table = Table("operation", "rule", "source", "enforced by", title="conformance", title_justify="left")
    for one in sorted(known):
        where = one.enforced_by.partition("::")[2] if one.is_enforced else f"[yellow]{one.enforced_by}[/]"
        table.add_row(one.operation, one.rule, one.source.replace("[", "\\["), where)
    console.print(table)
    faults = faults_of(known, operations)
    believed = [one for one in known if "[?]" in one.source]
    figures = [
        Figure("operations used", len(operations), "operations"),
        Figure("rules", len(known), "rules"),
        Figure("enforced by the local cloud", sum(one.is_enforced for one in known), "rules"),
        Figure("not enforced, with the reason", sum(not one.is_enforced for one in known), "rules"),
        Figure("believed, without a document", len(believed), "rules"),
        Figure("faults of this table", len(faults), "faults", "none", not faults),
    ]
    publish(console, "conformance", figures)
    for fault in faults:
        print(fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
