import signal
from dataclasses import replace

import numpy as np
import pytest
import soundfile
from scipy.signal import lfilter

import pfn
from pfn.audio import Heard, NoteTemplates, Sound, isolated_templates, load_templates, piano_templates, transcribe
from pfn.audio.onsets import Events
from pfn.audio.recordings import open_recording
from pfn.audio.transcription import releases
from pfn.engines.substituted import SubstitutedRun
from tests.audio.notes import melody, note

RATE = 16_000
PITCHES = (60, 64, 67)
TUNE = melody(PITCHES, each=0.5, rate=RATE)


def pitches(found):
    return [note.pitch for note in found.notes]


def onsets(found):
    return np.array([note.onset for note in found.notes])


@pytest.fixture(scope="module")
def heard():
    return transcribe(TUNE, sample_rate=RATE)


def test_a_tune_that_begins_at_once(heard):
    assert pitches(heard) == list(PITCHES)
    np.testing.assert_allclose(onsets(heard), [0, 0.5, 1], atol=0.03)
    assert all(0.3 < note.offset - note.onset < 1.2 and 0 < note.strength <= 1 for note in heard.notes)


def test_values_have_a_column_for_every_slice(heard):
    columns = int(np.ceil(heard.seconds / heard.step)) + 1
    assert heard.values["spectrum"].shape == (273, columns)
    assert heard.values["begins"].shape == heard.values["sounds"].shape == (88, columns)
    assert (len(heard.pitches), heard.labels[60 - 21], heard.drums) == (88, "C4", False)
    row = heard.values["begins"][60 - 21]
    assert row.argmax() * heard.step < 0.1


def test_midi_file_has_the_notes(heard, tmp_path):
    heard.to_midi(tmp_path / "tune.mid")
    for found, written in zip(pfn.audio.read_notes(tmp_path / "tune.mid"), heard.notes, strict=True):
        np.testing.assert_allclose(found[:3], written[:3], atol=1e-3)
        assert found.strength == pytest.approx(written.strength, abs=0.01)


@pytest.mark.parametrize(
    ("samples", "rate"),
    [(np.column_stack([TUNE, -TUNE]), RATE), (1e-3 * TUNE, RATE), (np.repeat(TUNE, 12), 12 * RATE)],
    ids=["stereo in antiphase", "soft", "192 kHz"],
)
def test_the_same_notes_however_it_was_recorded(samples, rate):
    found = transcribe(samples, sample_rate=rate)
    assert pitches(found) == list(PITCHES)
    np.testing.assert_allclose(onsets(found), [0, 0.5, 1], atol=0.03)


def test_clipping_does_not_hide_notes():
    assert set(PITCHES) <= set(pitches(transcribe(np.clip(8 * TUNE, -1, 1), sample_rate=RATE)))


@pytest.mark.parametrize("model", ["piano", "drums"])
@pytest.mark.parametrize("samples", [np.zeros(RATE), np.ones(1), np.full((1, 2), 0.5).T], ids=["silence", "one", "two"])
def test_where_nothing_can_be_heard_there_are_no_notes(samples, model, tmp_path):
    found = transcribe(samples, sample_rate=RATE, model=model)
    assert found.notes == ()
    found.to_midi(tmp_path / "nothing.mid")
    assert pfn.audio.read_notes(tmp_path / "nothing.mid") == []


NOISE = np.random.default_rng(0).standard_normal(3 * RATE)


@pytest.mark.parametrize("loud", [0.1, 1e-3], ids=["loud", "faint"])
@pytest.mark.parametrize("colour", [[1.0], [1.0, -0.95]], ids=["white", "brown"])
def test_noise_has_no_notes(colour, loud):
    samples = loud * lfilter([1.0], colour, NOISE)
    assert len(transcribe(samples, sample_rate=RATE).notes) <= 1


def test_notes_are_found_in_noise():
    found = transcribe(TUNE + 0.003 * NOISE[: len(TUNE)], sample_rate=RATE)
    assert pitches(found) == list(PITCHES)


def test_notes_end_where_they_are_released():
    fading = 0.98 ** np.arange(200)
    sounds = np.stack([fading * (np.arange(200) < 60), fading, 0.9 ** np.arange(200.0)])
    found = Events(rows=np.array([0, 1, 2, 1]), columns=np.array([0, 0, 0, 80]), strengths=np.ones(4))
    # Three slices later it is over; the same key is struck again; a tenth is left, after 22 slices and after 114.
    np.testing.assert_array_equal(releases(found, sounds), [57, 80, 22, 80 + 114])


