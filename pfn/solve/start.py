"""Starting values: what the user gave, and random draws for the rest."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.errors import DataError, OptionError
from pfn.network import Network, Parameter, Variable
from pfn.solve.data import Observations, numbers, refuse_bad_entries
from pfn.updates import normalize


def named_initial(network: Network, initial: object) -> dict[str, Any]:
    """The starting values by name; keys that are neither variables nor parameters are refused."""
    if initial is None:
        return {}
    if not isinstance(initial, Mapping):
        raise OptionError(f"initial must be a mapping such as {{h: array}}, found {type(initial).__name__}.")
    named = {}
    for key, values in initial.items():
        item = network[key]
        if not isinstance(item, Variable | Parameter):
            raise DataError(f"initial: {item.name} is an equation; give starting values for variables or parameters.")
        named[item.name] = values
    return named


def start_values(
    network: Network,
    observations: Observations,
    *,
    initial: Mapping[str, Any],
    learned: frozenset[str],
    released: frozenset[str],
    scale: float,
    dtype: np.dtype[Any],
    generator: np.random.Generator,
) -> dict[str, Any]:
    """By variable an array per sequence, by parameter a matrix; drawn in the order of the declarations."""
    start: dict[str, Any] = {}
    for variable in network.variables:
        if _needs_start(variable, observations, released):
            start[variable.name] = _variable_start(variable, network, observations, initial, scale, dtype, generator)
    for parameter in network.parameters:
        start[parameter.name] = _parameter_start(parameter, initial, learned, dtype, generator)
    _normalize_drawn(network, start, initial, learned)
    return start


def _needs_start(variable: Variable, observations: Observations, released: frozenset[str]) -> bool:
    arrays = observations.arrays.get(variable.name)
    return arrays is None or variable.name in released or any(np.isnan(array).any() for array in arrays)


def _variable_start(
    variable: Variable,
    network: Network,
    observations: Observations,
    initial: Mapping[str, Any],
    scale: float,
    dtype: np.dtype[Any],
    generator: np.random.Generator,
) -> list[np.ndarray]:
    given = initial.get(variable.name)
    if given is not None and observations.listed != isinstance(given, list | tuple):
        wanted = "a list with one array per sequence" if observations.listed else "an array"
        raise DataError(f"initial: {variable.name} must be {wanted}, like the data.")
    if observations.listed and given is not None and len(given) != len(observations.lengths):
        raise DataError(
            f"initial: {variable.name} needs {len(observations.lengths)} sequences like the data, found {len(given)}."
        )
    result = []
    for sequence, length in enumerate(observations.lengths):
        arrays = observations.arrays.get(variable.name)
        touched = network.columns(length).variables[variable.name]
        columns = len(touched) if arrays is None else max(arrays[sequence].shape[1], touched.stop)
        values = (1 - generator.random((variable.size, columns))) * scale
        if given is not None:
            piece = given[sequence] if observations.listed else given
            values = _given(piece, values, f"initial: {variable.name}", dtype)
        result.append(values.astype(dtype))
    return result


def _given(piece: object, drawn: np.ndarray, what: str, dtype: np.dtype[Any]) -> np.ndarray:
    """The given values, with the drawn ones where they are NaN."""
    array = numbers(piece, what)
    if array.shape != drawn.shape:
        raise DataError(f"{what}: expected the shape {drawn.shape}, found {array.shape}.")
    converted = array.astype(dtype)
    refuse_bad_entries(converted, array, what)
    return np.where(np.isnan(converted), drawn, converted)


def _parameter_start(
    parameter: Parameter,
    initial: Mapping[str, Any],
    learned: frozenset[str],
    dtype: np.dtype[Any],
    generator: np.random.Generator,
) -> Any:
    given = initial.get(parameter.name)
    if given is not None and not parameter.learn:
        raise DataError(
            f"initial: parameter {parameter.name} is known, so it has no starting value. "
            "Declare it with learn=True to start from a value."
        )
    if given is not None and (parameter.sparse or sp.issparse(given)):
        return _sparse_start(parameter, given, dtype)
    if given is None and parameter.value is not None:
        return parameter.value.astype(dtype, copy=False)
    if given is None and parameter.name not in learned:
        raise DataError(
            f"parameter {parameter.name} is unknown, and inference leaves parameters as they are. Use pfn.learn, "
            f"or give its value: initial={{{parameter.name!r}: matrix}}."
        )
    drawn = 1 - generator.random(parameter.shape)
    return (drawn if given is None else _given(given, drawn, f"initial: {parameter.name}", dtype)).astype(dtype)


def _sparse_start(parameter: Parameter, given: object, dtype: np.dtype[Any]) -> Any:
    matrix = sp.csr_array(given, dtype=dtype)
    matrix.sum_duplicates()
    if matrix.shape != parameter.shape:
        raise DataError(f"initial: {parameter.name}: expected the shape {parameter.shape}, found {matrix.shape}.")
    if not (np.isfinite(matrix.data) & (matrix.data >= 0)).all():
        raise DataError(f"initial: {parameter.name}: stored entries must be finite and non-negative.")
    return matrix


def _normalize_drawn(
    network: Network, start: dict[str, Any], initial: Mapping[str, Any], learned: frozenset[str]
) -> None:
    """A random start is normalized; given values are taken as given."""
    done: set[str] = set()
    for equation in network.factorizations:
        drawn = [
            p
            for p in dict.fromkeys(equation.parameters)
            if p.name in learned and p.value is None and p.name not in initial and p.name not in done
        ]
        if drawn:
            uses = [equation.parameters.count(p) for p in drawn]
            normalize([start[p.name] for p in drawn], equation.normalize, equation.parts, uses)
        done.update(p.name for p in drawn)
