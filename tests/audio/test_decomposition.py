from dataclasses import replace

import numpy as np
import pytest

import pfn
from pfn.audio import Decomposition, decompose, spectrogram
from tests.audio.notes import RATE, melody

LOW, HIGH = melody([48, 48, 55, 55, 48]), melody([84, 88, 84, 88, 84])
SMALL = {"sizes": (6, 4), "children": (4, 3), "separations": (1, 4), "iterations": 30, "progress": False}


@pytest.fixture(scope="module")
def found():
    return decompose(LOW + HIGH, rate=RATE, **SMALL)


@pytest.mark.parametrize("level", [2, 3])
def test_all_components_together_are_the_sound(found, level):
    sizes = {2: 6, 3: 4}
    whole = found.heard.to_sound()
    np.testing.assert_allclose(found.sound(level, range(sizes[level])), whole, atol=1e-6)
    parts = [found.sound(level, component) for component in range(sizes[level])]
    np.testing.assert_allclose(sum(parts), whole, atol=1e-6)


def test_what_nothing_explains_is_shared_out_equally(found):
    still = replace(found.result, values={**found.result.values, "x3": np.zeros_like(found.result["x3"])})
    parts = [Decomposition(found.heard, still).sound(3, component) for component in range(4)]
    for part in parts:
        np.testing.assert_allclose(part, found.heard.to_sound() / 4, atol=1e-9)


def test_loudest_are_ordered_by_what_they_explain(found):
    order = found.loudest(2, 6)
    assert sorted(order) == list(range(6))
    energies = [np.sum(pfn.models.top_down(found.result, 2, components=component) ** 2) for component in order]
    assert energies == sorted(energies, reverse=True)
    assert found.loudest(3, 2) == found.loudest(3, 4)[:2]
    assert found.top == 3


def test_components_of_different_pitch_are_different_sounds():
    parts = decompose(LOW + HIGH, rate=RATE, **SMALL | {"sizes": (8,), "children": (4,), "separations": (1,)})
    middle = [_middle(parts.sound(2, component)) for component in parts.loudest(2, 8)]
    assert max(middle) > 1.5 * min(middle)


def _middle(sound):
    """The mean frequency in Hz."""
    heard = spectrogram(sound, rate=RATE)
    return float(heard.frequencies @ heard.magnitude.sum(axis=1) / heard.magnitude.sum())


def test_a_part_of_a_sound():
    found = decompose(np.tile(LOW, 3), rate=RATE, start=1.0, duration=0.5, **SMALL)
    assert found.heard.samples == RATE // 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: decompose(LOW, **SMALL), "rate must be given"),
        (lambda _: decompose("nowhere.wav", **SMALL), "nowhere.wav"),
        (lambda found: found.sound(4, 0), "level must be a whole number from 2 to 3"),
        (lambda found: found.sound(2, 6), "from 0 to 5, found 6"),
        (lambda found: found.loudest(1, 3), "level must be a whole number from 2 to 3"),
    ],
)
def test_refusals(found, call, message):
    with pytest.raises(pfn.PfnError, match=message):
        call(found)
