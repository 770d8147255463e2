"""Notes: read from MIDI, CSV and TSV files, and written as MIDI; the one place that uses mido (extra `audio`)."""

import csv
from collections.abc import Iterable, Mapping
from io import BytesIO
from itertools import accumulate
from math import inf
from numbers import Real
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pfn import DataError, FileError, OptionError
from pfn.files import write_whole

# Of MIDI files written: ticks to a beat and microseconds to a beat, so that a tick is a millisecond.
TICKS = 500
TEMPO = 500_000

# The tenth channel of MIDI, counted from 0, is that of percussion.
DRUM_CHANNEL = 9
MIDI = (".mid", ".midi")
# The highest pitch of MIDI.
HIGHEST = 127

# Columns of tables by the beginnings of their names, without "midi_".
COLUMNS = {"onset": "onset", "offset": "offset", "pitch": "pitch", "note": "pitch", "velocity": "velocity"}

POSSIBLE = f"expected a note that ends after its onset, with a MIDI pitch from 0 to {HIGHEST}"


class _Fields(NamedTuple):
    onset: float
    offset: float
    pitch: int
    strength: float = 1.0


class Note(_Fields):
    """A note: the seconds at which it begins and ends, its MIDI pitch (69 is 440 Hz), a strength between 0 and 1.

    >>> Note(0.5, 1.0, 69)
    Note(onset=0.5, offset=1.0, pitch=69, strength=1.0)
    """

    __slots__ = ()

    def __new__(cls, onset: float, offset: float, pitch: int, strength: float = 1.0) -> "Note":
        """Refuse notes that end before they begin, and pitches that MIDI does not have."""
        note = super().__new__(cls, onset, offset, pitch, strength)
        try:
            whole = isinstance(pitch, Real) and pitch in range(HIGHEST + 1)
            possible = whole and -inf < onset <= offset < inf and strength >= 0
        except (TypeError, ValueError):  # ValueError: arrays are neither more nor less
            possible = False
        if not possible:
            raise DataError(f"{POSSIBLE}, found {note}. Give onset, offset, pitch and strength, in this order.")
        return note._replace(pitch=int(pitch))


def read_notes(path: str | PathLike[str]) -> list[Note]:
    """The notes of a MIDI file, all its tracks together, or of a table, in the order in which they begin.

    A table is a .csv or .tsv file with a head line that names its columns: onset, offset (in seconds), pitch or note
    (MIDI numbers), and velocity if there is one.

    Parameters
    ----------
    path
        The file.
    """
    return sorted(note for notes in read_score(path).values() for note in notes)


def read_score(path: str | PathLike[str]) -> dict[str, list[Note]]:
    """The notes of a file by instrument: one for every track and channel of a MIDI file, else one named after the file.

    Parameters
    ----------
    path
        A MIDI file, or a table as for `read_notes`.
    """
    place = Path(path)
    if not place.is_file():
        raise FileError(
            f"{place}: expected a file of notes, found {'a folder' if place.is_dir() else 'nothing'} there."
        )
    kind = place.suffix.lower()
    if kind in MIDI:
        return {name: part.notes for name, part in _midi_parts(place).items()}
    if kind in (".csv", ".tsv", ".txt"):
        return {place.stem: _table(place)}
    raise FileError(
        f"{place}: the name of a file of notes must end in .mid, .midi, .csv or .tsv, found {kind or 'no ending'}."
    )


def percussion(path: str | PathLike[str]) -> set[str]:
    """The instruments of a score on the channel of percussion; tables have no channels."""
    place = Path(path)
    parts = _midi_parts(place) if place.suffix.lower() in MIDI else {}
    return {name for name, part in parts.items() if part.channel == DRUM_CHANNEL}


