"""The `pfn` command. Rooms are named through `pfn`, which loads them when a command runs: help comes at once."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import pfn
from pfn.errors import FileError, OptionError, PfnError

FILE = click.Path(path_type=Path)
SOUND = click.Path(path_type=Path, exists=True, dir_okay=False)
MARKS = {
    "reproduced": "[green]✓",
    "as expected": "[green]✓",
    "reproduced with a difference": "[yellow]≈",
    "failed": "[red]✗",
}


class Commands(click.Group):
    """Commands whose errors are a sentence and the exit code 1, not a traceback."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(context)
        except PfnError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="positive-factor-networks", prog_name="pfn")
def main() -> None:
    """Positive factor networks: coupled non-negative factorizations."""


@main.command("transcribe")
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


@main.command("separate")
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
    _check_folder(folder)
    notes: Path | dict[str, Path] | None = next(iter(scores), None)
    if len(scores) > 1:
        notes = {path.stem: path for path in scores}
        if len(notes) < len(scores):
            names = ", ".join(map(str, scores))
            raise OptionError(f"--score: instruments are named after their files, found two of the same name: {names}.")
    found = pfn.audio.separate(
        audio,
        notes=notes,
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


@main.command("reproduce")
@click.argument("names", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Only list the experiments.")
@click.option("--quick", is_flag=True, help="Fewer seeds, smaller sounds and texts: a minute in all.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seeds count from here.")
@click.option("--jobs", type=click.IntRange(1), help="How many experiments run at a time.  [default: one a core]")
@click.option("--recording", type=FILE, help="A sound file for section 6, instead of a passage made by code.")
@click.option("--out", type=FILE, default=Path("paper"), show_default=True, help="The folder for the page.")
def reproduce_command(
    *, names: Sequence[str], listed: bool, quick: bool, seed: int, jobs: int | None, recording: Path | None, out: Path
) -> None:
    """Run every experiment of the paper, or those named, and write a page about them.

    The page is index.html in the folder; results.json beside it holds its content as data.

    \b
    Examples:
      pfn reproduce
      pfn reproduce tracking-noisy tracking-sparse --out tracking
    """
    if listed:
        table = Table("name", "section", "what", box=None, pad_edge=False)
        for experiment in pfn.paper.EXPERIMENTS:
            table.add_row(experiment.name, experiment.section, experiment.title)
        Console().print(table)
        return
    console = Console(file=sys.stderr)
    with Progress(
        TextColumn("reproducing"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None)

        def finished(report: "pfn.paper.Report") -> None:
            bar.advance(task)
            about = report.experiment
            console.print(
                f"{MARKS[report.verdict]}[/] {about.section:<10} {about.name:<24} {report.verdict}", highlight=False
            )

        reports = pfn.paper.reproduce(
            names,
            out=out,
            setting=pfn.paper.Setting(quick, seed, recording),
            jobs=jobs,
            started=lambda chosen: bar.update(task, total=len(chosen)),
            finished=finished,
        )
    click.echo(f"Open {(out / 'index.html').resolve()}")
    failed = [report.experiment.name for report in reports if report.verdict == "failed"]
    if failed:
        raise click.ClickException(f"failed: {', '.join(failed)}")


@main.command()
@click.argument("thing")
@click.option("--observed", multiple=True, help="A variable that is observed: not shaded. May be repeated.")
@click.option("--slices", type=click.IntRange(1), help="Number of time slices to unroll.")
@click.option("--dot", is_flag=True, help="Print Graphviz DOT text instead of drawing.")
@click.option("--out", type=FILE, help="A .svg, .png or .pdf file.  [default: THING.svg]")
def draw(thing: str, observed: Sequence[str], slices: int | None, dot: bool, out: Path | None) -> None:
    """Draw the network of a saved result, or one of the paper's.

    THING is a file, or one of: graph-example, nmf, transitions, hierarchy, tracking, spectrogram, language,
    language-chain.

    \b
    Examples:
      pfn draw tracking --observed x1 --out tracker.svg
      pfn draw result.safetensors --slices 4
    """
    network = _network(thing)
    given = {"observed": list(observed)} if observed else {}
    options = pfn.paper.DRAWINGS.get(thing, {}) | given | ({"slices": slices} if slices else {})
    if dot:
        click.echo(pfn.plots.dot(network, **options))
        return
    place = out or Path(f"{Path(thing).stem}.svg")
    pfn.plots.draw(network, **options).save(place)
    click.echo(f"Wrote {place}")


def _network(thing: str) -> "pfn.Network":
    """The network of the paper with that name, or of the result in that file."""
    if thing in pfn.paper.NETWORKS:
        return pfn.paper.NETWORKS[thing]()
    if not Path(thing).exists():
        raise OptionError(
            f"{thing!r} is neither a file nor a network of the paper: expected a file that result.save wrote, or one "
            f"of {', '.join(pfn.paper.NETWORKS)}."
        )
    return pfn.load(thing).network


@main.command()
@click.argument("path", type=FILE)
@click.option(
    "--pictures",
    type=FILE,
    help="A folder for pictures: the network, the errors, every variable and learned parameter.",
)
def show(path: Path, pictures: Path | None) -> None:
    """Show a saved result: its equations, errors and sizes, and pictures of them.

    \b
    Example:
      pfn show result.safetensors --pictures result
    """
    result = pfn.load(path)
    click.echo(f"{result.network}\n\n{result!r}")
    if pictures is None:
        return
    found: dict[str, pfn.plots.Picture] = {"network.svg": pfn.plots.draw(result.network)}
    if result.history.iterations.size:
        found["errors.svg"] = pfn.plots.convergence(result)
    kept = [variable for variable in result.network.variables if variable.name in result.values]
    found |= {f"{variable.name}.png": pfn.plots.image(result, variable) for variable in kept}
    found |= {f"{W.name}.png": pfn.plots.image(result, W) for W in result.network.parameters if W.learn}
    for name, picture in found.items():
        place = _folder(pictures) / name
        picture.save(place)
        click.echo(f"Wrote {place}")


@main.command("decompose")
@click.argument("audio", type=SOUND)
@click.option("--start", type=click.FloatRange(0), default=0.0, show_default=True, help="Seconds to leave out first.")
@click.option(
    "--duration", type=click.FloatRange(0, min_open=True), default=15.0, show_default=True, help="Seconds to take."
)
@click.option("--parts", type=click.IntRange(1), default=8, show_default=True, help="How many sounds to write.")
@click.option("--iterations", type=click.IntRange(1), default=60, show_default=True, help="Sweeps of learning.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--out", type=FILE, help="The folder for what is found.  [default: the sound's name]")
def decompose_command(
    *, audio: Path, start: float, duration: float, parts: int, iterations: int, seed: int, out: Path | None
) -> None:
    """Take a sound apart into patterns of patterns (section 6 of the paper).

    Writes the loudest patterns of the highest level as sounds, a picture of all activations, and the result, which
    pfn.load reads.

    \b
    Example:
      pfn decompose song.flac --duration 20 --out song-parts
    """
    folder = out or Path(audio.stem)
    _check_folder(folder)
    found = pfn.audio.decompose(audio, rate=16_000, start=start, duration=duration, iterations=iterations, seed=seed)
    sounds = [found.sound(found.top, component) for component in found.loudest(found.top, parts)]
    _folder(folder)
    activations = pfn.plots.stack(found.result, ["x4", "x3", "x2", "x1"], power=0.5, upward=["x1"])
    activations.save(folder / "activations.png")
    pfn.plots.spectrogram(found.heard).save(folder / "spectrogram.png")
    found.result.save(folder / "result.safetensors")
    loudest = max(1.0, *(float(abs(sound).max()) for sound in sounds))  # together they may be louder than a file can be
    for place, sound in enumerate(sounds, 1):
        pfn.audio.write_sound(folder / f"part-{place}.wav", sound / loudest, round(found.heard.rate))
    click.echo(f"Wrote {len(sounds)} sounds, activations.png, spectrogram.png and result.safetensors to {folder}")


def _folder(path: Path) -> Path:
    """The folder, made where it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be made a folder: {error.strerror}. Name another.") from error
    return path


def _check_place(path: Path, endings: Sequence[str]) -> None:
    """Refuse, before the work, a file that could not be written after it."""
    if path.suffix.lower() not in endings:
        raise FileError(f"{path}: the name must end in {', '.join(endings)}, found {path.suffix or 'no ending'}.")
    if path.is_dir():
        raise FileError(f"{path}: cannot be written: it is a folder. Name a file.")
    if not path.parent.is_dir():
        raise FileError(f"{path}: cannot be written: there is no folder {path.parent}. Make it, or name another.")


def _check_folder(path: Path) -> None:
    """Refuse, before the work, a folder that cannot be one, or has sounds that would be taken for those found."""
    if path.exists() and not path.is_dir():
        raise FileError(f"{path}: expected a folder for the sounds, found a file. Name another with --out.")
    if sounds := sorted(sound.name for sound in path.glob("*.wav")):
        raise FileError(f"{path}: expected a folder without sounds, found {sounds[0]}. Name another with --out.")
