"""Threads for work on large arrays: NumPy lets go of the interpreter inside its loops, so blocks run side by side."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from typing import TypeVar

from joblib import cpu_count

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

# More threads than this do not help: the work is bound by memory.
MOST = 4


def crew_size() -> int:
    """How many threads may work: the processors of this process, or fewer if OMP_NUM_THREADS says so."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    wanted = int(asked) if asked.isdigit() and int(asked) else MOST
    return max(1, min(MOST, int(cpu_count()), wanted))


class Crew:
    """Some threads that share lists of blocks; the order of the outcomes never depends on them."""

    def __init__(self) -> None:
        self.size = crew_size()
        self._pool: ThreadPoolExecutor | None = None

    def shares(self, items: Sequence[Item]) -> list[Sequence[Item]]:
        """The items in as many runs of neighbours as there are threads, or in one if they are few."""
        count = min(self.size, len(items))
        bounds = [len(items) * number // max(count, 1) for number in range(count + 1)]
        return [items[start:end] for start, end in pairwise(bounds)]

    def work(self, task: Callable[[Sequence[Item]], Outcome], shares: Sequence[Sequence[Item]]) -> list[Outcome]:
        """The outcome of the task for every share; the first share is done by the caller."""
        if len(shares) <= 1:
            return [task(share) for share in shares]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.size - 1)
        # a context of its own for each thread, with the caller's settings for floating-point errors
        others = [self._pool.submit(copy_context().run, task, share) for share in shares[1:]]
        return [task(shares[0]), *(other.result() for other in others)]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
