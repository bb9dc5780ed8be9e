"""The Amazon States Language without threads or clock: from a state of an execution to all its next states.

An execution is an immutable value. A step gives one move for each thing that may happen. `Environment` answers calls,
also with faults.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tools.proofs.model.definition import INPUT, Block, Retrier, Rule, State, matches
from tools.proofs.model.execution import Answer, Call, Context, Done, Fault, Frame, Move, Position, Waiting, awaited
from tools.proofs.model.jsonata import QueryError
from tools.proofs.model.values import MISSING, Frozen

QUERY_FAILED = "States.QueryEvaluationError"


def enter(block: Block, name: str, input: Any, variables: Frozen) -> Frame:
    """Into a state, with the variables that are live in it."""
    needs = block.needs.get(name)
    if needs is None:
        return Frame(name, input, variables)
    return Frame(name, input if INPUT in needs.whole else None, needs.kept(variables))


def steps(block: Block, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    """Every next move. Silent states, which no other execution can observe, are passed at once."""
    for move in _one_step(block, frame, context, aws):
        yield from _follow_silent(block, move, context, left=MOST_SILENT)


# More of them in a row are an endless loop without a call.
MOST_SILENT = 50


# They make no call and take no time.
SILENT = ("Pass", "Choice", "Succeed", "Fail")
# It changes nothing else in the model.
NOTIFIES = "aws-sdk:sns:publish"


class EndlessLoop(Exception):
    """A path without an end."""


def _follow_silent(block: Block, move: Move, context: Context, *, left: int) -> Iterator[Move]:
    if not _is_silent(block, move.to, context):
        yield move
        return
    if not left:
        raise EndlessLoop(move.to.state)
    for after in _one_step(block, move.to, context, move.aws):
        if after.to == move.to:
            # A retry: nothing has changed.
            continue
        label, maybe = f"{move.label}\n{after.label}", move.maybe or after.maybe
        both = Move(label, move.cost + after.cost, after.to, after.aws, maybe)
        yield from _follow_silent(block, both, context, left=left - 1)


def _is_silent(block: Block, position: Position, context: Context) -> bool:
    """Whether the next step makes no call and changes nothing, so that a stop before and after it are the same."""
    state = block.states.get(position.state) if isinstance(position, Frame) else None
    if state is None or not isinstance(position, Frame):
        return False
    if state.kind == "Wait":
        return not context.environment.exact
    if state.kind == "Parallel":
        return bool(position.inner) and all(isinstance(one, Done) for one in position.inner)
    if state.kind == "Map":
        return bool(position.inner) and position.inner[0] == len(_items(state, position, context))
    if state.resource == NOTIFIES:
        return not context.environment.exact
    return state.kind in SILENT


def _one_step(block: Block, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    state = block.states.get(frame.state)
    if state is None:
        yield Move(f"{frame.state}: no such state", 0, Fault("States.Runtime", lasts=True), aws)
        return
    try:
        yield from _KINDS[state.kind](block, state, frame, context, aws)
    except QueryError as error:
        fault = Fault(QUERY_FAILED, str(error), lasts=True)
        yield from _failed(block, state, frame, context, aws, fault, state.name, 0)


# ---- the kinds of states


def _pass(block: Block, state: State, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    yield Move(state.name, 0, _leave(block, state, frame, context, frame.input), aws)


def _choice(block: Block, state: State, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    scope = _scope(frame, context)
    for branch in state.branches:
        assert branch.condition is not None
        verdict = branch.condition(scope)
        if not isinstance(verdict, bool):
            raise QueryError(f"the condition '{branch.text}' is not a boolean")
        if verdict:
            yield Move(f"{state.name} {branch.text}", 0, _follow(block, branch, frame, context, {}), aws)
            return
    if state.default is None:
        yield Move(state.name, 0, Fault("States.NoChoiceMatched", lasts=True), aws)
    else:
        yield Move(f"{state.name} otherwise", 0, enter(block, state.default, frame.input, frame.variables), aws)


def _wait(block: Block, state: State, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    counters = [name for name in _counters(frame) if name != TRIES]
    if not context.environment.exact:
        frame = frame._replace(variables=frame.variables | dict.fromkeys(counters, 0))
    after = _leave(block, state, frame, context, frame.input)
    for answer in context.environment.time_passes(aws):
        label = f"{state.name} ({answer.label})" if answer.label else state.name
        yield Move(label, answer.cost, after, answer.aws)
    if context.environment.exact and context.environment.faults and counters and isinstance(after, Frame):
        late = after._replace(variables=after.variables | dict.fromkeys(counters, BEYOND_EVERY_LIMIT))
        yield Move(f"{state.name} (until the limit)", 1, late, aws)


def _counters(frame: Frame) -> list[str]:
    return [name for name in frame.variables if name == TRIES or name.endswith("polls")]


# It counts the flow's own attempts, and not time.
TRIES = "proofs"
# Higher than every limit.
BEYOND_EVERY_LIMIT = 10**9


def _succeed(block: Block, state: State, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    output = frame.input if state.output is None else state.output(_scope(frame, context))
    yield Move(state.name, 0, Done(output), aws)


def _fail(block: Block, state: State, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    scope = _scope(frame, context)
    error, cause = (None if made is None else made(scope) for made in (state.error, state.cause))
    yield Move(state.name, 0, Fault(error or "", cause), aws)


def _task(block: Block, state: State, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    if frame.waiting is not None:
        yield from _await(block, state, frame, context, aws)
        return
    scope = _scope(frame, context)
    if state.timeout:
        state.timeout(scope)
    rules: list[Rule | Retrier] = [*state.retriers, *state.catchers]
    named = dict.fromkeys(name for rule in rules for name in rule.errors)
    declared = tuple(name for name in named if not name.startswith("States."))
    call = Call(state.name, state.resource, state.arguments(scope), context.name, declared, state.timeout is not None)
    for answer in context.environment.answers(call, aws):
        for position, given in [(frame, answer)] if context.environment.exact else _uncounted(state, frame, answer):
            yield from _answered(block, state, position, context, given)


def _uncounted(state: State, frame: Frame, answer: Answer) -> Iterator[tuple[Frame, Answer]]:
    """Counters are not part of a state of the search: the state that counts decides whether its limit is reached.

    Reaching a limit of time needs something slow, which is a fault. How often something was tried is unknown: both are
    possible. A call that is refused to the end is refused each time, until the limit.
    """
    counters = _counters(frame)
    if isinstance(answer.result, Fault):
        yield frame, answer
        if counters and answer.result.lasts and not answer.cost:
            yield _at_the_limit(frame, counters), answer._replace(label=f"{answer.label}, each time")
        return
    counted = [name for name in counters if name in state.assign]
    if answer.label or not counted:
        yield frame, answer
        return
    is_time = TRIES not in counted
    yield frame, answer._replace(maybe=not is_time)
    yield _at_the_limit(frame, counted), answer._replace(label="at the limit", cost=int(is_time), maybe=not is_time)


def _at_the_limit(frame: Frame, counters: list[str]) -> Frame:
    return frame._replace(variables=frame.variables | dict.fromkeys(counters, BEYOND_EVERY_LIMIT))


def _await(block: Block, state: State, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    """A `.sync` task: it continues when what it started has ended, or when it times out."""
    assert frame.waiting is not None
    answers = context.environment.ended(frame.waiting, aws)
    if answers is not None:
        for answer in answers:
            yield from _answered(block, state, frame, context, answer)
        return
    if context.environment.exact:
        for answer in context.environment.time_passes(aws):
            yield Move(f"{state.name} ({answer.label or 'waits'})", answer.cost, frame, answer.aws)
    if state.timeout and context.environment.faults:
        for answer in context.environment.time_limit(frame.waiting, aws):
            yield from _answered(block, state, frame, context, answer)


def _answered(block: Block, state: State, frame: Frame, context: Context, answer: Answer) -> Iterator[Move]:
    label = f"{state.name}: {answer.label}" if answer.label else state.name
    if isinstance(answer.result, Fault):
        yield from _failed(block, state, frame, context, answer.aws, answer.result, label, answer.cost)
    elif isinstance(answer.result, Waiting):
        yield Move(label, answer.cost, frame._replace(waiting=answer.result.on), answer.aws)
    else:
        try:
            after = _leave(block, state, frame, context, answer.result, result=answer.result)
        except QueryError as error:
            fault = Fault(QUERY_FAILED, str(error), lasts=True)
            for move in _failed(block, state, frame, context, answer.aws, fault, label, answer.cost):
                yield move._replace(maybe=answer.maybe)
        else:
            yield Move(label, answer.cost, after, answer.aws, answer.maybe)


def _map(block: Block, state: State, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    """One item after the other. `inner`: how many are done, the state of the present one, the outputs so far."""
    items = _items(state, frame, context)
    count, position, outputs = frame.inner or (0, None, ())
    if count == len(items):
        yield Move(state.name, 0, _leave(block, state, frame, context, outputs, result=outputs), aws)
        return
    [each] = state.inner
    position = position or enter(each, each.start, items[count], frame.variables)
    for move in steps(each, position, context, aws):
        if isinstance(move.to, Fault):
            yield from _failed(block, state, frame, context, move.aws, move.to, move.label, move.cost)
        elif isinstance(move.to, Done):
            done = (count + 1, None, (*outputs, move.to.output))
            yield Move(move.label, move.cost, frame._replace(inner=done), move.aws)
        else:
            # Back at the beginning of an item: it has not begun.
            inner = frame.inner if move.to == position else (count, move.to, outputs)
            yield Move(move.label, move.cost, frame._replace(inner=inner), move.aws)


def _items(state: State, frame: Frame, context: Context) -> tuple[Any, ...]:
    assert state.items is not None
    items = state.items(_scope(frame, context))
    if not isinstance(items, tuple):
        raise QueryError("the items of a Map are not an array")
    return items


def _parallel(block: Block, state: State, frame: Frame, context: Context, aws: Any) -> Iterator[Move]:
    """`inner`: the state of each branch. If exact, the first branch that can move moves; else any of them."""
    branches = frame.inner or tuple(enter(one, one.start, frame.input, frame.variables) for one in state.inner)
    if all(isinstance(one, Done) for one in branches):
        outputs = tuple(one.output for one in branches)
        yield Move(state.name, 0, _leave(block, state, frame, context, outputs, result=outputs), aws)
        return
    ready = [index for index, one in enumerate(branches) if isinstance(one, Frame)]
    if context.environment.exact:
        blocked = [index for index in ready if _is_blocked(branches[index], context, aws)]
        ready = [index for index in ready if index not in blocked][:1] or blocked[:1]
    for index in ready:
        for move in steps(state.inner[index], branches[index], context, aws):
            after = (*branches[:index], move.to, *branches[index + 1 :])
            if isinstance(move.to, Fault):
                others = [one for one in after if isinstance(one, Frame)]
                for stop in _stop_all(others, context, move.aws):
                    label, cost = move.label + stop.label, move.cost + stop.cost
                    yield from _failed(block, state, frame, context, stop.aws, move.to, label, cost)
            else:
                yield Move(move.label, move.cost, frame._replace(inner=after), move.aws)


def _is_blocked(frame: Frame, context: Context, aws: Any) -> bool:
    return frame.waiting is not None and context.environment.ended(frame.waiting, aws) is None


def _stop_all(frames: list[Frame], context: Context, aws: Any) -> Iterator[Answer]:
    """Step Functions tries to stop what the ended state was waiting for."""
    waiting = [one for frame in frames for one in awaited(frame)]
    if not waiting:
        yield Answer("", 0, aws, None)
        return
    yield from context.environment.stopped(waiting[0], aws)


# ---- to the next state


def _leave(block: Block, state: State, frame: Frame, context: Context, value: Any, **more: Any) -> Position:
    """Assign, then Output, then the next state; both read the variables as they were."""
    scope = _scope(frame, context, **more)
    assigned = {name: make(scope) for name, make in state.assign.items()}
    output = value if state.output is None else state.output(scope)
    if state.next is None:
        return Done(output)
    return enter(block, state.next, output, frame.variables | assigned if assigned else frame.variables)


def _follow(
    block: Block, rule: Rule, frame: Frame, context: Context, more: Mapping[str, Any], value: Any = MISSING
) -> Frame:
    scope = _scope(frame, context, **more)
    assigned = {name: make(scope) for name, make in rule.assign.items()}
    output = (frame.input if value is MISSING else value) if rule.output is None else rule.output(scope)
    return enter(block, rule.next, output, frame.variables | assigned if assigned else frame.variables)


def _failed(
    block: Block, state: State, frame: Frame, context: Context, aws: Any, fault: Fault, label: str, cost: int
) -> Iterator[Move]:
    """Retry if a Retry matches, else go where a Catch says, else the block has failed."""
    frame = frame._replace(waiting=None, inner=())
    retrier = next((index for index, one in enumerate(state.retriers) if matches(fault.error, one.errors)), None)
    retries = ""
    if retrier is not None and state.retriers[retrier].attempts:
        rule = state.retriers[retrier]
        tries = frame.tries or (0,) * len(state.retriers)
        if tries[retrier] < rule.attempts:
            again = (*tries[:retrier], tries[retrier] + 1, *tries[retrier + 1 :]) if context.environment.exact else ()
            if not fault.lasts:
                yield Move(f"{label}, {fault.error}, retried", cost, frame._replace(tries=again), aws)
                return
            retries = f", {rule.attempts} retries in {rule.retry_seconds:g} s"
    for catcher in state.catchers:
        if matches(fault.error, catcher.errors):
            error_output = Frozen({"Error": fault.error, "Cause": fault.cause or ""})
            try:
                caught: Position = _follow(block, catcher, frame, context, {"errorOutput": error_output}, error_output)
            except QueryError as error:
                caught = Fault(QUERY_FAILED, str(error))
            yield Move(f"{label}, {fault.error}{retries}", cost, caught, aws)
            return
    yield Move(f"{label}, {fault.error}{retries}, not caught", cost, fault._replace(lasts=False), aws)


def _scope(frame: Frame, context: Context, **more: Any) -> dict[str, Any]:
    return {**frame.variables, "states": Frozen({"input": frame.input, "context": context.values, **more})}


_KINDS = {
    "Pass": _pass,
    "Choice": _choice,
    "Wait": _wait,
    "Succeed": _succeed,
    "Fail": _fail,
    "Task": _task,
    "Map": _map,
    "Parallel": _parallel,
}
