"""Threads that share the products and passes of a large run, while BLAS keeps to one thread in each of them.

Whatever lies between the products would run on one core otherwise. And the threads of BLAS wait for each other in busy
loops: where another program uses one of the cores, its products take ten times as long as on one thread, or more. So
small runs are left to one thread.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from pfn.engines.layout import Layout
from pfn.network import Network

Share = TypeVar("Share")
Found = TypeVar("Found")

# By its multiplications, a division counted as fifty of them, an equation is small if it has fewer than so many. A run
# is small if all of its equations are; it is large, and worth threads, which take up to 100 µs to wake, if none is
# small, or one has so many. In between BLAS is left to its own threads. In a large run so many multiplications, or so
# many entries, are worth a thread.
SMALL, LARGE, DIVISION = 1 << 25, 1 << 27, 50
PRODUCT, PASS = 1 << 21, 1 << 18
TINY = 10_000  # entries, up to which OpenBLAS takes one thread only, so that it need not be told in every sweep
ROWS = 8  # shares of a product are multiples of so many rows or columns


class _Blas:
    """The BLAS of this process: its number of threads, which is one while a sweep of any run is in progress."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sweeps = 0
        self._before: list[int] = []

    @cached_property
    def _libraries(self) -> Any:
        """Those loaded when the first run begins; NumPy and SciPy may have one each."""
        return ThreadpoolController().select(user_api="blas").lib_controllers

    @property
    def threads(self) -> int:
        """How many threads the user lets it have."""
        with self._lock:
            counts = self._before if self._sweeps else [library.num_threads for library in self._libraries]
        return max([1, *(count for count in counts if count)])

    def __enter__(self) -> None:
        with self._lock:
            if not self._sweeps:
                self._before = [library.num_threads for library in self._libraries]
                for library in self._libraries:
                    library.set_num_threads(1)
            self._sweeps += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._sweeps -= 1
            if not self._sweeps:
                for library, count in zip(self._libraries, self._before, strict=True):
                    library.set_num_threads(count)


BLAS = _Blas()


class Threads:
    """For a large run as many threads as the user lets BLAS have (OMP_NUM_THREADS, say); only the caller's for others.

    BLAS keeps to one thread in large and in small runs.

    They wait on a queue: a call through `concurrent.futures` takes 60 µs, a queue about 10.
    """

    def __init__(self, sizes: Iterable[tuple[int, int, int]]) -> None:
        """Given the rows, the inner dimension and the columns of every product W S."""
        products = list(sizes) or [(0, 0, 0)]
        work = [rows * columns * (inner + DIVISION) for rows, inner, columns in products]
        is_large = max(work) >= LARGE or min(work) >= SMALL
        is_tiny = sum(rows * columns for rows, _, columns in products) < TINY
        self.count = BLAS.threads if is_large else 1
        self._holds_blas = is_large or (max(work) < SMALL and not is_tiny)
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._started = False

    def _start(self) -> None:
        self._started = True
        for _ in range(self.count - 1):
            Thread(target=_serve, args=(self._tasks,), name="pfn", daemon=True).start()
        weakref.finalize(self, _dismiss, self._tasks, self.count - 1)

    def __enter__(self) -> None:
        """Hold BLAS to one thread for a whole sweep: cheaper than from share to share."""
        if self._holds_blas:
            BLAS.__enter__()

    def __exit__(self, *_: object) -> None:
        if self._holds_blas:
            BLAS.__exit__()

    def for_product(self, multiplications: int) -> int:
        """Among how many threads to share products of so many multiplications."""
        return max(1, min(self.count, multiplications // PRODUCT))

    def for_pass(self, entries: int) -> int:
        """Among how many threads to share a pass over so many entries."""
        return max(1, min(self.count, entries // PASS))

    def each(self, work: Callable[[Share], Found], shares: Sequence[Share]) -> list[Found]:
        """What the work gives for every share, in their order; all at the same time, with one thread of BLAS each."""
        if self.count == 1 or len(shares) < 2:
            return [work(share) for share in shares]
        if not self._started:
            self._start()
        done: SimpleQueue[Any] = SimpleQueue()
        with BLAS:
            for number, share in enumerate(shares[1:], start=1):
                self._tasks.put((number, work, share, done))
            answers = [_answer(0, work, shares[0]), *(done.get() for _ in shares[1:])]
        found = dict(answer[:2] for answer in answers)
        for error in (error for _, _, error in answers if error is not None):
            raise error
        return [found[number] for number in range(len(shares))]

    def dot(self, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        """The product a b; the longer side of it is shared."""
        shares = self.for_product(out.size * a.shape[1])
        if shares == 1:
            np.dot(a, b, out)
        elif out.shape[0] >= out.shape[1]:
            self.each(lambda rows: np.dot(a[rows], b, out[rows]), spans(out.shape[0], shares))
        else:
            self.each(lambda part: np.matmul(a, b[:, part], out[:, part]), spans(out.shape[1], shares))


def _serve(tasks: "SimpleQueue[Any]") -> None:
    while (task := tasks.get()) is not None:
        number, work, share, done = task
        done.put(_answer(number, work, share))
        del task, work, share, done  # they may hold the last reference to these threads


def _answer(number: int, work: Callable[[Any], Any], share: Any) -> tuple[int, Any, BaseException | None]:
    try:
        return number, work(share), None
    except BaseException as error:  # noqa: BLE001 - raised again where the work was given out
        return number, None, error


def _dismiss(tasks: "SimpleQueue[Any]", count: int) -> None:
    for _ in range(count):
        tasks.put(None)


def spans(length: int, count: int) -> list[slice]:
    """At most so many ranges, about as long as each other, that follow each other."""
    step = max(-(-length // (count * ROWS)), 1) * ROWS
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]


def product_sizes(network: Network, layout: Layout) -> Iterator[tuple[int, int, int]]:
    """Of every equation of a run."""
    for equation in network.factorizations:
        inner = sum(parent.variable.size for parent in equation.parents)
        yield equation.rows, inner, layout.count(equation)
