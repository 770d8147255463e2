import mido
import numpy as np
import pytest
import soundfile

import pfn
from pfn.audio import Note, separate, write_midi
from pfn.audio.mixtures import harmonic, learn_parts
from pfn.audio.notes import later
from pfn.audio.separation import faded
from pfn.audio.sounds import file_names
from tests.audio.notes import note

RATE = 16_000
LOW, HIGH = (48, 55, 51), (72, 76, 79)


def voice(pitches, shift):
    """Notes half a second each, and how they are written."""
    sound, written = np.zeros(2 * RATE), []
    for place, pitch in enumerate(pitches):
        begin = round((0.5 * place + shift) * RATE)
        sound[begin : begin + RATE // 2] += 0.1 * note(pitch, 0.5, RATE)
        written.append(Note(begin / RATE, begin / RATE + 0.5, pitch))
    return sound, written


def clicks():
    rng, sound = np.random.default_rng(0), np.zeros(2 * RATE)
    places = [0.1, 0.6, 0.85, 1.6]
    burst = rng.standard_normal(1600) * np.exp(-np.arange(1600) / 300)
    for place in places:
        sound[round(place * RATE) :][:1600] += 0.2 * burst
    return sound, [Note(place, place + 0.05, 38) for place in places]


VOICES = {"low": voice(LOW, 0.0), "high": voice(HIGH, 0.25), "snare": clicks()}
STEMS = {name: sound for name, (sound, _) in VOICES.items()}
SCORE = {name: written for name, (_, written) in VOICES.items()}
MIX = sum(STEMS.values())


def decibels(found, true):
    return 10 * np.log10(np.sum(true**2) / np.sum((found - true) ** 2))


@pytest.fixture(scope="module")
def found():
    return separate(MIX, notes=SCORE, sample_rate=RATE)


def test_stems_add_up_to_the_mixture(found):
    assert list(found.stems) == list(STEMS)
    np.testing.assert_allclose(sum(found.stems.values()), MIX, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "least"), [("low", 12), ("high", 12), ("snare", 6)])
def test_stems_are_the_instruments(found, name, least):
    assert decibels(found.stems[name], STEMS[name]) > least


def test_scores_in_files_and_stereo(tmp_path):
    paths = {name: tmp_path / f"{name}.mid" for name in SCORE}
    for name, path in paths.items():
        write_midi(path, SCORE[name])
    soundfile.write(tmp_path / "mix.wav", np.column_stack([MIX, -0.5 * MIX]), RATE, subtype="FLOAT")
    stereo = separate(tmp_path / "mix.wav", notes=paths, drums=["snare"], iterations=20)
    mixture = soundfile.read(tmp_path / "mix.wav")[0]
    np.testing.assert_allclose(sum(stereo.stems.values()), mixture, rtol=0, atol=1e-6)
    assert decibels(stereo.stems["low"][:, 1], -0.5 * STEMS["low"]) > 10
    written = stereo.save(tmp_path / "stems")
    assert [path.name for path in written] == ["low.wav", "high.wav", "snare.wav"]
    assert soundfile.info(written[0]).channels == 2


