"""What a schedule starts in compressed time."""

import threading
from typing import Any

from tools.local_cloud.platform.schedules import one_at_a_time

SCHEDULED = {"detail-type": "Scheduled Event"}


def test_a_scheduled_turn_is_left_out_while_the_last_one_of_its_function_runs() -> None:
    began, may_end, turns = threading.Event(), threading.Event(), []

    def slow(function: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        turns.append(request_id)
        if request_id == "slow":
            began.set()
            assert may_end.wait(60)
        return {"body": request_id}

    execute = one_at_a_time(slow)
    first = threading.Thread(target=execute, args=({"FunctionArn": "pump"}, SCHEDULED, "slow"))
    first.start()
    assert began.wait(60)
    execute({"FunctionArn": "pump"}, SCHEDULED, "left out")
    execute({"FunctionArn": "sweep"}, SCHEDULED, "of another function")
    execute({"FunctionArn": "pump"}, {"run": "r"}, "not scheduled")
    may_end.set()
    first.join()
    execute({"FunctionArn": "pump"}, SCHEDULED, "after it")
    assert turns == ["slow", "of another function", "not scheduled", "after it"]
