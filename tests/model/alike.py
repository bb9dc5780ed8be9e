"""States that nobody can tell apart, made one: sentences for people, moments, and what nobody asks about any more.

Each is a claim about the flows and the Lambdas: that none of them decides by what is dropped here. A test holds it:
whatever may happen in a state may happen in the one that stands for it, and comes to the same.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from contract import tags
from contract.certificate import Certificate
from contract.ledger import Ledger, LedgerEntry
from contract.verdict import Durability, Training
from lambdas.sense import judging
from tests.model import s3, tokens
from tests.model.fsx import ENDED, NOBODY
from tests.model.net import System, Teardown
from tests.model.standing import Done, Frame, awaited
from tests.model.values import Frozen, compact, freeze
from tests.model.world import End, Export, FileSystem, World
from tests.model.world import Training as TrainingTask

# For people: no condition and no handler asks more of them than whether there is one.
_TEXTS = frozenset({"reason", "sentence", "trouble", "why"})
# Not even that.
_NOTES = frozenset(
    {"asked_by", "last_verified_step", "expected_steps", "missing", "nothing_saved", "verified", "witness", "phase"}
)
_A_TEXT = "."


def canonical(system: System) -> System:
    """The state that stands for all that are like this one."""
    train = None if system.train is None else of_frame(system.train)
    world = system.world
    for one in system.teardowns:
        world = tokens.forgotten(world, one)
    world = of_world(world)._replace(trainings=_trainings(system))
    if not _is_linking(system):
        world = world._replace(file_systems=tuple(one._replace(links=()) for one in world.file_systems))
    running = tuple(of_teardown(one) for one in system.teardowns)
    if train is None:
        running = tuple(_judged_already(one) for one in running)
        world = _settled(world)
    return System(train, running, world)


# ---- once Train has ended

# That training completed is held against what is true where it is first said (`numbered.py`), and nobody says it anew
# but for having heard it from the trainer. From there on how training ended is one word of the certificate, which
# nobody decides by.
_SOMEHOW = Frozen({"outcome": Training.CRASHED, "reason": ".", "source": "task"})
_CRASHED = End("FAILED", f"Training{Training.CRASHED}.Somehow", ".")


@cache
def _judged_already(one: Teardown) -> Teardown:
    frame = one.frame
    variables, asked = (_somehow(told) for told in (frame.variables, frame.input))
    return one._replace(frame=frame._replace(variables=variables, input=asked))


def _somehow(told: Any) -> Any:
    return told | {"ended": _SOMEHOW} if isinstance(told, Frozen) and told.get("ended") else told


@cache
def _settled(world: World) -> World:
    """The same for the log. That it says anything still matters: of who was silent, nothing need be exported."""
    assert world.train is not None
    log = tuple(line for line in world.log if line not in (s3.finished(), s3.failed()))
    has_succeeded = world.train.status == "SUCCEEDED"
    return world._replace(train=world.train if has_succeeded else _CRASHED, log=log, finished=has_succeeded)


# ---- executions


@cache
def of_teardown(one: Teardown) -> Teardown:
    """What it was asked with it has read at its beginning, but for the name of its run."""
    return one._replace(input=Frozen({"execution_arn": one.input["execution_arn"]}), frame=of_frame(one.frame))


@cache
def of_frame(frame: Frame) -> Frame:
    told = _value(frame.variables)
    if told.get("is_there") is False:
        # What is gone is certified as that, whatever was seen of it.
        told = told | {"found": told["found"].without(["file_system"])}
        told = _without(told, verification=None, trouble="", exported=False, proofs=0)
    elif told.get("trouble"):
        told = _without(told, verification=None)
    if frame.state in _WHATEVER_IT_HELD and "file_system" in told["found"]:
        told = told | {"found": told["found"] | {"file_system": told["found"]["file_system"].without(["state"])}}
    return frame._replace(input=_value(frame.input), variables=told, inner=_value(frame.inner))


def _without(variables: Frozen, **blank: Any) -> Frozen:
    return variables | {name: value for name, value in blank.items() if name in variables}


# Whether the file system was marked as empty is asked once, before them.
_WHATEVER_IT_HELD = frozenset(
    {"Export to S3", "Export: how far?", "Verify", "Delete file system", "Deletion: how far?"}
    | {"Keep file system", "Tell a person", "Certify"}
)


def _value(value: Any) -> Any:
    if isinstance(value, Frame):
        return of_frame(value)
    if isinstance(value, Frozen):
        value = Frozen({key: _field(key, inner) for key, inner in value.items() if key not in _NOTES})
        # That training completed nobody corrects.
        return value | {"source": "task"} if value.get("outcome") == Training.COMPLETED else value
    if isinstance(value, Done):
        # No branch hands anything on.
        return Done(None)
    return tuple(_value(inner) for inner in value) if type(value) is tuple else value


def _field(name: str, value: Any) -> Any:
    if name in _TEXTS:
        return _A_TEXT if isinstance(value, str) and value else value
    if name in ("outcome", "training"):
        return _outcome(value)
    if name == "error":
        return _error(value)
    if name == "state":
        return value if value == tags.State.EMPTY else _A_TEXT
    if name == "failure":
        return _FAILURES.setdefault(_judged(value["Error"], value["Cause"]), value)
    # Earlier attempts are over when there is another; how many there may still be, `attempts` says.
    return 1 if name == "attempt" else _value(value)


def _outcome(word: str) -> Training:
    """How else training failed, nobody asks once it is decided whether it is tried again."""
    return Training(word) if word in (Training.COMPLETED, Training.NEVER_STARTED) else Training.CRASHED


def _error(name: str | None) -> str | None:
    told = judging.of_execution("FAILED", name or "", "").outcome
    return f"Training{_outcome(told)}.Somehow" if name and name.startswith("Training") else name and _A_TEXT


# The first that is seen stands for all that are judged alike.
_FAILURES: dict[Any, Frozen] = {}
_STOPPED: dict[Any, TrainingTask] = {}


def _judged(error: str, cause: str) -> tuple[Any, ...]:
    ending = judging.of_task(error, cause)
    return _outcome(ending.outcome), ending.source, freeze(judging.decide_retry(ending.outcome, {}, {})[1])


# ---- the world


@cache
def of_world(world: World) -> World:
    log = _lines(world.log)
    certificate = _certificate if world.train is None else _certificate_of_what_is_over
    changes: dict[str, Callable[[bytes], bytes]] = {
        s3.PREFIX.certificate: certificate,
        s3.PREFIX.ledger: partial(_ledger, log),
        s3.PREFIX.trainer_events: partial(_events, log),
    }
    documents = {key: change(world.s3[key]) for key, change in changes.items() if key in world.s3}
    nothing = [key for key, body in documents.items() if not body]
    return world._replace(
        # Their names follow from who runs.
        teardowns=(),
        train=world.train and _end(world.train),
        child=world.child and _child(world.child),
        file_systems=tuple(_file_system(one, log) for one in world.file_systems),
        exports=tuple(sorted(_export(one, world, log) for one in world.exports)),
        s3=(world.s3 | documents).without(nothing),
        log=log,
        told=False,
    )


def _end(end: End) -> End:
    """Of an execution's end it counts whether it was a success, and how training ended by it."""
    outcome = judging.of_execution(end.status, end.error or "", end.cause or "").outcome
    return End("SUCCEEDED" if end.status == "SUCCEEDED" else "FAILED", f"Training{_outcome(outcome)}.Somehow", _A_TEXT)


