"""`stream`: the values of every new slice, from a window that moves with the stream."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from pfn.compiler import compile_network
from pfn.errors import DataError, OptionError
from pfn.network import Network, Variable
from pfn.solve.checks import check_count
from pfn.solve.data import check_is_network, find_variable, numbers, refuse_bad_entries, refuse_lost_entries
from pfn.solve.labels import column_of
from pfn.solve.methods import Propagate, as_method
from pfn.solve.ramps import Ramp
from pfn.solve.runaways import Runaways
from pfn.solve.window import Window


class SliceValues(Mapping[str, np.ndarray]):
    """The values of all variables in one slice, by object or by name; NaN where a variable has none. `time`: which."""

    def __init__(self, network: Network, time: int, values: Mapping[str, np.ndarray]) -> None:
        self._network, self._values = network, values
        self.time = time

    def __getitem__(self, item: Variable | str) -> np.ndarray:
        return self._values[self._network.variable(item).name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"slice {self.time} of {', '.join(self._values)}"


class Stream:
    """What `pfn.stream` returns: push frames one by one, or go through those that it was made with."""

    def __init__(self, network: Network, frames: Iterable[Any] | None, window: Window, delay: int) -> None:
        self.network = network
        self._frames, self._window, self._delay = frames, window, delay
        self._given = 0  # slices that were given out
        self._runaways = Runaways()
        self._names: dict[str, tuple[str, ...]] = {}  # labels of numbers, by variable without labels

    def push(self, frame: Mapping[Any, Any] | np.ndarray) -> SliceValues | None:
        """Take a new frame: the values of the slice `delay` frames ago; None while there is none."""
        self._window.push(self._read(frame))
        return self._next() if self._window.seen > self._given + self._delay else None

    def finish(self) -> list[SliceValues]:
        """The slices that were held back by the delay, as they are now; more frames may follow."""
        return [self._next() for _ in range(self._window.seen - self._given)]

    def __repr__(self) -> str:
        return f"Stream({self._window.seen} frames seen, {self._given} slices given out)"

    def __iter__(self) -> Iterator[SliceValues]:
        if self._frames is None:
            raise OptionError("this stream was made without frames. Give them: pfn.stream(network, frames), or push.")
        for frame in self._frames:
            values = self.push(frame)
            if values is not None:
                yield values
        yield from self.finish()

    def _next(self) -> SliceValues:
        time = self._given
        self._given += 1
        values = self._window.slice(time)
        for name, seen in self._window.observed(time).items():
            self._runaways.observe(name, seen[:, None])
            if np.isnan(seen).any():
                self._runaways.compare(name, seen[:, None], values[name][:, None], first=time)
                self._runaways.warn()
        return SliceValues(self.network, time, values)

    def _read(self, frame: Any) -> dict[str, np.ndarray]:
        """The frame by variable, checked; NaN = hidden."""
        time = self._window.seen
        if not isinstance(frame, Mapping):
            bottom = [variable.name for variable in self.network.bottom]
            if len(bottom) != 1:
                raise DataError(
                    f"frame {time}: numbers without a name stand for the only variable at the bottom of the network, "
                    f"but there are {len(bottom)}: {', '.join(bottom)}. Give a mapping such as {{x: numbers}}."
                )
            frame = {bottom[0]: frame}
        found: dict[str, np.ndarray] = {}
        for key, given in frame.items():
            variable = find_variable(self.network, key)
            if variable.name in found:
                raise DataError(f"frame {time} has {variable.name} twice, by object and by name. Give it once.")
            found[variable.name] = _column(given, variable, time, self._window.dtype, self._names)
        return found


def _column(
    given: Any, variable: Variable, time: int, dtype: np.dtype[Any], names: dict[str, tuple[str, ...]]
) -> np.ndarray:
    what = f"frame {time}: {variable.name}"
    array = numbers(column_of(given, variable, what, names), what)
    if array.shape not in ((variable.size,), (variable.size, 1)):
        raise DataError(f"{what}: expected {variable.size} numbers, NaN where hidden, found the shape {array.shape}.")
    with np.errstate(over="ignore"):  # what is too large becomes infinite and is refused below
        column = array.reshape(-1, 1).astype(dtype)
    refuse_bad_entries(column, array.reshape(-1, 1), what)
    refuse_lost_entries(column, array.reshape(-1, 1), what)
    return column[:, 0]


def stream(
    network: Network,
    frames: Iterable[Any] | None = None,
    *,
    window: int = 32,
    delay: int = 0,
    sweeps: int = 10,
    method: Any = "propagate",
    seed: int = 0,
    initial: Mapping[Any, Any] | None = None,
    dtype: Any = "float64",
) -> Stream:
    """Infer the hidden values of a stream of frames while it comes in; parameters stay as they are.

    A frame maps variables (or their names) to their numbers in one slice, NaN where hidden, as all is that is not in
    it. With every frame the last `window` slices are swept `sweeps` times, beginning with the values of before, so
    that every frame takes the same time; slices that leave the window keep their values. `delay`: how many later
    frames are seen before the values of a slice are given out. Parameters to be learned take their values from
    `initial`.

    >>> import pfn
    >>> from pfn import t
    >>> x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
    >>> W = pfn.Parameter("W", [[1, 0], [0, 1], [0, 1], [1, 0]])  # the two states take turns
    >>> network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], W @ h[t]))
    >>> frames = [{x: [3, 1]}, {x: [1, np.nan]}, {}, {}]
    >>> for values in pfn.stream(network, frames, sweeps=50):
    ...     print(values.time, values[x].round(3))
    0 [3. 1.]
    1 [1. 3.]
    2 [3. 1.]
    3 [1. 3.]
    """
    check_is_network(network)
    check_count(window, "window", 1)
    check_count(delay, "delay", 0)
    check_count(sweeps, "sweeps", 1)
    check_count(seed, "seed", 0)
    if frames is not None and (not isinstance(frames, Iterable) or isinstance(frames, Mapping | str)):
        raise OptionError(f"frames must be an iterable of frames, found {type(frames).__name__}. Push one frame alone.")
    made = Window(
        network,
        _method(network, method),
        size=window,
        sweeps=sweeps,
        seed=seed,
        initial=initial,
        dtype=dtype,
    )
    if window < made.context + delay + 1:
        raise OptionError(
            f"window must have at least {made.context + delay + 1} slices: {delay} of the delay, {made.context} that "
            f"the equations reach back and forth, and the slice itself; found {window}."
        )
    return Stream(network, frames, made, delay)


def _method(network: Network, method: Any) -> Propagate:
    """The method, which must be one that can go on with values of before."""
    chosen = as_method(method)
    if not isinstance(chosen, Propagate):
        raise OptionError(f"stream needs the method 'propagate' or a pfn.Propagate(…), found {method!r}.")
    compile_network(network)  # which says why it cannot
    chosen = chosen.named(network)
    values = chosen.sparseness.values() if isinstance(chosen.sparseness, Mapping) else [chosen.sparseness]
    if chosen.release or chosen.start == "levels" or any(isinstance(value, Ramp) for value in values):
        raise OptionError(
            "stream: release, ramps and the start by levels belong to a run; a stream has no end. Leave them out."
        )
    return chosen
