"""Side-by-side timing: contestants take turns, medians and ratios are reported."""

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter, sleep

# Threads of BLAS, OpenMP and XLA watch for more work for a while after each call, on the cores that the next contestant
# would use.
PAUSE = 0.25  # seconds


def alternate(contestants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median seconds of each contestant, run in turns so that the machine's moods hit all alike."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for contestant in contestants.values():
        contestant()
    for _ in range(rounds):
        for name, contestant in contestants.items():
            sleep(PAUSE)
            begin = perf_counter()
            contestant()
            times[name].append(perf_counter() - begin)
    return {name: median(values) for name, values in times.items()}


def table(title: str, rows: Mapping[str, tuple[str, ...]], header: tuple[str, ...]) -> str:
    """A table in plain text."""
    lines = [("", *header), *((name, *cells) for name, cells in rows.items())]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    body = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([title, *body])
