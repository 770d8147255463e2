"""The figures of section 5, by plain sweeps of Algorithm 1 with ε = 1e-9.

The noise is ours, so the figures were measured on ten draws of it (seeds 0 to 9), and a test has one of them: share
outside the true states 0.59 to 0.65 without sparseness, 0.34 to 0.37 at noise 0.02 (three draws); 0.040 to 0.059
with it (and once 0.15); 0.017 to 0.037 with x1 released. The weakest target overtook the second in six of ten.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import pfn
from pfn.models import simulate_targets, tracking_network, tracks
from tests.models.scenes import PAPER_LENGTH, PAPER_TARGETS

NETWORK = tracking_network()
PLAIN = replace(pfn.PAPER, epsilon=1e-9)
SWEEPS = 10_000
DRAW = 5


@cache
def scene(noise=0.0):
    return simulate_targets(NETWORK, PAPER_TARGETS, length=PAPER_LENGTH, noise=noise, seed=DRAW)


def inferred(image, **options):
    return pfn.infer(NETWORK, {"x1": image}, method=replace(PLAIN, **options), iterations=SWEEPS)


def largest_error(result, *names):
    return max(np.abs(result[name] - scene().truth[name]).max() for name in names)


def share_outside(result):
    """The share of the sum of x4 that is not in the true states."""
    return result["x4"][scene().truth["x4"] == 0].sum() / result["x4"].sum()


def mean_magnitudes(result):
    """The mean of x4 along each target."""
    firsts = {"A": 0, "B": 5}
    return [
        result["x4"][[firsts[t.kind] + state for state in t.states], range(t.start, t.end + 1)].mean()
        for t in scene().targets
    ]


def test_clean():
    result = inferred(scene().observed["x1"])
    assert max(result.rmse.values()) < 1.4e-4
    assert largest_error(result, "x2", "x3", "x4", "x5") < 0.011
    assert share_outside(result) < 0.05
    assert [(t.kind, t.start, t.end) for t in tracks(result)] == [("A", 2, 6), ("A", 3, 11), ("B", 15, 24)]


def test_clean_with_momentum():
    result = pfn.infer(NETWORK, scene().observed, tolerance=1e-4)
    assert result.iterations < 500
    assert largest_error(result, "x2", "x3", "x4", "x5") < 0.02


@pytest.mark.parametrize(("noise", "least", "most"), [(0.06, 0.58, 0.66), (0.02, 0.32, 0.38)])
def test_noise_clutters(noise, least, most):
    assert least < share_outside(inferred(scene(noise).observed["x1"])) < most


def test_sparseness_cleans_and_enlarges():
    result = inferred(scene(0.06).observed["x1"], sparseness=pfn.ramp(0.0, 0.05, start=5000, stop=SWEEPS))
    assert share_outside(result) < 0.06
    factors = np.divide(mean_magnitudes(result), [t.magnitude for t in PAPER_TARGETS])
    assert 1.7 < factors.mean() < 1.9


def test_release_cleans_more_and_turns_the_order():
    ramp = pfn.ramp(0.0, 0.05, start=5000, stop=9980)
    result = inferred(scene(0.06).observed["x1"], sparseness=ramp, release={"x1": 9980})
    assert share_outside(result) < 0.04
    strong, middle, weak = mean_magnitudes(result)
    assert strong > weak > middle
    np.testing.assert_allclose([middle, weak], [1.34, 1.40], atol=0.05)


def test_a_hidden_slice_is_recovered():
    image = scene().observed["x1"].copy()
    image[:, 24] = np.nan
    assert largest_error(inferred(image), "x1", "x2", "x3", "x4", "x5") < 0.02


def test_hidden_slices_at_the_end_are_a_superposition():
    image = scene().observed["x1"].copy()
    image[:, 21:] = np.nan
    states = inferred(image)["x4"]
    np.testing.assert_allclose(states[:, :19], scene().truth["x4"][:, :19], atol=0.03)
    np.testing.assert_allclose(states[:, 19:21].sum(axis=0), 0.6, atol=0.03)
    assert ((states > 0.1).sum(axis=0)[15:] >= [1, 1, 1, 1, 2, 2, 2, 1, 1, 0, 0]).all()  # one course, then two
