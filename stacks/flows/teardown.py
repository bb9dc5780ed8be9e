"""How every run ends: find, stop, export, verify, delete, certify. The only place that deletes a file system."""

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract.certificate import AskedBy
from belay.contract.errors import RUN_STILL_ALIVE, FileSystemGone
from belay.contract.messages.probes import Phase, ProbeAnswer
from belay.contract.messages.teardown import FileSystemFate, TeardownInput
from belay.contract.states import TeardownState
from belay.contract.tags import State
from belay.contract.verdict import Durability
from stacks.backends.base import Backend
from stacks.encryption import may_use
from stacks.flows.aws_errors import FSX_FILE_SYSTEM_GONE
from stacks.flows.calls import REASON, Ask, AwsCall, answer_of, on_any_error
from stacks.flows.jsonata import NULL, Expression, Place, assigned, condition, given, record
from stacks.flows.machine import machine
from stacks.flows.poll import Poll
from stacks.flows.scratch import delete_scratch, export_to_s3, mark_kept
from stacks.flows.variables import OfTeardown, ended
from stacks.functions.functions import Functions
from stacks.ownership import Ownership

# How often an export is made and verified in S3 before a person is asked.
_PROOFS = 3

found, is_there, exported = OfTeardown.found, OfTeardown.is_there, OfTeardown.exported
starts_again = OfTeardown.starts_again
verification, proofs, trouble = OfTeardown.verification, OfTeardown.proofs, OfTeardown.trouble
certificate = OfTeardown.certificate
# What the execution was started with, in its first state and in any.
_INPUT = given(TeardownInput)
_ORDER = Place("$states.context.Execution.Input", TeardownInput)


