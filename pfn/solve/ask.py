"""`infer` and `learn`: questions to a network."""

import warnings
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from math import inf, isnan, nan
from os import PathLike
from typing import Any, Literal

from joblib import Parallel, delayed

from pfn.errors import NotSettledWarning, warn_user
from pfn.network import Network
from pfn.solve.batches import Batches
from pfn.solve.data import check_is_network, check_scale
from pfn.solve.interruption import Interruption
from pfn.solve.methods import as_method
from pfn.solve.online import NOTHING, learn_in_batches
from pfn.solve.online_options import check_batches
from pfn.solve.options import check_method, engine_of, make_request, with_limits
from pfn.solve.progress import Bar, make_bar
from pfn.solve.request import Answer, Callback, Method, Request
from pfn.solve.result import Result, Unique
from pfn.solve.runaways import Runaways
from pfn.solve.scales import with_scales
from pfn.solve.settling import nearly_fitted
from pfn.solve.substitute import Substitute


def infer(
    network: Network,
    data: Mapping[Any, Any],
    *,
    method: Any = "propagate",
    iterations: int | None = None,
    tolerance: float | None = None,
    stall: float | Literal["auto"] | None = "auto",
    measure: int = 1,
    seed: int = 0,
    initial: Mapping[Any, Any] | None = None,
    restarts: int = 1,
    weights: Mapping[Any, Any] | None = None,
    engine: str = "auto",
    dtype: Any = "float64",
    precision: str = "full",
    mesh: Any = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int = 100,
    resume: str | PathLike[str] | None = None,
) -> Result:
    """Find the hidden values; parameters stay as they are.

    `data` maps variables (or their names) to arrays (size, columns) in which NaN marks hidden entries, or to
    lists of such arrays, one per sequence; variables that are not in it are hidden. `method` is a name or an object
    with its options, such as `pfn.Propagate(…)`; docs/methods.md lists those of all methods, each with its default.
    A run ends by itself when nothing moves any more (`stall`). Without `iterations`, a `pfn.NotSettledWarning` comes
    with a result that may be far from right.

    >>> import numpy as np
    >>> import pfn
    >>> from pfn import t
    >>> x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
    >>> W = pfn.Parameter("W", [[1, 0], [0, 1], [0, 1], [1, 0]])  # the two states take turns
    >>> network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], W @ h[t]))
    >>> X = np.full((2, 5), np.nan)
    >>> X[:, 0] = [3, 1]
    >>> print(infer(network, {x: X})[x].round(3))
    [[3. 1. 3. 1. 3.]
     [1. 3. 1. 3. 1.]]
    """
    return _ask(**locals(), learning=False)  # the arguments, under their own names


def learn(
    network: Network,
    data: Mapping[Any, Any] | Iterable[Any] | str | PathLike[str],
    *,
    method: Any = "propagate",
    iterations: int | None = None,
    tolerance: float | None = None,
    stall: float | Literal["auto"] | None = "auto",
    measure: int = 1,
    seed: int = 0,
    initial: Mapping[Any, Any] | None = None,
    restarts: int = 1,
    weights: Mapping[Any, Any] | None = None,
    engine: str = "auto",
    dtype: Any = "float64",
    precision: str = "full",
    mesh: Any = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int = 100,
    resume: str | PathLike[str] | None = None,
    batches: Batches | None = None,
    partial: Result | None = None,
) -> Result:
    """Find the hidden values and the unknown parameters; data and options are those of `infer`.

    In the end, learned columns whose scale nothing fixes are made to sum to 1, and the values of their components are
    scaled to match, so that all equations stay what they were.

    Data that do not fit in memory are learned from batch by batch, as `batches` says (`pfn.Batches(…)`): then `data`
    may also be an iterable of sequences (mappings from variable to array), or a folder with one file a sequence.
    `partial`, an earlier result of learning by batches, goes on from there.

    >>> import numpy as np
    >>> import pfn
    >>> from pfn import t
    >>> x, h = pfn.Variable("x", 3), pfn.Variable("h", 2)
    >>> network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(3, 2)) @ h[t]))
    >>> X = np.outer([1, 2, 0], [1, 0, 1, 2]) + np.outer([0, 1, 3], [2, 1, 0, 0])
    >>> result = learn(network, {x: X})
    >>> bool(np.allclose(result["W"] @ result["h"], X, atol=1e-3))
    True
    """
    return _ask(**locals(), learning=True)


def _ask(
    *,
    network: Network,
    data: Any,
    method: Any,
    restarts: int,
    progress: Any,
    learning: bool,
    batches: Batches | None = None,
    partial: Result | None = None,
    **common: Any,
) -> Result:
    check_is_network(network)
    chosen = as_method(method)
    chosen.check(network)
    common["engine"] = engine_of(chosen, common["engine"])
    check_method(chosen, common, restarts)
    bar = make_bar(progress)
    if batches is not None or partial is not None or (learning and not isinstance(data, Mapping)):
        check_batches(network, chosen, batches, partial, common | {"restarts": restarts})
        common |= {"iterations": batches.first if batches else Batches().first, "stall": None}
        with Interruption() as interruption, bar:
            request = make_request(network, NOTHING, common, learning=True, bar=bar, interruption=interruption)
            answer = learn_in_batches(request, chosen, data, batches or Batches(), partial)
        return make_result(request, chosen, with_scales(request, chosen, answer), restarts)
    common = with_limits(chosen, common, learning=learning)
    with Interruption() as interruption, bar:
        request = make_request(
            network, data, common, learning=learning, bar=bar, interruption=interruption, restarts=restarts
        )
        check_scale(request.observations, getattr(chosen, "epsilon", 0.0))
        answer = _best(_runs(chosen, request, restarts), interruption)
        answer = replace(answer, doubt=answer.doubt or second_opinion(request, chosen, answer))
    if learning:
        answer = with_scales(request, chosen, answer)
    return make_result(request, chosen, answer, restarts)


