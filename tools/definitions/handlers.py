"""The modules of the Lambdas, by the names of their functions."""

from importlib import import_module
from types import ModuleType

from tools.repository import REPOSITORY


def function_name(arn: str) -> str:
    """Of a function, or of a version of it."""
    return arn.partition(":function:")[2].partition(":")[0]


def handler_module(name: str) -> ModuleType:
    [file] = (REPOSITORY / "lambdas").glob(f"*/{name}.py")
    return import_module(f"lambdas.{file.parent.name}.{name}")
