"""Ctrl-C ends a run in order: the sweep is finished, and what there is is returned."""

import signal
import threading
from types import FrameType, TracebackType


class Interruption:
    """While active, the first Ctrl-C is only noted; the second one interrupts at once."""

    def __init__(self) -> None:
        self.requested = False
        self._before: object = None

    def __enter__(self) -> "Interruption":
        # Python delivers signals to the main thread only, and only there may handlers be set.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]  # it came from signal.signal

    def __reduce__(self) -> tuple[type["Interruption"], tuple[()]]:
        return Interruption, ()  # in another process, Ctrl-C is its own affair

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
