"""When the steps that are kept were reached: the one way from the first to the newest, without the dead ends."""

from bisect import bisect_left, bisect_right

_MOST_MILESTONES = 4096


class Lineage:
    """Steps only grow along it. A restart cuts it back to the step that it went on from."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._moments_us: list[int] = []
        self._is_save: list[bool] = []
        self._most = _MOST_MILESTONES
        self.kept_step: int | None = None
        """The newest step on it that a restart could go on from."""

    def begin(self, step: int, at_us: int) -> None:
        """Another attempt trains on from here."""
        if self._steps and self._steps[-1] == step:
            # What comes after it begins here, not when it was reached the first time.
            self._moments_us[-1] = at_us
        elif not self._steps:
            self._add(step, at_us, is_save=True)
        self.kept_step = step

    def reach(self, step: int, at_us: int) -> None:
        if self._steps and step <= self._steps[-1]:
            return
        self._add(step, at_us, is_save=False)

    def save(self, step: int) -> None:
        """A checkpoint of this step is whole."""
        index = bisect_left(self._steps, step)
        if index < len(self._steps) and self._steps[index] == step:
            self._is_save[index] = True
        self.kept_step = max(step, self.kept_step or 0)

    def moment_of(self, step: int) -> int | None:
        """When this step was reached; between two that are known, as if all steps took the same. None: never."""
        if not self._steps or step < self._steps[0]:
            return None
        low = bisect_right(self._steps, step) - 1
        if low == len(self._steps) - 1:
            return self._moments_us[low]
        share = (step - self._steps[low]) / (self._steps[low + 1] - self._steps[low])
        return self._moments_us[low] + round(share * (self._moments_us[low + 1] - self._moments_us[low]))

    def reaches_beyond(self, step: int) -> bool:
        return bool(self._steps) and self._steps[-1] > step

    def cut(self, step: int) -> None:
        """Everything behind this step is off the way."""
        at_us = self.moment_of(step)
        while self._steps and self._steps[-1] > step:
            self._steps.pop()
            self._moments_us.pop()
            self._is_save.pop()
        if at_us is not None and self._steps and self._steps[-1] < step:
            self._add(step, at_us, is_save=True)
        self.kept_step = step

    def _add(self, step: int, at_us: int, *, is_save: bool) -> None:
        self._steps.append(step)
        self._moments_us.append(at_us)
        self._is_save.append(is_save)
        if len(self._steps) > self._most:
            self._thin()

    def _thin(self) -> None:
        """Every second one goes, but no save: those are what restarts go on from. Memory does not grow with steps."""
        last = len(self._steps) - 1
        keep = [i for i, is_save in enumerate(self._is_save) if is_save or i % 2 == 0 or i == last]
        self._steps = [self._steps[index] for index in keep]
        self._moments_us = [self._moments_us[index] for index in keep]
        self._is_save = [self._is_save[index] for index in keep]
        self._most = max(_MOST_MILESTONES, 2 * len(keep))
