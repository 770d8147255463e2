"""A run of `Exact`: observations in, one program per sequence, values and errors out."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pfn.engines import Layout, counted_entries, counted_in, filled_in, has_hidden, refuse_dense, root_mean
from pfn.errors import NoExactSolution, OptionError
from pfn.exact import Asked, Deadline, Solved, assemble, solve, superposition
from pfn.solve.exact_noisy import denoised, softened, weights_of
from pfn.solve.exact_parts import LATE, Part, Sequence, late
from pfn.solve.history import History
from pfn.solve.progress import Bar
from pfn.solve.request import Answer, Request
from pfn.solve.start import Start

if TYPE_CHECKING:
    from pfn.solve.exact import Exact

TOLERANCES = {"float64": (1e-9, 1e-7), "float32": (1e-6, 1e-5)}
"""How far solvers may miss an equation, and up to where it counts as holding, both relative to the largest observation:
rounding leaves more in float32."""

WAYS_OUT = (
    "Hide observations there (NaN), allow errors in them (pfn.Exact(noise={x: 'l2'})), or take the least squares "
    "answer (pfn.Exact(structure='soft'))."
)


def run(request: Request, method: "Exact") -> Answer:
    """Solve every sequence."""
    refuse_options(request)
    _refuse_noise_of_hidden(request, method)
    deadline = Deadline(method.time_limit, request.interruption)
    parameters = parameters_of(request)
    sequences = list(make_sequences(request, parameters))
    lengths = np.cumsum([0, *request.observations.lengths]).tolist()
    size = method.size(request.network, max(request.observations.lengths))
    shown = request.bar.begin(f"exact: {size.unknowns:,} unknowns, {size.bytes / 1e9:.1g} GB", lengths[-1])
    parts: list[Part] = []
    for number, (sequence, start) in enumerate(zip(sequences, lengths[:-1], strict=True)):
        asked = asked_of(sequence, method, request, deadline, partial(_advance, request.bar, shown, start))
        with naming(request, number):
            parts.append(_solved(sequence, asked, method, request, number))
        request.bar.advance(shown, lengths[number + 1], sequence.error(parts[-1].y))
    request.bar.end(shown)
    return make_answer(request, parameters, sequences, parts)


def _advance(bar: Bar, shown: int, start: int, done: int) -> None:
    bar.advance(shown, start + done, 0.0)


def refuse_options(request: Request) -> None:
    """What belongs to sweeps has no meaning here."""
    given = {
        "checkpoint": request.checkpoint,
        "resume": request.resume,
        "callback": request.callback,
    }
    for option, value in given.items():
        if value is not None:
            raise OptionError(
                f"Exact: {option} belongs to methods that sweep; exact inference is one solve. Leave it out."
            )
    if request.learned:
        raise OptionError(
            f"Exact: parameter {min(request.learned)} is to be learned, but exact inference needs known parameters. "
            "Use pfn.infer with its value in initial, or learn with method='propagate' and restarts."
        )
    for name, arrays in request.observations.arrays.items():
        refuse_dense(name, arrays, "the program has a number for every entry")
    variables = {variable.name for variable in request.network.variables}
    for name in variables & set(request.initial):
        raise OptionError(f"Exact: {name} needs no starting values: exact inference does not depend on them.")


def _refuse_noise_of_hidden(request: Request, method: "Exact") -> None:
    for name in method.noise:
        if name not in request.observations.arrays:
            raise OptionError(
                f"Exact: noise of {name} is that of observations, but {name} is hidden. "
                f"Observe it, or leave {name} out of noise."
            )


def parameters_of(request: Request) -> dict[str, Any]:
    """The value of every parameter."""
    return Start.of(request, 1.0).parameters()


def make_sequences(request: Request, parameters: Mapping[str, Any]) -> Iterator[Sequence]:
    """The equations and observations of every sequence."""
    for number, length in enumerate(request.observations.lengths):
        observed = {name: arrays[number] for name, arrays in request.observations.arrays.items()}
        given = {name: array.shape[1] for name, array in observed.items()}
        system = assemble(request.network, parameters, length, given)
        known = system.flat(observed)
        yield Sequence(system, known, float(np.nanmax(known, initial=0.0)) or 1.0)


def asked_of(
    sequence: Sequence,
    method: "Exact",
    request: Request,
    deadline: Deadline,
    report: Callable[[int], None] = lambda _: None,
) -> Asked:
    """The question without noise, in units of the largest observation; entries that nothing touches are no part."""
    costs = weights_of(sequence, method) if method.penalty else None
    known = np.where(sequence.system.touched() | ~np.isnan(sequence.known), sequence.known / sequence.scale, 0.0)
    tolerances = TOLERANCES[request.dtype.name]
    return Asked(known, costs, *tolerances, sequence.scale, request.generator(), deadline, report)


def _solved(sequence: Sequence, asked: Asked, method: "Exact", request: Request, number: int) -> Part:
    if method.noise:
        return denoised(sequence, method, asked)
    if method.structure == "soft":
        return softened(sequence, method, asked, request, number)
    solved = solve(sequence.system, asked, method.windows)
    values = superposition(solved, asked) if method.prefer == "spread" else solved.sparse
    return part_of(sequence, solved, values, asked.exact)


def part_of(sequence: Sequence, solved: Solved, values: np.ndarray, exact: float) -> Part:
    """One solution as the answer for a sequence."""
    y = solved.reduced.whole(values)
    if sequence.error(y) > LATE * exact:
        return late(sequence, y)
    untold = "" if solved.unique is not None else "; whether it is the only one was left open"
    return Part(y * sequence.scale, solved.unique, f"exact solution{untold}")


@contextmanager
def naming(request: Request, number: int) -> Iterator[None]:
    """Say which of several sequences has no exact solution."""
    try:
        yield
    except NoExactSolution as error:
        where = f"sequence {number}: " if request.observations.listed else ""
        raise NoExactSolution(f"no exact solution: {where}{error} {WAYS_OUT}") from None


def make_answer(
    request: Request, parameters: Mapping[str, Any], sequences: list[Sequence], parts: list[Part]
) -> Answer:
    """Values, errors and what is certain, by name and in the form of the data."""
    unwrap = request.observations.unwrap
    names = [variable.name for variable in request.network.variables]
    pairs = list(zip(sequences, parts, strict=True))
    values = {name: unwrap([_values(request, name, n, *pair) for n, pair in enumerate(pairs)]) for name in names}
    told = [(sequence, part.unique) for sequence, part in pairs if part.unique is not None]
    unique = (
        {name: unwrap([_unique(name, *one) for one in told]) for name in names} if len(told) == len(pairs) else None
    )
    errors = _errors(request, pairs)
    return Answer(
        values=values | dict(parameters),
        rmse={name: root_mean(squared, entries) for name, (squared, entries) in errors.items()},
        squared_error=sum(squared for squared, _ in errors.values()),
        history=History([], {name: [] for name in errors}, []),
        stop=_stop(parts),
        iterations=0,
        interrupted=request.interruption.requested,
        unique=unique,
    )


def _values(request: Request, name: str, number: int, sequence: Sequence, part: Part) -> Any:
    observed = request.observations.arrays.get(name)
    if observed is not None and name not in part.noisy and not has_hidden(observed[number]):
        return observed[number].copy()
    untouched = ~sequence.system.touched() & np.isnan(sequence.known)
    return sequence.system.array(np.where(untouched, np.nan, part.y), name).astype(request.dtype)


def _unique(name: str, sequence: Sequence, unique: np.ndarray) -> np.ndarray:
    certain = unique & (sequence.system.touched() | ~np.isnan(sequence.known))
    return sequence.system.array(certain, name)


def _errors(request: Request, pairs: list[tuple[Sequence, Part]]) -> dict[str, tuple[float, float]]:
    """By equation, the summed squared error of the entries that count, and their number."""
    observations = request.observations
    layout = Layout(request.network, observations.lengths, observations.arrays)
    hidden = [variable.name for variable in request.network.variables if observations.hides(variable.name)]
    filled = filled_in(layout, observations.arrays, hidden)
    entries, totals = counted_entries(layout, filled, request.weights), {}
    for equation in request.network.factorizations:
        counted, squared = counted_in(equation, layout, filled), 0.0
        for number, (sequence, part) in enumerate(pairs):
            rows = sequence.system.rows[equation.name]
            errors = (sequence.system.matrix[rows] @ part.y).reshape(-1, equation.rows)
            if counted is not None:
                start = int(layout.starts[number])
                errors[~counted[:, start : start + len(errors)].T] = 0
            weights = (
                request.weights[equation.name][number] if equation.name in request.weights else np.ones(len(errors))
            )
            squared += float(weights @ (errors**2).sum(axis=1))
        totals[equation.name] = (squared, entries[equation.name])
    return totals


def _stop(parts: list[Part]) -> str:
    """What is said of all sequences, once where it is the same."""
    if len({part.stop for part in parts}) == 1:
        return parts[0].stop
    return "; ".join(f"sequence {number}: {part.stop}" for number, part in enumerate(parts))
