"""What a person may choose about the benchmark."""

import argparse
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tools.benchmarks.checkpoint.peers.all import WAYS

PARTS = {
    "idle": "every way of saving, with the cores otherwise idle (as while a GPU computes)",
    "busy": "the best of them, with all cores computing",
    "checksums": "what checksums cost",
    "sizes": "how stall and time to durable grow with the state",
    "ranks": "the same with several processes that train together",
    "restoring": "reading a checkpoint back",
    "cuda": "a bf16 model on a GPU, where there is one",
}
_PEERS_IN_IDLE = tuple(name for name in WAYS if name != "checksums")


@dataclass(frozen=True)
class Options:
    parts: tuple[str, ...]
    ways: tuple[str, ...]
    state_gb: float = 1.5
    saves: int = 5
    """At least, with the first, which is counted separately."""
    seconds: float = 30.0
    """More saves, until the slowdown is known well, for no longer than this."""
    quiet_steps: int = 4
    step_seconds: float = 0.5
    sizes_gb: tuple[float, ...] = (0.1, 0.5, 1.5, 4.0)
    ranks: tuple[int, ...] = (1, 2, 4)
    rounds: int = 5
    is_quick: bool = False

    @property
    def name(self) -> str:
        """Of the file of figures: that of a part does not take the place of that of the whole."""
        parts = () if self.parts == tuple(PARTS) else self.parts
        return "-".join(("checkpoint", *(["quick"] if self.is_quick else []), *parts))


def parse(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m tools.benchmarks.checkpoint",
        description="What a checkpoint costs training: stallfree, its peers, and the floors of this machine.",
        epilog="parts: " + "; ".join(f"{name}: {what}" for name, what in PARTS.items()),
    )
    parser.add_argument("--only", metavar="PART,...", default=",".join(PARTS), help="these parts (default: all)")
    parser.add_argument("--ways", metavar="WAY,...", default=",".join(_PEERS_IN_IDLE), help="these ways of saving")
    parser.add_argument("--state-gb", type=float, help="weights and optimizer state together (default: 1.5)")
    parser.add_argument("--saves", type=int, help="saves of each way at least, the first included (default: 5)")
    parser.add_argument("--seconds", type=float, help="for more saves, where the noise asks for them (default: 30)")
    parser.add_argument("--quick", action="store_true", help="a small state and few saves: does everything still run?")
    chosen = parser.parse_args(arguments)
    parts, ways = _known(parser, "part", chosen.only, PARTS), _known(parser, "way", chosen.ways, WAYS)
    if chosen.quick:
        base = Options(parts, ways, 0.01, 2, 0.0, 2, 0.02, (0.005, 0.02), (1, 2), 2, is_quick=True)
    else:
        base = Options(parts, ways)
    given = {name: getattr(chosen, name) for name in ("state_gb", "saves", "seconds")}
    options = replace(base, **{name: value for name, value in given.items() if value is not None})
    if options.state_gb <= 0 or options.saves < 2:
        parser.error("--state-gb must be more than 0, and --saves at least 2: the first save is counted separately")
    return options


def _known(parser: argparse.ArgumentParser, what: str, asked: str, known: Collection[str]) -> tuple[str, ...]:
    names = tuple(name for name in asked.split(",") if name)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no such {what}: {', '.join(unknown)}; there are {', '.join(known)}")
    return names
