"""Everything that Belay assumes of AWS and that a live run may see: the whole of it is one table."""

from collections.abc import Callable
from dataclasses import dataclass

from belay.client.live.judging import mount, questions, run
from belay.client.live.judging.answer import Answer, not_seen
from belay.client.live.seen import Seen
from belay.contract.facts import Fact

_NOT_REACHED = "the run did not come that far"


@dataclass(frozen=True)
class Assumption:
    name: str
    assumed: str
    where: str
    judge: Callable[[Seen], Answer | None]
    """None: what it is judged by was not seen."""
    by: str
    """The field of what was seen that says why not."""

    def fact(self, seen: Seen) -> Fact:
        answer = self.judge(seen) or not_seen(seen.unseen.get(self.by) or _NOT_REACHED)
        return Fact(name=self.name, assumed=self.assumed, where=self.where, **vars(answer))


def facts_of(seen: Seen) -> list[Fact]:
    return [assumption.fact(seen) for assumption in ASSUMPTIONS]


def _never(_seen: Seen) -> None:
    """For what no run can show as Belay is deployed."""


ASSUMPTIONS = (
    Assumption(
        "definitions",
        "AWS accepts both state machines as they are deployed",
        "stacks/flows/train.py, stacks/flows/teardown.py",
        questions.definitions,
        by="definitions",
    ),
    Assumption(
        "error of a link",
        "a link to a file system that is not there ends as an error of FSx that a Catch knows",
        "stacks/flows/aws_errors.py",
        questions.error_of_link,
        by="link_without_file_system",
    ),
    Assumption(
        "error of a deletion",
        "a deletion of a file system that is gone is refused by IAM, or not found",
        "stacks/flows/teardown.py, Delete file system",
        questions.error_of_delete,
        by="delete_without_file_system",
    ),
    Assumption(
        "fault in Output",
        "an error in a state's Output can be caught like an error of its task",
        "stacks/flows/jsonata.py",
        questions.fault_in_output,
        by="fault_in_output",
    ),
    Assumption(
        "rights on S3",
        "Train's role may do on the bucket what FSx asks of who makes a link",
        "stacks/flows/links.py, may_reach",
        questions.rights,
        by="rights",
    ),
    Assumption(
        "PutObject for a link that is only read",
        "FSx asks for s3:PutObject on a data set too",
        "stacks/flows/links.py, may_reach",
        _never,
        by="put_object",
    ),
    Assumption(
        "unknown member",
        "FSx ignores a member of a request that it does not know",
        "tools/local_cloud/services/validation.py",
        questions.unknown_member,
        by="unknown_member",
    ),
    Assumption(
        "price of the file system",
        "prices.scratch_gib_month is what AWS lists for this Region",
        "cdk.json; belay/contract/prices.py",
        questions.file_system_price,
        by="file_system_prices",
    ),
    Assumption(
        "price of the instance",
        "prices.instance_hour is what AWS lists for this Region",
        "cdk.json; belay/contract/prices.py",
        questions.instance_price,
        by="instance_prices",
    ),
    Assumption(
        "new execution",
        "an execution can be described as soon as it was started",
        "belay/client/reading.py",
        run.described,
        by="described_at",
    ),
    Assumption(
        "tags",
        "the tags of a new file system are listed with it",
        "belay/aws/scratch.py, tagged",
        run.tags,
        by="file_system",
    ),
    Assumption(
        "links",
        "with the rights of Train's role, each link becomes AVAILABLE",
        "stacks/flows/links.py",
        run.linked,
        by="links",
    ),
    Assumption(
        "import task",
        "each link's import task is listed at some time, and is not older than the link",
        "belay/aws/scratch.py, link",
        run.imports,
        by="links",
    ),
    Assumption(
        "error of a second task",
        "an export beside another task is refused as FSx.DataRepositoryTaskExecutingException",
        "stacks/flows/teardown.py, Export to S3",
        questions.error_of_a_second_task,
        by="export_beside_another_task",
    ),
    Assumption(
        "client token",
        "Step Functions takes a ClientToken for RunTask",
        "stacks/backends/ecs_states.py, RunTraining",
        run.run_task,
        by="run_task",
    ),
    Assumption(
        "task that fits nowhere",
        "a task that no instance of the type can hold stays PROVISIONING, and starts none",
        "belay/policy/fitting.py",
        _never,
        by="task_that_fits_nowhere",
    ),
    Assumption(
        "memory",
        "an instance registers no more memory than a job may ask for",
        "belay/policy/fitting.py, InstanceSize.most_memory_mib",
        run.memory,
        by="instance",
    ),
    Assumption(
        "mount",
        "the file system is mounted as lustre, with flock and noatime",
        "containers/trainer/mount/lustre.py",
        mount.mounted,
        by="inspection",
    ),
    Assumption(
        "identity",
        "training runs as user 10001 without groups or capabilities, and can gain none",
        "containers/trainer/launch/privileges.py",
        mount.identity,
        by="inspection",
    ),
    Assumption(
        "direct I/O",
        "a file on Lustre can be written and read past the page cache",
        "stallfree/stallfree/direct_io/",
        mount.direct,
        by="inspection",
    ),
    Assumption(
        "exchange",
        "Lustre swaps two folders in one step, or says in a known way that it cannot",
        "stallfree/stallfree/checkpoint/exchange.py",
        mount.exchange,
        by="inspection",
    ),
    Assumption(
        "lock",
        "a lock on a file excludes a second holder",
        "containers/trainer/mount/lustre.py",
        mount.lock,
        by="inspection",
    ),
    Assumption(
        "released file",
        "a file whose content is only in S3 is fetched when it is read, past the page cache too",
        "belay/contract/job.py, Dataset; stallfree/stallfree/direct_io/reading.py",
        mount.released,
        by="inspection",
    ),
    Assumption(
        "mark of an export",
        "lfs hsm_state shows to a normal user that S3 holds a file",
        "containers/trainer/hook/_belay_hook/exports.py",
        mount.shown_as_exported,
        by="inspection",
    ),
    Assumption(
        "export of a renamed folder",
        "a checkpoint is whole in S3 after the first export that began after its rename",
        "belay/aws/verification.py; docs/decisions/0005",
        run.renamed,
        by="ledger",
    ),
    Assumption(
        "checksum",
        "S3 has a full-object CRC64NVME of what FSx exported (without one, sizes are compared)",
        "belay/aws/verification.py",
        run.checksums,
        by="stored",
    ),
    Assumption(
        "deletion",
        "FSx deletes the file system as soon as the instance has unmounted it",
        "stacks/flows/teardown.py, Delete file system",
        run.deleted,
        by="teardown_failures",
    ),
    Assumption(
        "verdict",
        "the run ends trained, with every checkpoint verified",
        "docs/architecture.md",
        run.trained_and_safe,
        by="verdict",
    ),
    Assumption(
        "nothing left",
        "nothing that was made for this stays",
        "belay/client/live/cleaning.py",
        run.nothing_left,
        by="left",
    ),
)
