"""Makes equivalent states one: drops texts for people, times, and fields that nothing ahead reads.

Each rule claims that no flow and no Lambda decides by what it drops. A test checks this: a state and its representative
have the same next steps, and these lead to the same representatives.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from belay.contract import tags
from belay.contract.certificate import Certificate
from belay.contract.ledger import Ledger, LedgerEntry
from belay.contract.messages.training import Wait
from belay.contract.verdict import Durability, Ending, Training
from belay.policy import judging
from tools.proofs.model import ecs, s3, tokens
from tools.proofs.model.aws_state import AwsState, End, Export, FileSystem
from tools.proofs.model.aws_state import Training as TrainingTask
from tools.proofs.model.execution import Done, Frame, awaited
from tools.proofs.model.fsx import ENDED, NOBODY
from tools.proofs.model.system import System, Teardown
from tools.proofs.model.values import Frozen, compact, freeze

# For people: conditions and handlers only test whether there is one.
_TEXTS = frozenset({"reason", "sentence", "trouble", "why"})
# Not even tested.
_NOTES = frozenset({"asked_by", "last_verified_step", "missing", "source", "phase"})
_SOME_TEXT, _FINAL_TEXT = ".", "BadRequest"


def canonical(system: System) -> System:
    """The representative of all states that are equivalent to this one."""
    train = None if system.train is None else of_frame(system.train)
    aws = system.aws
    for one in system.teardowns:
        aws = tokens.without_old_exports(aws, one)
    aws = of_aws(aws)._replace(trainings=_trainings(system))
    if not _is_linking(system):
        aws = aws._replace(file_systems=tuple(one._replace(links=()) for one in aws.file_systems))
    running = tuple(of_teardown(one) for one in system.teardowns)
    if train is None:
        running = tuple(_teardown_with_some_end(one) for one in running)
        aws = _without_end_of_training(aws)
    return System(train, running, aws)


# ---- once Train has ended

# That training completed is checked where it is first stated (`transitions.py`), and only the trainer's log can state
# it again. After that, how training ended is one word of the certificate, and decides nothing.
_SOME_END = Frozen({"outcome": Training.CRASHED, "reason": ".", "source": "task"})
_CRASHED = End("FAILED", f"Training{Training.CRASHED}.Somehow", ".")


@cache
def _teardown_with_some_end(one: Teardown) -> Teardown:
    frame = one.frame
    variables, asked = (_with_some_end(values) for values in (frame.variables, frame.input))
    return one._replace(frame=frame._replace(variables=variables, input=asked))


def _with_some_end(values: Any) -> Any:
    return values | {"ended": _SOME_END} if isinstance(values, Frozen) and values.get("ended") else values


@cache
def _without_end_of_training(aws: AwsState) -> AwsState:
    """The same for the log. That it has any line still matters: a silent trainer saved nothing."""
    assert aws.train is not None
    log = tuple(line for line in aws.log if line not in _ENDS)
    has_succeeded = aws.train.status == "SUCCEEDED"
    return aws._replace(train=aws.train if has_succeeded else _CRASHED, log=log, finished=has_succeeded)


# ---- executions


@cache
def of_teardown(one: Teardown) -> Teardown:
    """It has read its input at its beginning; later it needs only the ARN."""
    return one._replace(input=Frozen({"execution_arn": one.input["execution_arn"]}), frame=of_frame(one.frame))


@cache
def of_frame(frame: Frame) -> Frame:
    variables = _value(frame.variables)
    if variables.get("is_there") is False:
        # A file system that is gone is certified as gone, whatever was seen of it before.
        variables = variables | {"found": variables["found"].without(["file_system"])}
        variables = _without(variables, verification=None, trouble="", exported=False, proofs=0)
    elif variables.get("trouble"):
        variables = _without(variables, verification=None)
    if frame.state in _EMPTINESS_IS_DECIDED and "file_system" in variables["found"]:
        variables = variables | {
            "found": variables["found"] | {"file_system": variables["found"]["file_system"].without(["state"])}
        }
    return frame._replace(input=_value(frame.input), variables=variables, inner=_value(frame.inner))


def _without(variables: Frozen, **blank: Any) -> Frozen:
    return variables | {name: value for name, value in blank.items() if name in variables}


# States after the only question whether the file system was marked as empty.
_EMPTINESS_IS_DECIDED = frozenset(
    {"Export to S3", "Export: how far?", "Verify", "Delete file system", "Deletion: how far?"}
    | {"Still there?", "Keep file system", "Tell a person", "Certify"}
)


def _value(value: Any) -> Any:
    if isinstance(value, Frame):
        return of_frame(value)
    if isinstance(value, Frozen):
        value = Frozen({key: _field(key, inner) for key, inner in value.items() if key not in _NOTES})
        # Completed is final, whatever its source.
        return value | {"source": "task"} if value.get("outcome") == Training.COMPLETED else value
    if isinstance(value, Done):
        # No flow reads the output of a branch.
        return Done(None)
    return tuple(_value(inner) for inner in value) if type(value) is tuple else value


def _field(name: str, value: Any) -> Any:
    if name == "reason" and isinstance(value, str) and value:
        return _SOME_TEXT if _may_pass(value) else _FINAL_TEXT
    if name in _TEXTS:
        return _SOME_TEXT if isinstance(value, str) and value else value
    if name in ("outcome", "training"):
        return _outcome(value)
    if name == "error":
        return _error(value)
    if name == "state":
        return value if value == tags.State.EMPTY else _SOME_TEXT
    if name == "failure":
        return _FAILURES.setdefault(_judged(value["Error"], value["Cause"]), value)
    # An attempt starts only when the earlier ones are over; `attempts` counts how many may follow.
    return 1 if name == "attempt" else _value(value)


@cache
def _may_pass(reason: str) -> bool:
    """Whether a run that could not start for this reason waits. Only `judge` reads more of a text than that."""
    return judging.wait_of(Ending(outcome=Training.NEVER_STARTED, reason=reason)) is Wait.SERVICE


def _outcome(word: str) -> Training:
    """Once the retry is decided, nothing reads how else training failed."""
    return Training(word) if word in (Training.COMPLETED, Training.NEVER_STARTED) else Training.CRASHED


def _error(name: str | None) -> str | None:
    outcome = judging.of_execution("FAILED", name or "", "").outcome
    return f"Training{_outcome(outcome)}.Somehow" if name and name.startswith("Training") else name and _SOME_TEXT


_ENDS = (s3.finished(), s3.failed())
# The first that is met represents all that are judged alike.
_FAILURES: dict[Any, Frozen] = {}
_STOPPED: dict[Any, TrainingTask] = {}


def _judged(error: str, cause: str) -> tuple[Any, ...]:
    ending = judging.of_task(error, cause)
    counts = judging.decide_retry(ending.outcome, {}, {})[1]
    return _outcome(ending.outcome), ending.source, freeze(counts), judging.wait_of(ending)


# ---- AWS


@cache
def of_aws(aws: AwsState) -> AwsState:
    log = _lines(aws.log)
    certificate = _certificate if aws.train is None else _certificate_after_train
    changes: dict[str, Callable[[bytes], bytes]] = {
        s3.PREFIX.certificate: certificate,
        s3.PREFIX.ledger: partial(_ledger, log),
        s3.PREFIX.trainer_events: partial(_events, log),
    }
    documents = {key: change(aws.s3[key]) for key, change in changes.items() if key in aws.s3}
    nothing = [key for key, body in documents.items() if not body]
    return aws._replace(
        # Their names follow from the teardowns of the system.
        teardowns=(),
        train=aws.train and _end(aws.train),
        child=aws.child and _child(aws.child),
        file_systems=tuple(_file_system(one, log) for one in aws.file_systems),
        exports=tuple(sorted(_export(one, aws, log) for one in aws.exports)),
        s3=(aws.s3 | documents).without(nothing),
        log=log,
        notified=False,
    )


def _end(end: End) -> End:
    """Whether the execution succeeded, and how training ended according to it."""
    outcome = judging.of_execution(end.status, end.error or "", end.cause or "").outcome
    return End(
        "SUCCEEDED" if end.status == "SUCCEEDED" else "FAILED", f"Training{_outcome(outcome)}.Somehow", _SOME_TEXT
    )


def _child(end: End) -> End:
    """Train reads whether it succeeded, and a verdict in it, if there is one."""
    is_verdict = end.error and end.error.startswith("Training")
    return (
        End(end.status, _error(end.error), _SOME_TEXT, _value(end.output))
        if is_verdict or end.status == "SUCCEEDED"
        else End("ABORTED")
    )


def _file_system(one: FileSystem, log: tuple[str, ...]) -> FileSystem:
    """When nothing can be exported any more, only the checkpoints still matter: were they in S3 before?"""
    return one._replace(events=_not_in_log(one.events, log) if one.lifecycle in ("CREATING", "AVAILABLE") else ())


def _export(one: Export, aws: AwsState, log: tuple[str, ...]) -> Export:
    source = aws.file_system(one.file_system)
    carries = one.lifecycle not in ENDED and source is not None and source.lifecycle != "FAILED"
    one = one._replace(id="earlier", token="earlier") if one.by == NOBODY else one
    if all(s3.is_whole(aws.s3, step) for step in range(1, one.saved + 1)):
        # It exports no checkpoint that is not in S3 already.
        one = one._replace(saved=0)
    return one._replace(events=_not_in_log(one.events, log)) if carries else one._replace(events=(), saved=0)


def _not_in_log(lines: tuple[str, ...], log: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that the log does not have."""
    return tuple(line for line in _lines(lines) if line not in log)


