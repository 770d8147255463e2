"""Options that are refused, and in which words."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import DataError, OptionError, PfnError
from tests.network.refusal import refused
from tests.solve.cases import MACHINE, numbers, parts_based, states

X = states(1, 0, 0, 0, 0, 0)
METHOD = (
    "method must be 'propagate', 'exact', 'substitute', 'consensus', or a pfn.Propagate(…), pfn.Exact(…), "
    "pfn.Substitute(…) or pfn.Consensus(), found"
)


@pytest.mark.parametrize("ask", [pfn.infer, pfn.learn])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations must be a whole number >= 1, found 0."),
        ({"iterations": 2.5}, "iterations must be a whole number >= 1, found 2.5."),
        ({"iterations": "ten"}, "iterations must be a whole number >= 1, found 'ten'."),
        ({"iterations": True}, "iterations must be a whole number >= 1, found True."),
        ({"stall": "soon"}, "stall must be one of 'auto', found 'soon'."),
        ({"tolerance": -1}, "tolerance must be a number >= 0, found -1."),
        ({"tolerance": "low"}, "tolerance must be a number >= 0, found 'low'."),
        ({"tolerance": float("nan")}, "tolerance must be a number >= 0, found nan."),
        ({"stall": -0.5}, "stall must be a number >= 0, found -0.5."),
        ({"stall": float("inf")}, "stall must be a number >= 0, found inf."),
        ({"seed": -1}, "seed must be a whole number >= 0, found -1."),
        ({"seed": 0.5}, "seed must be a whole number >= 0, found 0.5."),
        ({"seed": None}, "seed must be a whole number >= 0, found None."),
        ({"restarts": 0}, "restarts must be a whole number >= 1, found 0."),
        ({"restarts": 1.5}, "restarts must be a whole number >= 1, found 1.5."),
        ({"engine": "cuda"}, "engine must be one of 'numpy', 'jax', 'auto', found 'cuda'."),
        ({"engine": None}, "engine must be one of 'numpy', 'jax', 'auto', found None."),
        ({"engine": np.ones(2)}, "engine must be one of 'numpy', 'jax', 'auto', found array([1., 1.])."),
        ({"iterations": np.array([3, 4])}, "iterations must be a whole number >= 1, found array([3, 4])."),
        ({"measure": 0}, "measure must be a whole number >= 1, found 0."),
        ({"measure": 2.5}, "measure must be a whole number >= 1, found 2.5."),
        ({"measure": True}, "measure must be a whole number >= 1, found True."),
        ({"precision": "half"}, "precision must be one of 'full', 'tf32', found 'half'."),
        ({"precision": np.ones(2)}, "precision must be one of 'full', 'tf32', found array([1., 1.])."),
        ({"dtype": "float16"}, "dtype must be one of 'float64', 'float32', found 'float16'."),
        ({"dtype": int}, "dtype must be one of 'float64', 'float32', found <class 'int'>."),
        ({"dtype": "double precision"}, "dtype must be one of 'float64', 'float32', found 'double precision'."),
        ({"progress": "yes"}, "progress must be True, False or None, found 'yes'."),
        ({"callback": 3}, "callback must be a function (iteration, values) -> whether to stop, found 3."),
        ({"checkpoint_every": 0}, "checkpoint_every must be a whole number >= 1, found 0."),
        ({"method": "newton"}, f"{METHOD} 'newton'."),
        ({"method": pfn.Propagate}, f"{METHOD} {pfn.Propagate!r}."),
        ({"method": None}, f"{METHOD} None."),
        (
            {"initial": [1]},
            "initial must be a mapping such as {h: array}, found list. To start from a result: {W: result[W]} for what "
            "is wanted of it.",
        ),
        ({"weights": np.ones(5)}, "weights must be a mapping such as {'eq1': numbers}, found ndarray."),
        ({"weights": {"x": np.ones(5)}}, "weights belong to factorizations, but x is not one."),
        (
            {"restarts": 2, "checkpoint": "file"},
            "restarts=2 cannot be combined with checkpoint or resume. Use restarts=1, or run them one by one.",
        ),
        (
            {"restarts": 2, "resume": "file"},
            "restarts=2 cannot be combined with checkpoint or resume. Use restarts=1, or run them one by one.",
        ),
    ],
)
def test_common_options(ask: Any, options: dict[str, Any], message: str) -> None:
    with refused(message, OptionError):
        ask(MACHINE, {"x": X}, **options)


@pytest.mark.parametrize("option", ["checkpoint", "resume"])
@pytest.mark.parametrize("path", [5, b"file", ["file"]])
def test_a_path_is_text_or_a_path(option: str, path: Any) -> None:
    with pytest.raises(OptionError, match=f"^{option} must be "):
        pfn.infer(MACHINE, {"x": X}, **{option: path})


@pytest.mark.parametrize("options", [{"sparseness": 0.1}, {"epsilon": 1e-5}, {"iteration": 5}])
def test_unknown_option(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(options))):
        pfn.infer(MACHINE, {"x": X}, **options)


def test_not_a_network() -> None:
    with refused("network must be a pfn.Network, found Factorization. Wrap equations in pfn.Network(…).", OptionError):
        pfn.infer(MACHINE.factorizations[0], {"x": X})  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"averaging": "none"}, "averaging must be one of 'pooled', 'updated', 'all', found 'none'."),
        ({"acceleration": "nesterov"}, "acceleration must be one of 'momentum', None, found 'nesterov'."),
        ({"acceleration": True}, "acceleration must be one of 'momentum', None, found True."),
        ({"updates": "both"}, "updates must be one of 'alternating', 'joint', found 'both'."),
        ({"divergence": "l1"}, "divergence must be one of 'kl', 'euclidean', found 'l1'."),
        ({"averaging": np.ones(2)}, "averaging must be one of 'pooled', 'updated', 'all', found array([1., 1.])."),
        ({"start": "zeros"}, "start must be one of 'data', 'levels', 'random', found 'zeros'."),
        ({"epsilon": -1e-9}, "epsilon must be a number >= 0, found -1e-09."),
        ({"epsilon": 0}, "epsilon must be greater than 0, found 0. The default is small enough."),
        ({"epsilon": "small"}, "epsilon must be a number >= 0, found 'small'."),
        ({"initial_scale": 0.0}, "initial_scale must be greater than 0, found 0. Without it the data say the scale."),
        ({"initial_scale": float("inf")}, "initial_scale must be a number >= 0, found inf."),
        ({"sparseness": -0.1}, "sparseness must be a number from 0 to 1, found -0.1."),
        ({"sparseness": 1.5}, "sparseness must be a number from 0 to 1, found 1.5."),
        ({"sparseness": None}, "sparseness must be a number from 0 to 1, found None."),
        ({"sparseness": {"eq1": 2}}, "sparseness must be a number from 0 to 1, found 2."),
        (
            {"sparseness": pfn.ramp(0, 2, start=0, stop=9)},
            "sparseness must be a number from 0 to 1, found 2.",
        ),
        ({"release": ["x"]}, "release must be a mapping from object to sweeps, found ['x']."),
        ({"release": {"x": -1}}, "release of x must be a whole number >= 0, found -1."),
        ({"release": {"x": 1.5}}, "release of x must be a whole number >= 0, found 1.5."),
        ({"learn_every": 3}, "learn_every must be a mapping from object to sweeps, found 3."),
        ({"learn_every": {"W": 0}}, "learn_every of W must be a whole number >= 1, found 0."),
    ],
)
def test_options_of_propagate(options: dict[str, Any], message: str) -> None:
    with refused(f"Propagate: {message}", OptionError):
        pfn.Propagate(**options)


def test_unknown_option_of_propagate() -> None:
    with pytest.raises(TypeError, match="noise"):
        pfn.Propagate(noise={"x": "l1"})  # type: ignore[call-arg]  # an option of another method


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (pfn.Propagate(release={"y": 1}), "Propagate: release: the network has nothing called y. It has x, h, W, eq1."),
        (pfn.Propagate(release={"W": 1}), "Propagate: release takes variables, found W."),
        (
            pfn.Propagate(learn_every={"V": 1}),
            "Propagate: learn_every: the network has nothing called V. It has x, h, W, eq1.",
        ),
        (pfn.Propagate(learn_every={"x": 2}), "Propagate: learn_every takes learned parameters, found x."),
        (pfn.Propagate(learn_every={"W": 2}), "Propagate: learn_every takes learned parameters, found W."),
        (
            pfn.Propagate(sparseness={"eq2": 0.1}),
            "Propagate: sparseness: the network has nothing called eq2. Did you mean eq1?",
        ),
        (pfn.Propagate(sparseness={"x": 0.1}), "Propagate: sparseness takes factorizations, found x."),
    ],
)
def test_names_in_options_of_propagate(method: pfn.Propagate, message: str) -> None:
    with refused(message, PfnError):
        pfn.infer(MACHINE, {"x": X}, method=method)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 1, 0, 9), "ramp: first must be a number >= 0, found -1."),
        ((0, "high", 0, 9), "ramp: last must be a number >= 0, found 'high'."),
        ((0, float("nan"), 0, 9), "ramp: last must be a number >= 0, found nan."),
        ((0, 1, -1, 9), "ramp: start must be a whole number >= 0, found -1."),
        ((0, 1, 0, 9.5), "ramp: stop must be a whole number >= 0, found 9.5."),
        ((0, 1, 9, 5), "ramp: stop must not come before start=9, found 5."),
    ],
)
def test_ramps(arguments: tuple[Any, Any, Any, Any], message: str) -> None:
    first, last, start, stop = arguments
    with refused(message, OptionError):
        pfn.ramp(first, last, start=start, stop=stop)


WEIGHTS = "weights of eq1: expected"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(6), f"{WEIGHTS} 5 numbers, one per column of the equation, found the shape (6,)."),
        (np.ones((1, 5)), f"{WEIGHTS} 5 numbers, one per column of the equation, found the shape (1, 5)."),
        (2.0, f"{WEIGHTS} 5 numbers, one per column of the equation, found the shape ()."),
        (np.array([1, 1, -1, 1, 1.0]), f"{WEIGHTS} finite numbers >= 0, found -1.0 at column 2."),
        (np.array([1, 1, 1, np.nan, 1.0]), f"{WEIGHTS} finite numbers >= 0, found nan at column 3."),
        (np.array([1, np.inf, 1, 1, 1.0]), f"{WEIGHTS} finite numbers >= 0, found inf at column 1."),
        (np.full(5, "a"), f"{WEIGHTS} real numbers, found <U1 entries. Convert them to floats; NaN = hidden."),
        ([1, 1, 1, 1, 1], "weights of eq1 must be an array, like the data; found list."),
    ],
)
def test_weights(weights: Any, message: str) -> None:
    with refused(message, DataError):
        pfn.infer(MACHINE, {"x": X}, weights={"eq1": weights})


def test_weights_of_something_unknown() -> None:
    with refused("weights: the network has nothing called eq2. Did you mean eq1?", OptionError):
        pfn.infer(MACHINE, {"x": X}, weights={"eq2": np.ones(5)})


def test_weights_beside_lists() -> None:
    message = "weights of eq1 must be a list with one array per sequence, like the data; found ndarray."
    with refused(message, DataError):
        pfn.infer(MACHINE, {"x": [X, X]}, weights={"eq1": np.ones(5)})
    with refused("weights of eq1 must have 2 sequences, like the data; found 1.", DataError):
        pfn.infer(MACHINE, {"x": [X, X]}, weights={"eq1": [np.ones(5)]})


ENTRIES = "entries must be finite and non-negative, or NaN where hidden; found"


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("h", np.ones((4, 6)), "h: expected the shape (4, 5), found (4, 6)."),
        ("h", np.ones((5, 4)), "h: expected the shape (4, 5), found (5, 4)."),
        ("h", np.ones(4), "h: expected the shape (4, 5), found (4,)."),
        ("h", np.ones((4, 5, 1)), "h: expected the shape (4, 5), found (4, 5, 1)."),
        ("x", np.ones((4, 5)), "x: expected the shape (4, 6), found (4, 5)."),
        (
            "h",
            np.full((4, 5), "a"),
            "h: expected real numbers, found <U1 entries. Convert them to floats; NaN = hidden.",
        ),
        (
            "h",
            -np.ones((4, 5)),
            f"h: {ENTRIES} -1.0 at component 0, column 0 (20 such entries). Replace them, for example by NaN.",
        ),
        (
            "h",
            np.where(np.eye(4, 5, 2), np.inf, 1),
            f"h: {ENTRIES} inf at component 0, column 2 (3 such entries). Replace them, for example by NaN.",
        ),
        ("h", [np.ones((4, 5))], "h must be an array, like the data; found list."),
        ("eq1", 1.0, "eq1 is an equation; give starting values for variables or parameters."),
        (
            "W",
            np.ones((8, 4)),
            "parameter W is known, so it has no starting value. Declare it with learn=True to start from a value.",
        ),
    ],
)
def test_initial(name: str, values: Any, message: str) -> None:
    with refused(f"initial: {message}", DataError):
        pfn.infer(MACHINE, {"x": X}, initial={name: values})


def test_initial_is_checked_for_observed_variables_too() -> None:
    with pytest.raises(DataError, match=r"^initial: x"):
        pfn.infer(MACHINE, {"x": numbers(4, 6)}, initial={"x": np.ones((9, 9))})


def test_initial_given_twice() -> None:
    start = np.ones((4, 5))
    with pytest.raises(PfnError, match="h twice"):
        pfn.infer(MACHINE, {"x": X}, initial={"h": start, MACHINE.variable("h"): start})


def test_initial_beside_lists() -> None:
    with refused("initial: h must be a list with one array per sequence, like the data; found ndarray.", DataError):
        pfn.infer(MACHINE, {"x": [X, X]}, initial={"h": np.ones((4, 5))})
    with refused("initial: h must have 2 sequences, like the data; found 3.", DataError):
        pfn.infer(MACHINE, {"x": [X, X]}, initial={"h": [np.ones((4, 5))] * 3})


def test_initial_of_something_unknown() -> None:
    with refused("initial: the network has nothing called g. It has x, h, W, eq1.", OptionError):
        pfn.infer(MACHINE, {"x": X}, initial={"g": 1})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((2, 4)), "W: expected the shape (4, 2), found (2, 4)."),
        (scipy.sparse.csr_array(np.ones((2, 4))), "W: expected the shape (4, 2), found (2, 4)."),
        (scipy.sparse.csr_array(-np.ones((4, 2))), "W: stored entries must be finite and non-negative."),
    ],
)
def test_initial_of_a_parameter(values: Any, message: str) -> None:
    with refused(f"initial: {message}", DataError):
        pfn.learn(parts_based(), {"x": numbers()}, initial={"W": values})


@pytest.mark.parametrize("values", ["text", [["a", "b"]] * 4, np.full((4, 2), None)])
def test_text_for_a_sparse_parameter(values: Any) -> None:
    network = parts_based(value=scipy.sparse.csr_array(np.ones((4, 2))), learn=True)
    with pytest.raises(DataError, match=r"^initial: W: expected real numbers"):
        pfn.learn(network, {"x": numbers()}, initial={"W": values})


def test_inference_with_an_unknown_parameter() -> None:
    message = (
        "parameter W is unknown, and inference leaves parameters as they are. Use pfn.learn, or give its value: "
        "initial={'W': matrix}."
    )
    with refused(message, DataError):
        pfn.infer(parts_based(), {"x": numbers()})


def test_jax_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pfn.engines.run.find_spec", lambda _name: None)
    message = "engine='jax' needs jax, which is not installed. Run: pip install 'positive-factor-networks[jax]'"
    with refused(message, OptionError):
        pfn.infer(MACHINE, {"x": X}, engine="jax")
    assert pfn.infer(MACHINE, {"x": X}, engine="auto", iterations=1).settings["engine"] == "numpy"


def test_a_cycle_through_time() -> None:
    x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
    network = pfn.Network(
        pfn.Factorization(x[pfn.t], pfn.Parameter("A", np.eye(2)) @ h[pfn.t]),
        pfn.Factorization(h[pfn.t], pfn.Parameter("B", np.eye(2)) @ x[pfn.t - 1]),
    )
    assert network.methods == ("exact", "consensus")
    with pytest.raises(OptionError, match=r"form a cycle through time, .* The methods for this network are"):
        pfn.infer(network, {"x": np.ones((2, 4))})
