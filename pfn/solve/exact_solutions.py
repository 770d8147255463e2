"""`solutions`: several answers to one question, where there are several."""

from collections.abc import Mapping
from typing import Any

from pfn.exact import Deadline, distinct, solve
from pfn.network import Network
from pfn.solve import exact_run
from pfn.solve.ask import make_result
from pfn.solve.checks import check_count
from pfn.solve.data import check_is_network
from pfn.solve.exact import Exact
from pfn.solve.interruption import Interruption
from pfn.solve.options import make_request
from pfn.solve.progress import Bar
from pfn.solve.request import Request
from pfn.solve.result import Result


def solutions(
    network: Network,
    data: Mapping[Any, Any],
    n: int,
    *,
    seed: int = 0,
    initial: Mapping[Any, Any] | None = None,
    dtype: Any = "float64",
    time_limit: float | None = None,
) -> list[Result]:
    """Up to n exact solutions that differ, each a sparse one: a realization, not a superposition of several.

    The first is that of `infer(network, data, method="exact", seed=seed)`; there is at least one, or
    NoExactSolution is raised. `initial` gives parameters that the network leaves unknown.

    >>> import numpy as np, pfn
    >>> from pfn import t
    >>> x, h = pfn.Variable("x", 3), pfn.Variable("h", 3)
    >>> moves = [[1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 1]]  # 0 → 1, 0 → 2, 1 → 2
    >>> network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", moves) @ h[t]))
    >>> X = np.full((3, 2), np.nan)
    >>> X[:, 0] = [1, 0, 0]
    >>> sorted(result[x][:, 1].tolist() for result in solutions(network, {x: X}, 5))
    [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    check_is_network(network)
    check_count(n, "solutions: n", 1)
    method = Exact(time_limit=time_limit)
    with Interruption() as interruption:
        common = _no_sweeps() | {"seed": seed, "initial": initial, "dtype": dtype}
        request = make_request(network, data, common, learning=False, bar=Bar(), interruption=interruption)
        exact_run.refuse_options(request)
        return _several(request, method, n)


def _several(request: Request, method: Exact, n: int) -> list[Result]:
    """The k-th answer has the k-th solution of every sequence, or its last."""
    deadline = Deadline(method.time_limit, request.interruption)
    parameters = exact_run.parameters_of(request)
    sequences = list(exact_run.make_sequences(request, parameters))
    parts = []
    for number, sequence in enumerate(sequences):
        with exact_run.naming(request, number):
            asked = exact_run.asked_of(sequence, method, request, deadline)
            solved = solve(sequence.system, asked)
            found = distinct(solved, asked, n)
            parts.append([exact_run.part_of(sequence, solved, values, asked.exact) for values in found])
    chosen = [[part[min(k, len(part) - 1)] for part in parts] for k in range(max(map(len, parts)))]
    answers = [exact_run.make_answer(request, parameters, sequences, each) for each in chosen]
    return [make_result(request, method, answer, 1) for answer in answers]


def _no_sweeps() -> dict[str, Any]:
    """The options of sweeps, which have no meaning here."""
    unused = ("tolerance", "stall", "weights", "callback", "checkpoint", "resume")
    return dict.fromkeys(unused) | {"iterations": 1, "checkpoint_every": 1, "engine": "numpy"}