def test_files(tmp_path):
    soundfile.write(tmp_path / "tune.flac", np.column_stack([TUNE, TUNE]), RATE)
    found = transcribe(tmp_path / "tune.flac", start=0.4, duration=0.5)
    assert 64 in pitches(found)
    assert found.seconds == 0.5
    (tmp_path / "text.wav").write_text("do re mi")
    with pytest.raises(pfn.FileError, match=r"text\.wav: expected a sound file"):
        transcribe(tmp_path / "text.wav")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "violin"}, "model must be .*found 'violin'"),
        ({"threshold": 0}, "threshold must be greater than 0"),
        ({"sample_rate": None}, "sample_rate must be given with samples"),
        ({"sample_rate": -1}, "sample_rate must be"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(pfn.OptionError, match=message):
        transcribe(TUNE, **{"sample_rate": RATE, **options})


@pytest.mark.parametrize("rate", [44.1, 1e-9], ids=["kilohertz", "next to nothing"])
@pytest.mark.parametrize("ask", [transcribe, pfn.audio.separate])
def test_a_rate_that_makes_hours_of_a_second_is_refused(ask, rate):
    with pytest.raises(
        pfn.DataError, match=f"samples: expected a sample rate of at least 100 per second, found {rate}"
    ):
        ask(TUNE, sample_rate=rate)


@pytest.mark.parametrize("loud", [1e300, -1e101])
def test_samples_that_cannot_be_squared_are_refused(loud):
    samples = np.full(RATE, loud)
    with pytest.raises(pfn.DataError, match=r"samples must be finite, found .* at sample 0"):
        transcribe(samples, sample_rate=RATE)
    assert not transcribe(np.full(RATE, 3e38, np.float32), sample_rate=RATE).notes


class Counter:
    """Hears in its one row which of the slices of an hour it is given, without listening."""

    pitches, labels, sweeps, early, drums = (60,), ("C4",), 1, 0, False
    bands, reading = pfn.audio.machines.note_bands(), pfn.audio.onsets.Reading(0.5, around=0, apart=3)

    def __init__(self):
        self.longest = 0

    def hear(self, spectra, watch):
        watch(1, 0.0)
        self.longest = max(self.longest, spectra.shape[1])
        rises = np.maximum(np.diff(spectra.sum(axis=0), prepend=0.0), 0)[None]
        return Heard(rises, rises)


@pytest.mark.parametrize("model", ["piano", "drums"])
def test_ctrl_c_ends_it_although_more_runs_would_follow(model, monkeypatch):
    sweeps, advance = [], SubstitutedRun.advance

    def press(run, stretch):
        if not sweeps:
            signal.raise_signal(signal.SIGINT)
        sweeps.append(stretch)
        return advance(run, stretch)

    monkeypatch.setattr(SubstitutedRun, "advance", press)
    with pytest.raises(KeyboardInterrupt):
        transcribe(melody([60]), sample_rate=RATE, model=model)
    assert len(sweeps) <= 2


def test_long_recordings_are_heard_in_windows_that_fit_together():
    seconds = 150
    clicks = np.zeros(seconds * RATE)
    places = np.arange(1, seconds, 7) * RATE
    for place in places:
        clicks[place : place + 400] = note(69, 400 / RATE, RATE)
    model = Counter()
    found = transcribe(clicks, sample_rate=RATE, model=model)
    np.testing.assert_allclose(onsets(found), places / RATE, atol=0.03)
    assert model.longest * model.bands.step < 61


def test_a_recording_that_fades_to_almost_nothing():
    """Its last window holds what reverberation leaves in a file of floats: numbers, but no sound."""
    samples = 1e-25 * np.random.default_rng(0).standard_normal(62 * RATE)
    samples[: TUNE.size] += TUNE
    assert pitches(transcribe(samples, sample_rate=RATE)) == list(PITCHES)


def test_parts_of_a_recording_do_not_depend_on_where_it_is_cut(tmp_path):
    rng = np.random.default_rng(0)
    samples = 0.1 * rng.standard_normal((3 * 44_100, 2))
    soundfile.write(tmp_path / "noise.wav", samples, 44_100, subtype="FLOAT")
    recording = open_recording(tmp_path / "noise.wav")
    whole, part = recording.part(-1.0, 3.5, RATE), recording.part(1.0, 2.0, RATE)
    assert whole.shape == (4.5 * RATE, 2)
    assert not whole[: RATE - 100].any()
    assert not whole[-RATE // 2 + 200 :].any()
    np.testing.assert_allclose(part[50:-50], whole[2 * RATE : 3 * RATE][50:-50], atol=1e-4)


def test_templates_of_your_own(tmp_path):
    sounds = {pitch: Sound(note(pitch, 1.5, RATE), RATE) for pitch in (60, 66)}
    made = isolated_templates(sounds, pitches=range(59, 69))
    made.save(tmp_path / "mine.safetensors")
    again = load_templates(tmp_path / "mine.safetensors")
    assert isinstance(again, NoteTemplates)
    np.testing.assert_array_equal(again.attack, made.attack)
    found = transcribe(TUNE, sample_rate=RATE, model=again)
    assert pitches(found) == list(PITCHES)
    with pytest.raises(pfn.DataError, match="notes must map MIDI pitches"):
        isolated_templates({})


@pytest.mark.parametrize(
    ("notes", "options", "message"),
    [
        ({"C4": 1}, {}, "notes: expected MIDI numbers from 0 to 127"),
        ({200: 1}, {}, "notes: expected MIDI numbers"),
        ({60: 1}, {"pitches": ()}, "pitches: expected MIDI numbers"),
        ({60: 1}, {"pitches": (60, 60)}, "each once, found .60, 60."),
        ({60: 1}, {"pitches": (60.5,)}, "pitches: expected MIDI numbers"),
        ({60: 1}, {"pitches": None}, "pitches: expected MIDI numbers"),
        ({60: 1}, {"onset": 5}, r"nothing follows onset=5 s in a recording .* which has 1 s\. Give a smaller onset"),
    ],
)
def test_single_notes_that_cannot_be(notes, options, message):
    sounds = {pitch: Sound(note(60, 1.0, RATE), RATE) for pitch in notes}
    with pytest.raises(pfn.DataError, match=message):
        isolated_templates(sounds, **{"pitches": (60,), **options})


@pytest.mark.parametrize("onset", [-1, float("nan"), "now"])
def test_an_onset_is_a_number(onset):
    with pytest.raises(pfn.OptionError, match="onset must be a number >= 0"):
        isolated_templates({60: Sound(note(60, 1.0, RATE), RATE)}, pitches=(60,), onset=onset)


def test_templates_that_come_with_the_package():
    templates = piano_templates()
    assert templates.pitches == tuple(range(21, 109))
    frequencies = pfn.audio.machines.note_bands().frequencies
    for pitch in (45, 57, 69):  # where the fundamental is the strongest of the partials or near it
        peak = frequencies[templates.decay[:, pitch - 21].argmax()]
        ratio = peak / (440 * 2 ** ((pitch - 69) / 12))
        assert ratio == pytest.approx(round(ratio), abs=0.1)
    assert ((templates.fade > 0.8) & (templates.fade < 1)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attack": np.zeros((3, 273, 88))}, r"an array of the shape \(3, 273, 88\)"),
        ({"decay": np.full((273, 88), -1.0)}, "entries that are negative or no numbers"),
        ({"decay": np.full((273, 88), np.nan)}, "entries that are negative or no numbers"),
        ({"fade": np.ones(88)}, "a fade of 1"),
        ({"threshold": 0.0}, "a threshold of 0"),
        ({"pitches": (60,) * 88}, "pitches"),
        ({"pitches": tuple(range(50, 138))}, "pitches"),
        ({"pitches": ()}, "pitches"),
    ],
)
def test_files_of_templates_that_cannot_be(changes, message, tmp_path):
    replace(piano_templates(), **changes).save(tmp_path / "mine.safetensors")
    with pytest.raises(pfn.FileError, match=f"mine.safetensors: the file is damaged .*{message}"):
        load_templates(tmp_path / "mine.safetensors")


def test_the_number_of_a_sample_that_is_none_counts_from_the_begin_of_the_file(tmp_path):
    samples = np.tile(TUNE, 40)[: 90 * RATE]
    samples[80 * RATE] = np.nan
    soundfile.write(tmp_path / "long.wav", samples, RATE, subtype="FLOAT")
    with pytest.raises(pfn.DataError, match=f"found nan at sample {80 * RATE} "):
        transcribe(tmp_path / "long.wav", model=Counter())


def test_templates_fade_as_the_note_does():
    time = np.arange(2 * RATE) / RATE
    made = isolated_templates({69: Sound(np.sin(2 * np.pi * 440 * time) * np.exp(-3 * time), RATE)}, pitches=(69,))
    np.testing.assert_allclose(made.fade, np.exp(-3 * 0.6 * 0.016), rtol=1e-3)  # magnitudes to the power 0.6, 16 ms on
    frequencies = pfn.audio.machines.note_bands().frequencies
    assert frequencies[made.decay[:, 0].argmax()] == pytest.approx(440, abs=4)
