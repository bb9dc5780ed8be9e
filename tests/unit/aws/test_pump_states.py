"""Two rounds of the pump at once: one of them works on a run, and the other leaves it alone."""

from datetime import timedelta

from belay.aws import pump_states
from belay.aws.bucket import Bucket
from belay.contract.max_loss import PUMP_AT_MOST
from belay.policy import pump_state
from tools.proofs.fakes.world import BUCKET, PREFIX, World


def stored(world: World) -> pump_states.StoredState:
    return pump_states.read(Bucket(world.s3, BUCKET), PREFIX)


def test_of_two_rounds_that_read_the_same_state_one_gets_the_lease(world: World) -> None:
    first, second = stored(world), stored(world)
    leased = first.leased(first.state, world.now)
    assert leased is not None and second.leased(second.state, world.now) is None


def test_a_leased_run_is_left_alone_until_it_is_released(world: World) -> None:
    one = stored(world)
    leased = one.leased(one.state, world.now)
    assert leased is not None and stored(world).is_leased(world.now)

    leased.released(leased.state)
    assert not stored(world).is_leased(world.now)


def test_the_lease_of_a_round_that_was_killed_ends(world: World) -> None:
    one = stored(world)
    one.leased(one.state, world.now)
    assert stored(world).is_leased(world.now + PUMP_AT_MOST - timedelta(seconds=1))
    assert not stored(world).is_leased(world.now + PUMP_AT_MOST)


def test_a_round_whose_lease_was_taken_over_does_not_release_the_other(world: World) -> None:
    slow = stored(world)
    mine = slow.leased(slow.state, world.now)
    assert mine is not None
    world.now += PUMP_AT_MOST
    quick = stored(world)
    assert quick.leased(quick.state, world.now) is not None

    mine.released(mine.state)
    assert stored(world).is_leased(world.now)


def test_a_damaged_state_is_begun_again(world: World) -> None:
    world.put(PREFIX.pump_state, "{")
    one = stored(world)
    assert one.state == pump_state.new(PREFIX.run)
    assert one.leased(one.state, world.now) is not None
