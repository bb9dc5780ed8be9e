"""The bars for stallfree, and whether this machine was quiet enough to judge by them."""

import math
from collections.abc import Iterable, Mapping

from tools.benchmarks.checkpoint.floors import Floors
from tools.benchmarks.checkpoint.measured import SavingCost, Value
from tools.benchmarks.checkpoint.peers.all import WAYS
from tools.figures import Figure

_NO_PEERS = ("none", "trainer", "overlapped", "plain")


def of_loop(mode: str, seen: Mapping[str, SavingCost], floors: Floors | None) -> list[Figure]:
    """The bars of one mode; those whose peers did not run are left out."""
    ours, trainer = seen.get("overlapped"), seen.get("trainer")
    if ours is None:
        return []
    held = []
    if trainer is not None:
        first = Value(ours.first_blocked_seconds), Value(trainer.first_blocked_seconds)
        held += [
            ratio(f"{mode}: blocked, against Trainer default", ours.blocked, trainer.blocked, 1 / 500),
            ratio(f"{mode}: blocked by the first save, against the Trainer's first", *first, 1 / 50),
            ratio(f"{mode}: slowdown, against Trainer default", ours.slowdown, trainer.slowdown, 1 / 40),
        ]
    if rivals := [one for name, one in seen.items() if WAYS[name].is_rival]:
        held.append(ratio(f"{mode}: blocked, against the best peer", ours.blocked, _best_blocked(rivals), 1 / 2))
    if peers := [one for name, one in seen.items() if name not in _NO_PEERS]:
        least = min((one.slowdown for one in peers), key=lambda value: value.median)
        held.append(ratio(f"{mode}: slowdown, against the best peer", ours.slowdown, least, 1 / 4))
    if floors is not None:
        held += [
            ratio(f"{mode}: blocked, against one memcpy", ours.blocked, floors.memcpy, 1.0),
            ratio(f"{mode}: time to durable, against the write floor", ours.durable, floors.write, 1.3),
            ratio(
                f"{mode}: time to durable, against the write floor in huge pages",
                ours.durable,
                floors.write_from_huge_pages,
                1.3,
            ),
        ]
    if ours.bytes and (none := seen.get("none")):
        extra = (ours.peak_bytes - none.peak_bytes) / ours.bytes
        held.append(Figure(f"{mode}: extra memory, against the state", extra, "ratio", "at most 1.05", extra <= 1.05))
    return held


def _best_blocked(rivals: Iterable[SavingCost]) -> Value:
    return min((one.blocked for one in rivals), key=lambda value: value.median)


def ratio(name: str, ours: Value, other: Value, most: float) -> Figure:
    """Ours by the other's. What fits the bar, or breaks it, by less than the medians may be off is not claimed to."""
    bar = f"at most {most:.4g}"
    allowed = other.median * most
    noise = 2 * math.hypot(ours.error, other.error * most)
    value = ours.median / other.median if other.median else float("inf")
    if abs(ours.median - allowed) < noise or other.median <= 0:
        remark = f"too noisy to say: {ours.median:.3g} s ± {noise:.2g} s, allowed {allowed:.3g} s"
        return Figure(name, value, "ratio", bar, None, remark)
    return Figure(name, value, "ratio", bar, ours.median <= allowed)