# Sweeps of a second opinion, as a share of those of the first ...
SECOND_SHARE = 0.1
# ... and at least.
SECOND_LEAST = 20

# The first run was stuck if the second opinion lowers the divergence to less than this share.
STUCK = 0.1


def second_opinion(request: Request, method: Method, answer: Answer) -> str | None:
    """The doubt about an inference over several levels that settled close to a fit, if substitution gets on from there.

    Sweeps over several levels have points at which they stay although the data can be fitted exactly. Substitution,
    which descends, leaves such points in a few sweeps; where the data have noise it gains only a little.
    """
    network = request.network
    levels = {network.level_of(equation) for equation in network.factorizations}
    nearly = method.name == "propagate" and len(levels) > 1 and not request.learned and nearly_fitted(answer.share)
    if not nearly or request.limited or Substitute.name not in network.methods:
        return None
    hidden = [v.name for v in network.variables if request.observations.hides(v.name)]
    start = dict(request.initial) | {name: answer.values[name] for name in hidden}
    sweeps = max(SECOND_LEAST, int(SECOND_SHARE * answer.iterations))
    alone = {"bar": Bar(), "callback": None, "checkpoint": None, "resume": None}  # nobody sees these sweeps
    question = replace(request, initial=start, iterations=sweeps, stall=None, **alone)  # type: ignore[arg-type]
    other = Substitute(divergence=method.divergence, start="random").run(question)  # type: ignore[attr-defined]  # of Propagate
    if not float(other.history.divergence[-1]) < STUCK * float(answer.history.divergence[-1]):
        return None
    return f"the sweeps settled where {sweeps} sweeps of substitution lower the divergence to less than a tenth"


def _runs(method: Method, request: Request, restarts: int) -> Generator[Answer, None, None]:
    """The runs, one after the other, or as the user's joblib configuration says."""
    if restarts == 1:
        yield method.run(request)
        return
    try:
        parallel = Parallel(return_as="generator")
    except ValueError:  # backends such as Ray's give all runs at the end only
        parallel = Parallel()
    yield from parallel(delayed(method.run)(request.again(number)) for number in range(restarts))


def _best(answers: Generator[Answer, None, None], interruption: Interruption) -> Answer:
    """The answer with the least objective, the first of equal ones."""
    best: Answer | None = None
    for answer in answers:
        if best is None or _objective(answer) < _objective(best):
            best = answer
        if interruption.requested:
            break
    assert best is not None  # there is at least one run
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # joblib warns that it gives up the runs that are not done
        answers.close()
    if interruption.requested and not best.interrupted:
        best = replace(best, interrupted=True, stop=f"interrupted by the user; in the best run, {best.stop}")
    return best


def _objective(answer: Answer) -> tuple[float, float]:
    """The divergence at the end, then the squared error, for methods that report no divergence; NaN is the worst."""
    divergence = answer.history.divergence[-1] if len(answer.history) else nan
    known = [inf if isnan(value) else float(value) for value in (divergence, answer.squared_error)]
    return known[0], known[1]


def make_result(request: Request, method: Method, answer: Answer, restarts: int) -> Result:
    """The result for the user, with warnings of values that ran away or may be far from right."""
    runaways = answer.runaways or Runaways()
    if answer.iterations and answer.runaways is None:
        runaways.look_at(request.observations, answer.values)
    told = runaways.warn()  # more sweeps would make these worse
    if answer.doubt and not told:
        advice = []
        if request.learned and any(map(request.observations.hides, request.observations.arrays)):
            advice.append("fewer components")  # with too many, hidden entries get worse with every sweep
        if answer.iterations == request.iterations:  # a run that settled would settle there again
            advice.append(f"more sweeps (iterations={4 * answer.iterations})")
        usable = ("propagate", "substitute") if request.learned else ("propagate", "substitute", "exact")
        others = [repr(name) for name in usable if name in request.network.methods and name != method.name]
        advice.append(f"another method ({', '.join(others)})")
        warn_user(
            NotSettledWarning(
                f"{answer.doubt}. Values may be far from right. Try {' or '.join(advice)}. "
                "Give iterations to silence this."
            )
        )
    return Result(
        network=request.network,
        values=answer.values,
        rmse=answer.rmse,
        squared_error=answer.squared_error,
        history=answer.history,
        stop=answer.stop,
        iterations=answer.iterations,
        interrupted=answer.interrupted,
        settings={
            "method": repr(method),
            "seed": str(request.seed),
            "restarts": str(restarts),
            "dtype": request.dtype.name,
            "engine": request.engine,
        },
        memory=answer.memory,
        unique=None if answer.unique is None else Unique(request.network, answer.unique),
    )
