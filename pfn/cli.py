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
from pfn.cli_audio import check_folder, separate_command, transcribe_command
from pfn.errors import FileError, OptionError, PfnError

FILE = click.Path(path_type=Path)
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


main.add_command(transcribe_command)
main.add_command(separate_command)


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

    The page is index.html in the folder; results.json beside it has the same as data.

    \b
    Examples:
      pfn reproduce
      pfn reproduce tracking-noisy tracking-sparse --out tracking
    """
    console = Console(file=sys.stderr)
    if listed:
        Console().print(_experiments())
        return
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


def _experiments() -> Table:
    table = Table("name", "section", "what", box=None, pad_edge=False)
    for experiment in pfn.paper.EXPERIMENTS:
        table.add_row(experiment.name, experiment.section, experiment.title)
    return table


@main.command()
@click.argument("thing")
@click.option("--observed", multiple=True, help="A variable that is observed: not shaded. May be repeated.")
@click.option("--slices", type=click.IntRange(1), help="Unroll so many time slices.")
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
    if pictures is not None:
        for name, picture in _pictures(result).items():
            place = _folder(pictures) / name
            picture.save(place)
            click.echo(f"Wrote {place}")


def _pictures(result: "pfn.Result") -> dict[str, Any]:
    found = {"network.svg": pfn.plots.draw(result.network)}
    if result.history.iterations.size:
        found["errors.svg"] = pfn.plots.convergence(result)
    kept = [variable for variable in result.network.variables if variable.name in result.values]
    found |= {f"{variable.name}.png": pfn.plots.image(result, variable) for variable in kept}
    return found | {f"{W.name}.png": pfn.plots.image(result, W) for W in result.network.parameters if W.learn}


@main.command("decompose")
@click.argument("audio", type=click.Path(path_type=Path, exists=True, dir_okay=False))
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
    check_folder(folder)
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
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be made a folder: {error.strerror}. Name another.") from error
    return path