def test_percussion_of_a_midi_file_is_drums(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr("pfn.audio.separation.learn_parts", lambda *given, **_: taken.append(given[3]) or given[0])
    monkeypatch.setattr("pfn.audio.separation._stems", lambda *_: {})
    kit = [Note(0.1, 0.2, 36), Note(0.6, 0.7, 38)]
    write_midi(tmp_path / "kit.mid", kit, drums=True)
    write_midi(tmp_path / "low.mid", SCORE["low"])
    song = mido.MidiFile(type=1, ticks_per_beat=500)
    for name in ("low", "kit"):
        (track,) = mido.MidiFile(tmp_path / f"{name}.mid").tracks
        song.tracks.append(mido.MidiTrack([mido.MetaMessage("track_name", name=name), *track]))
    song.save(tmp_path / "song.mid")
    files = {name: tmp_path / f"{name}.mid" for name in ("low", "kit")}
    for score in (tmp_path / "song.mid", files, {"low": SCORE["low"], "kit": kit}):
        separate(MIX, sample_rate=RATE, notes=score)
    assert taken == [{"kit"}, {"kit"}, set()]
    separate(MIX, sample_rate=RATE, notes=files, drums=[])
    assert taken[-1] == set()


def test_a_score_is_that_of_the_whole_recording():
    """The part from 0.5 s on is separated as if it were all, by notes that are half a second earlier."""
    part = separate(MIX, sample_rate=RATE, notes=SCORE, start=0.5, duration=1.5)
    earlier = {name: later(notes, -0.5) for name, notes in SCORE.items()}
    alone = separate(MIX[RATE // 2 : 2 * RATE], sample_rate=RATE, notes=earlier)
    for name, stem in alone.stems.items():
        np.testing.assert_allclose(part.stems[name], stem, rtol=0, atol=1e-9, err_msg=name)
    with pytest.raises(pfn.DataError, match=r"low: none of its notes lies within the 0\.1 s of the sound"):
        separate(MIX, sample_rate=RATE, notes=SCORE, start=1.85, duration=0.1)


def test_in_a_part_of_a_recording_not_everyone_has_to_play():
    part = separate(MIX, sample_rate=RATE, notes=SCORE, duration=0.24)
    np.testing.assert_allclose(part.stems["high"], 0, atol=1e-12)
    np.testing.assert_allclose(sum(part.stems.values()), MIX[: round(0.24 * RATE)], rtol=0, atol=1e-12)


def test_without_a_score_components_are_grouped():
    found = separate(MIX, sample_rate=RATE, parts=2, components=8, iterations=60)
    assert list(found.stems) == ["part 1", "part 2"]
    np.testing.assert_allclose(sum(found.stems.values()), MIX, rtol=0, atol=1e-12)
    mine = found.regrouped({"mine": [0, 3], "other": [1]})
    assert list(mine.stems) == ["mine", "other", "rest"]
    np.testing.assert_allclose(sum(mine.stems.values()), MIX, rtol=0, atol=1e-12)
    with pytest.raises(pfn.DataError, match="from 0 to 7 by the name of their group, each in one"):
        found.regrouped({"mine": [0, 8]})


def test_groups_are_by_colour():
    hiss = 0.01 * np.diff(np.random.default_rng(0).standard_normal(2 * RATE + 2), n=2)  # bright
    found = separate(STEMS["low"] + hiss, sample_rate=RATE, parts=2, components=6)
    assert decibels(found.stems["part 1"], STEMS["low"]) > 3 + decibels(STEMS["low"] + hiss, STEMS["low"])


def test_every_stem_has_a_file_of_its_own(tmp_path):
    names = ["a/b", "a:b", "A-B", "..", "", "x" * 300, "x" * 301, "ok"]
    assert file_names(names) == ["a-b", "a-b 2", "A-B 3", "stem", "stem 2", "x" * 60, "x" * 60 + " 2", "ok"]
    blind = separate(MIX, sample_rate=RATE, components=3, iterations=3)
    paths = blind.regrouped({"a/b": [0], "a:b": [1], "": [2]}).save(tmp_path / "stems")
    assert sorted(tmp_path.glob("stems/*")) == sorted(paths)
    assert [path.name for path in paths] == ["a-b.wav", "a-b 2.wav", "stem.wav"]


@pytest.mark.parametrize("groups", [None, [0], {"a": 0}, {"a": [0.5]}, {"a": ["x"]}, {"a": "01"}, {"a": [0], "b": [0]}])
def test_groups_that_cannot_be(groups):
    found = separate(MIX, sample_rate=RATE, components=3, iterations=3)
    with pytest.raises(pfn.DataError, match="groups: expected numbers of components from 0 to 2"):
        found.regrouped(groups)


def test_a_group_called_rest_takes_the_rest():
    blind = separate(MIX, sample_rate=RATE, components=3, iterations=3)
    mine, named = blind.regrouped({"mine": [1]}), blind.regrouped({"mine": [1], "rest": [0]})
    for name in ("mine", "rest"):
        np.testing.assert_allclose(named.stems[name], mine.stems[name], rtol=0, atol=1e-12)


def test_silence_is_shared_out_as_silence():
    found = separate(np.zeros(RATE), notes=SCORE, sample_rate=RATE)
    assert not any(stem.any() for stem in found.stems.values())


def test_harmonic_spectra_have_their_maxima_at_multiples():
    frequencies = np.arange(1025) * 16_000 / 2048
    spectrum = harmonic(69, frequencies)
    peaks = [frequencies[(frequencies > h * 440 - 100) & (frequencies < h * 440 + 100)] for h in (1, 2, 3)]
    for h, near in enumerate(peaks, 1):
        values = spectrum[np.isin(frequencies, near)]
        assert near[values.argmax()] == pytest.approx(440 * h, abs=4)
        assert values.max() == pytest.approx(1 / h, rel=0.4)
    assert spectrum[(frequencies > 550) & (frequencies < 750)].max() == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"notes": {"low": SCORE["low"]}}, pfn.DataError, "at least two instruments, found low"),
        ({"notes": {"low": SCORE["low"], "high": []}}, pfn.DataError, "of which high has no notes"),
        ({"notes": {**SCORE, "late": [Note(9, 10, 60)]}}, pfn.DataError, "late: none of its notes lies within"),
        ({"notes": SCORE, "drums": ["cymbal"]}, pfn.OptionError, "drums: expected names among low, high, snare"),
        ({"notes": SCORE, "drums": 3}, pfn.OptionError, "drums: expected names among low, high, snare, found 3"),
        ({"notes": SCORE, "seed": -1}, pfn.OptionError, "seed must be a whole number >= 0, found -1"),
        ({"notes": {"low": SCORE["low"], "high": None}}, pfn.DataError, "notes of high: expected notes, .*found None"),
        ({"notes": 3}, pfn.DataError, "notes must be a MIDI file"),
        ({"parts": 1}, pfn.OptionError, "parts must be"),
        ({"parts": 3, "components": 2}, pfn.OptionError, "components must be"),
        ({"notes": SCORE, "parts": 3}, pfn.OptionError, "parts and components are for separation without a score"),
        ({"notes": SCORE, "components": 8}, pfn.OptionError, "parts and components are for separation without a score"),
    ],
)
def test_what_cannot_be_separated(options, error, message):
    with pytest.raises(error, match=message):
        separate(MIX, sample_rate=RATE, **options)


