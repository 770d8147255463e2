"""The commands about music: `pfn transcribe` and `pfn separate`."""

from collections.abc import Sequence
from pathlib import Path

import click

from pfn import plots
from pfn.audio import load_drums, load_templates, read_notes, separate, transcribe
from pfn.audio.drums import DrumTemplates
from pfn.audio.templates import NoteTemplates
from pfn.errors import FileError

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
@click.option("--truth", type=FILE, help="The true notes, .mid, .csv or .tsv, to show in the picture.")
@click.option("--picture", type=FILE, help="A .png, .svg or .pdf file: the notes over the spectrum.")
@click.option("--out", type=FILE, help="A .mid file.  [default: AUDIO.mid]")
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
    known = read_notes(truth) if truth else None
    found = transcribe(audio, model=_model(model), start=start, duration=duration, threshold=threshold)
    places = [out or Path(f"{audio.stem}.mid")]
    found.to_midi(places[0])
    if picture:
        plots.piano_roll(found, known).save(picture)
        places.append(picture)
    click.echo(f"Found {len(found.notes)} notes in {found.seconds:.4g} s; wrote {' and '.join(map(str, places))}")


def _model(name: str) -> str | NoteTemplates | DrumTemplates:
    """The name of a model, or the templates in a file of that name."""
    if not Path(name).is_file():
        return name
    try:
        return load_templates(name)
    except FileError:
        return load_drums(name)


@click.command("separate")
@click.argument("audio", type=SOUND)
@click.option(
    "--score",
    "scores",
    type=FILE,
    multiple=True,
    help="A MIDI file with a track for each instrument; or one .mid, .csv or .tsv for each: repeat it.",
)
@click.option("--drums", multiple=True, help="An instrument without pitches. May be repeated.  [default: by a rule]")
@click.option("--parts", type=click.IntRange(2), default=2, show_default=True, help="Without a score: how many stems.")
@click.option("--start", type=click.FloatRange(0), default=0.0, show_default=True, help="Seconds to leave out first.")
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Seconds to take.  [default: all]")
@click.option("--iterations", type=click.IntRange(1), default=60, show_default=True, help="Sweeps of learning.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--out", type=FILE, help="The folder for the stems.  [default: AUDIO-stems]")
def separate_command(
    *,
    audio: Path,
    scores: Sequence[Path],
    drums: Sequence[str],
    parts: int,
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
    notes = {path.stem: path for path in scores} if len(scores) > 1 else next(iter(scores), None)
    found = separate(
        audio,
        notes=notes,
        drums=drums or None,
        parts=parts,
        components=max(24, parts),
        start=start,
        duration=duration,
        iterations=iterations,
        seed=seed,
    )
    written = found.save(out or Path(f"{audio.stem}-stems"))
    click.echo(f"Wrote {', '.join(path.name for path in written)} to {written[0].parent}")
