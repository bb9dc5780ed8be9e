"""How a file system is linked with S3, as states: one association after the other, and a failed one once more."""

from collections.abc import Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract.messages.probes import Phase, ProbeAnswer
from belay.contract.states import TrainState
from stacks.encryption import may_use
from stacks.flows.aws_errors import FSX_LINK_GONE
from stacks.flows.calls import AwsCall, on_any_error
from stacks.flows.jsonata import Expression, assigned, condition, given
from stacks.flows.poll import Poll
from stacks.flows.scratch import START_SUFFIX
from stacks.flows.variables import OfTrain
from stacks.functions.functions import Functions
from stacks.ownership import Ownership

# In one run, of all its links: what fails again has a reason that time does not remove.
_MOST_RELINKS = 1
# Another token for another try: FSx answers a known one with the link that it had.
_SUFFIX = f"({OfTrain.relinks} = 0 ? '' : '-' & $string({OfTrain.relinks}))"


class LinkToS3(sfn.StateMachineFragment):
    """One association each for the run, the data, and the checkpoint to resume from.

    A file system works on one at a time, and requests beside each other have ended as FAILED, with a reason that was
    not true (github.com/hashicorp/terraform-provider-aws/issues/24678).
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        functions: Functions,
        ownership: Ownership,
        allowed_on_s3: Sequence[iam.PolicyStatement],
        then: sfn.IChainable,
        otherwise: sfn.IChainable,
    ) -> None:
        super().__init__(scope, id)
        counted = assigned({OfTrain.links_made: 0, OfTrain.relinks: 0})
        start = sfn.Pass.jsonata(self, TrainState.LINK_TO_S3, assign=counted)
        link = self._link([*ownership.may_link(), *allowed_on_s3])
        linked = self._poll(functions, TrainState.LINK, (Phase.READY, Phase.FAILED), otherwise)
        failed = sfn.Pass.jsonata(
            self, TrainState.LINK_FAILED, assign=assigned({OfTrain.relinks: Expression(f"{OfTrain.relinks} + 1")})
        )
        unlink = self._unlink(ownership.may_unlink())
        unlinked = self._poll(functions, TrainState.UNLINKING, (Phase.GONE,), otherwise)
        phase, wanted = given(ProbeAnswer).phase, f"$count({OfTrain.request.links})"
        is_linked, is_not = f"{phase} = '{Phase.READY}'", f"{phase} = '{Phase.FAILED}'"
        all_linked = (
            sfn.Choice.jsonata(self, TrainState.ALL_LINKED)
            .when(_is(f"{is_linked} and {OfTrain.links_made} < {wanted} + {OfTrain.relinks}"), link)
            .when(_is(is_linked), then)
            .when(_is(f"{is_not} and {OfTrain.relinks} < {_MOST_RELINKS}"), failed)
            .otherwise(otherwise)
        )
        start.next(link).next(linked).next(all_linked)
        failed.next(unlink).next(unlinked).next(link)
        unlink.add_catch(unlinked, errors=[FSX_LINK_GONE])
        on_any_error([link, unlink], otherwise)
        self._start, self.carriers = start, [link, unlink]

    @property
    def start_state(self) -> sfn.State:
        return self._start

    @property
    def end_states(self) -> list[sfn.INextable]:
        return []

    def _link(self, allowed_by: Sequence[iam.PolicyStatement]) -> AwsCall:
        wanted = f"{OfTrain.request.links}[{OfTrain.links_made} - {OfTrain.relinks}]"
        return AwsCall(
            self,
            TrainState.LINK_A_FOLDER,
            service="fsx",
            action="createDataRepositoryAssociation",
            arguments={
                "FileSystemId": OfTrain.file_system_id,
                "FileSystemPath": Expression(f"{wanted}.FileSystemPath"),
                "DataRepositoryPath": Expression(f"{wanted}.DataRepositoryPath"),
                # Names and sizes appear on the mount by an import task; a file's data comes when it is first read.
                # No S3 policies: auto-export would forbid export tasks and mirror every deletion.
                "BatchImportMetaDataOnCreate": True,
                "Tags": Expression(f"{wanted}.Tags"),
                "ClientRequestToken": Expression(f"{wanted}.ClientRequestToken & {START_SUFFIX} & {_SUFFIX}"),
            },
            assign={
                OfTrain.association_id: Expression("$states.result.Association.AssociationId"),
                OfTrain.links_made: Expression(f"{OfTrain.links_made} + 1"),
            },
            allowed_by=allowed_by,
        )

    def _unlink(self, allowed_by: Sequence[iam.PolicyStatement]) -> AwsCall:
        return AwsCall(
            self,
            TrainState.UNLINK,
            service="fsx",
            action="deleteDataRepositoryAssociation",
            arguments={
                "AssociationId": OfTrain.association_id,
                "ClientRequestToken": Expression(f"'delete-' & {OfTrain.association_id}"),
            },
            allowed_by=allowed_by,
            no_retry=[FSX_LINK_GONE],
        )

    def _poll(self, functions: Functions, name: TrainState, until: Sequence[Phase], otherwise: sfn.IChainable) -> Poll:
        return Poll(
            self,
            name,
            function=functions.training.link_phase,
            question={"file_system_id": OfTrain.file_system_id, "association_id": OfTrain.association_id},
            every_seconds=30,
            within_seconds=OfTrain.limits.link,
            until=until,
            otherwise=otherwise,
        )


def may_reach(bucket: s3.IBucket, dataset_buckets: Sequence[str], key: kms.IKey | None) -> list[iam.PolicyStatement]:
    """What FSx asks of who makes a link: it looks with the caller's own rights whether the bucket can be reached.

    "s3:Get*, s3:List* and s3:PutObject" (FSx for Lustre guide, S3 bucket validation errors). [?] Whether a link that is
    only read from needs s3:PutObject: it is granted, as without it the first run would end here.
    """
    arns = [bucket.bucket_arn, *(f"arn:{bucket.stack.partition}:s3:::{name}" for name in dataset_buckets)]
    objects = [f"{arn}/*" for arn in arns]
    return [
        iam.PolicyStatement(actions=["s3:Get*", "s3:List*"], resources=[*arns, *objects]),
        iam.PolicyStatement(actions=["s3:PutObject"], resources=objects),
        *may_use(key, through="s3"),
    ]


def _is(text: str) -> sfn.Condition:
    return sfn.Condition.jsonata(condition(text))
