import sys

import numpy as np
import pytest
import soundfile

import pfn
from pfn.audio import read_sound, spectrogram, write_sound
from tests.audio.notes import RATE, melody

SOUND = melody((60, 64, 67))
REMEDY = r'pip install "positive-factor-networks\[audio\]"'


@pytest.mark.parametrize(
    ("ending", "error"), [("wav", 1e-4), ("flac", 1e-4), ("ogg", 0.1), ("mp3", 0.1), ("WAV", 1e-4)]
)
@pytest.mark.parametrize("channels", [1, 2])
def test_written_sounds_come_back(tmp_path, ending, error, channels):
    path = tmp_path / f"notes.{ending}"
    write_sound(path, SOUND if channels == 1 else np.column_stack([SOUND, SOUND]), RATE)
    assert soundfile.info(path).channels == channels
    samples, rate = read_sound(path)
    assert (samples.shape, rate) == (SOUND.shape, RATE)
    assert np.abs(samples - SOUND).max() < error  # the latter two throw away what is not heard


@pytest.mark.parametrize("ending", ["ogg", "mp3", "flac"])
def test_long_sounds_can_be_written(tmp_path, ending):
    long = np.tile(SOUND, 300)  # libsndfile crashes on so much in one call, for .ogg
    write_sound(tmp_path / f"long.{ending}", long, RATE)
    assert len(read_sound(tmp_path / f"long.{ending}").samples) == len(long)


@pytest.mark.parametrize("rate", [384_000, 768_000])
def test_rates_above_all_that_is_heard(tmp_path, rate):
    write_sound(tmp_path / "notes.wav", SOUND, rate)
    assert read_sound(tmp_path / "notes.wav").rate == rate


@pytest.mark.parametrize(("start", "duration"), [(0, None), (0.5, None), (0.25, 0.5), (1, 99)])
def test_part_of_a_file(tmp_path, start, duration):
    write_sound(tmp_path / "notes.flac", SOUND, RATE)
    samples = read_sound(tmp_path / "notes.flac", start=start, duration=duration).samples
    last = None if duration is None else round((start + duration) * RATE)
    np.testing.assert_allclose(samples, SOUND[round(start * RATE) : last], rtol=0, atol=1e-4)


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 44100])
def test_other_rates(tmp_path, rate):
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(2 * 22050) / 22050)
    write_sound(tmp_path / "tone.wav", tone, 22050)
    samples, found = read_sound(tmp_path / "tone.wav", rate=rate)
    assert (found, len(samples)) == (rate, 2 * rate)
    expected = 0.5 * np.sin(2 * np.pi * 440 * np.arange(2 * rate) / rate)
    np.testing.assert_allclose(samples[1000:-1000], expected[1000:-1000], atol=1e-3)


def test_files_that_are_no_sounds(tmp_path):
    (tmp_path / "text.wav").write_text("do re mi")
    (tmp_path / "nothing.flac").touch()
    (tmp_path / "headerless.raw").write_bytes(bytes(100))
    (tmp_path / "folder.wav").mkdir()
    soundfile.write(tmp_path / "no_samples.wav", np.zeros(0), RATE)
    for name, message in {
        "text.wav": "expected a sound file .* found something else",
        "nothing.flac": "expected a sound file .* found something else",
        "headerless.raw": "expected a sound file .* found something else",
        "folder.wav": "expected a sound file, found a folder there",
        "missing.wav": "expected a sound file, found nothing there",
        "long" * 100: "expected a sound file .* File name too long",
        "no_samples.wav": "there are no samples from start=0 s on, the file has 0 s",
    }.items():
        with pytest.raises(pfn.FileError, match=rf"{name}: {message}"):
            spectrogram(tmp_path / name)


