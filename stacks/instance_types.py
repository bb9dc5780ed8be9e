"""Which EC2 types can run the trainer's image: for x86-64, with a PyTorch that is built for CUDA 13."""

import re

# Family, generation, capabilities (a g among the letters is Graviton), sometimes more after a hyphen, and the size (EC2
# guide, "Amazon EC2 instance type naming conventions").
_TYPE = re.compile(
    r"(?=[a-z-]*[0-9])(?P<family>[a-z]+)(?P<generation>[0-9]*)(?P<letters>[a-z]*)(?P<more>-[a-z0-9-]+)?\.[a-z0-9-]+"
)
# CUDA 13 has no code for GPUs before Turing, as K80, M60 and V100 (its release notes, "Deprecated Architectures").
_BEFORE_TURING = ("g2", "g3", "g3s", "p2", "p3", "p3dn")
_OF_AMD = ("g4ad",)


def fault_of(instance_type: str) -> str | None:
    """Why it cannot be used, and what can."""
    parts = _TYPE.fullmatch(instance_type)
    if parts is None:
        return f"{instance_type!r} is not an instance type; write it like 'g6.xlarge'"
    name = f"{parts['family']}{parts['generation']}{parts['letters']}"
    if name in _BEFORE_TURING:
        return f"the GPU of {name} is older than the image's PyTorch supports; use g4dn, g5, g6, g6e, p4d, p5 or newer"
    if name in _OF_AMD:
        return f"{name} has GPUs of AMD, and the image's PyTorch is for NVIDIA's; use g4dn, g5, g6, g6e or newer"
    # Grace, as in p6e-gb200, is ARM too; so are a1 and Apple's.
    if "g" in parts["letters"] or (parts["more"] or "").startswith("-g") or name == "a1" or parts["family"] == "mac":
        return f"{name} is arm64, and the trainer's image is for x86-64; use g4dn, g5, g6 or newer"
    return None
