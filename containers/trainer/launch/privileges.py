"""Mounting takes CAP_SYS_ADMIN; training gets nothing of it, now or later."""

import subprocess


def drop_to(user: int) -> list[str]:
    """What to put before a command so that it runs as a normal user who can never become more."""
    identity = ["--reuid", str(user), "--regid", str(user), "--clear-groups"]
    return ["setpriv", *identity, "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--"]


def owner_after(prefix: list[str]) -> int:
    """Who a command behind the prefix really runs as: asked, not assumed."""
    return int(subprocess.run([*prefix, "id", "-u"], check=True, capture_output=True, text=True).stdout)
