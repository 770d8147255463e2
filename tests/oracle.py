"""The definition of a sweep (docs/methods.md) in plain loops: slow, obvious, independent of the engines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

from pfn import Factorization, Network, Parameter

Array = np.ndarray[Any, np.dtype[np.float64]]
Values = Mapping[str, Any]  # by name: an array, or a list of arrays, one for every sequence
Place = tuple[str, int]  # variable, column
Copy = tuple[str, str, int, int]  # factorization, "child" or "parent", number of the slice, column


@dataclass(frozen=True)
class Options:
    """How to sweep; sparseness is a number, a function of the sweep, or a mapping from names to either."""

    learn: bool = True
    averaging: str = "pooled"
    updates: str = "alternating"
    divergence: str = "kl"
    epsilon: float = 1e-9
    sparseness: Any = 0.0
    release: Mapping[str, int] | None = None
    learn_every: Mapping[str, int] | None = None
    sweep: int = 0


@dataclass(frozen=True)
class Strand:
    """One sequence: its columns, weights, observations, values, and the copies that the equations hold."""

    counts: dict[str, int]
    columns: dict[str, range]
    weights: dict[str, Array]
    observed: dict[Place, Array]
    values: dict[Place, Array]
    holders: dict[Place, list[Copy]]
    copies: dict[Copy, Array]
    terms: dict[Copy, tuple[Array, Array]]  # numerators and denominators of the right updates of a sweep


def sweep_many(network: Network, data: Values, initial: Values, iterations: int, **options: Any) -> dict[str, Array]:
    """Every variable and parameter of one sequence after plain sweeps; keywords: weights and Options."""
    options["weights"] = listed(network, options.get("weights") or {})
    result = sweep_sequences(network, listed(network, data), listed(network, initial), iterations, **options)
    return {name: value[0] if isinstance(value, list) else value for name, value in result.items()}


def sweep_sequences(
    network: Network,
    data: Values,
    initial: Values,
    iterations: int,
    *,
    weights: Values | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The same for sequences that share parameters: a list for a variable, an array for a parameter."""
    parameters = {parameter.name: first_value(parameter, initial) for parameter in network.parameters}
    strands = start_strands(network, data, initial, weights or {})
    for sweep in range(iterations):
        sweep_once(network, strands, parameters, Options(**options, sweep=sweep))
    variables = {v.name: [array_of(strand, v.name, v.size) for strand in strands] for v in network.variables}
    return variables | parameters


@dataclass(frozen=True)
class Counted:
    """A child entry that counts in the errors: its value, its reconstruction, the weight of its column."""

    value: float
    reconstruction: float
    weight: float


def rmse(
    network: Network,
    values: Values,
    data: Values,
    weights: Values | None = None,
    released: Sequence[str] = (),
    *,
    every: bool = False,
) -> dict[str, float]:
    """Root mean square of children minus W @ parents of every factorization, over the entries that count, or all."""
    lists = (listed(network, mapping) for mapping in (values, data, weights or {}))
    return rmse_of_sequences(network, *lists, released, every=every)


def rmse_of_sequences(
    network: Network,
    values: Values,
    data: Values,
    weights: Values | None = None,
    released: Sequence[str] = (),
    *,
    every: bool = False,
) -> dict[str, float]:
    """The same, pooled over sequences; NaN for an equation of which no entry counts."""
    errors = {}
    for name, found in counted_of_sequences(network, values, data, weights, released, every=every).items():
        entries = sum(one.weight for one in found)
        squares = sum(one.weight * (one.value - one.reconstruction) ** 2 for one in found)
        errors[name] = float(np.sqrt(squares / entries)) if entries else float("nan")
    return errors


