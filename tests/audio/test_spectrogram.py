import subprocess
import sys

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st

import pfn
from pfn.audio import spectrogram, write_sound
from tests.audio.notes import RATE, melody

SOUND = melody((60, 64, 67, 72))


@given(st.data())
def test_sound_comes_back(data):
    window = data.draw(st.integers(4, 70), "window")
    hop = data.draw(st.integers(1, window // 2), "hop")
    samples = data.draw(st.integers((window + 1) // 2, 300), "samples")
    sound = np.random.default_rng(samples).standard_normal(samples)
    found = spectrogram(sound, rate=100, window=window, hop=hop, peak=data.draw(st.sampled_from([None, 3.0])))
    np.testing.assert_allclose(found.to_sound(), sound, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.to_sound(found.magnitude), sound, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seconds", [15, 3.3, 0.07])
def test_front_end_of_the_paper(seconds):
    sound = np.random.default_rng(0).standard_normal(round(seconds * 16000))
    found = spectrogram(sound, rate=16000, bins=512, peak=1.0)
    frequencies, times, expected = scipy.signal.stft(sound, 16000, "hann", 1024, 1024 - 386)
    expected = np.abs(expected[:512])
    np.testing.assert_allclose(found.magnitude, expected / expected.max(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.times, times, rtol=1e-12, atol=0)
    np.testing.assert_array_equal(found.frequencies, frequencies[:512])
    if seconds == 15:
        assert found.magnitude.shape == (512, 623)


def test_what_it_holds():
    found = spectrogram(SOUND, rate=RATE, window=256, hop=100)
    np.testing.assert_allclose(found.magnitude * np.exp(1j * found.phase), found.stft, rtol=0, atol=1e-15)
    assert (found.rate, found.window, found.hop, found.samples) == (RATE, 256, 100, len(SOUND))
    assert repr(found) == "Spectrogram(129 frequencies × 121 slices, 1.5 s at 8000 Hz)"
    with pytest.raises(AttributeError):
        found.rate = 1
    with pytest.raises(ValueError, match="read-only"):
        found.magnitude[0, 0] = 1


def test_peaks_are_where_the_tone_is():
    tone = np.sin(2 * np.pi * 1000 * np.arange(RATE) / RATE)
    found = spectrogram(tone, rate=RATE, window=800, hop=200)
    loudest = found.magnitude.argmax(axis=0)
    np.testing.assert_array_equal(found.frequencies[loudest[3:-3]], 1000)
    np.testing.assert_allclose(found.magnitude.max(axis=0)[3:-3], 0.5, rtol=1e-3)


def test_magnitudes_of_a_part_sound_like_the_part():
    low, high = melody((48, 50, 52)), melody((84, 86, 88))
    mixture, alone = (spectrogram(s, rate=RATE, window=512, hop=128) for s in (low + high, low))
    share = np.linalg.norm(mixture.to_sound(alone.magnitude) - low) / np.linalg.norm(low)
    assert share < 0.1


def test_left_out_frequencies_are_silent():
    found = spectrogram(SOUND, rate=RATE, bins=100)
    spectrum = np.abs(np.fft.rfft(found.to_sound()))
    heard = np.fft.rfftfreq(len(SOUND), 1 / RATE) < found.frequencies[-1]
    assert spectrum[~heard].max() < 0.05 * spectrum.max()
    np.testing.assert_allclose(found.to_sound(), found.to_sound(found.magnitude), rtol=0, atol=1e-12)


def test_peak_scales_and_scales_back():
    plain, scaled = (spectrogram(SOUND, rate=RATE, peak=peak) for peak in (None, 2.0))
    assert scaled.magnitude.max() == pytest.approx(2, rel=1e-15)
    np.testing.assert_allclose(scaled.magnitude, plain.magnitude * scaled.scale, rtol=1e-12)
    half = scaled.to_sound(scaled.magnitude / 2)
    np.testing.assert_allclose(half, SOUND / 2, rtol=0, atol=1e-10)


@pytest.mark.parametrize("peak", [None, 1.0])
def test_silence_is_zeros(peak):
    found = spectrogram(np.zeros(RATE), rate=RATE, peak=peak)
    assert not found.magnitude.any()
    assert not found.to_sound().any()


def test_channels_are_mixed_down():
    left, right = melody((60, 62)), melody((70, 72))
    both = spectrogram(np.column_stack([left, right]), rate=RATE)
    np.testing.assert_array_equal(both.stft, spectrogram((left + right) / 2, rate=RATE).stft)


def test_whole_numbers_and_single_precision():
    numbers = (SOUND * 30000).round().astype(np.int16)
    np.testing.assert_allclose(spectrogram(numbers, rate=RATE).to_sound(), numbers, atol=1e-8)
    assert spectrogram(SOUND.astype(np.float32), rate=RATE).magnitude.dtype == np.float64


def test_other_rate_of_the_samples():
    time = np.arange(3 * 22050) / 22050
    found = spectrogram(np.sin(2 * np.pi * 440 * time), sample_rate=22050, rate=RATE)
    assert (found.rate, found.samples) == (RATE, 3 * RATE)
    expected = np.sin(2 * np.pi * 440 * np.arange(3 * RATE) / RATE)
    np.testing.assert_allclose(found.to_sound()[1000:-1000], expected[1000:-1000], atol=1e-4)
    assert spectrogram(SOUND, sample_rate=RATE).rate == RATE


def test_part_of_the_samples():
    found = spectrogram(SOUND, rate=RATE, start=0.5, duration=0.25)
    np.testing.assert_allclose(found.to_sound(), SOUND[4000:6000], rtol=0, atol=1e-12)


def test_files_and_samples_agree(tmp_path):
    write_sound(tmp_path / "notes.wav", SOUND, RATE)
    found = spectrogram(tmp_path / "notes.wav", start=0.5, duration=0.5)
    np.testing.assert_allclose(found.to_sound(), SOUND[4000:8000], rtol=0, atol=1 / 32767)
    assert spectrogram(str(tmp_path / "notes.wav"), rate=16000).samples == 2 * len(SOUND)


def test_samples_at_their_rate_need_no_extra():
    code = (
        "import sys, numpy, pfn.audio\n"
        "pfn.audio.spectrogram(numpy.zeros(4000), rate=8000).to_sound()\n"
        "print({'soundfile', 'soxr', 'librosa'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, pfn.OptionError, "rate must be given with samples"),
        ({"rate": 0}, pfn.OptionError, "rate must be greater than 0, found 0"),
        ({"rate": np.nan}, pfn.OptionError, "rate must be a number >= 0, found nan"),
        ({"rate": RATE, "sample_rate": -1}, pfn.OptionError, "sample_rate must be a number >= 0, found -1"),
        ({"rate": RATE, "window": 3}, pfn.OptionError, "window must be a whole number >= 4, found 3"),
        ({"rate": RATE, "window": 512.0}, pfn.OptionError, r"window must be a whole number >= 4, found 512\.0"),
        ({"rate": RATE, "hop": 0}, pfn.OptionError, "hop must be a whole number >= 1, found 0"),
        ({"rate": RATE, "hop": 513}, pfn.OptionError, "hop must be at most half the window, 512, .* found 513"),
        ({"rate": RATE, "bins": 0}, pfn.OptionError, "bins must be a whole number >= 1, found 0"),
        ({"rate": RATE, "bins": 514}, pfn.OptionError, "bins must be at most window // 2 [+] 1 = 513, found 514"),
        ({"rate": RATE, "peak": 0}, pfn.OptionError, "peak must be greater than 0, found 0"),
        ({"rate": RATE, "start": -1}, pfn.OptionError, "start must be a number >= 0, found -1"),
        ({"rate": RATE, "duration": 0}, pfn.OptionError, "duration must be greater than 0, found 0"),
        ({"rate": RATE, "start": 9}, pfn.DataError, "needs a sound of at least 512 samples, found 0"),
        ({"rate": RATE, "window": 65536}, pfn.DataError, "a window of 65536 needs .* at least 32768 .* found 12000"),
    ],
)
def test_options_are_checked(given, error, message):
    with pytest.raises(error, match=message):
        spectrogram(SOUND, **given)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "samples: there are no samples"),
        ([0.5], "samples: a window of 1024 needs a sound of at least 512 samples, found 1 at 8000 Hz"),
        (np.where(np.arange(2000) == 7, np.nan, 0), r"must be finite, found nan at sample 7 \(1 such samples\)"),
        (np.where(np.arange(2000) > 7, np.inf, 0), r"must be finite, found inf at sample 8 \(1992 such samples\)"),
        (np.zeros((2, 2000)), r"found \(2, 2000\), with more channels than samples.* use samples\.T"),
        (np.zeros((9, 9, 9)), r"expected the shape \(samples,\) or \(samples, channels\), found \(9, 9, 9\)"),
        (np.zeros(2000, complex), "expected real numbers, found complex128"),
        ([[1.0], [1.0, 2.0]], "samples: expected an array of samples"),
        (None, "expected real numbers, found object"),
    ],
)
def test_samples_are_checked(samples, message):
    with pytest.raises(pfn.DataError, match=message):
        spectrogram(samples, rate=RATE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.T, r"expected numbers of the shape \(513, 33\), .* found float64 of the shape \(33, 513\)"),
        (lambda m: m - 1, "must be finite and non-negative, found -.* at row 0, column 0"),
        (lambda m: np.where(m == m.max(), np.nan, m), "must be finite and non-negative, found nan at row"),
        (lambda m: m + 1j, "found complex128"),
    ],
)
def test_magnitudes_are_checked(change, message):
    found = spectrogram(SOUND, rate=RATE)
    with pytest.raises(pfn.DataError, match=message):
        found.to_sound(change(found.magnitude))
