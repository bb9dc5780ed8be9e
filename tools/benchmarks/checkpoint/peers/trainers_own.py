"""The Trainer as it is, and one that never saves."""

from typing import Any

from transformers import Trainer

from tools.benchmarks.checkpoint.peers.way import Way, put


class TrainersOwn(Way):
    is_durable = False

    def attach(self, trainer: Trainer) -> None:
        save = trainer._save_checkpoint

        def then_note(*arguments: Any, **named: Any) -> None:
            save(*arguments, **named)
            self._mark_durable()

        put(trainer, "_save_checkpoint", then_note)


class Nothing(Way):
    """Its figures are what the machine's noise makes of no save at all."""

    def attach(self, trainer: Trainer) -> None:
        put(trainer, "_save_checkpoint", lambda *_, **__: self._mark_durable())
