"""Round numbers along an axis, as words in HTML: a picture that is stretched to the page must not stretch them."""

from math import ceil, floor, log10

from belay.report.formatting import length

_ROUND_SECONDS = (1, 2, 5, 10, 15, 30, *(60 * n for n in (1, 2, 5, 10, 15, 30)), *(3600 * n for n in (1, 2, 4, 6, 12)))
_DAY = 86_400


def round_step(wide: float, most: int) -> float:
    """The smallest of 1, 2 and 5 (times a power of ten) that divides `wide` into at most so many parts."""
    least = max(wide, 1e-12) / most
    power = 10.0 ** floor(log10(least))
    return next(unit * power for unit in (1, 2, 5, 10) if unit * power >= least * 0.999)


def round_numbers(low: float, high: float, most: int) -> list[float]:
    step = round_step(high - low, most)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def time_axis(wall_seconds: float, most: int = 8) -> str:
    every = next((one for one in _ROUND_SECONDS if wall_seconds / one <= most), None)
    if every is None:
        every = _DAY * ceil(wall_seconds / _DAY / most)
    # The last one stands free of the edge.
    moments = [n * every for n in range(1, 1 + floor(wall_seconds * 0.97 / every))]
    ticks = "".join(
        f"<span style='left:{at / wall_seconds:.2%}'>{length(at).replace('.0', '')}</span>" for at in moments
    )
    return f"<div class=axis><span class=first>0</span>{ticks}</div>"


def step_axis(first: int, last: int) -> str:
    wide = max(1, last - first)
    numbers = [round(one) for one in round_numbers(first, last, 8) if 0.03 < (one - first) / wide < 0.82]
    ticks = "".join(f"<span style='left:{(one - first) / wide:.2%}'>{one:,}</span>" for one in numbers)
    return f"<div class=axis><span class=first>{first:,}</span>{ticks}<span class=last>{last:,}</span></div>"