def _table(path: Path) -> list[Note]:
    """The notes of a .csv or .tsv file."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()  # spreadsheets put a mark before the text
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: expected a table of notes as text, found something else: {error}.") from error
    if not lines:
        raise FileError(f"{path}: expected a head line with the columns onset, offset, pitch; the file is empty.")
    separator = "\t" if any("\t" in line for line in lines) else ","
    heads = [name.strip().lower() for name in lines[0].lstrip("# ").replace("\t", ",").split(",")]
    plain = [head.removeprefix("midi_").split("_")[0] for head in heads]
    names = [COLUMNS.get(name, name) for name in plain]
    missing = {"onset", "offset", "pitch"} - set(names)
    if missing:
        raise FileError(
            f"{path}: the head line must name onset, offset and pitch, separated by commas or tabs, found {lines[0]!r}."
        )
    rows = enumerate(csv.reader(lines[1:], delimiter=separator), 2)
    return sorted(_note(path, line, dict(zip(names, row, strict=False))) for line, row in rows if "".join(row).strip())


def _note(path: Path, line: int, row: Mapping[str, str]) -> Note:
    """The note of a row of a table."""
    try:
        strength = float(row["velocity"]) / 127 if "velocity" in row else 1.0
        return Note(float(row["onset"]), float(row["offset"]), round(float(row["pitch"])), min(strength, 1.0))
    except (KeyError, ValueError, OverflowError) as error:
        raise FileError(
            f"{path}: line {line}: expected numbers for onset, offset, pitch (and velocity, if any), found {row}."
        ) from error
    except DataError as error:
        raise FileError(f"{path}: line {line}: {POSSIBLE}, found {row}.") from error


def later(notes: Iterable[Note], seconds: float) -> list[Note]:
    """The notes, moved by some seconds."""
    return [note._replace(onset=note.onset + seconds, offset=note.offset + seconds) for note in notes]


def checked_notes(notes: Iterable[Any], what: str) -> list[Note]:
    """Notes, or tuples like them, in the order in which they begin."""
    if not isinstance(notes, Iterable) or isinstance(notes, str | bytes):
        raise DataError(f"{what}: expected notes, such as pfn.audio.read_notes returns, found {notes!r}.")
    found = []
    for given in notes:
        try:
            found.append(Note(*given))
        except (TypeError, DataError) as error:
            raise DataError(f"{what}: {POSSIBLE}, found {given!r}.") from error
    return sorted(found)


class _Track(NamedTuple):
    channel: int
    notes: list[Note]


def _midi_parts(path: Path) -> dict[str, _Track]:
    """Notes by track and channel, named after the track where it has a name."""
    mido = _mido()
    try:
        file = mido.MidiFile(path)
        notes = _midi_notes(mido, file)
    except (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, DataError) as error:
        raise FileError(
            f"{path}: expected a MIDI file, found something else, or a damaged one: "
            f"{str(error) or 'it ends too early'}."
        ) from error
    found: dict[str, _Track] = {}
    for (track, channel), played in sorted(notes.items()):
        name = file.tracks[track].name.strip("\0 ") or path.stem
        found[name if name not in found else f"{name} {track + 1}.{channel + 1}"] = _Track(channel, sorted(played))
    return found


def _midi_notes(mido: Any, file: Any) -> dict[tuple[int, int], list[Note]]:
    """Notes by track and channel; a note that is struck again before it ends, ends there."""
    # The messages of all tracks in order, since tempo changes count for all tracks.
    events = [
        (tick, number, message)
        for number, track in enumerate(file.tracks)
        for tick, message in zip(accumulate(message.time for message in track), track, strict=True)
    ]
    tempo, now, last = TEMPO, 0.0, 0
    sounding: dict[tuple[int, int, int], tuple[float, float]] = {}
    found: dict[tuple[int, int], list[Note]] = {}
    for tick, track, message in sorted(events, key=itemgetter(0)):
        now += mido.tick2second(tick - last, file.ticks_per_beat, tempo)
        last = tick
        tempo = message.tempo if message.type == "set_tempo" else tempo
        if message.type not in ("note_on", "note_off"):
            continue
        part, key = (track, message.channel), (track, message.channel, message.note)
        if key in sounding:
            onset, strength = sounding.pop(key)
            found.setdefault(part, []).append(Note(onset, now, message.note, strength))
        if message.type == "note_on" and message.velocity:
            sounding[key] = now, message.velocity / 127
    return found


def write_midi(path: str | PathLike[str], notes: Iterable[Note], *, drums: bool = False) -> None:
    """Write notes as a MIDI file, exact to the millisecond.

    Parameters
    ----------
    path
        The file.
    notes
        The notes.
    drums
        Put them on the channel of percussion.
    """
    mido, place = _mido(), Path(path)
    if place.suffix.lower() not in MIDI:
        raise FileError(f"{place}: the name must end in .mid or .midi, found {place.suffix or 'no ending'}.")
    channel = DRUM_CHANNEL if drums else 0
    events = []
    for note in checked_notes(notes, str(place)):
        if note.onset < 0:
            raise DataError(f"{place}: MIDI files begin at 0 s, found a note at {note.onset:g} s. Move the notes.")
        velocity = round(np.clip(127 * note.strength, 1, 127))
        begin, end = round(1000 * note.onset), round(1000 * note.offset)
        events.append((begin, 1, mido.Message("note_on", channel=channel, note=note.pitch, velocity=velocity)))
        events.append((max(end, begin + 1), 0, mido.Message("note_off", channel=channel, note=note.pitch)))
    track = mido.MidiTrack([mido.MetaMessage("set_tempo", tempo=TEMPO)])
    last = 0
    for tick, _, message in sorted(events, key=itemgetter(0, 1)):  # a note ends before it is struck again
        track.append(message.copy(time=tick - last))
        last = tick
    content = BytesIO()
    mido.MidiFile(type=0, ticks_per_beat=TICKS, tracks=[track]).save(file=content)
    write_whole(place, content.getvalue())


def _mido() -> Any:
    """The package mido, or an error that says how to install it."""
    try:
        import mido
    except ImportError as error:
        raise OptionError(
            "reading and writing MIDI files needs mido, which is not installed. "
            'Run: pip install "positive-factor-networks[audio]"'
        ) from error
    return mido
