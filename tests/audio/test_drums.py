import numpy as np
import pytest

import pfn
from pfn.audio import Note, Sound, drum_templates, learn_drums, learn_notes, load_drums, transcribe
from pfn.audio.drums import drum_bands

RATE = 44_100
KICK, SNARE = 36, 38


def hit(pitch):
    """A thump or a burst of noise."""
    time = np.arange(RATE // 5) / RATE
    if pitch == KICK:
        return 0.5 * np.sin(2 * np.pi * (60 * time + 4 * np.exp(-30 * time))) * np.exp(-25 * time)
    return 0.2 * np.random.default_rng(1).standard_normal(time.size) * np.exp(-30 * time)


def beat(places):
    """A sound with these hits, by pitch, and its labels."""
    sound, notes = np.zeros(3 * RATE), []
    for pitch, onsets in places.items():
        for onset in onsets:
            sound[round(onset * RATE) :][: RATE // 5] += hit(pitch)
            notes.append(Note(onset, onset + 0.1, pitch))
    return Sound(sound, RATE), sorted(notes)


TAUGHT = beat({KICK: [0.2, 1.0, 1.8, 2.3], SNARE: [0.6, 1.4, 1.8, 2.6]})
PLAYED = beat({KICK: [0.1, 0.9, 1.3, 2.5], SNARE: [0.5, 1.3, 2.1]})


@pytest.fixture(scope="module")
def taught():
    return learn_drums([TAUGHT])


def onsets(notes, pitch):
    return [note.onset for note in notes if note.pitch == pitch]


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("pitch", [KICK, SNARE])
def test_hits_are_found(taught, pitch, learned):
    sound, true = PLAYED
    found = transcribe(sound.samples, sample_rate=RATE, model=taught if learned else "drums")
    assert found.drums
    assert onsets(found.notes, pitch) == pytest.approx(onsets(true, pitch), abs=0.03)


def test_drums_that_are_not_played_are_not_found():
    sound, _ = beat({KICK: [0.5, 1.3, 2.1]})
    assert {note.pitch for note in transcribe(sound.samples, sample_rate=RATE, model="drums").notes} == {KICK}


def test_noise_that_goes_on_has_hardly_any_hits():
    noise = 0.1 * np.random.default_rng(0).standard_normal(3 * RATE)
    assert len(transcribe(noise, sample_rate=RATE, model="drums").notes) < 10  # it had more than 80


def test_learned_templates_differ_as_the_drums_do(taught):
    assert taught.pitches == (KICK, SNARE)
    assert repr(taught) == "DrumTemplates(kick, snare)"
    np.testing.assert_allclose(taught.spectra.sum(axis=(0, 1)), 1)
    middles = drum_bands().frequencies @ taught.spectra.sum(axis=0)
    assert middles[0] < 0.3 * middles[1]


def test_templates_come_back_from_files(taught, tmp_path):
    taught.save(tmp_path / "mine.safetensors")
    np.testing.assert_array_equal(load_drums(tmp_path / "mine.safetensors").spectra, taught.spectra)
    with pytest.raises(pfn.FileError, match="expected a set of note templates, found a set of drum templates"):
        pfn.audio.load_templates(tmp_path / "mine.safetensors")


def test_those_that_come_with_the_package():
    assert repr(drum_templates()) == "DrumTemplates(kick, snare, hi-hat, cymbal)"
    middles = drum_bands().frequencies @ drum_templates().spectra.sum(axis=0)
    assert middles[0] < middles[1] < middles[2]


def test_recordings_that_teach_nothing():
    with pytest.raises(pfn.DataError, match="there is no note to learn from"):
        learn_drums([(TAUGHT[0], [])])
    with pytest.raises(pfn.DataError, match="there is only silence to learn from"):
        learn_drums([(Sound(np.zeros(RATE), RATE), TAUGHT[1])])
    with pytest.raises(pfn.DataError, match=r"there is no note to learn from in its 3 s\. Leave it out"):
        learn_drums([(TAUGHT[0], [Note(-2, -1, 36), Note(9, 10, 36)])])


@pytest.mark.parametrize("learn", [learn_drums, learn_notes])
@pytest.mark.parametrize(
    "recordings",
    [None, [], [3], "song.wav", {"song.wav": 1}, TAUGHT, [(*TAUGHT, 1)]],
    ids=["none", "empty", "number", "path", "mapping", "no list", "triple"],
)
def test_recordings_that_are_no_pairs(learn, recordings):
    with pytest.raises(pfn.DataError, match="recordings: expected pairs of a recording and its notes"):
        learn(recordings)


def test_a_label_just_before_the_recording_counts(taught):
    early = [note._replace(onset=note.onset - 0.21) for note in TAUGHT[1]]
    cut = Sound(TAUGHT[0].samples[round(0.2 * RATE) :], RATE)
    assert min(note.onset for note in early) < 0
    assert learn_drums([(cut, early)], progress=False).pitches == taught.pitches
