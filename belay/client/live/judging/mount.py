"""Judged by what training saw of the mount and of itself (inspection.py)."""

from collections.abc import Callable

from belay.client.live.judging.answer import Answer, held_if, listed, not_seen
from belay.client.live.seen import Seen

_SYSTEM = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")
_USER = 10001
_EXCHANGE_NOT_HERE = ("EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP")


def mounted(seen: Seen) -> Answer | None:
    found = seen.inspection.get("mount")
    if found is None:
        return None
    if other := _stand_in(seen, "mount"):
        return not_seen(other)
    wanted = {"flock", "noatime"}
    missing = sorted(wanted - set(found.get("options", [])))
    kind = found.get("type", found.get("error"))
    return held_if(kind == "lustre" and not missing, f"{kind}" + (f", without {listed(missing)}" if missing else ""))


def identity(seen: Seen) -> Answer | None:
    found = seen.inspection.get("identity")
    if found is None:
        return None
    if other := _stand_in(seen, "setpriv"):
        return not_seen(other)
    held = {
        f"user {found.get('user')}": found.get("user") == _USER,
        f"groups {found.get('groups')}": not found.get("groups"),
        f"capabilities {found.get('effective') or 'none'}": found.get("effective") == "",
        f"bounding set {found.get('bounding') or 'empty'}": found.get("bounding") == "",
        f"no new privileges: {found.get('no_new_privileges')}": found.get("no_new_privileges") is True,
    }
    return held_if(all(held.values()), listed(list(held)))


def direct(seen: Seen) -> Answer | None:
    def judged(found: dict[str, object]) -> Answer:
        text = str(found.get("error") or f"written and read back; fallocate: {found.get('fallocate')}")
        return held_if(found.get("is_right") is True, text)

    return _on_lustre(seen, "direct", judged)


def exchange(seen: Seen) -> Answer | None:
    def judged(found: dict[str, object]) -> Answer:
        refused = found.get("refused") or found.get("error")
        if refused:
            return held_if(refused in _EXCHANGE_NOT_HERE, f"refused with {refused}")
        swapped = found.get("swapped") is True
        return held_if(swapped, "it swapped them" if swapped else "it swapped nothing")

    return _on_lustre(seen, "exchange", judged)


def lock(seen: Seen) -> Answer | None:
    def judged(found: dict[str, object]) -> Answer:
        return held_if(found.get("excludes") is True, str(found.get("error") or "the second holder was refused"))

    return _on_lustre(seen, "lock", judged)


def released(seen: Seen) -> Answer | None:
    def judged(found: dict[str, object]) -> Answer:
        before = str(found.get("before", found.get("error")))
        if "error" not in found and "released" not in before:
            return not_seen(f"the file was not released: {before}")
        text = f"before: {before}; after: {found.get('after')}"
        return held_if(found.get("is_right") is True, text, seconds=seconds_in(found.get("seconds")))

    return _on_lustre(seen, "data", judged)


def _on_lustre(seen: Seen, name: str, judge: Callable[[dict[str, object]], Answer]) -> Answer | None:
    """What another file system can do says nothing of Lustre."""
    found, mount = seen.inspection.get(name), seen.inspection.get("mount")
    if found is None or mount is None:
        return None
    kind = mount.get("type")
    return judge(found) if kind == "lustre" else not_seen(f"the mount is {kind}, not lustre")


def shown_as_exported(seen: Seen) -> Answer | None:
    found = seen.inspection.get("exported")
    if found is None:
        return None
    text = str(found.get("state") or found.get("error"))
    return held_if(found.get("archived") is True, text, seconds=seconds_in(found.get("seconds")))


def _stand_in(seen: Seen, program: str) -> str | None:
    """A program of this name that is not the system's: what it did says nothing of the real one."""
    path = str(seen.inspection.get("programs", {}).get(program, ""))
    return None if path.startswith(_SYSTEM) else f"{program} is a stand-in here"


def seconds_in(value: object) -> float | None:
    return round(value, 1) if isinstance(value, int | float) else None
