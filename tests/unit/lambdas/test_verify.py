from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from belay.contract.events import Removed
from belay.contract.ledger import Proof
from belay.contract.paths import MANIFEST
from belay.contract.run import run_id
from lambdas.teardown import verify
from tools.proofs.fakes.fake import Refused
from tools.proofs.fakes.world import ARN, FILES, JOB, NOW, PREFIX, RUN, STARTED_AT, World


def _verify(world: World, *, exported: bool = True) -> dict[str, Any]:
    return world.ask(verify, {"job": JOB, "run": RUN, "exported": exported})


@pytest.fixture
def training(world: World) -> World:
    world.start_training()
    return world


# ---- whole


def test_what_the_trainer_saved_and_s3_holds_is_whole(training: World) -> None:
    for step, minute in ((10, 10), (20, 20)):
        training.save(step, minute=minute)
        training.export(step, minute=minute)
    assert _verify(training) == {
        "whole": True,
        "last_verified_step": 20,
        "missing": [],
    }


def test_the_ledger_says_when_each_was_written_exported_and_verified_and_how(training: World) -> None:
    training.save(10, minute=10)
    training.export(10, minute=10)
    _verify(training)
    (entry,) = training.ledger.entries
    assert (entry.step, entry.files, entry.bytes, entry.problem) == (10, 3, 1050, None)
    assert entry.written_at == training.at(10)
    assert entry.verified_at == NOW
    assert entry.exported_at is not None
    assert entry.proof is Proof.CRC64NVME


def test_a_run_that_saved_nothing_is_whole(training: World) -> None:
    assert _verify(training) == {"whole": True, "last_verified_step": None, "missing": []}


def test_without_an_export_that_came_to_its_end_nothing_is_proven_whatever_the_log_says(training: World) -> None:
    training.save(10, minute=10)
    training.export(10, minute=10)
    assert _verify(training, exported=False)["whole"] is False


def test_a_checkpoint_that_s3_has_and_no_line_names_counts_too(training: World) -> None:
    training.export(10, minute=10)
    assert _verify(training)["last_verified_step"] == 10


def test_files_that_no_manifest_names_do_no_harm(training: World) -> None:
    training.save(10, minute=10)
    training.export(10, minute=10)
    training.put(f"{PREFIX.checkpoint(10)}README.md")
    training.put(f"{PREFIX.checkpoints}notes.txt")
    training.put(f"{PREFIX.checkpoints}tmp-checkpoint-20/model.safetensors")
    assert _verify(training)["whole"] is True


# ---- not whole


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("nothing arrived", "no manifest in S3"),
        ("no manifest", "no manifest in S3"),
        ("a file is missing", "optimizer.pt is missing"),
        ("a file is cut", "optimizer.pt has 349 of 350 bytes"),
        ("other bytes", "optimizer.pt has other content than was saved"),
        ("all files are missing", "model.safetensors is missing; optimizer.pt is missing; rng/state.pth is missing"),
        ("an older save", "S3 holds another save of this step"),
    ],
)
def test_what_did_not_arrive_whole_is_named(training: World, damage: str, problem: str) -> None:
    training.save(10, minute=10)
    training.save(20, minute=20)
    training.export(10, minute=10)
    folder = PREFIX.checkpoint(20)
    if damage != "nothing arrived":
        training.export(20, minute=19 if damage == "an older save" else 20)
    match damage:
        case "no manifest":
            training.drop(f"{folder}{MANIFEST}")
        case "a file is missing":
            training.drop(f"{folder}optimizer.pt")
        case "a file is cut":
            training.put(f"{folder}optimizer.pt", FILES["optimizer.pt"][:-1])
        case "other bytes":
            training.put(f"{folder}optimizer.pt", FILES["optimizer.pt"][:-1] + b"!")
        case "all files are missing":
            for path in FILES:
                training.drop(f"{folder}{path}")
    answer = _verify(training)
    assert (answer["whole"], answer["last_verified_step"]) == (False, 10)
    assert answer["missing"] == [f"checkpoint-20: {problem}"]
    assert training.ledger.entries[1].verified_at is None
    assert training.ledger.entries[1].problem == problem


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        (b"", "its manifest cannot be read"),
        (b"{}", "its manifest cannot be read"),
        (b'{"version": 2, "step": 10, "committed_at": "2026-11-21T03:00:00Z", "files": []}', "cannot be read"),
        (b'{"version": 1, "step": 9, "committed_at": "2026-11-21T03:00:00Z", "files": []}', "is of step 9"),
        (
            b'{"version": 1, "step": 10, "committed_at": "2026-11-21T03:00:00Z",'
            b' "files": [{"path": "../checkpoint-9/a", "bytes": 1, "crc64nvme": "x"}]}',
            "../checkpoint-9/a is missing",
        ),
    ],
)
def test_a_manifest_that_does_not_describe_its_folder_proves_nothing(
    training: World, manifest: bytes, problem: str
) -> None:
    training.put(f"{PREFIX.checkpoint(9)}a")
    training.put(f"{PREFIX.checkpoint(10)}{MANIFEST}", manifest)
    answer = _verify(training)
    assert answer["whole"] is False
    assert problem in answer["missing"][-1]


