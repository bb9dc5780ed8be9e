"""Belay's stacks. `cdk synth` needs no credentials and no Docker."""

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from stacks.acknowledged import acknowledge
from stacks.data import DataStack
from stacks.settings import Settings
from stacks.training import TrainingStack

app = cdk.App()
settings = Settings.of(app.node)
prefix = "-".join(word.capitalize() for word in settings.deployment.split("-"))

data = DataStack(app, f"{prefix}Data", settings=settings, description="Belay: datasets, checkpoints and certificates")
training = TrainingStack(
    app,
    f"{prefix}Training",
    bucket=data.bucket,
    key=data.key,
    settings=settings,
    description="Belay: training that never loses a checkpoint",
)

acknowledge(data, training, settings)
cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
app.synth()
