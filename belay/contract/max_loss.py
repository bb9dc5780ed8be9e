"""How much work a failure may cost, as a job says it: '30m' of it, or what '$5' pay for."""

import re
from dataclasses import dataclass
from datetime import timedelta

from belay.contract.units import seconds_of

PUMP_EVERY = timedelta(minutes=1)
# A checkpoint of a hundred thousand files takes minutes to compare; other runs are served by the rounds meanwhile.
PUMP_AT_MOST = timedelta(minutes=10)
# One round of the pump begins the export, and another one proves it.
_PROOF = 2 * PUMP_EVERY
LEAST_SECONDS = int((_PROOF + PUMP_EVERY).total_seconds())

_USD = re.compile(r"\$([0-9]{1,6}(?:\.[0-9]{1,2})?)")


class LossUnusable(ValueError):
    """The loss cannot be kept to; the message says why, and what would do."""


@dataclass(frozen=True)
class Loss:
    """One of both."""

    seconds: float | None = None
    usd: float | None = None

    def in_seconds(self, usd_per_hour: float | None) -> float:
        if self.seconds is not None:
            return self.seconds
        assert self.usd is not None, "a loss is in seconds or in dollars"
        if usd_per_hour is None:
            raise LossUnusable(
                "this deployment does not know its prices; set 'prices' in cdk.json (docs/guide.md), or give a time"
            )
        return checked(self.usd / usd_per_hour * 3600, f"at {usd_per_hour:.2f} USD an hour")


def loss_of(text: str) -> Loss:
    if match := _USD.fullmatch(text):
        usd = float(match[1])
        if usd == 0:
            raise LossUnusable("'$0' can never be kept; allow more, as in '$5'")
        return Loss(usd=usd)
    try:
        seconds = seconds_of(text)
    except ValueError:
        raise LossUnusable(f"{text!r} is no loss; write a time like '30m', or dollars like '$5'") from None
    return Loss(seconds=checked(seconds, "in all"))


def checked(seconds: float, of_what: str) -> float:
    if seconds < LEAST_SECONDS:
        raise LossUnusable(
            f"that is {seconds:.0f} s of work {of_what}, and a save alone is proven in S3 only after"
            f" {_PROOF.total_seconds():.0f} s; allow {LEAST_SECONDS} s or more"
        )
    return seconds