def _child(end: End) -> End:
    """Train reads a verdict out of it, if there is one."""
    told = end.error and end.error.startswith("Training")
    return End(end.status, _error(end.error), _A_TEXT, _value(end.output)) if told or end.output else End("ABORTED")


def _file_system(one: FileSystem, log: tuple[str, ...]) -> FileSystem:
    """Of what cannot be exported any more, only the checkpoints are asked about: were they safe before?"""
    return one._replace(events=_news(one.events, log) if one.lifecycle in ("CREATING", "AVAILABLE") else ())


def _export(one: Export, world: World, log: tuple[str, ...]) -> Export:
    source = world.file_system(one.file_system)
    carries = one.lifecycle not in ENDED and source is not None and source.lifecycle != "FAILED"
    one = one._replace(id="earlier", token="earlier") if one.by == NOBODY else one
    if all(s3.is_whole(world.s3, step) for step in range(1, one.saved + 1)):
        # It brings no checkpoint that is not there.
        one = one._replace(saved=0)
    return one._replace(events=_news(one.events, log)) if carries else one._replace(events=(), saved=0)


def _news(lines: tuple[str, ...], log: tuple[str, ...]) -> tuple[str, ...]:
    """What the log does not say as well."""
    return tuple(line for line in _lines(lines) if line not in log)


