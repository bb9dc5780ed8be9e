"""What the flow, the trainer and those who look for its tasks agree on: its container and its environment."""

CONTAINER = "trainer"
HOST_FACTS = "/etc/belay"
"""A folder of the instance, as the container sees it too: what only the instance knows of itself."""

RUN = "BELAY_RUN"
NODE = "BELAY_NODE"
ATTEMPT = "BELAY_ATTEMPT"
ATTEMPT_BEGAN = "BELAY_ATTEMPT_BEGAN"
WAITED_SECONDS = "BELAY_WAITED_SECONDS"
"""What the run has waited for AWS so far, at no cost."""
SCRATCH_DNS = "BELAY_SCRATCH_DNS"
SCRATCH_MOUNT_NAME = "BELAY_SCRATCH_MOUNT_NAME"

ONLY_START = "--only-start"
"""The trainer's argument for a task that ends as soon as it has started."""
