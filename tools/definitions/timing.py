"""Does goodput know of every state where its time goes? Each check answers with the faults it found, as sentences."""

from belay.contract.states import state_named
from belay.goodput.flow_states import BUCKET_OF_STATE
from tools.definitions.asl import Json, states


def states_without_bucket(definition: Json) -> list[str]:
    faults = []
    for name in states(definition):
        state = state_named(name)
        if state is None:
            faults.append(f"{name}: is not in belay/contract/states.py")
        elif state not in BUCKET_OF_STATE:
            faults.append(f"{name}: goodput has no bucket for it")
    return faults