class TeardownMachine(Construct):
    """Started by Train, by the rescue, by the sweep or by a person, for one execution. Finishes what it finds, however
    much an earlier one did. Every way to `Delete file system` leads through `All in S3?` or `Holds work?`."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        functions: Functions,
        backend: Backend,
        ownership: Ownership,
        notices: sns.ITopic,
        key: kms.IKey | None,
        log_retention: logs.RetentionDays,
    ) -> None:
        super().__init__(scope, id)

        # Known by its name: the machine cannot name itself in its own definition.
        self._own_arn = Stack.of(self).format_arn(
            service="states", resource="stateMachine", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
        )

        # ---- what there is to do: every state of the flow, in its order
        find = self._find(functions)
        nothing_left = self._nothing_left()
        alive = sfn.Fail.jsonata(
            self,
            TeardownState.RUN_STILL_ALIVE,
            error=RUN_STILL_ALIVE,
            cause="The execution runs; it tears down by itself.",
        )
        cannot_prove = sfn.Pass.jsonata(self, TeardownState.CANNOT_BE_PROVEN, assign=assigned({trouble: REASON}))
        stop, stop_one = backend.stop(self, TeardownState.STOP_TRAINING, tasks=found.tasks, reason="Belay: teardown")
        stopped = Poll(
            self,
            TeardownState.TRAINING,
            function=functions.training.training_phase,
            question={"run": found.run},
            until=(Phase.GONE,),
            every_seconds=15,
            within_seconds=1800,
            otherwise=cannot_prove,
        )
        settled = Poll(
            self,
            TeardownState.FILE_SYSTEM,
            function=functions.training.scratch_phase,
            question={"file_system_id": found.file_system.id},
            until=(Phase.READY, Phase.FAILED, Phase.GONE),
            every_seconds=15,
            within_seconds=3600,
            otherwise=cannot_prove,
        )
        export = export_to_s3(self, ownership=ownership)
        export_ended = Poll(
            self,
            TeardownState.EXPORT,
            function=functions.teardown.export_phase,
            question={"task_id": OfTeardown.task_id},
            # A failed task may have carried everything that counts, a green one may not: the verification decides.
            until=(Phase.READY, Phase.FAILED),
            every_seconds=15,
            within_seconds=found.export_limit_seconds,
            assign={exported: Expression(f"{answer_of(functions.teardown.export_phase).phase} = '{Phase.READY}'")},
            otherwise=cannot_prove,
        )
        verify = self._verify(functions)
        delete = delete_scratch(self, ownership=ownership)
        certify = self._certify(functions)
        # Only where the file system is surely gone.
        end = self._will_start_again().otherwise(certify)
        deleted = Poll(
            self,
            TeardownState.DELETION,
            function=functions.training.scratch_phase,
            question={"file_system_id": found.file_system.id},
            until=(Phase.GONE,),
            every_seconds=15,
            within_seconds=3600,
            # What was deleted had been proven; FSx has agreed, and the sweep finds it again if it stays after all.
            otherwise=certify,
        )
        still_there = Ask(
            self,
            TeardownState.STILL_THERE,
            function=functions.training.scratch_phase,
            question={"file_system_id": found.file_system.id},
        )
        keep = mark_kept(self, functions=functions)
        tell = self._tell(notices, key)

        # ---- the way through
        find.next(
            self._choice(TeardownState.ANYTHING_LEFT)
            .when(_is(f"$not({found.known})"), nothing_left)
            .when(_is(f"{ended} = null"), alive)
            .when(_is(f"{found.certified} and $not({is_there}) and $count({found.tasks}) = 0"), nothing_left)
            .when(_is(f"$count({found.tasks}) > 0"), stop)
            .when(_is(is_there), settled)
            .otherwise(verify)
        )
        stop.next(stopped).next(
            self._choice(TeardownState.IS_FILE_SYSTEM_THERE).when(_is(is_there), settled).otherwise(verify)
        )
        settled.next(
            self._choice(TeardownState.HOLDS_WORK)
            .when(_is(f"{given(ProbeAnswer).phase} = '{Phase.GONE}'"), verify, assign=assigned({is_there: False}))
            # Promise: never deleted before it is verified, or proven empty. This is the proof of emptiness.
            .when(_is(f"{found.file_system.state} = '{State.EMPTY}'"), delete)
            .otherwise(export)
        )
        export.next(export_ended).next(verify).next(
            self._choice(TeardownState.ALL_IN_S3)
            .when(_is(f"$not({is_there})"), end)
            # And this is the proof of durability. No other arrow leads to the deletion.
            .when(_is(verification.whole), delete)
            .when(_is(f"{proofs} < {_PROOFS}"), export)
            .otherwise(cannot_prove)
        )
        delete.next(deleted).next(end)
        # What another teardown has deleted has no tags any more: IAM refuses to delete it once more, and to mark it.
        cannot_prove.next(self._choice(TeardownState.ANYTHING_TO_KEEP).when(_is(is_there), still_there).otherwise(end))
        still_there.next(
            self._choice(TeardownState.IS_GONE)
            .when(_is(f"{given(ProbeAnswer).phase} = '{Phase.GONE}'"), end, assign=assigned({is_there: False}))
            .otherwise(keep)
        )
        keep.next(tell).next(certify)
        certify.next(
            self._choice(TeardownState.IS_KEPT)
            .when(_is(f"{certificate.durability} = '{Durability.KEPT}' or {starts_again}"), self._kept())
            .otherwise(sfn.Succeed.jsonata(self, TeardownState.TORN_DOWN, outputs=condition(certificate)))
        )

        # ---- and what leads off it
        delete.add_catch(end, errors=[FSX_FILE_SYSTEM_GONE])
        # Whether an export could be made or not: the verification decides. What an earlier one came to does not count.
        export.add_catch(verify, errors=["States.ALL"], assign=assigned({exported: False}))
        on_any_error([stop, verify, delete], cannot_prove)
        # Another teardown was quicker: what is gone is not kept.
        keep.add_catch(end, errors=[FileSystemGone.__name__], assign=assigned({is_there: False}))
        # If it could not be tagged, or the notice not sent, the run is still certified: the sweep finds it again.
        on_any_error([keep, tell], certify)
        on_any_error([still_there], keep)

        self.machine = machine(
            self,
            "Machine",
            name=name,
            definition=find,
            states=TeardownState,
            carriers=[stop_one, export, delete, tell],
            timeout=Duration.days(3),
            log_retention=log_retention,
        )

    def _will_start_again(self) -> sfn.Choice:
        """A run that waits for AWS is not over: its certificate comes with its end."""
        given_back = sfn.Succeed.jsonata(self, TeardownState.GIVEN_BACK, outputs={})
        return self._choice(TeardownState.WILL_START_AGAIN).when(_is(starts_again), given_back)

    def _find(self, functions: Functions) -> Ask:
        """By the file system's tags and the cluster's tasks, never by what an earlier state remembered."""
        answer = answer_of(functions.teardown.find)
        return Ask(
            self,
            TeardownState.FIND_WHAT_IS_LEFT,
            function=functions.teardown.find,
            question={"execution_arn": _INPUT.execution_arn},
            assign={
                found: answer,
                is_there: Expression(f"$exists({answer.file_system.id})"),
                starts_again: Expression(f"$exists({_INPUT.starts_again}) and {_INPUT.starts_again}"),
                ended: Expression(f"$exists({_INPUT.ended}) ? {_INPUT.ended} : {answer.ended}"),
                verification: NULL,
                proofs: 0,
                exported: False,
                trouble: Expression("''"),
            },
        )

    def _nothing_left(self) -> sfn.Succeed:
        outputs = f"{found.verdict} = null ? {{'nothing_left': true}} : {found.verdict}"
        return sfn.Succeed.jsonata(self, TeardownState.NOTHING_LEFT_TO_DO, outputs=condition(outputs))

    def _verify(self, functions: Functions) -> Ask:
        answer = answer_of(functions.teardown.verify)
        return Ask(
            self,
            TeardownState.VERIFY,
            function=functions.teardown.verify,
            question={"job": found.job, "run": found.run, "exported": exported},
            assign={verification: answer, proofs: Expression(f"{proofs} + 1")},
            outputs={"reason": Expression(f"'Verify: not in S3: ' & $join({answer.missing}, '; ')")},
        )

    def _certify(self, functions: Functions) -> Ask:
        seen = f"{is_there} ? {found.file_system} : {{}}"
        fate = f"$not({is_there}) ? 'gone' : {trouble} != '' ? 'kept' : 'deleted'"
        done = record(FileSystemFate, fate=fate, why=trouble)
        return Ask(
            self,
            TeardownState.CERTIFY,
            function=functions.teardown.certify,
            question={
                "execution_arn": _ORDER.execution_arn,
                "run": found.run,
                "job": found.job,
                "started_at": found.started_at,
                "ended": ended,
                "file_system": Expression(f"$merge([{seen}, {done}])"),
                "verification": verification,
                "asked_by": Expression(f"$exists({_ORDER.asked_by}) ? {_ORDER.asked_by} : '{AskedBy.PERSON}'"),
            },
            assign={certificate: answer_of(functions.teardown.certify)},
        )

    def _tell(self, notices: sns.ITopic, key: kms.IKey | None) -> AwsCall:
        return AwsCall(
            self,
            TeardownState.TELL_A_PERSON,
            service="sns",
            action="publish",
            arguments={
                "TopicArn": notices.topic_arn,
                "Subject": "Belay keeps a file system",
                "Message": _notice(self._own_arn),
            },
            allowed_by=[
                iam.PolicyStatement(actions=["sns:Publish"], resources=[notices.topic_arn]),
                *may_use(key, through="sns"),
            ],
        )

    def _kept(self) -> sfn.Fail:
        error, cause = condition(certificate.error), condition(certificate.sentence)
        return sfn.Fail.jsonata(self, TeardownState.FILE_SYSTEM_KEPT, error=error, cause=cause)

    def _choice(self, name: TeardownState) -> sfn.Choice:
        return sfn.Choice.jsonata(self, name)


def _notice(teardown_arn: str) -> Expression:
    """Everything a person needs who knows nothing yet: which run, why, what is safe, what it costs, what to do."""
    kept, price = found.file_system, found.file_system.usd_a_day
    step = f"({verification} = null ? {found.last_verified_step} : {verification.last_verified_step})"
    parts = [
        f"'Run ' & {found.run} & ' of job ' & {found.job} & ': file system ' & {kept.id} & ' is kept,'",
        f"' because its checkpoints could not be proven to be in S3 (' & {trouble} & ').'",
        f"' Last verified step: ' & ({step} = null ? 'none' : $string({step})) & '.'",
        f"({price} = null ? ' It costs money until it is deleted.'"
        f" : ' It costs ' & $string({price}) & ' USD a day until it is deleted.')",
        "' The sweep tries again after half an hour, then ever later. Once the cause is fixed, start it at once:'",
        r"'\n\nbelay sweep\n\nor, without it:'",
        rf"'\n\naws stepfunctions start-execution --state-machine-arn {teardown_arn} --input '",
        rf""" "'{{\"execution_arn\": \"" & {_ORDER.execution_arn} & "\"}}'" """.strip(),
    ]
    return Expression(" & ".join(parts))


def _is(text: object) -> sfn.Condition:
    return sfn.Condition.jsonata(condition(text))