def test_many_faults_are_counted_and_not_all_written_out(training: World) -> None:
    training.export(10, minute=10, files={f"shard-{number}": b"x" for number in range(9)})
    for number in range(9):
        training.drop(f"{PREFIX.checkpoint(10)}shard-{number}")
    assert _verify(training)["missing"] == [
        "checkpoint-10: shard-0 is missing; shard-1 is missing; shard-2 is missing; and 6 more"
    ]


def test_the_answer_stays_small_however_much_is_missing(training: World) -> None:
    for step in range(100):
        training.save(step, minute=step)
    answer = _verify(training)
    assert len(answer["missing"]) == 20
    assert len(training.ledger.entries) == 100


# ---- how it was compared


def test_without_a_checksum_of_the_whole_object_the_size_has_to_do_and_the_record_says_so(training: World) -> None:
    training.save(10, minute=10)
    training.export(10, minute=10, ChecksumAlgorithm="CRC32")
    assert _verify(training)["whole"] is True
    assert training.ledger.entries[0].proof is Proof.SIZE_ONLY


def test_the_weakest_comparison_of_any_file_is_the_checkpoints(training: World) -> None:
    training.save(10, minute=10)
    training.export(10, minute=10)
    training.put(f"{PREFIX.checkpoint(10)}optimizer.pt", FILES["optimizer.pt"], ChecksumAlgorithm="SHA256")
    _verify(training)
    assert training.ledger.entries[0].proof is Proof.SIZE_ONLY


# ---- rotation


def test_what_the_trainer_removed_again_is_not_missed(training: World) -> None:
    training.save(10, minute=10)
    training.save(20, minute=20)
    training.remove(10, minute=20.1)
    training.export(20, minute=20)
    training.put(f"{PREFIX.checkpoint(10)}model.safetensors", b"half")
    answer = _verify(training)
    assert (answer["whole"], answer["last_verified_step"]) == (True, 20)


def test_what_was_removed_after_it_had_arrived_is_still_in_the_ledger(training: World) -> None:
    training.save(10, minute=10)
    training.export(10, minute=10)
    training.remove(10, minute=20)
    answer = _verify(training)
    assert answer["last_verified_step"] == 10
    assert [entry.step for entry in training.ledger.entries if entry.verified_at] == [10]


def test_a_step_that_was_removed_and_saved_again_is_expected(training: World) -> None:
    training.save(10, minute=10)
    training.export(10, minute=10)
    training.remove(10, minute=11)
    training.save(10, minute=12)
    assert _verify(training)["missing"] == ["checkpoint-10: S3 holds another save of this step"]
    assert training.ledger.entries[0].problem == "S3 holds another save of this step"


def test_what_was_known_and_removed_before_any_export_stays_written_down(training: World) -> None:
    training.save(10, minute=10)
    _verify(training)
    training.remove(10, minute=11)
    assert _verify(training)["whole"] is True
    assert training.ledger.entries[0].problem == "the trainer removed it before it was exported"


# ---- the trainer's log


