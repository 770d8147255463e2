"""The commands about music: `pfn transcribe` and `pfn separate`."""

from collections.abc import Sequence
from pathlib import Path

import click

import pfn
from pfn.errors import FileError, OptionError

FILE = click.Path(path_type=Path)
SOUND = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("transcribe")
@click.argument("audio", type=SOUND)
@click.option("--model", default="piano", show_default=True, help="piano, drums, or a file of learned templates.")
@click.option("--start", type=click.FloatRange(0), default=0.0, show_default=True, help="Seconds to leave out first.")
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Seconds to take.  [default: all]")
@click.option(
    "--threshold",
    type=click.FloatRange(0, min_open=True),
    help="What counts as a note, relative to the typical strength of notes.  [default: that of the model]",
)
@click.option("--truth", type=FILE, help="The true notes of AUDIO, .mid, .csv or .tsv, to show in the picture.")
@click.option("--picture", type=FILE, help="A .png, .svg or .pdf file: the notes over the spectrum.")
@click.option("--out", type=FILE, help="A .mid file.  [default: AUDIO.mid, here; not over one that is there]")
def transcribe_command(
    *,
    audio: Path,
    model: str,
    start: float,
    duration: float | None,
    threshold: float | None,
    truth: Path | None,
    picture: Path | None,
    out: Path | None,
) -> None:
    """Write the notes of a piano recording, or the hits of drums, as a MIDI file.

    \b
    Examples:
      pfn transcribe song.flac --out song.mid --picture song.png
      pfn transcribe loop.wav --model drums
    """
    midi = out or Path(f"{audio.stem}.mid")
    _check_place(midi, pfn.audio.notes.MIDI)
    if midi.exists() and (out is None or (truth and midi.samefile(truth))):
        raise FileError(f"{midi}: is there already, and would be written over. Name another file with --out.")
    if picture:
        _check_place(picture, pfn.plots.Picture.endings)
    known = pfn.audio.notes.later(pfn.audio.read_notes(truth), -start) if truth else None
    chosen = pfn.audio.transcription.templates_named(model)
    found = pfn.audio.transcribe(audio, model=chosen, start=start, duration=duration, threshold=threshold)
    found.to_midi(midi)
    if picture:
        pfn.plots.piano_roll(found, known).save(picture)
    places = [midi, picture] if picture else [midi]
    click.echo(f"Found {len(found.notes)} notes in {found.seconds:.4g} s; wrote {' and '.join(map(str, places))}")


def _check_place(path: Path, endings: Sequence[str]) -> None:
    """Refuse before the work what could not be written after it."""
    if path.suffix.lower() not in endings:
        raise FileError(f"{path}: the name must end in {', '.join(endings)}, found {path.suffix or 'no ending'}.")
    if path.is_dir():
        raise FileError(f"{path}: cannot be written: it is a folder. Name a file.")
    if not path.parent.is_dir():
        raise FileError(f"{path}: cannot be written: there is no folder {path.parent}. Make it, or name another.")


@click.command("separate")
@click.argument("audio", type=SOUND)
@click.option(
    "--score",
    "scores",
    type=FILE,
    multiple=True,
    help="A MIDI file with a track for each instrument; or one .mid, .csv or .tsv for each: repeat it.",
)
@click.option(
    "--drums",
    multiple=True,
    help="An instrument without pitches. May be repeated.  [default: percussion, and who plays a single pitch]",
)
@click.option("--parts", type=click.IntRange(2), help="Without a score: how many stems.  [default: 2]")
@click.option("--components", type=click.IntRange(2), help="Without a score: learned spectra, grouped.  [default: 24]")
@click.option("--start", type=click.FloatRange(0), default=0.0, show_default=True, help="Seconds to leave out first.")
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Seconds to take.  [default: all]")
@click.option("--iterations", type=click.IntRange(1), default=40, show_default=True, help="Sweeps of learning.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--out", type=FILE, help="The folder for the stems.  [default: AUDIO-stems]")
def separate_command(
    *,
    audio: Path,
    scores: Sequence[Path],
    drums: Sequence[str],
    parts: int | None,
    components: int | None,
    start: float,
    duration: float | None,
    iterations: int,
    seed: int,
    out: Path | None,
) -> None:
    """Write the instruments of a recording as sounds that add up to it.

    \b
    Examples:
      pfn separate song.flac --score song.mid --out stems
      pfn separate trio.wav --score clarinet.csv --score viola.csv --score piano.csv
      pfn separate song.flac --parts 3
    """
    folder = out or Path(f"{audio.stem}-stems")
    check_folder(folder)
    found = pfn.audio.separate(
        audio,
        notes=_notes(scores),
        drums=drums or None,
        parts=parts,
        components=components,
        start=start,
        duration=duration,
        iterations=iterations,
        seed=seed,
    )
    written = found.save(folder)
    click.echo(f"Wrote {', '.join(path.name for path in written)} to {written[0].parent}")


def check_folder(path: Path) -> None:
    """Refuse before the work a folder that cannot be one, or whose sounds would be taken for those that are found."""
    if path.exists() and not path.is_dir():
        raise FileError(f"{path}: expected a folder for the sounds, found a file. Name another with --out.")
    if sounds := sorted(sound.name for sound in path.glob("*.wav")):
        raise FileError(f"{path}: expected a folder without sounds, found {sounds[0]}. Name another with --out.")


def _notes(scores: Sequence[Path]) -> Path | dict[str, Path] | None:
    """One file with all instruments, or a file for each, which is named after it."""
    if len(scores) < 2:
        return next(iter(scores), None)
    notes = {path.stem: path for path in scores}
    if len(notes) < len(scores):
        names = ", ".join(map(str, scores))
        raise OptionError(f"--score: instruments are named after their files, found two of the same name: {names}.")
    return notes
