"""Equations side by side: the matrices of a result, their labels, scales and sizes."""

import numpy as np
import pytest

import pfn
from pfn import plots, t
from pfn.models import spectrogram_hierarchy
from tests.plots.images.test_heatmaps import MACHINE, RESULT, images, labels, shown


def test_equation_shows_its_matrices() -> None:
    children, W, h = images(plots.equation(RESULT, "eq1"))
    np.testing.assert_array_equal(shown(children), np.vstack([RESULT["x"][:, :-1], RESULT["x"][:, 1:]]))
    np.testing.assert_array_equal(shown(W), MACHINE.matrix())
    np.testing.assert_array_equal(shown(h), RESULT["h"])
    np.testing.assert_allclose(shown(W) @ shown(h), shown(children), atol=0.01)
    assert labels(children.yaxis) == ["S1", "S2", "S3"] * 2
    assert labels(W.xaxis) == ["S1→S2", "S2→S3", "S3→S1"]
    assert [ax.get_title() for ax in (children, W, h)] == ["[$x_{t}$; $x_{t+1}$]", "$W$", "$h_{t}$"]


def test_equation_with_several_terms_adds_up() -> None:
    a, b = pfn.Variable("a", 3), pfn.Variable("b", 2)
    W = [pfn.Parameter(f"W_{k}", np.random.default_rng(k).random((3, 2))) for k in range(3)]
    network = pfn.Network(pfn.Factorization(a[t], sum(W[k] @ b[t - k] for k in range(3))))
    B = np.random.default_rng(9).random((2, 6))
    A = sum(W[k].value @ np.pad(B, ((0, 0), (k, 0)))[:, :6] for k in range(3))
    result = pfn.infer(network, {a: A, b: B}, iterations=1)
    children, *terms = images(plots.equation(result))
    assert len(terms) == 6
    total = sum(shown(left) @ shown(right) for left, right in zip(terms[::2], terms[1::2], strict=True))
    np.testing.assert_allclose(total, shown(children))


@pytest.mark.parametrize("size", [(8, 9), (512, 600)])
def test_matrices_of_an_equation_are_all_large_enough_to_see(size: tuple[int, int]) -> None:
    network = spectrogram_hierarchy(size[0], (6,), (1,), (1,))
    data = {"x1": np.random.default_rng(0).random(size)}
    figure = plots.equation(pfn.learn(network, data, iterations=1))
    figure.draw_without_rendering()
    children, W, H = (ax.get_window_extent() for ax in images(figure))
    assert children.height == pytest.approx(W.height)
    for box in (children, W, H):
        assert min(box.width, box.height) > 0.5 * figure.dpi  # half an inch
    boxes = [ax.get_tightbbox() for ax in images(figure)]
    assert boxes[0].x1 < boxes[1].x0
    assert boxes[1].x1 < boxes[2].x0


def test_what_one_variable_is_multiplied_by_has_one_scale() -> None:
    x, h, g = pfn.Variable("x", 2), pfn.Variable("h", 2), pfn.Variable("g", 2)
    weights = {"W": 1.0, "V": 0.1, "U": 5.0}
    W, V, U = (pfn.Parameter(name, weight * np.eye(2)) for name, weight in weights.items())
    network = pfn.Network(pfn.Factorization(x[t], W @ h[t] + V @ h[t - 1] + U @ g[t]))
    figure = plots.equation(pfn.infer(network, {x: np.array([[1.0, 2, 3], [0, 1, 0]])}, iterations=50))
    limits = [ax.get_images()[0].get_clim()[1] for ax in images(figure)]
    assert limits[1::2] == [1.0, 1.0, 5.0]
    assert limits[2] == limits[4] != limits[6]
