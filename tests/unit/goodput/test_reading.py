from datetime import timedelta
from pathlib import Path

from belay.goodput.reading import events_in
from belay.goodput.timeline import timeline_of
from tools.docgen.sample_runs import RUN, START, saved, steps


def test_lines_that_are_not_events_are_skipped() -> None:
    good = saved(10, 5).line()
    no_zone = good.replace("Z", "", 1) if "Z" in good else good
    assert [event.kind for event in events_in(['{"kind": "saved"}', good[:40], "Epoch 3", good, no_zone])] == ["saved"]


def test_the_timeline_of_a_long_run_does_not_grow_with_its_steps(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    with file.open("w") as out:
        for number in range(1, 10_001):
            out.write(steps(number, number, begin=number - 1)[0].line() + "\n")
            if number % 200 == 0:
                out.write(saved(number, number, stall=0.004).line() + "\n")

    timeline = timeline_of(
        lambda: events_in(file.open("rb")), [], begin=START, end=START + timedelta(seconds=10_000), is_over=False
    )
    assert timeline.kept_step == 10_000
    assert timeline.reference_step_seconds is not None and abs(timeline.reference_step_seconds - 1) < 0.01
    assert len(timeline.nodes[0].spans) < 200, f"{RUN}: {len(timeline.nodes[0].spans)} spans for 50 saves"
