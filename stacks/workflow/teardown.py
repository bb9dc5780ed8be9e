"""How every run ends: find, stop, export, verify, delete, certify. The only place that deletes a file system."""

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from contract.certificate import AskedBy
from contract.tags import State
from contract.verdict import Durability
from stacks.compute import Compute
from stacks.encryption import may_use
from stacks.functions import Functions
from stacks.workflow.calls import REASON, Ask, AwsCall, on_any_error
from stacks.workflow.machine import machine
from stacks.workflow.ownership import Ownership
from stacks.workflow.poll import Poll
from stacks.workflow.scratch import delete_scratch, export_to_s3, mark_kept
from stacks.workflow.training import stop_tasks

# How often an export is made and looked for in S3 before a person is asked.
_PROOFS = 3
_FATE = "$not($is_there) ? 'gone' : $trouble != '' ? 'kept' : 'deleted'"
_FOUND = "$found.verdict = null ? {'nothing_left': true} : $found.verdict"
_SEEN = "$is_there ? $found.file_system : {}"
_GIVEN = "$states.context.Execution.Input"
_ASKED_BY = f"$exists({_GIVEN}.asked_by) ? {_GIVEN}.asked_by : '{AskedBy.PERSON}'"
_PROVEN = "($verification = null ? $found.last_verified_step : $verification.last_verified_step)"
_MISSING = "'Verify: not in S3: ' & $join($states.result.Payload.missing, '; ')"


