from stallfree.cadence import EverySeconds, EverySteps, FirstOf
from stallfree.cadence.max_loss import MaxLoss
from stallfree.events import Saved


def test_every_so_many_steps() -> None:
    cadence = EverySteps(5)
    assert [step for step in range(1, 16) if cadence.is_due(step)] == [5, 10, 15]


def test_every_so_many_seconds_since_the_last_save() -> None:
    now = 100.0
    cadence = EverySeconds(60, clock=lambda: now)
    now = 159
    assert not cadence.is_due(1)
    now = 160
    assert cadence.is_due(2)
    now = 170
    assert cadence.is_due(3), "still due: nothing was saved"
    cadence.saved()
    now = 229
    assert not cadence.is_due(4)
    now = 230
    assert cadence.is_due(5)


def test_the_first_of_several_that_is_due_decides_and_each_gets_every_event() -> None:
    now = 100.0
    bounded = MaxLoss(100, clock=lambda: now)
    both = FirstOf(EverySteps(5), bounded)
    both.saved()
    now = 200.0
    assert both.is_due(1), "of the loss"
    both.saved()
    both.observe(Saved(1, "p", 1, 1, stall_seconds=0, durable_seconds=80, manifest_crc64nvme=""))
    assert not both.is_due(2)
    unkept = both.unkept()
    assert unkept is not None and both.unkept() is None
    assert both.is_due(5), "of the steps"
