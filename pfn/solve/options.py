"""The options that every method takes: checked, and made into a question."""

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from joblib import Parallel, effective_n_jobs

from pfn.engines import choose_engine, is_installed
from pfn.errors import FileError, OptionError
from pfn.files import check_place
from pfn.network import Network
from pfn.solve.checks import check_choice, check_count, check_number
from pfn.solve.data import Observations, check_observations
from pfn.solve.dtypes import as_dtype
from pfn.solve.interruption import Interruption
from pfn.solve.online import NOTHING
from pfn.solve.progress import Bar
from pfn.solve.request import INFERENCE_LIMIT, LEARNING_LIMIT, STEADY_LIMIT, Method, Request
from pfn.solve.settling import STALL
from pfn.solve.start import named_initial
from pfn.solve.weights import checked_weights

ENGINES = ("numpy", "jax", "auto")
PRECISIONS = ("full", "tf32")


def engine_of(method: Method, engine: Any) -> Any:
    """The engine asked for, or the only one that the method has."""
    check_choice(engine, "engine", ENGINES)
    engines = getattr(method, "engines", ENGINES)
    if engine in engines:
        return engine
    if engine == "auto":
        return engines[0]
    raise OptionError(f"{type(method).__name__} runs on NumPy only, found engine={engine!r}. Leave engine out.")


def _device_wishes(common: Mapping[str, Any]) -> list[str]:
    """What is asked for that only compiled propagation has."""
    wishes = {"precision='tf32'": common["precision"] == "tf32", "a mesh": common["mesh"] is not None}
    return [wish for wish, wanted in wishes.items() if wanted]


def check_method(method: Method, common: Mapping[str, Any], restarts: int) -> None:
    """Refuse what the method cannot make use of."""
    check_choice(common["precision"], "precision", PRECISIONS)
    asked = _device_wishes(common)
    if asked and method.name != "propagate":
        option = asked[0].removeprefix("a ").partition("=")[0]
        raise OptionError(
            f"{type(method).__name__} has no use for {asked[0]}, which is for pfn.Propagate. Leave {option} out."
        )
    check_count(restarts, "restarts", 1)
    if restarts > 1 and not getattr(method, "restartable", True):
        raise OptionError(f"{type(method).__name__} draws no start: restarts would find the same. Leave restarts out.")
    if restarts > 1 and (common["checkpoint"] is not None or common["resume"] is not None):
        raise OptionError(
            f"restarts={restarts} cannot be combined with checkpoint or resume. Use restarts=1, or run them one by one."
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
    common = {"precision": "full", "mesh": None, "measure": 1, "limited": True, "to_tolerance": False} | common
    _check_common(common)
    dtype = as_dtype(common["dtype"])
    observations = data if data is NOTHING else check_observations(network, data, dtype)
    paths = {name: _path(name, common[name]) for name in ("checkpoint", "resume")}
    _check_checkpoint(paths["checkpoint"])
    return Request(
        network=network,
        observations=observations,
        learned=frozenset(p.name for p in network.parameters if p.learn and learning),
        initial=named_initial(network, common["initial"], observations),
        weights=checked_weights(network, common["weights"], observations),
        dtype=dtype,
        engine=_engine(common, common["iterations"] * _dense_work(network, observations), restarts),
        restart=0,
        bar=bar,
        interruption=interruption,
        **paths,  # type: ignore[arg-type]  # the two paths that Request names
        **{name: common[name] for name in _PASSED_ON},
    )


def with_limits(method: Method, common: Mapping[str, Any], *, learning: bool) -> dict[str, Any]:
    """The options with numbers for `iterations` and `stall` where they are left to the library."""
    settles = getattr(method, "settle", True)
    limit = STEADY_LIMIT if not settles else LEARNING_LIMIT if learning else INFERENCE_LIMIT
    chosen = dict(common, limited=common["iterations"] is not None or not settles)
    if common["iterations"] is None:
        chosen["iterations"] = limit
    chosen["to_tolerance"] = isinstance(common["stall"], str) and common["tolerance"] is not None
    if isinstance(common["stall"], str):
        check_choice(common["stall"], "stall", ("auto",))
        chosen["stall"] = STALL if settles else None
    return chosen


_PASSED_ON = (
    "iterations",
    "limited",
    "tolerance",
    "stall",
    "to_tolerance",
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
    jobs = min(restarts, effective_n_jobs(Parallel().n_jobs))  # as many as restarts would be given
    if common["mesh"] is not None and jobs > 1:
        raise OptionError(
            f"restarts={restarts} side by side cannot share a mesh, found joblib with {jobs} jobs. "
            "Give joblib n_jobs=1, or leave mesh out."
        )
    return "jax" if asked else choose_engine(common["engine"], multiplications, alone=jobs == 1)


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
    if path is None:
        return
    if not Path(path).parent.is_dir() or Path(path).is_dir():
        raise FileError(f"{path}: cannot be written. checkpoint must name a file in a folder that exists.")
    check_place(Path(path))
