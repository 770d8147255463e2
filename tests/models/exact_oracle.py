"""A network with known parameters as one linear program, solved by HiGHS: exact values to test with."""

import numpy as np
import scipy.sparse
from scipy.optimize import linprog

import pfn
from pfn.solve.history import History

PATIENCE = 60.0  # seconds: on rare large programs HiGHS never comes to an end


def linear_system(network, slices):
    """A with A y = 0: y has the variables one after the other, each column by column; sizes and places in y."""
    columns = network.columns(slices)
    sizes = {v.name: (v.size, len(columns.variables[v.name])) for v in network.variables}
    ends = np.cumsum([size * count for size, count in sizes.values()])
    places = {name: slice(end - np.prod(sizes[name]), end) for name, end in zip(sizes, ends, strict=True)}
    blocks = []
    for equation in network.factorizations:
        count = columns.equations[equation.name]
        pieces = {name: scipy.sparse.csr_array((equation.rows * count, np.prod(sizes[name]))) for name in sizes}
        for child, rows in zip(equation.children, equation.parts, strict=True):
            placed = scipy.sparse.eye_array(equation.rows, child.variable.size, k=-rows.start)
            pieces[child.variable.name] += at_every_time(placed, child, count, sizes)
        for term in equation.terms:
            weights = scipy.sparse.csr_array(term.parameter.value)
            pieces[term.slice.variable.name] -= at_every_time(weights, term.slice, count, sizes)
        blocks.append(list(pieces.values()))
    return scipy.sparse.block_array(blocks, format="csr"), sizes, places


def at_every_time(matrix, piece, count, sizes):
    shift = scipy.sparse.eye_array(count, sizes[piece.variable.name][1], k=piece.lag)
    return scipy.sparse.kron(shift, matrix, format="csr")


def exact_values(network, observed, costs=None):
    """One exact solution, NaN being hidden; of several, the one that costs least: {name: array} of prices."""
    system, sizes, places = linear_system(network, next(iter(observed.values())).shape[1])
    bounds = np.tile([0.0, np.inf], (system.shape[1], 1))
    for name, values in observed.items():
        flat = values.T.ravel()
        known = np.flatnonzero(~np.isnan(flat))
        bounds[places[name].start + known] = flat[known, None]
    prices = np.zeros(system.shape[1])
    for name, values in (costs or {}).items():
        prices[places[name]] = values.T.ravel()
    answer = linprog(
        prices, A_eq=system, b_eq=np.zeros(system.shape[0]), bounds=bounds, options={"time_limit": PATIENCE}
    )
    assert answer.status == 0, answer.message
    return {name: answer.x[places[name]].reshape(count, size).T for name, (size, count) in sizes.items()}


def exact_result(network, observed):
    """The same as a Result."""
    return result_of(network, exact_values(network, observed))


def result_of(network, values):
    known = {parameter.name: parameter.value for parameter in network.parameters}
    errors = {equation.name: np.zeros(0) for equation in network.factorizations}
    return pfn.Result(
        network=network,
        values={**values, **known},
        rmse=dict.fromkeys(errors, 0.0),
        squared_error=0.0,
        history=History([], errors, []),
        stop="solved exactly",
        iterations=0,
        interrupted=False,
        settings={},
    )
