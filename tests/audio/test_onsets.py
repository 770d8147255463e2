from dataclasses import replace

import numpy as np
import pytest

from pfn.audio.onsets import FLUX_HOP, Reading, events, moved, spectral_flux

READING = Reading(0.3, around=1, apart=3)


def read(activity, reading=READING, loudness=0.0):
    """Events where all is so loud throughout."""
    return events(activity, np.full(activity.shape[1], loudness), reading)


def oracle(activity, reading):
    """The same with loops."""
    rows, columns = activity.shape
    summed = np.array(
        [
            [sum(activity[r, max(c - reading.around, 0) : c + reading.around + 1]) for c in range(columns)]
            for r in range(rows)
        ]
    )
    summed += 1e-5 * activity
    near = reading.apart
    peaks = [
        (c, r)
        for r in range(rows)
        for c in range(columns)
        if summed[r, c] > 0 and summed[r, c] >= summed[r, max(c - near, 0) : c + near + 1].max() - 1e-12
    ]
    loud = [summed[r, c] for c, r in peaks if summed[r, c] > 0.01 * max(summed[r, c] for c, r in peaks)]
    typical = sum(x**3 for x in loud) / sum(x**2 for x in loud)
    return sorted((c, r) for c, r in peaks if summed[r, c] > reading.threshold * typical)


@pytest.mark.parametrize("seed", range(5))
def test_maxima_against_loops(seed):
    activity = np.random.default_rng(seed).random((4, 60)) ** 6
    found = read(activity)
    assert list(zip(found.columns, found.rows, strict=True)) == oracle(activity, READING)
    assert found.strengths.max() == 1


def test_one_huge_maximum_does_not_hide_the_others():
    activity = np.zeros((1, 400))
    activity[0, 5::20] = 1.0
    activity[0, 205] = 5.0
    assert len(read(activity).columns) == 20


def test_rows_by_themselves():
    activity = np.zeros((2, 100))
    activity[0, 10::20], activity[1, 15::20] = 1.0, 0.05
    assert set(read(activity).rows) == {0}
    separate = Reading(0.3, around=1, apart=3, separate=True)
    assert set(read(activity, separate).rows) == {0, 1}


def test_a_moving_threshold_forgives_what_goes_on():
    activity = np.full((1, 200), 0.5)
    activity[0, 50], activity[0, 100::2] = 0.9, 0.6
    still = Reading(0.3, around=0, apart=3)
    assert len(read(activity, still).columns) > 10
    assert read(activity, Reading(0.3, around=0, apart=3, moving=1.0, wide=20)).columns.tolist() == [50]


def test_a_row_that_is_absent_is_not_measured_by_its_own_traces():
    activity = np.zeros((2, 100))
    activity[0, 10::20], activity[1, 15::20] = 1.0, 0.02
    separate = Reading(0.3, around=1, apart=3, separate=True)
    assert set(read(activity, separate).rows) == {0, 1}
    assert set(read(activity, replace(separate, least=0.1)).rows) == {0}
    activity[1, 15::20] = 0.05
    assert set(read(activity, replace(separate, least=0.1)).rows) == {0, 1}


def test_what_does_not_stand_out_does_not_count():
    activity = 1 + 0.3 * np.random.default_rng(0).random((1, 200))
    reading = Reading(0.3, around=0, apart=3, wide=20)
    assert read(activity, reading).columns.size > 10
    activity[0, 100] = 5.0
    assert read(activity, replace(reading, stands=2.0)).columns.tolist() == [100]


def test_an_event_has_a_share_in_what_is_heard_with_it_and_soon_after():
    activity = np.zeros((1, 60))
    activity[0, 10::20] = 1.0
    loudness = np.full(60, 50.0)
    loudness[35] = 200.0  # within ten slices after the second, and after the first is over
    reading = Reading(0.3, around=1, apart=3, share=0.01)
    assert events(activity, loudness, reading).columns.tolist() == [10, 50]


def test_nothing_in_nothing():
    assert read(np.zeros((3, 20))).columns.size == 0


def test_onsets_move_to_where_the_spectrum_changes():
    rate, begin = 16_000, 8000
    samples = np.zeros((rate, 1))
    samples[begin:, 0] = np.random.default_rng(0).standard_normal(rate - begin)
    flux = spectral_flux(samples, rate, float(np.abs(samples).max()))
    step = FLUX_HOP / rate
    assert moved(np.array([0.46, 0.53]), flux, step) == pytest.approx([0.5, 0.5], abs=0.012)
    assert moved(np.array([2.0]), flux, step) == pytest.approx([2.0])  # far from any flux
    at_once = spectral_flux(samples[begin:], rate, 1.0)
    assert moved(np.array([0.03]), at_once, step) == pytest.approx([0.0], abs=0.012)