def _is_linking(system: System) -> bool:
    """Whether anybody will still ask about links. The file system is marked when they are there."""
    if system.train is None or system.train.state == "Teardown":
        return False
    return any(one.tags.get(tags.STATE) == tags.State.EMPTY for one in system.world.file_systems)


def _trainings(system: System) -> tuple[TrainingTask, ...]:
    waiting = awaited(system.train)
    # While an attempt is watched, its own task is asked about even when it has stopped.
    watched = system.train.variables.get("attempt") if system.train is not None and system.train.inner else None
    kept = (one for one in system.world.trainings if one.may_write or one.attempt == watched)
    return tuple(_training(one._replace(attempt=1), is_awaited=one.arn in waiting) for one in kept)


def _training(one: TrainingTask, *, is_awaited: bool) -> TrainingTask:
    if not is_awaited:
        return one._replace(code="", reason="", exit=None)
    if one.status != "STOPPED":
        return one
    cause = compact({"StopCode": one.code, "StoppedReason": one.reason, "Containers": [{"ExitCode": one.exit}]})
    return _STOPPED.setdefault((one.arn, one.file_system, one.exit == 0, _judged("States.TaskFailed", cause)), one)


@cache
def _certificate(body: bytes) -> bytes:
    told = Certificate.model_validate_json(body)
    judged = {"reason": _A_TEXT, "training": _outcome(told.verdict.training), "last_verified_step": None}
    blank = dict.fromkeys(("id", "created_at", "deleted_at", "kept_since", "kept_why", "usd_a_day"))
    changes = {
        "verdict": told.verdict.model_copy(update=judged),
        "file_system": told.file_system.model_copy(update=blank),
        "sentence": _A_TEXT,
        "checkpoints": [],
    }
    changes |= dict.fromkeys(("ended", "lost", "asked_by"))
    return told.model_copy(update=changes).model_dump_json(indent=1).encode()


@cache
def _certificate_of_what_is_over(body: bytes) -> bytes:
    """It was held against what is true when it was written. Asked is whether the file system is kept."""
    told = Certificate.model_validate_json(_certificate(body))
    is_kept = told.verdict.durability is Durability.KEPT
    changes = {"training": Training.CRASHED, "durability": Durability.KEPT if is_kept else Durability.LOST}
    verdict = told.verdict.model_copy(update=changes)
    return told.model_copy(update={"verdict": verdict}).model_dump_json(indent=1).encode()


@cache
def _ledger(log: tuple[str, ...], body: bytes) -> bytes:
    """An entry that is not verified says that there was something to save; the log knows that too, if it knows any."""
    ledger = Ledger.model_validate_json(body)
    proven = [one for one in ledger.entries if one.verified_at]
    entries = [LedgerEntry(step=one.step) for one in ledger.entries if not one.verified_at and not log]
    blank = dict.fromkeys(("asked_at", "exported_at", "written_at", "problem", "proof"))
    entries += [one.model_copy(update=blank) for one in proven]
    return Ledger(run=ledger.run, entries=entries).model_dump_json(indent=1).encode() if entries else b""


@cache
def _lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """In the order of time, as they are read. Which attempt began nobody asks, nor that one failed before another."""
    began = (s3.started(1),) if any('"started"' in line for line in lines) else ()
    saved = (line for line in lines if '"saved"' in line)
    ends = [line for line in lines if line in (s3.finished(), s3.failed())]
    first = ends.index(s3.finished()) if s3.finished() in ends else len(ends)
    return (*began, *saved, *ends[first:])


@cache
def _events(log: tuple[str, ...], body: bytes) -> bytes:
    return "".join(f"{line}\n" for line in _news(tuple(body.decode().splitlines()), log)).encode()