def test_files_with_bad_samples(tmp_path):
    soundfile.write(tmp_path / "nan.wav", np.array([0, np.nan] * 900), RATE, subtype="FLOAT")
    with pytest.raises(pfn.DataError, match=r"nan\.wav: samples must be finite, found nan at sample 1"):
        read_sound(tmp_path / "nan.wav")
    soundfile.write(tmp_path / "one.wav", np.zeros(1), RATE)
    assert read_sound(tmp_path / "one.wav").samples.shape == (1,)
    with pytest.raises(
        pfn.DataError, match=r"one\.wav: a window of 1024 needs a sound of at least 512 samples, found 1"
    ):
        spectrogram(tmp_path / "one.wav")


def test_start_after_the_end(tmp_path):
    write_sound(tmp_path / "notes.wav", SOUND, RATE)
    with pytest.raises(pfn.FileError, match=r"no samples from start=2 s on, the file has 1\.25 s"):
        read_sound(tmp_path / "notes.wav", start=2)


def test_a_file_says_its_own_rate(tmp_path):
    write_sound(tmp_path / "notes.wav", SOUND, RATE)
    with pytest.raises(pfn.OptionError, match=r"notes\.wav: a file says its own sample_rate, found 16000"):
        spectrogram(tmp_path / "notes.wav", sample_rate=16000)


@pytest.mark.parametrize(
    ("name", "samples", "rate", "error", "message"),
    [
        ("a.txt", SOUND, RATE, pfn.FileError, r"must end in \.wav, \.flac, \.ogg, \.mp3, found \.txt"),
        ("a", SOUND, RATE, pfn.FileError, "found no ending"),
        ("no/a.wav", SOUND, RATE, pfn.FileError, "cannot be written: No such file or directory"),
        ("a.mp3", SOUND, 96000, pfn.FileError, "MP3 cannot hold 1 channels at 96000 Hz"),
        ("a.flac", np.zeros((900, 300)), RATE, pfn.FileError, "FLAC cannot hold 300 channels at 8000 Hz"),
        ("a.wav", SOUND, 2**31, pfn.OptionError, "rate must be at most 2147483647 samples per second"),
        ("a.ogg", SOUND, 200_001, pfn.OptionError, "at most 192000 samples per second in such a file, found 200001"),
        ("a.wav", SOUND, 8000.5, pfn.OptionError, r"rate must be a whole number >= 1, found 8000\.5"),
        ("a.wav", SOUND * 4, RATE, pfn.OptionError, r"must lie between -1 and 1, found 2 in magnitude.* Scale them"),
        ("a.wav", [], RATE, pfn.DataError, "samples: there are no samples"),
        ("a.wav", [0, np.nan], RATE, pfn.DataError, "samples must be finite, found nan at sample 1"),
    ],
)
def test_what_cannot_be_written(tmp_path, name, samples, rate, error, message):
    with pytest.raises(error, match=message):
        write_sound(tmp_path / name, samples, rate)
    assert not list(tmp_path.iterdir())


def test_without_soundfile(tmp_path, monkeypatch):
    write_sound(tmp_path / "notes.wav", SOUND, RATE)
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(pfn.OptionError, match=f"reading and writing sound files needs soundfile, .* {REMEDY}"):
        spectrogram(tmp_path / "notes.wav")
    with pytest.raises(pfn.OptionError, match=REMEDY):
        write_sound(tmp_path / "again.wav", SOUND, RATE)


def test_without_soxr(tmp_path, monkeypatch):
    write_sound(tmp_path / "notes.wav", SOUND, RATE)
    monkeypatch.setitem(sys.modules, "soxr", None)
    with pytest.raises(pfn.OptionError, match=f"resampling needs soxr, .* {REMEDY}"):
        spectrogram(tmp_path / "notes.wav", rate=16000)
    with pytest.raises(pfn.OptionError, match=REMEDY):
        spectrogram(SOUND, sample_rate=RATE, rate=16000)
    assert spectrogram(tmp_path / "notes.wav", rate=RATE).rate == RATE
