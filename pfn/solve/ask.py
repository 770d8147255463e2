"""`infer` and `learn`: questions to a network."""

import warnings
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs

from pfn.engines import STALL_SWEEPS, choose_engine, is_installed
from pfn.errors import FileError, OptionError
from pfn.network import Network
from pfn.solve.batches import Batches
from pfn.solve.data import Observations, check_is_network, check_observations
from pfn.solve.dtypes import as_dtype
from pfn.solve.interruption import Interruption
from pfn.solve.methods import as_method
from pfn.solve.online import NOTHING, learn_in_batches
from pfn.solve.online_options import check_batches
from pfn.solve.progress import Bar, make_bar
from pfn.solve.ramps import check_count, check_number
from pfn.solve.request import ITERATIONS, Answer, Callback, Method, Request
from pfn.solve.result import Result, Unique
from pfn.solve.start import named_initial
from pfn.solve.weights import checked_weights

ENGINES = ("numpy", "jax", "auto")
PRECISIONS = ("full", "tf32")


def infer(
    network: Network,
    data: Mapping[Any, Any],
    *,
    method: Any = "propagate",
    iterations: int = ITERATIONS,
    tolerance: float | None = None,
    stall: float | None = None,
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
    lists of such arrays, one per sequence; variables that are not in it are hidden.

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
    iterations: int = ITERATIONS,
    tolerance: float | None = None,
    stall: float | None = None,
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
    common["engine"] = _engine_of(chosen, common["engine"])
    _check_method(chosen, common)
    check_count(restarts, "restarts", 1)
    if restarts > 1 and not getattr(chosen, "restartable", True):
        raise OptionError(f"{type(chosen).__name__} is one solve: restarts would find the same. Leave restarts out.")
    if restarts > 1 and (common["checkpoint"] is not None or common["resume"] is not None):
        raise OptionError(
            f"restarts={restarts} cannot be combined with checkpoint or resume. Use restarts=1, or run them one by one."
        )
    bar = make_bar(progress)
    if batches is not None or partial is not None or (learning and not isinstance(data, Mapping)):
        check_batches(network, chosen, batches, partial, common | {"restarts": restarts})
        with Interruption() as interruption, bar:
            request = make_request(network, NOTHING, common, learning=True, bar=bar, interruption=interruption)
            answer = learn_in_batches(request, chosen, data, batches or Batches(), partial)
        return make_result(request, chosen, answer, restarts)
    with Interruption() as interruption, bar:
        request = make_request(
            network, data, common, learning=learning, bar=bar, interruption=interruption, restarts=restarts
        )
        answer = _best(_runs(chosen, request, restarts), interruption)
    return make_result(request, chosen, answer, restarts)


def _engine_of(method: Method, engine: Any) -> Any:
    """The engine asked for, or the only one that the method has."""
    engines = getattr(method, "engines", ENGINES)
    if engine in engines or engine not in ENGINES:
        return engine
    if engine == "auto":
        return engines[0]
    raise OptionError(f"{type(method).__name__} runs on NumPy only, found engine={engine!r}. Leave engine out.")


def _device_wishes(common: Mapping[str, Any]) -> list[str]:
    """What is asked for that only compiled propagation has."""
    wishes = {"precision='tf32'": common["precision"] == "tf32", "a mesh": common["mesh"] is not None}
    return [wish for wish, wanted in wishes.items() if wanted]


def _check_method(method: Method, common: Mapping[str, Any]) -> None:
    asked = _device_wishes(common)
    if asked and method.name != "propagate":
        option = asked[0].removeprefix("a ").partition("=")[0]
        raise OptionError(
            f"{type(method).__name__} has no use for {asked[0]}, which is for pfn.Propagate. Leave {option} out."
        )


def make_request(
    network: Network,
    data: Any,
    common: dict[str, Any],
    *,
    learning: bool,
    bar: Bar,
    interruption: Interruption,
    restarts: int = 1,
) -> Request:
    """The question, checked; `common` has all options but the method, restarts and progress."""
    common = {"precision": "full", "mesh": None, "measure": 1} | common
    _check_common(common)
    dtype = as_dtype(common["dtype"])
    observations = data if data is NOTHING else check_observations(network, data, dtype)
    paths = {name: _path(name, common[name]) for name in ("checkpoint", "resume")}
    _check_checkpoint(paths["checkpoint"])
    return Request(
        network=network,
        observations=observations,
        learned=frozenset(p.name for p in network.parameters if p.learn and learning),
        initial=named_initial(network, common["initial"]),
        weights=checked_weights(network, common["weights"], observations),
        dtype=dtype,
        engine=_engine(common, common["iterations"] * _dense_work(network, observations), restarts),
        restart=0,
        bar=bar,
        interruption=interruption,
        **paths,  # type: ignore[arg-type]  # the two paths that Request names
        **{name: common[name] for name in _PASSED_ON},
    )


_PASSED_ON = (
    "iterations",
    "tolerance",
    "stall",
    "measure",
    "seed",
    "callback",
    "checkpoint_every",
    "precision",
    "mesh",
)


def _check_common(common: Mapping[str, Any]) -> None:
    for option in ("iterations", "checkpoint_every", "measure"):
        check_count(common[option], option, 1)
    check_count(common["seed"], "seed", 0)
    for option in ("tolerance", "stall"):
        if common[option] is not None:
            check_number(common[option], option, 0.0, None)
    if common["stall"] is not None and STALL_SWEEPS % common["measure"]:
        raise OptionError(
            f"measure={common['measure']} does not divide {STALL_SWEEPS}, and stall compares errors that many sweeps "
            f"apart. Choose 1, 2, 5, 10, 25 or 50, or leave one of them out."
        )
    if common["engine"] not in ENGINES:
        raise OptionError(f"engine must be one of {', '.join(map(repr, ENGINES))}, found {common['engine']!r}.")
    if common["precision"] not in PRECISIONS:
        raise OptionError(
            f"precision must be one of {', '.join(map(repr, PRECISIONS))}, found {common['precision']!r}."
        )
    if common["precision"] == "tf32" and as_dtype(common["dtype"]).name != "float32":
        raise OptionError(f"precision='tf32' needs dtype='float32', found {as_dtype(common['dtype'])}.")
    _check_installed(common["engine"])
    if common["callback"] is not None and not callable(common["callback"]):
        raise OptionError(
            f"callback must be a function (iteration, values) -> whether to stop, found {common['callback']!r}."
        )


def _check_installed(engine: str) -> None:
    if not is_installed(engine):
        raise OptionError(
            "engine='jax' needs jax, which is not installed. Run: pip install 'positive-factor-networks[jax]'"
        )


def _engine(common: Mapping[str, Any], multiplications: float, restarts: int) -> str:
    """The engine meant; what only JAX can do means JAX."""
    asked = _device_wishes(common)
    if asked and common["engine"] == "numpy":
        raise OptionError(f"{asked[0]} needs engine='jax', found engine='numpy'.")
    if asked:
        _check_installed("jax")
    alone = restarts == 1 or effective_n_jobs() == 1
    return "jax" if asked else choose_engine(common["engine"], multiplications, alone=alone)


def _dense_work(network: Network, observations: Observations) -> float:
    """About how many multiplications a learning sweep takes, five products an equation; none if data are sparse."""
    if any(sp.issparse(array) for arrays in observations.arrays.values() for array in arrays):
        return 0.0
    products = sum(e.rows * sum(parent.variable.size for parent in e.parents) for e in network.factorizations)
    return 5.0 * products * sum(observations.lengths)


def _path(name: str, path: Any) -> str | None:
    if path is None or isinstance(path, str):
        return path
    if not isinstance(path, PathLike):
        raise OptionError(f"{name} must be a path, as text or pathlib.Path, found {path!r}.")
    return str(fspath(path))


def _check_checkpoint(path: str | None) -> None:
    """A path that cannot be written to is better found before the first sweep than at the first checkpoint."""
    if path is not None and (not Path(path).parent.is_dir() or Path(path).is_dir()):
        raise FileError(f"{path}: cannot be written. checkpoint must name a file in a folder that exists.")


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
    best: Answer | None = None
    for answer in answers:
        if best is None or answer.squared_error < best.squared_error:
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


def make_result(request: Request, method: Method, answer: Answer, restarts: int) -> Result:
    """What the user gets."""
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
