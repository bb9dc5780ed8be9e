"""cdk-nag sits in the app itself: a synth that it objects to ends, for us and for whoever deploys."""

from pathlib import Path

import pytest

from tools.definitions.synth import NotSynthesized, synth


def test_a_defect_that_is_planted_in_a_stack_ends_the_synth_and_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotSynthesized) as ended:
        synth(tmp_path, program=("-m", "tests.synth.stacks.app_with_defects"))
    planted = {
        "AwsSolutions-S10": "InClear",
        "AwsSolutions-SQS4": "Undelivered",
        "AwsSolutions-IAM5[Resource::*]": "Mighty",
        "AwsSolutions-EC23": "Open",
    }
    said = str(ended.value)
    found = said.split("\n\n")
    for rule, construct in planted.items():
        assert any(rule in one and f"BelayData/{construct}" in one for one in found), said
