"""Which checkpoints to delete."""

from collections.abc import Collection


def to_remove(steps: Collection[int], *, newest: int, keep: int | None, protected: Collection[int] = ()) -> list[int]:
    """Steps older than the newest commit that `keep` leaves no room for; the protected ones always stay.

    Steps above the newest commit were rejected when training resumed below them: they neither count nor are deleted.
    A limit below 1 is none, as for the Trainer.
    """
    if keep is None or keep < 1:
        return []
    older = sorted(step for step in steps if step < newest and step not in protected)
    kept_anyway = 1 + sum(step in protected for step in steps if step < newest)
    room = max(0, keep - kept_anyway)
    return older[: len(older) - room]
