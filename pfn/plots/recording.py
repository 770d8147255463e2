"""A run recorded: the values of some variables after some of its sweeps."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pfn.errors import OptionError
from pfn.network import Factorization, Network, Parameter, Variable
from pfn.plots.images import given_values, listed
from pfn.plots.matrices import Matrix, matrix_of, named_matrix
from pfn.solve import Exact, Result, infer
from pfn.solve import learn as learn_parameters
from pfn.solve.checks import check_count

FRAMES = 60
"""Frames of a film of which nothing else was said: enough to see how values move, few enough for a small page."""

Sweeps = int | Iterable[int] | None


class Recording(NamedTuple):
    """What was seen of a run: by name, the matrix of every frame.

    `sweeps` are the sweeps done before each frame; frame 0 is what was given, before any.
    """

    result: Result
    sweeps: tuple[int, ...]
    frames: Mapping[str, tuple[Matrix, ...]]


def record(
    network: Network,
    data: Mapping[Any, Any],
    variables: Iterable[Variable | Parameter | str],
    *,
    every: Sweeps,
    iterations: int,
    learn: bool,
    sequence: int,
    options: Mapping[str, Any],
) -> Recording:
    """Run, and keep the values after the sweeps asked for and after the last."""
    if not isinstance(network, Network):
        raise OptionError(f"film needs a pfn.Network, found {type(network).__name__}.")
    check_count(iterations, "iterations", 1)
    if options.get("restarts", 1) != 1:
        raise OptionError(f"a film shows one run, found restarts={options['restarts']}. Leave restarts out.")
    if isinstance(options.get("method"), Exact) or options.get("method") == "exact":
        raise OptionError("a film shows sweeps, and exact inference has none. Use method='propagate'.")
    items = [_shown(network, item) for item in listed(variables)]
    seen = _Camera(items, wanted_sweeps(every, iterations), sequence, options.get("callback"))
    ask = learn_parameters if learn else infer
    result = ask(network, data, iterations=iterations, **{**options, "callback": seen})
    seen.keep(result.iterations, result)
    return Recording(result, tuple(seen.frames), _by_name(items, seen.frames, data, sequence))


def wanted_sweeps(every: Sweeps, iterations: int) -> frozenset[int]:
    """After which sweeps there is a frame: every so many, those listed, or ever fewer as the run goes on.

    >>> sorted(wanted_sweeps(100, 400)), sorted(wanted_sweeps([10, 50, 500], 1000))
    ([100, 200, 300, 400], [10, 50, 500])
    """
    if every is None:
        return frozenset(np.geomspace(1, iterations, FRAMES).round().astype(int).tolist())
    if isinstance(every, Iterable):
        chosen = list(every)
        for sweep in chosen:
            check_count(sweep, "every: each of the sweeps", 1)
        return frozenset(int(sweep) for sweep in chosen)
    check_count(every, "every", 1)
    return frozenset(range(every, iterations + 1, every))


def _shown(network: Network, item: Variable | Parameter | str) -> Variable | Parameter:
    found = network[item]
    if isinstance(found, Factorization):
        raise OptionError(f"{found.name} is an equation, but a film shows variables and parameters. Name one of these.")
    return found


class _Camera:
    """The callback of the run: keeps the values after the sweeps that are wanted."""

    def __init__(
        self,
        items: list[Variable | Parameter],
        wanted: frozenset[int],
        sequence: int,
        callback: Callable[[int, Mapping[str, Any]], object] | None,
    ) -> None:
        self.items, self.wanted, self.sequence, self.callback = items, wanted, sequence, callback
        self.frames: dict[int, list[Matrix]] = {0: []}  # the first, what was given, is known at the end

    def __call__(self, iteration: int, values: Mapping[str, Any]) -> object:
        if iteration + 1 in self.wanted:
            self.keep(iteration + 1, values)
        return None if self.callback is None else self.callback(iteration, values)

    def keep(self, sweeps: int, values: Any) -> None:
        if sweeps not in self.frames:
            now = [named_matrix(values[item.name], item, self.sequence) for item in self.items]
            before = self.frames[max(self.frames)] or now
            self.frames[sweeps] = [_kept(*pair) for pair in zip(before, now, strict=True)]


def _kept(before: Matrix, now: Matrix) -> Matrix:
    """What is there now; what has not changed, such as a variable observed throughout, is kept once."""
    return before if np.array_equal(before.values, now.values, equal_nan=True) else now


def _by_name(
    items: list[Variable | Parameter],
    frames: Mapping[int, list[Matrix]],
    data: Mapping[Any, Any],
    sequence: int,
) -> dict[str, tuple[Matrix, ...]]:
    """The frames of each item, what was given of it in front."""
    kept = list(frames.values())[1:]
    given = {}
    for number, item in enumerate(items):
        found = kept[-1][number]
        known = matrix_of(item.value, item) if isinstance(item, Parameter) and item.value is not None else None
        first = known or given_values(data, found, sequence)
        given[item.name] = (first, *(frame[number] for frame in kept))
    return given
