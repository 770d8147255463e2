"""Image plots: every pixel has the colour of its value, every label names its row, and nothing global changes."""

import subprocess
import sys
from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.image import imread

import pfn
from pfn import plots
from pfn.automata import StateMachine
from pfn.models import simulate_targets, tracking_network, transition_network

NAN = np.nan
MACHINE = StateMachine(["S1", "S2", "S3"], [("S1", "S2"), ("S2", "S3"), ("S3", "S1")])
NETWORK = transition_network(MACHINE)
X = MACHINE.encode(["S1", "?", "?", "?", "?"])
RESULT = pfn.infer(NETWORK, {"x": X})
x = NETWORK.variable("x")
HIDDEN = "#9db0c3"


def images(figure: Figure) -> list[Axes]:
    """The axes with a matrix in them, in the order in which they were made."""
    return [ax for ax in figure.axes if ax.get_images() and ax.get_label() != "<colorbar>"]


def shown(ax: Axes) -> np.ndarray:
    return np.ma.filled(ax.get_images()[0].get_array(), NAN)


def drawn(figure: Any) -> np.ndarray:
    """The rendered picture, row 0 at the bottom as in matplotlib's own coordinates."""
    return imread(BytesIO(figure.png(dpi=figure.dpi)))[::-1]


def colour_of(ax: Axes, picture: np.ndarray, column: float, row: float) -> np.ndarray:
    across, down = ax.transData.transform((column, row))
    return picture[int(down), int(across)]


def labels(axis: Any) -> list[str]:
    axis.figure.draw_without_rendering()
    return [label.get_text() for label in axis.get_majorticklabels()]


def test_every_entry_has_the_colour_of_its_value() -> None:
    values = np.array([[0.0, 1.0, NAN], [2.0, 0.5, 4.0]])
    figure = plots.image(values)
    picture, ax = drawn(figure), images(figure)[0]
    for row, column in np.ndindex(values.shape):
        value = values[row, column]
        expected = to_rgba(HIDDEN) if np.isnan(value) else mpl.colormaps["hot"](value / 4)
        np.testing.assert_allclose(colour_of(ax, picture, column + 1, row + 1), expected, atol=0.01)


def test_power_and_largest() -> None:
    figure = plots.image([[1.0, 4.0]], power=0.5, largest=16.0, colormap="gray")
    picture, ax = drawn(figure), images(figure)[0]
    greys = [colour_of(ax, picture, column, 1)[0] for column in (1, 2)]
    np.testing.assert_allclose(greys, [0.25, 0.5], atol=0.01)


def test_labels_and_slices() -> None:
    ax = images(plots.image(RESULT, "x"))[0]
    assert labels(ax.yaxis) == ["S1", "S2", "S3"]
    assert labels(ax.xaxis) == ["1", "2", "3", "4", "5"]
    from_zero = images(plots.image(X, first=0))[0]
    assert labels(from_zero.xaxis) == ["0", "1", "2", "3", "4"]
    assert labels(from_zero.yaxis) == ["0", "1", "2"]
    assert labels(images(plots.image(X, labels=["a", "$", "c"]))[0].yaxis) == ["a", r"\$", "c"]


def test_of_many_components_few_have_ticks() -> None:
    ax = images(plots.image(np.ones((512, 600))))[0]
    for axis, count in ((ax.yaxis, 512), (ax.xaxis, 600)):
        numbers = [int(text) for text in labels(axis)]
        assert 4 <= len(numbers) <= 12
        assert np.ptp(np.diff(numbers)) == 0
        assert 1 <= min(numbers) < max(numbers) <= count
    places = ax.get_yticks()
    assert [str(round(place)) for place in places] == labels(ax.yaxis)  # a tick stands at its own number


@pytest.mark.parametrize(
    ("source", "item"),
    [(RESULT, "x"), (RESULT, x), ({x: RESULT["x"]}, "x"), ({"x": RESULT["x"]}, x), (RESULT["x"], x)],
)
def test_sources(source: Any, item: Any) -> None:
    ax = images(plots.image(source, item))[0]
    np.testing.assert_array_equal(shown(ax), RESULT["x"])
    assert ax.get_title() == "$x_{t}$"
    assert labels(ax.yaxis) == ["S1", "S2", "S3"] or item == "x"


def test_sparse_matrices_and_sequences() -> None:
    W = sp.csr_array(MACHINE.matrix())
    np.testing.assert_array_equal(shown(images(plots.image(W))[0]), MACHINE.matrix())
    several = pfn.infer(NETWORK, {"x": [X, X[:, :3]]}, iterations=3)
    assert shown(images(plots.image(several, "x", sequence=1))[0]).shape == (3, 3)
    np.testing.assert_array_equal(shown(images(plots.image([X, X + 1], sequence=1))[0]), X + 1)


def test_only_what_has_time_says_so() -> None:
    said = [
        images(plots.image(*shown))[0].get_xlabel() for shown in ((RESULT, "x"), (RESULT, "W"), (MACHINE.matrix(),))
    ]
    assert said == ["time slice", "", ""]


def test_parameters_are_the_same_for_all_sequences() -> None:
    several = pfn.infer(NETWORK, {"x": [X, X[:, :3]]}, iterations=3)
    np.testing.assert_array_equal(shown(images(plots.equation(several, sequence=1))[1]), MACHINE.matrix())
    np.testing.assert_array_equal(shown(images(plots.image(several, "W", sequence=1))[0]), MACHINE.matrix())