def counted_of_sequences(
    network: Network,
    values: Values,
    data: Values,
    weights: Values | None = None,
    released: Sequence[str] = (),
    *,
    every: bool = False,
) -> dict[str, list[Counted]]:
    """By factorization, the child entries that count, or all."""
    # The values have their observations in place; one that was released must not be put back.
    hidden = {name: [np.full(np.shape(array), np.nan) for array in arrays] for name, arrays in data.items()}
    strands = start_strands(network, hidden, values, weights or {})
    held = {name: arrays for name, arrays in data.items() if name not in released}
    found: dict[str, list[Counted]] = {}
    for equation in network.factorizations:
        found[equation.name] = []
        for number, strand in enumerate(strands):
            observed = {name: np.asarray(dense(arrays[number]), float) for name, arrays in held.items()}
            for column, weight in enumerate(strand.weights[equation.name]):
                children = stack(strand, equation, "child", column)
                parents = matrix(equation, values) @ stack(strand, equation, "parent", column)
                counts = counting(strand, equation, column, observed)
                found[equation.name] += [
                    Counted(float(x), float(r), float(weight))
                    for x, r, counted in zip(children, parents, counts, strict=True)
                    if counted or every
                ]
    return found


def counting(strand: Strand, equation: Factorization, column: int, observed: Mapping[str, Array]) -> list[bool]:
    """Which child entries of an equation count: those observed, and those that some other slice has too."""
    found: list[bool] = []
    for child in equation.children:
        name, at = child.variable.name, column + child.lag
        shared = len(strand.holders[name, at]) > 1
        seen = np.isfinite(observed[name][:, at]) if name in observed and at < observed[name].shape[1] else None
        found += [shared or (seen is not None and bool(seen[row])) for row in range(child.variable.size)]
    return found


def weights_reach(network: Network, data: Values, weights: Values, released: Sequence[str] = ()) -> bool:
    """Whether columns that share something hidden of a parent have one weight; for lists of sequences."""
    lists = [{name: [np.full(np.shape(a), np.nan) for a in arrays] for name, arrays in data.items()}, {}, weights]
    columns = [array_columns(network, {name: a[n] for name, a in data.items()}) for n in range(_count(data))]
    lists[1] = {v.name: [np.ones((v.size, len(c[v.name]))) for c in columns] for v in network.variables}
    for number, strand in enumerate(start_strands(network, *lists)):
        for (name, at), held in strand.holders.items():
            observed = dense(data[name][number]) if name in data and name not in released else np.empty((1, 0))
            hidden = at >= observed.shape[1] or np.isnan(observed[:, at]).any()
            found = {strand.weights[equation][column] for equation, _, _, column in held}
            if hidden and len(found) > 1 and "parent" in [role for _, role, _, _ in held]:
                return False
    return True


def _count(data: Values) -> int:
    return len(next(iter(data.values())))


def dense(value: Any) -> Any:
    """A sparse matrix as an array."""
    return value.toarray() if scipy.sparse.issparse(value) else value


def listed(network: Network, mapping: Values) -> dict[str, Any]:
    """One sequence as a list of one; parameters belong to no sequence."""
    parameters = [parameter.name for parameter in network.parameters]
    return {name: value if name in parameters else [value] for name, value in mapping.items()}


def slices_of(equation: Factorization, role: str) -> list[Any]:
    """The child slices or the parent slices of an equation."""
    return list(equation.children) if role == "child" else [term.slice for term in equation.terms]


def equations_with(network: Network, variable: str, role: str) -> list[Factorization]:
    """The equations in which a variable is a child, or a parent."""
    every = network.factorizations
    return [equation for equation in every if variable in [s.variable.name for s in slices_of(equation, role)]]


def level(network: Network, equation: Factorization) -> int:
    """One more than the highest level of an equation in which one of its children is a parent, else one."""
    below = [e for child in equation.children for e in equations_with(network, child.variable.name, "parent")]
    return 1 + max((level(network, lower) for lower in below), default=0)


def column_count(network: Network, equation: Factorization, length: int) -> int:
    """At how many columns, from 0, all child slices of an equation exist."""
    return max(0, min(existing(network, s.variable.name, length) - s.lag for s in equation.children))