def _is_linking(system: System) -> bool:
    """Whether links are still probed. When they are ready, the file system is marked as in use."""
    if system.train is None or system.train.state == "Teardown":
        return False
    return any(one.tags.get(tags.STATE) == tags.State.EMPTY for one in system.aws.file_systems)


def _trainings(system: System) -> tuple[TrainingTask, ...]:
    waiting = awaited(system.train)
    # While an attempt runs, its task is probed even when it has stopped.
    watched = system.train.variables.get("attempt") if system.train is not None and system.train.inner else None
    kept = (one for one in system.aws.trainings if one.may_write or one.attempt == watched)
    return tuple(_training(one._replace(attempt=1), is_awaited=one.arn in waiting) for one in kept)


def _training(one: TrainingTask, *, is_awaited: bool) -> TrainingTask:
    if not is_awaited:
        return one._replace(code="", reason="", exit=None)
    if one.status != "STOPPED":
        return one
    cause = compact(ecs.described(one))
    return _STOPPED.setdefault((one.arn, one.file_system, one.exit == 0, _judged("States.TaskFailed", cause)), one)


@cache
def _certificate(body: bytes) -> bytes:
    certificate = Certificate.model_validate_json(body)
    judged = {"reason": _SOME_TEXT, "training": _outcome(certificate.verdict.training), "last_verified_step": None}
    blank = dict.fromkeys(("id", "created_at", "deleted_at", "kept_since", "kept_why", "usd_a_day"))
    changes = {
        "verdict": certificate.verdict.model_copy(update=judged),
        "file_system": certificate.file_system.model_copy(update=blank),
        "sentence": _SOME_TEXT,
        "checkpoints": [],
    }
    changes |= dict.fromkeys(("ended", "lost", "asked_by"))
    return certificate.model_copy(update=changes).model_dump_json(indent=1).encode()