def test_into_axes_of_the_user() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plots.image(RESULT, "x", ax=left, scale_bar=False) is figure
    assert images(figure) == [left]
    assert not right.get_images()
    parts = Figure(layout="constrained").subfigures(1, 2)
    plots.equation(RESULT, figure=parts[0])
    plots.stack(RESULT, ["x", "h"], figure=parts[1])
    assert [len(images(part)) for part in parts] == [3, 2]


def test_stack_shares_time() -> None:
    network = tracking_network()
    result = pfn.infer(network, simulate_targets(network, 2, length=14).observed, iterations=3)
    names = ["x5", "h3", "x1"]
    figure = plots.stack(result, names)
    figure.draw_without_rendering()
    axes = images(figure)
    for ax, name in zip(axes, names, strict=True):
        np.testing.assert_array_equal(shown(ax), result[name])
        assert ax.get_xlim() == (0.5, 14.5)
    tops = [ax.get_window_extent().y1 for ax in axes]
    assert tops == sorted(tops, reverse=True)
    assert len({ax.get_images()[0].get_clim() for ax in axes}) == 3
    common = images(plots.stack(result, names, common_scale=True))
    assert len({ax.get_images()[0].get_clim() for ax in common}) == 1


def test_frequencies_count_upward() -> None:
    tone = np.zeros((6, 6))
    tone[0] = 1
    plain, turned = images(plots.stack({"a": tone, "b": tone}, ["a", "b"], upward=["b"]))
    for ax, lowest in ((plain, 6.5), (turned, 0.5)):
        np.testing.assert_array_equal(shown(ax), tone)
        assert ax.get_ylim()[0] == lowest


def test_before_and_after() -> None:
    given, found, given_h, found_h = (
        ax for pair in np.reshape(images(plots.before_and_after({x: X}, RESULT, ["x", "h"])), (2, 2)).T for ax in pair
    )
    np.testing.assert_array_equal(shown(given), X)
    np.testing.assert_array_equal(shown(found), RESULT["x"])
    assert np.isnan(shown(given_h)).all()
    np.testing.assert_array_equal(shown(found_h), RESULT["h"])
    assert given.get_images()[0].get_clim() == found.get_images()[0].get_clim()
    assert len(images(plots.before_and_after({x: X}, RESULT, x))) == 2


def test_all_hidden_and_all_zero() -> None:
    for values in (np.full((2, 3), NAN), np.zeros((2, 3))):
        assert images(plots.image(values))[0].get_images()[0].get_clim() == (0.0, 1.0)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: plots.image(RESULT), "which variable is meant.*There are x, h, W"),
        (lambda: plots.image(RESULT, "y"), "nothing called y"),
        (lambda: plots.image(RESULT, "eq1"), "plots.equation"),
        (lambda: plots.image({"x": X}, "y"), "no 'y', they have x"),
        (lambda: plots.image(X, 3), "expected a variable"),
        (lambda: plots.image(X.T, x), "looks transposed"),
        (lambda: plots.image(np.zeros((0, 3))), r"found the shape \(0, 3\)"),
        (lambda: plots.image(np.zeros(3)), r"array\[:, None\]"),
        (lambda: plots.image("text"), "expected real numbers"),
        (lambda: plots.image([[1.0, -1.0]]), "non-negative"),
        (lambda: plots.image([[1.0, np.inf]]), "finite"),
        (lambda: plots.image(X, sequence=1), "one sequence only"),
        (lambda: plots.image([X, X], sequence=2), "one of the 2 sequences"),
        (lambda: plots.image(X, labels=["a"]), "3 names"),
        (lambda: plots.image(X, colormap="hottest"), "colormap must be"),
        (lambda: plots.image(X, power=-1), "power"),
        (lambda: plots.image(X, largest=0), "largest must be greater than 0"),
        (lambda: plots.equation(X), "needs a result"),
        (lambda: plots.equation(RESULT, "x"), "is not an equation"),
        (lambda: plots.before_and_after({x: X}, X, x), "needs a result, found ndarray"),
        (lambda: plots.before_and_after(X, RESULT, x), "must be a mapping"),
        (lambda: plots.before_and_after({x: X}, RESULT, 3), "must be a list"),
        (lambda: plots.stack(RESULT, []), "at least one"),
        (lambda: plots.stack(RESULT, "x"), "must be a list"),
    ],
)
def test_refused(ask: Any, message: str) -> None:
    with pytest.raises(pfn.PfnError, match=message):
        ask()


def test_nothing_global_is_touched() -> None:
    code = """
import matplotlib, numpy, sys
def settings():  # without the backend: to ask for it is to choose one, with pyplot
    return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}
before, bad = settings(), matplotlib.colormaps["hot"].get_bad().tolist()
import pfn
from pfn import plots
from pfn.models import spectrogram_hierarchy
network = spectrogram_hierarchy(4, (2,), (1,), (1,))
data = {"x1": numpy.ones((4, 5))}
result = pfn.learn(network, data, iterations=2)
for picture in (
    plots.image(result, "x1"),
    plots.stack(result, ["x2", "x1"]),
    plots.equation(result),
    plots.before_and_after(data, result, ["x1"]),
    plots.convergence(result),
    plots.spectrogram(result["x1"], rate=100),
):
    picture.svg()
plots.film(network, data, ["x1"], learn=True, iterations=2).html
print(settings() == before, matplotlib.colormaps["hot"].get_bad().tolist() == bad)
print("matplotlib.pyplot" in sys.modules)"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "False"]