def existing(network: Network, variable: str, length: int) -> int:
    """How many columns, from 0, a variable has as a parent, or at the bottom."""
    uses = equations_with(network, variable, "parent")
    pairs = [(e, s.lag) for e in uses for s in slices_of(e, "parent") if s.variable.name == variable]
    return max([0] + [column_count(network, e, length) + lag for e, lag in pairs]) if uses else length


def column_counts(network: Network, data: Mapping[str, Array]) -> dict[str, int]:
    """The number of columns of every equation; the bottom variables in the data give the length."""
    length = next(array.shape[1] for name, array in data.items() if not equations_with(network, name, "parent"))
    return {equation.name: column_count(network, equation, length) for equation in network.factorizations}


def find_holders(network: Network, data: Mapping[str, Array]) -> dict[Place, list[Copy]]:
    """The copies of every column that an equation touches; a parent slice before column 0 has none."""
    counts = column_counts(network, data)
    holders: dict[Place, list[Copy]] = {}
    for equation in network.factorizations:
        for role in ("child", "parent"):
            for number, part in enumerate(slices_of(equation, role)):
                for column in range(max(0, -part.lag), counts[equation.name]):
                    place = (part.variable.name, column + part.lag)
                    holders.setdefault(place, []).append((equation.name, role, number, column))
    return holders


def array_columns(network: Network, data: Mapping[str, Array]) -> dict[str, range]:
    """The columns of every variable's array: from the first to the last that is touched or given."""
    found: dict[str, list[int]] = {variable.name: [] for variable in network.variables}
    for name, column in find_holders(network, data):
        found[name].append(column)
    for name, array in data.items():
        found[name].extend(range(array.shape[1]))
    return {name: range(min(all_), max(all_) + 1) if all_ else range(0) for name, all_ in found.items()}


def first_value(parameter: Parameter, initial: Values) -> Array:
    """The value that a parameter starts with, dense."""
    value = initial.get(parameter.name, parameter.value)
    return np.array(value.toarray() if scipy.sparse.issparse(value) else value, dtype=float)


def start_strands(network: Network, data: Values, initial: Values, weights: Values) -> list[Strand]:
    """Every sequence before its first sweep."""
    variables = {v.name: initial[v.name] for v in network.variables if v.name in initial}
    strands = []
    for number in range(len(next(iter(data.values())))):
        own = [{key: value[number] for key, value in m.items()} for m in (data, variables, weights)]
        strands.append(start_strand(network, *own))
    return strands


def start_strand(network: Network, data: Values, initial: Values, weights: Values) -> Strand:
    """Observed entries in place, the others from the starting values, NaN where no equation touches them."""
    counts, columns = column_counts(network, data), array_columns(network, data)
    holders = find_holders(network, data)
    weighted = {name: np.asarray(weights.get(name, np.ones(count)), float) for name, count in counts.items()}
    observed: dict[Place, Array] = {}
    values: dict[Place, Array] = {}
    for variable in network.variables:
        name, hidden = variable.name, np.full(variable.size, np.nan)
        for position, column in enumerate(columns[name]):
            given = name in data and column < data[name].shape[1]
            seen = np.array(data[name][:, column], float) if given else hidden
            needed = np.isnan(seen).any() and (name, column) in holders
            observed[name, column] = seen
            values[name, column] = np.where(np.isnan(seen), initial[name][:, position] if needed else hidden, seen)
    copies = {copy: values[place] for place, held in holders.items() for copy in held}
    return Strand(counts, columns, weighted, observed, values, holders, copies, {})


def array_of(strand: Strand, variable: str, size: int) -> Array:
    """The array of a variable."""
    vectors = [strand.values[variable, column] for column in strand.columns[variable]]
    return np.array(vectors, float).reshape(len(vectors), size).T


