"""The one table of names of other libraries that may change without notice, and that this library leans on.

Private names that it reads or calls, and public ones that it replaces while training runs. `check` compares the table
with what is installed; a test compares it with what the package uses.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["function", "member", "attribute", "local"]

# What each library was tried with.
TRIED = {
    "accelerate": "1.15",
    "deepspeed": "0.19.8",
    "peft": "0.21",
    "safetensors": "0.8",
    "torch": "2.13",
    "transformers": "5.23",
}


@dataclass(frozen=True)
class Name:
    """kind: a function or method; a member of a class or module; an attribute that the owner's own code sets on its
    instances; a local variable of the owner, which is a function.

    parameters: all, of a function that is replaced; the first ones, of one that is called: others may have defaults.
    """

    owner: str
    """module:qualified name; only a module, where that has the name itself."""
    name: str
    kind: Kind
    why: str
    parameters: str | None = None
    is_replaced: bool = False
    is_optional: bool = False
    """Only compared where the owner's module is imported."""

    @property
    def library(self) -> str:
        return self.owner.partition(".")[0].partition(":")[0]

    def __str__(self) -> str:
        return f"{self.owner.rpartition(':')[2]}.{self.name}"


_TRAINER = "transformers.trainer:Trainer"
_TRACKERS = "transformers.integrations.integration_utils"
_MODULE = "torch.nn:Module"
_OPTIMIZER = "torch.optim:Optimizer"


def _replaced(owner: str, name: str, parameters: str | None, why: str, *, is_optional: bool = False) -> Name:
    return Name(owner, name, "function", why, parameters, is_replaced=True, is_optional=is_optional)


NAMES = (
    # ---- the Trainer's methods that are replaced while it trains
    _replaced(_TRAINER, "train", "self, resume_from_checkpoint, trial, ignore_keys_for_eval", "choose the checkpoint"),
    _replaced(_TRAINER, "get_batch_samples", "self, epoch_iterator, num_batches, device", "interrupt a wait for data"),
    _replaced(_TRAINER, "get_train_dataloader", "self", "give each batch a random state, or see data draw"),
    _replaced(_TRAINER, "save_model", "self, output_dir, _internal_call", "leave the weights out of a captured save"),
    _replaced(_TRAINER, "_save_checkpoint", "self, model, trial", "save through a saver"),
    _replaced(_TRAINER, "_save_optimizer_and_scheduler", "self, output_dir", "refer to the optimizer's live state"),
    _replaced(_TRAINER, "_save_rng_state", "self, output_dir", "write a note for an exact resume beside it"),
    _replaced(_TRAINER, "_get_output_dir", "self, trial", "write into the staging folder"),
    _replaced(_TRAINER, "_run_epoch", None, "take no step after the last one"),
    _replaced(_TRAINER, "_load_from_checkpoint", "self, resume_from_checkpoint, model", "load what was verified"),
    _replaced(_TRAINER, "_load_best_model", "self", "load what was verified"),
    _replaced(_TRAINER, "_load_optimizer_and_scheduler", "self, checkpoint", "load what was verified"),
    _replaced(_TRAINER, "_issue_warnings_after_load", "self, load_result", "refuse weights that do not fit"),
    _replaced(
        _TRAINER,
        "_init_training_state",
        "self, max_steps, num_update_steps_per_epoch, num_train_epochs, resume_from_checkpoint, trial",
        "resume in the pass of a stream in which it was saved",
    ),
    _replaced("transformers:TrainerState", "save_to_json", "self, json_path", "write the state after the step"),
    # ---- its writers of files, replaced during a save
    _replaced("transformers.modeling_utils", "safe_save_file", "tensors, filename, metadata", "get the weights"),
    _replaced("safetensors.torch", "save_file", "tensors, filename, metadata", "get the weights"),
    _replaced("peft.peft_model", "safe_save_file", "tensors, filename, metadata", "get the adapters", is_optional=True),
    # It passes on whatever else it gets.
    _replaced("torch", "save", None, "write small files after the step"),
    _replaced(
        "transformers.trainer",
        "deepspeed_load_checkpoint",
        "deepspeed_engine, checkpoint_path, load_module_strict",
        "convert a checkpoint of another number of processes",
    ),
    # ---- what is read and called of the Trainer
    Name(_TRAINER, "_save", "function", "see whether a subclass changes it", "self, output_dir, state_dict"),
    Name(_TRAINER, "_tr_loss", "attribute", "save the loss that no log line has yet"),
    Name(_TRAINER, "_globalstep_last_logged", "attribute", "the same"),
    Name(_TRAINER, "_total_loss_scalar", "attribute", "the same"),
    Name(f"{_TRACKERS}:WandbCallback", "_log_model", "attribute", "see whether a tracker uploads checkpoints"),
    Name(f"{_TRACKERS}:MLflowCallback", "_log_artifacts", "attribute", "the same"),
    Name(f"{_TRACKERS}:NeptuneCallback", "_should_upload_checkpoint", "attribute", "the same"),
    Name("transformers.integrations:PeftAdapterMixin", "_hf_peft_config_loaded", "member", "see adapters in a model"),
    # ---- PyTorch
    Name("torch:Tensor", "_version", "member", "see weights change outside of the optimizer's step"),
    Name("torch:UntypedStorage", "_cdata", "member", "see which tensors share memory"),
    Name("torch:UntypedStorage", "_checkpoint_offset", "member", "where torch.load found the data of a tensor"),
    Name("torch.utils._python_dispatch", "is_traceable_wrapper_subclass", "function", "see tensors of parts", "t"),
    Name("torch.serialization", "_serialization_tls", "member", "no holes in what an object pickles by itself"),
    Name("torch.serialization:_save", "persistent_id", "local", "the memory that a pickle refers to"),
    Name("torch.serialization:_save", "serialized_storages", "local", "the same"),
    Name(
        "torch._dynamo.eval_frame:OptimizedModule", "_orig_mod", "attribute", "see a compiled model", is_optional=True
    ),
    Name(_MODULE, "_parameters", "attribute", "see whether a model is still the one that was laid out"),
    Name(_MODULE, "_modules", "attribute", "the same"),
    Name(_MODULE, "_buffers", "attribute", "the same"),
    Name(_MODULE, "_non_persistent_buffers_set", "attribute", "the same"),
    Name(_MODULE, "_state_dict_hooks", "attribute", "see a module that saves itself in its own way"),
    Name(_MODULE, "_state_dict_pre_hooks", "attribute", "the same"),
    Name(_MODULE, "_save_to_state_dict", "function", "the same", "self, destination, prefix, keep_vars"),
    Name(_OPTIMIZER, "_optimizer_state_dict_pre_hooks", "attribute", "see an optimizer that does"),
    Name(_OPTIMIZER, "_optimizer_state_dict_post_hooks", "attribute", "the same"),
    Name(
        "torch.distributed.checkpoint.filesystem",
        "_StorageInfo",
        "function",
        "say where shards stand in a file",
        "relative_path, offset, length",
        is_optional=True,
    ),
    # ---- others
    Name("deepspeed.runtime.engine:DeepSpeedEngine", "_config", "attribute", "load its own format", is_optional=True),
    Name("sys", "_getframe", "member", "find the Trainer that calls a callback"),
)
