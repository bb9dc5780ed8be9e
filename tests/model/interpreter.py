"""One execution, step by step, without threads or clock: from where it stands to every place where it may stand next.

An execution is a value. A step gives a list of moves, one for each thing that may happen; nothing is changed. What the
outside answers is asked of `Surroundings`, and an answer may be a fault.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.model.definition import INPUT, Block, Retrier, Rule, State, matches
from tests.model.jsonata import QueryError
from tests.model.standing import Answer, Call, Context, Done, Fault, Frame, Move, Standing, Waiting, awaited
from tests.model.values import MISSING, Frozen

QUERY_FAILED = "States.QueryEvaluationError"


def enter(block: Block, name: str, input: Any, variables: Frozen) -> Frame:
    """Into a state, with what it and those after it need."""
    needs = block.needs.get(name)
    if needs is None:
        return Frame(name, input, variables)
    return Frame(name, input if INPUT in needs.whole else None, needs.kept(variables))


def steps(block: Block, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    """Every next move. What only this execution can notice follows at once, up to where the world is asked again."""
    for move in _one_step(block, frame, context, world):
        yield from _onward(block, move, context, left=MOST_SILENT)


# Only a flow that goes round without ever asking anything has more of them in a row.
MOST_SILENT = 50


# They ask nobody, and take no time.
SILENT = ("Pass", "Choice", "Succeed", "Fail")
# Nothing else hears of it.
TELLS_A_PERSON = "aws-sdk:sns:publish"


class GoesRound(Exception):
    """A way without an end."""


def _onward(block: Block, move: Move, context: Context, *, left: int) -> Iterator[Move]:
    if not _is_silent(block, move.to, context):
        yield move
        return
    if not left:
        raise GoesRound(move.to.state)
    for after in _one_step(block, move.to, context, move.world):
        if after.to == move.to:
            # Asked again: nothing has changed.
            continue
        label, maybe = f"{move.label}\n{after.label}", move.maybe or after.maybe
        both = Move(label, move.cost + after.cost, after.to, after.world, maybe)
        yield from _onward(block, both, context, left=left - 1)


def _is_silent(block: Block, standing: Standing, context: Context) -> bool:
    """Whether the next step here neither asks nor changes the world, so that a stop before it is a stop after it."""
    state = block.states.get(standing.state) if isinstance(standing, Frame) else None
    if state is None or not isinstance(standing, Frame):
        return False
    if state.kind == "Wait":
        return not context.around.exact
    if state.kind == "Parallel":
        return bool(standing.inner) and all(isinstance(one, Done) for one in standing.inner)
    if state.kind == "Map":
        return bool(standing.inner) and standing.inner[0] == len(_items(state, standing, context))
    if state.resource == TELLS_A_PERSON:
        return not context.around.exact
    return state.kind in SILENT


def _one_step(block: Block, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    state = block.states.get(frame.state)
    if state is None:
        yield Move(f"{frame.state}: no such state", 0, Fault("States.Runtime", lasts=True), world)
        return
    try:
        yield from _KINDS[state.kind](block, state, frame, context, world)
    except QueryError as error:
        fault = Fault(QUERY_FAILED, str(error), lasts=True)
        yield from _failed(block, state, frame, context, world, fault, state.name, 0)


# ---- the kinds of states


def _pass(block: Block, state: State, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    yield Move(state.name, 0, _leave(block, state, frame, context, frame.input), world)


def _choice(block: Block, state: State, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    scope = _scope(frame, context)
    for way in state.ways:
        assert way.condition is not None
        verdict = way.condition(scope)
        if not isinstance(verdict, bool):
            raise QueryError(f"the condition '{way.text}' is not a boolean")
        if verdict:
            yield Move(f"{state.name} {way.text}", 0, _follow(block, way, frame, context, {}), world)
            return
    if state.default is None:
        yield Move(state.name, 0, Fault("States.NoChoiceMatched", lasts=True), world)
    else:
        yield Move(f"{state.name} otherwise", 0, enter(block, state.default, frame.input, frame.variables), world)


def _wait(block: Block, state: State, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    counters = [name for name in _counters(frame) if name != TRIES]
    if not context.around.exact:
        frame = frame._replace(variables=frame.variables | dict.fromkeys(counters, 0))
    after = _leave(block, state, frame, context, frame.input)
    for answer in context.around.time_passes(world):
        label = f"{state.name} ({answer.label})" if answer.label else state.name
        yield Move(label, answer.cost, after, answer.world)
    if context.around.exact and context.around.faults and counters and isinstance(after, Frame):
        late = after._replace(variables=after.variables | dict.fromkeys(counters, ENDLESS))
        yield Move(f"{state.name} (until the limit)", 1, late, world)


def _counters(frame: Frame) -> list[str]:
    return [name for name in frame.variables if name == TRIES or name.endswith("polls")]


# What counts a flow's own attempts, and not time.
TRIES = "proofs"
# So many that every limit is over.
ENDLESS = 10**9


def _succeed(block: Block, state: State, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    output = frame.input if state.output is None else state.output(_scope(frame, context))
    yield Move(state.name, 0, Done(output), world)


def _fail(block: Block, state: State, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    scope = _scope(frame, context)
    error, cause = (None if made is None else made(scope) for made in (state.error, state.cause))
    yield Move(state.name, 0, Fault(error or "", cause), world)


def _task(block: Block, state: State, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    if frame.waiting is not None:
        yield from _await(block, state, frame, context, world)
        return
    scope = _scope(frame, context)
    if state.timeout:
        state.timeout(scope)
    rules: list[Rule | Retrier] = [*state.retriers, *state.catchers]
    named = dict.fromkeys(name for rule in rules for name in rule.errors)
    declared = tuple(name for name in named if not name.startswith("States."))
    call = Call(state.name, state.resource, state.arguments(scope), context.name, declared, state.timeout is not None)
    for answer in context.around.answers(call, world):
        for standing, heard in [(frame, answer)] if context.around.exact else _uncounted(state, frame, answer):
            yield from _answered(block, state, standing, context, heard)


def _uncounted(state: State, frame: Frame, answer: Answer) -> Iterator[tuple[Frame, Answer]]:
    """Whether a limit is reached is decided when it is looked at: by the state that counts.

    Time is over only if something is slow, and that is a fault. How often it was tried before nobody knows: either may
    be. What is refused to the end is so each time, until there is a limit.
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
    return frame._replace(variables=frame.variables | dict.fromkeys(counters, ENDLESS))