@cache
def _certificate_after_train(body: bytes) -> bytes:
    """It was checked when it was written. After that only Kept or not Kept is read."""
    certificate = Certificate.model_validate_json(_certificate(body))
    is_kept = certificate.verdict.durability is Durability.KEPT
    changes = {"training": Training.CRASHED, "durability": Durability.KEPT if is_kept else Durability.LOST}
    verdict = certificate.verdict.model_copy(update=changes)
    return certificate.model_copy(update={"verdict": verdict}).model_dump_json(indent=1).encode()


@cache
def _ledger(log: tuple[str, ...], body: bytes) -> bytes:
    """An entry that is not verified shows that something was saved; so does the log, if it has any line."""
    ledger = Ledger.model_validate_json(body)
    proven = [one for one in ledger.entries if one.verified_at]
    entries = [LedgerEntry(step=one.step) for one in ledger.entries if not one.verified_at and not log]
    blank = dict.fromkeys(("asked_at", "exported_at", "written_at", "problem", "proof"))
    entries += [one.model_copy(update=blank) for one in proven]
    return Ledger(run=ledger.run, entries=entries).model_dump_json(indent=1).encode() if entries else b""


@cache
def _lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """In the order of time. Nothing reads which attempt began, nor that one failed before another."""
    began = (s3.started(),) if s3.started() in lines else ()
    saved = (line for line in lines if '"saved"' in line)
    ends = [line for line in lines if line in _ENDS]
    first = ends.index(s3.finished()) if s3.finished() in ends else len(ends)
    return (*began, *saved, *ends[first:])


@cache
def _events(log: tuple[str, ...], body: bytes) -> bytes:
    return "".join(f"{line}\n" for line in _not_in_log(tuple(body.decode().splitlines()), log)).encode()