def test_a_sound_of_one_sample():
    with pytest.raises(pfn.DataError, match="expected a sound of at least 512 samples at 16000 Hz, found 1"):
        separate(np.ones(1), notes=SCORE, sample_rate=RATE)


@pytest.mark.parametrize(("samples", "window"), [(5, 90), (90, 90), (91, 90), (1000, 90), (1003, 97)])
def test_windows_add_up_to_the_whole(samples, window):
    whole = np.zeros(samples)
    for begin, end, gains in faded(samples, window, 10):
        assert end - begin <= window + 1
        whole[begin:end] += gains
    np.testing.assert_allclose(whole, 1)


def test_long_recordings_are_separated_in_windows(monkeypatch):
    monkeypatch.setattr("pfn.audio.separation.WINDOW", 2.0)
    longest = []

    def watched(magnitude, *given, **options):
        longest.append(magnitude.shape[1])
        return learn_parts(magnitude, *given, **options)

    monkeypatch.setattr("pfn.audio.separation.learn_parts", watched)
    once = len(MIX) / RATE
    twice = {
        name: [n._replace(onset=n.onset + begin, offset=n.offset + begin) for begin in (0, once) for n in notes]
        for name, notes in SCORE.items()
    }
    long = separate(np.tile(MIX, 2), sample_rate=RATE, notes=twice)
    assert len(longest) > 2
    assert max(longest) < 2.1 * RATE / 256
    np.testing.assert_allclose(sum(long.stems.values()), np.tile(MIX, 2), rtol=0, atol=1e-12)
    for name, stem in STEMS.items():
        assert decibels(long.stems[name], np.tile(stem, 2)) > 6, name


def test_without_a_score_long_recordings_are_refused():
    with pytest.raises(pfn.DataError, match=r"without a score at most 600 s .* found 700 s. Take a part with start"):
        separate(np.zeros(70_000), sample_rate=100)