def _await(block: Block, state: State, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    """A `.sync` task: it goes on when what it started has ended, or when its own time is over."""
    assert frame.waiting is not None
    answers = context.around.ended(frame.waiting, world)
    if answers is not None:
        for answer in answers:
            yield from _answered(block, state, frame, context, answer)
        return
    if context.around.exact:
        for answer in context.around.time_passes(world):
            yield Move(f"{state.name} ({answer.label or 'waits'})", answer.cost, frame, answer.world)
    if state.timeout and context.around.faults:
        for answer in context.around.time_limit(frame.waiting, world):
            yield from _answered(block, state, frame, context, answer)


def _answered(block: Block, state: State, frame: Frame, context: Context, answer: Answer) -> Iterator[Move]:
    label = f"{state.name}: {answer.label}" if answer.label else state.name
    if isinstance(answer.result, Fault):
        yield from _failed(block, state, frame, context, answer.world, answer.result, label, answer.cost)
    elif isinstance(answer.result, Waiting):
        yield Move(label, answer.cost, frame._replace(waiting=answer.result.on), answer.world)
    else:
        try:
            after = _leave(block, state, frame, context, answer.result, result=answer.result)
        except QueryError as error:
            fault = Fault(QUERY_FAILED, str(error), lasts=True)
            for move in _failed(block, state, frame, context, answer.world, fault, label, answer.cost):
                yield move._replace(maybe=answer.maybe)
        else:
            yield Move(label, answer.cost, after, answer.world, answer.maybe)


def _map(block: Block, state: State, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    """One item after the other. `inner` is: how many are done, where the present one stands, the outputs so far."""
    items = _items(state, frame, context)
    count, standing, outputs = frame.inner or (0, None, ())
    if count == len(items):
        yield Move(state.name, 0, _leave(block, state, frame, context, outputs, result=outputs), world)
        return
    [each] = state.inner
    standing = standing or enter(each, each.start, items[count], frame.variables)
    for move in steps(each, standing, context, world):
        if isinstance(move.to, Fault):
            yield from _failed(block, state, frame, context, move.world, move.to, move.label, move.cost)
        elif isinstance(move.to, Done):
            done = (count + 1, None, (*outputs, move.to.output))
            yield Move(move.label, move.cost, frame._replace(inner=done), move.world)
        else:
            # Who still stands at the beginning of an item has not begun it.
            inner = frame.inner if move.to == standing else (count, move.to, outputs)
            yield Move(move.label, move.cost, frame._replace(inner=inner), move.world)


def _items(state: State, frame: Frame, context: Context) -> tuple[Any, ...]:
    assert state.items is not None
    items = state.items(_scope(frame, context))
    if not isinstance(items, tuple):
        raise QueryError("the items of a Map are no array")
    return items


def _parallel(block: Block, state: State, frame: Frame, context: Context, world: Any) -> Iterator[Move]:
    """`inner` is where each branch stands. Exact, the first branch that can go on goes; else any of them."""
    branches = frame.inner or tuple(enter(one, one.start, frame.input, frame.variables) for one in state.inner)
    if all(isinstance(one, Done) for one in branches):
        outputs = tuple(one.output for one in branches)
        yield Move(state.name, 0, _leave(block, state, frame, context, outputs, result=outputs), world)
        return
    ready = [index for index, one in enumerate(branches) if isinstance(one, Frame)]
    if context.around.exact:
        blocked = [index for index in ready if _is_blocked(branches[index], context, world)]
        ready = [index for index in ready if index not in blocked][:1] or blocked[:1]
    for index in ready:
        for move in steps(state.inner[index], branches[index], context, world):
            after = (*branches[:index], move.to, *branches[index + 1 :])
            if isinstance(move.to, Fault):
                others = [one for one in after if isinstance(one, Frame)]
                for stop in _stop_all(others, context, move.world):
                    label, cost = move.label + stop.label, move.cost + stop.cost
                    yield from _failed(block, state, frame, context, stop.world, move.to, label, cost)
            else:
                yield Move(move.label, move.cost, frame._replace(inner=after), move.world)


def _is_blocked(frame: Frame, context: Context, world: Any) -> bool:
    return frame.waiting is not None and context.around.ended(frame.waiting, world) is None


def _stop_all(frames: list[Frame], context: Context, world: Any) -> Iterator[Answer]:
    """Step Functions tries to stop what an ended state was waiting for."""
    waiting = [one for frame in frames for one in awaited(frame)]
    if not waiting:
        yield Answer("", 0, world, None)
        return
    yield from context.around.stopped(waiting[0], world)


# ---- on to the next


def _leave(block: Block, state: State, frame: Frame, context: Context, value: Any, **more: Any) -> Standing:
    """Assign, then output, then the next state; both see the variables as they were."""
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
    block: Block, state: State, frame: Frame, context: Context, world: Any, fault: Fault, label: str, cost: int
) -> Iterator[Move]:
    """Try again if a Retry says so, else go where a Catch says, else the block has failed."""
    frame = frame._replace(waiting=None, inner=())
    retrier = next((index for index, one in enumerate(state.retriers) if matches(fault.error, one.errors)), None)
    patience = ""
    if retrier is not None and state.retriers[retrier].attempts:
        rule = state.retriers[retrier]
        tries = frame.tries or (0,) * len(state.retriers)
        if tries[retrier] < rule.attempts:
            again = (*tries[:retrier], tries[retrier] + 1, *tries[retrier + 1 :]) if context.around.exact else ()
            if not fault.lasts:
                yield Move(f"{label}, {fault.error}, again", cost, frame._replace(tries=again), world)
                return
            patience = f", {rule.attempts} times more in {rule.patience_seconds:g} s"
    for catcher in state.catchers:
        if matches(fault.error, catcher.errors):
            told = Frozen({"Error": fault.error, "Cause": fault.cause or ""})
            try:
                caught: Standing = _follow(block, catcher, frame, context, {"errorOutput": told}, told)
            except QueryError as error:
                caught = Fault(QUERY_FAILED, str(error))
            yield Move(f"{label}, {fault.error}{patience}", cost, caught, world)
            return
    yield Move(f"{label}, {fault.error}{patience}, not caught", cost, fault._replace(lasts=False), world)


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
