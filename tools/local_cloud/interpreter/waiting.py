"""Waits and retry intervals in compressed time, and interruptions that take effect at once."""

from __future__ import annotations

import time
from typing import Any

from tools.local_cloud import engines
from tools.local_cloud.clock import CompressedClock

WAIT = f"{engines.COMPONENT}.state.wait.wait_function.wait_function"
RETRY = f"{engines.COMPONENT}.common.retry.retrier_decl"
ENVIRONMENT = f"{engines.ASL}.eval.environment"
STATE = f"{engines.COMPONENT}.state.exec.execute_state"
LONGEST_SLEEP_SECONDS = 0.2


def install(clock: CompressedClock) -> None:
    """Hands the clock to the interpreter, and keeps a stopped execution stopped."""

    def wait_interval(_self: Any, env: Any, wait_seconds: float) -> None:
        until = time.monotonic() + clock.real_seconds(wait_seconds)
        # The interpreter sets its event and clears it at once; a thread that misses it must not sleep long.
        while env.is_running() and (left := until - time.monotonic()) > 0:
            env.program_state_event.wait(min(left, LONGEST_SLEEP_SECONDS))

    engines.replace(WAIT, "WaitFunction._wait_interval", wait_interval)
    engines.replace(RETRY, "time", _RetryTime(clock))
    _keep_ends()
    _interrupt_quietly()


class _RetryTime:
    """What the interpreter's retry code sees as the time module."""

    def __init__(self, clock: CompressedClock) -> None:
        self.sleep = clock.sleep


def _keep_ends() -> None:
    """The first end of an execution counts; errors of its threads afterwards change nothing."""
    from moto.stepfunctions.parser.asl.eval.program_state import (
        ProgramEnded,
        ProgramError,
        ProgramStopped,
        ProgramTimedOut,
    )

    ends = (ProgramEnded, ProgramError, ProgramStopped, ProgramTimedOut)

    def guarded(original: Any) -> Any:
        def change(self: Any, *args: Any, **kwargs: Any) -> None:
            if not isinstance(self._program_state, ends):
                original(self, *args, **kwargs)

        return change

    for name in ("Environment.set_error", "Environment.set_timed_out"):
        engines.replace(ENVIRONMENT, name, guarded(engines.use(ENVIRONMENT, name)))


def _interrupt_quietly() -> None:
    """An interrupted state causes no Retry, no Catch and no event."""
    evaluate = engines.use(STATE, "ExecutionState._evaluate_with_timeout")

    def evaluate_with_timeout(self: Any, env: Any) -> None:
        try:
            evaluate(self, env)
        except Exception:
            if env.is_running():
                raise

    engines.replace(STATE, "ExecutionState._evaluate_with_timeout", evaluate_with_timeout)
