"""Spectrograms in, notes and sounds out (extra `audio` for files and resampling)."""

from pfn.audio.decomposition import Decomposition, decompose
from pfn.audio.drums import DrumTemplates, drum_templates, load_drums
from pfn.audio.listeners import Heard, Listener
from pfn.audio.machines import note_machines
from pfn.audio.notes import Note, read_notes, read_score, write_midi
from pfn.audio.separation import Separation, separate
from pfn.audio.sounds import Sound, read_sound, write_sound
from pfn.audio.spectrograms import Spectrogram, spectrogram
from pfn.audio.template_learning import learn_drums, learn_notes
from pfn.audio.templates import NoteTemplates, isolated_templates, load_templates, piano_templates
from pfn.audio.transcription import Transcription, transcribe

__all__ = [
    "Decomposition",
    "DrumTemplates",
    "Heard",
    "Listener",
    "Note",
    "NoteTemplates",
    "Separation",
    "Sound",
    "Spectrogram",
    "Transcription",
    "decompose",
    "drum_templates",
    "isolated_templates",
    "learn_drums",
    "learn_notes",
    "load_drums",
    "load_templates",
    "note_machines",
    "piano_templates",
    "read_notes",
    "read_score",
    "read_sound",
    "separate",
    "spectrogram",
    "transcribe",
    "write_midi",
    "write_sound",
]