class TeardownMachine(Construct):
    """Started by Train, by the rescue and by the sweep; told only which execution. Finishes what it finds, however
    much an earlier one did. Every way to `Delete file system` leads through `All in S3?` or `Holds work?`."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        functions: Functions,
        compute: Compute,
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
        nothing_left = sfn.Succeed.jsonata(self, "Nothing left to do", outputs=f"{{% {_FOUND} %}}")
        alive = sfn.Fail.jsonata(
            self, "Run still alive", error="RunStillAlive", cause="The execution runs; it tears down by itself."
        )
        cannot_prove = sfn.Pass.jsonata(self, "Cannot be proven", assign={"trouble": REASON})
        stop, stop_one = stop_tasks(
            self, "Stop training", tasks="$found.tasks", reason="Belay: teardown", compute=compute
        )
        stopped = Poll(
            self,
            "Training",
            function=functions.training_phase,
            question={"run": "{% $found.run %}"},
            until=("gone",),
            every_seconds=15,
            within_seconds="1800",
            otherwise=cannot_prove,
        )
        settled = Poll(
            self,
            "File system",
            function=functions.scratch_phase,
            question={"file_system_id": "{% $found.file_system.id %}"},
            until=("ready", "failed", "gone"),
            every_seconds=15,
            within_seconds="3600",
            otherwise=cannot_prove,
        )
        export = export_to_s3(self, ownership=ownership)
        exported = Poll(
            self,
            "Export",
            function=functions.export_phase,
            question={"task_id": "{% $task_id %}"},
            # A failed task may have carried everything that counts, a green one may not: the verification decides.
            until=("ready", "failed"),
            every_seconds=15,
            within_seconds="$found.export_limit_seconds",
            assign={"exported": "{% $states.result.Payload.phase = 'ready' %}"},
            otherwise=cannot_prove,
        )
        verify = self._verify(functions)
        delete = delete_scratch(self, ownership=ownership)
        certify = self._certify(functions)
        deleted = Poll(
            self,
            "Deletion",
            function=functions.scratch_phase,
            question={"file_system_id": "{% $found.file_system.id %}"},
            until=("gone",),
            every_seconds=15,
            within_seconds="3600",
            # What was deleted had been proven; FSx has agreed, and the sweep finds it again if it stays after all.
            otherwise=certify,
        )
        keep = mark_kept(self, functions=functions)
        tell = self._tell(notices, key)

        # ---- the way through
        find.next(
            self._question("Anything left?")
            .when(_is("$not($found.known)"), nothing_left)
            .when(_is("$ended = null"), alive)
            .when(_is("$found.certified and $not($is_there) and $count($found.tasks) = 0"), nothing_left)
            .when(_is("$count($found.tasks) > 0"), stop)
            .when(_is("$is_there"), settled)
            .otherwise(verify)
        )
        stop.next(stopped).next(self._question("File system there?").when(_is("$is_there"), settled).otherwise(verify))
        settled.next(
            self._question("Holds work?")
            .when(_is("$states.input.phase = 'gone'"), verify, assign={"is_there": False})
            # Promise: never deleted before it is verified, or proven empty. This is the proof of emptiness.
            .when(_is(f"$found.file_system.state = '{State.EMPTY}'"), delete)
            .otherwise(export)
        )
        export.next(exported).next(verify).next(
            self._question("All in S3?")
            .when(_is("$not($is_there)"), certify)
            # And this is the proof of durability. No other arrow leads to the deletion.
            .when(_is("$verification.whole"), delete)
            .when(_is(f"$proofs < {_PROOFS}"), export)
            .otherwise(cannot_prove)
        )
        delete.next(deleted).next(certify)
        cannot_prove.next(keep).next(tell).next(certify)
        certify.next(
            self._question("Kept?")
            .when(_is(f"$certificate.durability = '{Durability.KEPT}'"), self._kept())
            .otherwise(sfn.Succeed.jsonata(self, "Torn down", outputs="{% $certificate %}"))
        )

        # ---- and what leads off it
        delete.add_catch(certify, errors=["FSx.FileSystemNotFoundException"])
        # Whether an export could be made or not: the verification decides. What an earlier one came to does not count.
        export.add_catch(verify, errors=["States.ALL"], assign={"exported": False})
        on_any_error([stop, verify, delete], cannot_prove)
        # Another teardown was quicker: what is gone is not kept.
        keep.add_catch(certify, errors=["FileSystemGone"], assign={"is_there": False})
        # Whoever could not be tagged or told about is still certified: the sweep finds it again.
        on_any_error([keep, tell], certify)

        self.machine = machine(
            self,
            "Machine",
            name=name,
            definition=find,
            carriers=[stop_one, export, delete, tell],
            timeout=Duration.days(3),
            log_retention=log_retention,
        )

    def _find(self, functions: Functions) -> Ask:
        """By the file system's tags and the cluster's tasks, never by what an earlier state remembered."""
        return Ask(
            self,
            "Find what is left",
            function=functions.find,
            question={"execution_arn": "{% $states.input.execution_arn %}"},
            assign={
                "found": "{% $states.result.Payload %}",
                "is_there": "{% $exists($states.result.Payload.file_system.id) %}",
                "ended": "{% $exists($states.input.ended) ? $states.input.ended : $states.result.Payload.ended %}",
                "verification": "{% null %}",
                "proofs": 0,
                "exported": False,
                "trouble": "{% '' %}",
            },
        )

    def _verify(self, functions: Functions) -> Ask:
        return Ask(
            self,
            "Verify",
            function=functions.verify,
            question={"job": "{% $found.job %}", "run": "{% $found.run %}", "exported": "{% $exported %}"},
            assign={"verification": "{% $states.result.Payload %}", "proofs": "{% $proofs + 1 %}"},
            outputs={"reason": f"{{% {_MISSING} %}}"},
        )

    def _certify(self, functions: Functions) -> Ask:
        return Ask(
            self,
            "Certify",
            function=functions.certify,
            question={
                "execution_arn": "{% $states.context.Execution.Input.execution_arn %}",
                "run": "{% $found.run %}",
                "job": "{% $found.job %}",
                "started_at": "{% $found.started_at %}",
                "ended": "{% $ended %}",
                "file_system": f"{{% $merge([{_SEEN}, {{'fate': {_FATE}, 'why': $trouble}}]) %}}",
                "verification": "{% $verification %}",
                "asked_by": f"{{% {_ASKED_BY} %}}",
            },
            assign={"certificate": "{% $states.result.Payload %}"},
        )

    def _tell(self, notices: sns.ITopic, key: kms.IKey | None) -> AwsCall:
        return AwsCall(
            self,
            "Tell a person",
            service="sns",
            action="publish",
            arguments={
                "TopicArn": notices.topic_arn,
                "Subject": "Belay keeps a file system",
                "Message": f"{{% {_notice(self._own_arn)} %}}",
            },
            allowed_by=[
                iam.PolicyStatement(actions=["sns:Publish"], resources=[notices.topic_arn]),
                *may_use(key, through="sns"),
            ],
        )

    def _kept(self) -> sfn.Fail:
        return sfn.Fail.jsonata(
            self, "File system kept", error="{% $certificate.error %}", cause="{% $certificate.sentence %}"
        )

    def _question(self, name: str) -> sfn.Choice:
        return sfn.Choice.jsonata(self, name)


def _notice(teardown_arn: str) -> str:
    """Everything a person needs who knows nothing yet: which run, why, what is safe, what it costs, what to do."""
    parts = [
        "'Run ' & $found.run & ' of job ' & $found.job & ': file system ' & $found.file_system.id & ' is kept,'",
        "' because its checkpoints could not be proven to be in S3 (' & $trouble & ').'",
        f"' Last verified step: ' & ({_PROVEN} = null ? 'none' : $string({_PROVEN})) & '.'",
        "($found.file_system.usd_a_day = null ? ' It costs money until it is deleted.'"
        " : ' It costs ' & $string($found.file_system.usd_a_day) & ' USD a day until it is deleted.')",
        "' The sweep tries again after half an hour, then ever later. Once the cause is mended, have it at once:'",
        r"'\n\nbelay sweep\n\nor, without it:'",
        rf"'\n\naws stepfunctions start-execution --state-machine-arn {teardown_arn} --input '",
        r""" "'{\"execution_arn\": \"" & $states.context.Execution.Input.execution_arn & "\"}'" """.strip(),
    ]
    return " & ".join(parts)


def _is(expression: str) -> sfn.Condition:
    return sfn.Condition.jsonata(f"{{% {expression} %}}")
