"""Numbers as text."""

from datetime import datetime


def length(seconds: float) -> str:
    """0.0034 -> '3.4 ms', 90 -> '1 min 30 s', 7300 -> '2 h 2 min'."""
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")


def clock(begin: datetime, moment: datetime | None) -> str:
    """How long after `begin`: 3723 s -> '1:02:03'."""
    if moment is None:
        return ""
    whole = max(0, round((moment - begin).total_seconds()))
    return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"


def percent(share: float | None) -> str:
    if share is None:
        return "unknown"
    return "< 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.2f} USD" if amount >= 0.01 or amount == 0 else "< 0.01 USD"
