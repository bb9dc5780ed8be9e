from stallfree.cadence import EverySeconds, EverySteps


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
