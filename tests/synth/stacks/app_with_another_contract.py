"""The app as it is, but one text in one module of the contract is another: `python -m` in place of app.py.

Arguments: the module, what stands there, and what is to stand there.
"""

import importlib.util
import runpy
import sys

name, old, new = sys.argv[1:]
spec = importlib.util.find_spec(name)
assert spec and spec.origin and spec.loader
with open(spec.origin) as file:  # noqa: PTH123
    source = file.read()
assert old in source, f"{name} has no {old}"
module = sys.modules[name] = importlib.util.module_from_spec(spec)
exec(compile(source.replace(old, new), spec.origin, "exec"), vars(module))

runpy.run_path("app.py", run_name="__main__")
