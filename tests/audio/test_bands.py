import numpy as np
import pytest

from pfn.audio.bands import note_bands, triangles
from pfn.audio.drums import drum_bands

BANDS = [note_bands(), drum_bands()]


@pytest.mark.parametrize("bands", BANDS)
def test_bands_are_powers_of_sums_of_magnitudes(bands):
    samples = np.random.default_rng(0).standard_normal(3 * bands.hop)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(bands.window) / bands.window)
    padded = np.pad(samples, bands.window)
    slow = []
    for centre in range(0, 4 * bands.hop, bands.hop):
        begin = bands.window + centre - bands.window // 2
        magnitude = np.abs(np.fft.rfft(window * padded[begin : begin + bands.window])) / window.sum()
        slow.append((bands.weights @ magnitude) ** 0.6)
    np.testing.assert_allclose(bands.of(samples[:, None]), np.transpose(slow))


@pytest.mark.parametrize("bands", BANDS)
def test_a_tone_is_heard_in_the_band_around_it(bands):
    for hertz in (110.0, 880.0, 3520.0):
        tone = np.sin(2 * np.pi * hertz * np.arange(bands.rate) / bands.rate)
        loudest = bands.of(tone[:, None])[:, 30].argmax()
        near = np.abs(bands.frequencies - hertz)
        assert near[loudest] <= 2 * near.min() + bands.rate / bands.window


def test_counts():
    assert [len(bands.weights) for bands in BANDS] == [273, 80]


def test_triangles_rise_and_fall_between_their_corners():
    found = triangles(np.arange(7.0), np.array([0.0, 2.0, 4.0, 6.0]))
    np.testing.assert_allclose(found, [[0, 0.5, 1, 0.5, 0, 0, 0], [0, 0, 0, 0.5, 1, 0.5, 0]])
    narrow = triangles(np.array([0.0, 10.0]), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(narrow, [[1, 0]])
