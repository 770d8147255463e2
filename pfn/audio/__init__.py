"""Spectrograms in, sounds out (extra `audio` for files and resampling)."""

from pfn.audio.decomposition import Decomposition, decompose
from pfn.audio.sounds import Sound, read_sound, write_sound
from pfn.audio.spectrograms import Spectrogram, spectrogram

__all__ = ["Decomposition", "Sound", "Spectrogram", "decompose", "read_sound", "spectrogram", "write_sound"]
