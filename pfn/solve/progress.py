"""The progress bar: sweep, error and time left; silent when standard error is not a terminal."""

import sys
from threading import Lock
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from pfn.errors import OptionError


class Bar:
    """A bar that shows nothing."""

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def begin(self, _label: str, _total: int | None, _done: int = 0) -> int:
        """A run of so many sweeps or batches begins; the number returned stands for it (there may be several)."""
        return 0

    def advance(self, _run: int, _sweeps: int, _error: float) -> None:
        """So many sweeps of the run are done, with this largest error, NaN if it was not measured."""

    def end(self, _run: int) -> None:
        """The run is over."""


class RichBar(Bar):
    """A bar drawn with rich on standard error."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("RMSE {task.fields[error]}"),
            TimeRemainingColumn(),
            console=(console := Console(stderr=True)),
            transient=console.is_terminal,
        )
        self._over: list[TaskID] = []
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[Bar], tuple[()]]:
        return Bar, ()  # in another process there is no terminal to draw on

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, label: str, total: int | None, done: int = 0) -> int:
        """Show a new run in the place of those that are over."""
        with self._lock:
            while self._over:
                self._progress.remove_task(self._over.pop())
            return self._progress.add_task(label, total=total, completed=done, error="–")

    def advance(self, run: int, sweeps: int, error: float) -> None:
        """Show how far it is."""
        self._progress.update(TaskID(run), completed=sweeps, error="" if error != error else f"{error:.2e}")

    def end(self, run: int) -> None:
        """Its line may be used by another run."""
        with self._lock:
            self._over.append(TaskID(run))


def make_bar(progress: object) -> Bar:
    """The bar that the option asks for; None means: on a terminal."""
    if progress not in (None, True, False):
        raise OptionError(f"progress must be True, False or None, found {progress!r}.")
    shown = sys.stderr.isatty() if progress is None else bool(progress)
    return RichBar() if shown else Bar()
