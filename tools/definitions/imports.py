"""Which modules a deployed archive needs: those that its first modules import, and what these import."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


def modules_in(root: Path) -> dict[str, Path]:
    """Every module below a folder, by its name."""
    return {module_of(file, root): file for file in root.rglob("*.py")}


def module_of(file: Path, root: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def reachable(modules: Mapping[str, Path], first: Iterable[str]) -> set[str]:
    found: set[str] = set()
    ahead = set(first)
    while ahead:
        name = ahead.pop()
        found.add(name)
        ahead |= {other for other in _imported_by(name, modules[name]) if other in modules} - found
    return found


def _imported_by(name: str, file: Path) -> Iterator[str]:
    """Every module that it may name, and each package around it: those run too."""
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    named = {name}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            within = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*within, *([node.module] if node.module else [])])
            named |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
    for module in named:
        parts = module.split(".")
        yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))