def sweep_once(network: Network, strands: list[Strand], parameters: dict[str, Array], options: Options) -> None:
    """Up through the levels, then down."""
    top = max(level(network, equation) for equation in network.factorizations)
    for now in range(1, top + 1):
        before = {name: W.copy() for name, W in parameters.items()}
        learn_level(network, strands, parameters, options, now)
        seen = before if options.updates == "joint" else parameters
        for strand in strands:
            for equation in equations_at(network, now):
                update_parents(strand, equation, seen, options)
            for variable in complete_at(network, now, "parent"):
                settle(strand, variable, "parent", options)
    for now in range(top, 0, -1):
        for strand in strands:
            for equation in equations_at(network, now):
                propagate(strand, equation, parameters)
            for variable in complete_at(network, now, "child"):
                settle(strand, variable, "child", options)


def equations_at(network: Network, now: int) -> list[Factorization]:
    """The equations of a level."""
    return [equation for equation in network.factorizations if level(network, equation) == now]


def complete_at(network: Network, now: int, role: str) -> list[str]:
    """The variables whose equations in that role are all done with this level, going up or down."""
    last = max if role == "parent" else min
    uses = {v.name: equations_with(network, v.name, role) for v in network.variables}
    return [name for name, found in uses.items() if found and last(level(network, e) for e in found) == now]


def settle(strand: Strand, variable: str, role: str, options: Options) -> None:
    """Give a variable the mean of its copies, or the common update of a parent, then its observations, and all its
    copies the outcome.
    """
    released = options.sweep >= (options.release or {}).get(variable, np.inf)
    for place, held in strand.holders.items():
        updated = [copy for copy in held if copy[1] == role]
        if place[0] == variable and updated:
            if options.averaging == "pooled" and role == "parent":
                upper, lower = np.sum([strand.terms[copy] for copy in updated], axis=0) + options.epsilon
                new = strand.values[place] * upper / lower
            else:
                counted = held if options.averaging == "all" else updated
                new = sum(strand.copies[copy] for copy in counted) / len(counted)
            seen = strand.observed[place]
            strand.values[place] = np.where(np.isnan(seen) | released, new, seen)
            for copy in held:
                strand.copies[copy] = strand.values[place]


def stack(strand: Strand, equation: Factorization, role: str, column: int) -> Array:
    """An equation's copies of its children or parents on top of each other, zero before column 0."""
    found = []
    for number, part in enumerate(slices_of(equation, role)):
        zero = np.zeros(part.variable.size)
        found.append(strand.copies.get((equation.name, role, number, column), zero))
    return np.concatenate(found)


def rows_of(equation: Factorization, role: str) -> list[slice]:
    """Where each slice lies in the stack."""
    ends = np.cumsum([0] + [part.variable.size for part in slices_of(equation, role)]).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def matrix(equation: Factorization, parameters: Values) -> Array:
    """[W_1 ... W_p]."""
    return np.hstack([parameters[term.parameter.name] for term in equation.terms])


def smoothing(equation: Factorization, options: Options) -> Array:
    """The matrix S of nsNMF over the stacked parents (paper, appendix B)."""
    given = options.sparseness
    given = given.get(equation.name, 0.0) if isinstance(given, Mapping) else given
    theta = given(options.sweep) if callable(given) else given
    size = rows_of(equation, "parent")[-1].stop
    return (1 - theta) * np.eye(size) + theta / size * np.ones((size, size))


def update_parents(strand: Strand, equation: Factorization, parameters: Values, options: Options) -> None:
    """The right update of an equation, on its copies of the parents."""
    W = matrix(equation, parameters) @ smoothing(equation, options)
    for column in range(strand.counts[equation.name]):
        X, H = stack(strand, equation, "child", column), stack(strand, equation, "parent", column)
        if options.divergence == "kl":
            upper, lower = W.T @ ((X + options.epsilon) / (W @ H + options.epsilon)), W.T @ np.ones(len(X))
        else:
            upper, lower = W.T @ X, W.T @ (W @ H)
        H = H * (upper + options.epsilon) / (lower + options.epsilon)
        for number, rows in enumerate(rows_of(equation, "parent")):
            if (equation.name, "parent", number, column) in strand.copies:
                strand.copies[equation.name, "parent", number, column] = H[rows]
                strand.terms[equation.name, "parent", number, column] = upper[rows], lower[rows]


