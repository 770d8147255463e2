"""Spectrograms with frequencies and seconds, and piano rolls."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import pfn
from pfn import plots
from pfn.audio import Note, Transcription, spectrogram

NOTES = (Note(0.2, 0.8, 60, 1.0), Note(0.5, 1.0, 64, 0.5))


def heard(*, drums=False, notes=NOTES):
    pitches = (60, 64) if drums else tuple(range(21, 109))
    rng, columns = np.random.default_rng(0), 100
    return Transcription(
        notes=notes,
        values={
            "spectrum": rng.random((273, columns)).astype(np.float16),
            "begins": rng.random((len(pitches), columns)),
            "sounds": rng.random((len(pitches), columns)),
        },
        step=0.016,
        seconds=1.6,
        pitches=pitches,
        labels=tuple(map(str, pitches)),
        frequencies=np.linspace(30, 7000, 273),
        drums=drums,
    )


def boxes(picture):
    """By collection, (left, right, middle) of what is drawn."""
    axes = picture.axes[0]
    found = []
    for drawn in axes.collections:
        corners = [path.get_extents() for path in drawn.get_paths()]
        found.append([(box.x0, box.x1, (box.y0 + box.y1) / 2) for box in corners])
    return found


def test_found_notes_lie_at_their_times_and_pitches():
    picture = plots.piano_roll(heard())
    np.testing.assert_allclose(boxes(picture), [[(0.2, 0.8, 60), (0.5, 1.0, 64)]])
    assert picture.axes[0].get_legend() is None


def test_true_notes_are_beside_them():
    picture = plots.piano_roll(heard(), [Note(0.25, 0.8, 60)])
    np.testing.assert_allclose(boxes(picture)[1], [(0.25, 0.8, 60)])
    assert [text.get_text() for text in picture.axes[0].get_legend().get_texts()] == ["found", "true"]


def test_drums_have_a_row_each():
    picture = plots.piano_roll(heard(drums=True))
    np.testing.assert_allclose(boxes(picture), [[(0.2, 0.8, 0), (0.5, 1.0, 1)]])
    assert [label.get_text() for label in picture.axes[0].get_yticklabels()] == ["60", "64"]


def test_outlines_of_true_hits_are_seen_where_the_drum_sounds():
    picture = plots.piano_roll(heard(drums=True), [Note(0.2, 0.8, 60)])
    assert [len(drawn.get_path_effects()) for drawn in picture.axes[0].collections] == [0, 1]


def test_a_part_of_it_and_files(tmp_path):
    picture = plots.piano_roll(heard(), start=0.5, duration=0.5)
    assert picture.axes[0].get_xlim() == (0.5, 1.0)
    picture.save(tmp_path / "roll.png")
    assert (tmp_path / "roll.png").read_bytes().startswith(b"\x89PNG")


def test_true_notes_far_from_all_that_was_found_are_in_the_picture():
    low, high = plots.piano_roll(heard(), [Note(0.2, 0.8, 40), Note(0.2, 0.8, 90), Note(5, 6, 21)]).axes[0].get_ylim()
    assert 21 < low < 40 < 90 < high


def test_the_spectrum_lies_at_the_pitches_of_its_bands():
    found = heard(notes=())
    spectrum = np.zeros((273, 100))
    spectrum[np.abs(found.frequencies - 440).argmin()] = 1  # the band at 440 Hz, give or take 13
    picture = plots.piano_roll(replace(found, values={"spectrum": spectrum}))
    image = picture.axes[0].images[0]
    left, right, bottom, top = image.get_extent()
    rows = image.get_array()
    height = (top - bottom) / len(rows)
    assert (left, right) == (0, 1.6)
    assert bottom + (rows[:, 50].argmax() + 0.5) * height == pytest.approx(69, abs=0.6)
    assert picture.axes[0].get_ylim()[0] >= bottom
    assert picture.axes[0].get_ylim()[1] <= top


def test_parts_that_are_not_there():
    with pytest.raises(pfn.OptionError, match=r"start must be less than the 1\.6 s"):
        plots.piano_roll(heard(), start=1.6)
    assert plots.piano_roll(heard(), start=1, duration=9).axes[0].get_xlim() == (1, 1.6)


def test_no_notes():
    assert "<svg" in plots.piano_roll(heard(notes=())).svg()


@pytest.mark.parametrize("truth", [3, "tune.mid", [1], [(0, 1)]])
def test_true_notes_that_are_none(truth):
    with pytest.raises(pfn.DataError, match="truth: expected"):
        plots.piano_roll(heard(), truth)


def test_only_transcriptions():
    with pytest.raises(pfn.DataError, match=r"needs what pfn\.audio\.transcribe returns, found list"):
        plots.piano_roll([])


# Spectrograms

RATE = 8000
TONE = spectrogram(np.sin(2 * np.pi * 1000 * np.arange(RATE) / RATE), rate=RATE, window=256, hop=64)


def brightest(figure: Figure) -> tuple[float, float]:
    """The frequency on the axis, and the value, of the brightest row of the plot."""
    image = figure.axes[0].get_images()[0]
    values = np.asarray(image.get_array()).mean(axis=1)
    _, _, bottom, top = image.get_extent()
    step = (top - bottom) / len(values)
    return bottom + (values.argmax() + 0.5) * step, values.max()


@pytest.mark.parametrize(
    "figure",
    [
        plots.spectrogram(TONE),
        plots.spectrogram(TONE.magnitude, like=TONE),
        plots.spectrogram(TONE.magnitude, rate=RATE, window=256, hop=64),
        plots.spectrogram(TONE, power=0.5),
    ],
)
def test_a_tone_is_at_its_frequency(figure: Figure) -> None:
    assert brightest(figure)[0] == pytest.approx(1.0, abs=1e-9)  # kHz
    assert figure.axes[0].get_ylabel() == "frequency (kHz)"
    start, end = figure.axes[0].get_images()[0].get_extent()[:2]
    assert (start + end) / 2 == pytest.approx(TONE.times.mean())


def test_decibels() -> None:
    figure = plots.spectrogram([[1.0, 0.1], [0.001, 0.0]], rate=100.0, window=4, hop=2, decibels=40)
    image = figure.axes[0].get_images()[0]
    np.testing.assert_allclose(image.get_array(), [[0, -20], [-40, -40]])
    assert image.get_clim() == (-40, 0)
    assert figure.axes[0].get_ylabel() == "frequency (Hz)"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: plots.spectrogram(TONE.magnitude), "give like="),
        (lambda: plots.spectrogram(TONE.magnitude[1:], like=TONE), "of the same shape"),
        (lambda: plots.spectrogram(TONE, decibels=0), "decibels must be greater than 0"),
        (lambda: plots.spectrogram(TONE, power=0), "power must be greater than 0"),
        (lambda: plots.spectrogram(TONE, colormap="loud"), "colormap must be"),
        (lambda: plots.spectrogram(np.ones((2, 2)), rate=-1), "rate"),
        (lambda: plots.spectrogram(np.ones(3), rate=1), "found the shape"),
    ],
)
def test_refused_spectrograms(ask: Any, message: str) -> None:
    with pytest.raises(pfn.PfnError, match=message):
        ask()
