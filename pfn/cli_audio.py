"""The commands about music: `pfn transcribe` and `pfn separate`."""

from pathlib import Path

import click

from pfn import plots
from pfn.audio import load_drums, load_templates, read_notes, transcribe
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