def propagate(strand: Strand, equation: Factorization, parameters: Values) -> None:
    """Value propagation of an equation, on its copies of the children, with the plain W."""
    for column in range(strand.counts[equation.name]):
        X = matrix(equation, parameters) @ stack(strand, equation, "parent", column)
        for number, rows in enumerate(rows_of(equation, "child")):
            strand.copies[equation.name, "child", number, column] = X[rows]


def learn_level(
    network: Network, strands: list[Strand], parameters: dict[str, Array], options: Options, now: int
) -> None:
    """Left updates, all from the same values, of the parameters whose lowest equation is at this level."""
    updated: dict[str, Array] = {}
    for parameter in network.parameters:
        name = parameter.name
        uses = [e for e in network.factorizations if name in [term.parameter.name for term in e.terms]]
        due = options.sweep % (options.learn_every or {}).get(name, 1) == 0
        if options.learn and parameter.learn and due and min(level(network, e) for e in uses) == now:
            sums = [left_sums(strand, e, name, parameters, options) for e in uses for strand in strands]
            upper, lower = np.sum(sums, axis=0) + options.epsilon
            pull, prior = (0.0, 0.0) if parameter.prior is None else (parameter.prior_weight, parameter.prior)
            updated[name] = (parameters[name] * upper + pull * prior) / (lower + pull)
    parameters.update(updated)
    normalize(network, parameters, set(updated))


def left_sums(
    strand: Strand, equation: Factorization, name: str, parameters: Values, options: Options
) -> tuple[Array, Array]:
    """What the terms and columns of an equation add to numerator and denominator of a left update."""
    upper, lower = np.zeros_like(parameters[name]), np.zeros_like(parameters[name])
    W, S = matrix(equation, parameters), smoothing(equation, options)
    for column, weight in enumerate(strand.weights[equation.name]):
        X, H = stack(strand, equation, "child", column), S @ stack(strand, equation, "parent", column)
        if options.divergence == "kl":
            above, below = (X + options.epsilon) / (W @ H + options.epsilon), np.ones(len(X))
        else:
            above, below = X, W @ H
        for term, rows in zip(equation.terms, rows_of(equation, "parent"), strict=True):
            if term.parameter.name == name:
                upper += weight * np.outer(above, H[rows])
                lower += weight * np.outer(below, H[rows])
    return upper, lower


def normalize(network: Network, parameters: dict[str, Array], updated: set[str]) -> None:
    """Normalize what was just updated, each once; a sequence with all its learned parts."""
    for equation in network.factorizations:
        learned = [term.parameter.name for term in equation.terms if term.parameter.learn]
        found = updated & set(learned)
        if found and equation.normalize == "sequences":
            normalize_sequences([parameters[name] for name in learned])
        elif found and equation.normalize:
            for name in found:
                normalize_columns(equation, parameters[name])
        updated = updated - found


def normalize_sequences(matrices: Sequence[Array]) -> None:
    """Make the j-th columns of all these matrices together sum to one."""
    totals = sum(W.sum(axis=0) for W in matrices)
    for W in {id(W): W for W in matrices}.values():  # a tied matrix counts twice but is scaled once
        np.divide(W, np.where(totals > 0, totals, 1.0), out=W)


def normalize_columns(equation: Factorization, W: Array) -> None:
    """Scale every column, or its part of every child, to the sum that the normalization asks for."""
    parts = [slice(None)] if equation.normalize == "columns" else rows_of(equation, "child")
    for column in W.T:
        sums = [column[part].sum() for part in parts]
        wanted = sum(sums) / len(parts) if equation.normalize == "balanced" else 1 / len(parts)
        for part, total in zip(parts, sums, strict=True):
            column[part] *= wanted / total if total > 0 else 0.0