def test_a_trainer_that_never_spoke_saved_nothing_even_if_the_export_failed(world: World) -> None:
    """No instance was found: `checkpoints` was never made, and FSx fails an export of a path that is not there."""
    answer = _verify(world, exported=False)
    assert (answer["whole"], answer["last_verified_step"]) == (True, None)


def test_a_silent_log_beside_checkpoints_in_s3_is_not_believed(world: World) -> None:
    world.export(10, minute=10)
    assert _verify(world, exported=False)["whole"] is False
    assert _verify(world, exported=True)["whole"] is True


def test_without_a_log_s3_and_the_export_decide(world: World) -> None:
    world.logs.group = None
    world.export(10, minute=10)
    assert _verify(world, exported=True)["whole"] is True
    assert _verify(world, exported=False)["whole"] is False


def test_a_log_that_cannot_be_read_just_now_is_an_error_and_not_a_missing_log(world: World) -> None:
    def throttled(asked: Any) -> Any:
        raise Refused("AccessDeniedException")

    world.logs.filter_log_events = throttled  # type: ignore[method-assign]
    with pytest.raises(ClientError):
        _verify(world)


def test_the_exported_event_file_counts_too(world: World) -> None:
    lines = [world.saved(10, minute=10).line(), '{"kind":"step","step":11}', '{"kind":"saved","st']
    world.put(PREFIX.trainer_events, "\n".join(lines))
    assert _verify(world)["missing"] == ["checkpoint-10: no manifest in S3"]


def test_a_job_cannot_speak_for_another(training: World) -> None:
    """Another run's task prints that our checkpoint was removed: believed, it would be deleted unexported."""
    other = run_id(f"{ARN}-other", STARTED_AT)
    training.save(10, minute=10)
    training.start_training(run=other, stream="run/trainer/2")
    lie = Removed(at=training.at(11), run=RUN, attempt=1, step=10)
    training.say(lie, stream="run/trainer/2")
    training.start_training(minute=12, run=RUN, stream="run/trainer/2")
    training.say(lie.model_copy(update={"at": training.at(13)}), stream="run/trainer/2")
    assert _verify(training)["whole"] is False


def test_a_line_of_another_run_in_our_own_stream_says_nothing_of_ours(training: World) -> None:
    foreign = training.saved(10, minute=10).model_copy(update={"run": run_id(f"{ARN}-other", STARTED_AT)})
    training.say(foreign)
    assert _verify(training) == {"whole": True, "last_verified_step": None, "missing": []}


def test_lines_that_are_no_events_are_left_out(training: World) -> None:
    for text in (" ", "loss 0.3", "[]", '{"kind":"saved"}', '{"kind":"saved","run":"' + RUN + '","step":-1}'):
        training.logs.lines.append((training.at(5), "run/trainer/1", text))
    training.save(10, minute=10)
    training.export(10, minute=10)
    assert _verify(training)["whole"] is True


def test_cloudwatch_is_asked_only_for_the_lines_that_tell(training: World) -> None:
    _verify(training)
    kinds = ("started", "resumed", "saved", "removed", "stopping", "finished", "failed")
    any_kind = " || ".join(f'($.kind = "{kind}")' for kind in kinds)
    assert training.logs.patterns[0] == f'{{ ($.kind = "started") || (($.run = "{RUN}") && ({any_kind})) }}'


# ---- the ledger lasts


def test_a_second_look_takes_nothing_back_and_keeps_the_first_times(training: World) -> None:
    training.save(10, minute=10)
    training.export(10, minute=10)
    _verify(training)
    first = training.ledger
    training.now += timedelta(hours=1)
    training.drop(f"{PREFIX.checkpoint(10)}optimizer.pt")
    assert _verify(training)["whole"] is False
    assert training.ledger == first


def test_a_step_that_is_saved_again_has_to_be_proven_again(training: World) -> None:
    training.save(10, minute=10)
    training.export(10, minute=10)
    _verify(training)
    training.save(10, minute=30)
    assert _verify(training)["last_verified_step"] is None
    training.export(10, minute=30)
    training.now += timedelta(hours=1)
    assert _verify(training)["last_verified_step"] == 10
    assert training.ledger.entries[0].written_at == training.at(30)
    assert training.ledger.entries[0].verified_at == training.now
