"""Two small networks, printed and plotted: plain NMF, and a state machine seen in one time slice only.

Run it with ``make demo``, or ``python examples/demo.py --out FOLDER``.
"""

import argparse
import base64
import html
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import pfn
from pfn import t

Array = NDArray[np.float64]

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>pfn: two small networks</title><style>
body {{ font: 16px/1.55 system-ui, sans-serif; color: #222; max-width: 56rem; margin: auto; padding: 1rem }}
h1, h2 {{ line-height: 1.2 }} h2 {{ margin-top: 2.5rem }} img {{ max-width: 100%; height: auto }}
pre {{ background: #f5f3ef; padding: .8rem 1rem; overflow-x: auto; font-size: 14px; line-height: 1.4 }}
</style></head><body><h1>Two small positive factor networks</h1>{sections}</body></html>
"""
SECTION = '<h2>{title}</h2><img alt="{title}" src="data:image/png;base64,{image}"><pre>{text}</pre>'


def three_notes(bins: int = 64, slices: int = 120) -> tuple[Array, Array]:
    """The spectra of three notes, and a spectrogram in which they sound alone, overlapping and together."""
    frequency, time = np.arange(bins)[:, None], np.arange(slices)
    spectra = np.zeros((bins, 3))
    for note, pitch in enumerate((6.0, 7.6, 9.1)):
        harmonics = pitch * np.arange(1, 6)
        spectra[:, note] = (np.exp(-(((frequency - harmonics) / 0.8) ** 2)) / np.arange(1, 6)).sum(axis=1)
    played = [(0, 5), (1, 20), (2, 35), (0, 50), (1, 50), (1, 72), (2, 72), (0, 92), (1, 94), (2, 96)]
    loudness = np.zeros((3, slices))
    for note, start in played:
        loudness[note] += np.where(time >= start, np.exp(-(time - start) / 7.0), 0.0)
    return spectra, spectra @ loudness


def picture(axes: Axes, values: Array, title: str, *, highest: float | None = None) -> None:
    """An image plot as in the paper: black is zero, white the largest value, grey is hidden."""
    hot = mpl.colormaps["hot"].with_extremes(bad="0.82")
    axes.imshow(values, cmap=hot, vmin=0, vmax=highest, aspect="auto", interpolation="nearest")
    axes.set_title(title, fontsize=10)
    axes.tick_params(labelsize=8, length=2)


def plain_nmf(figure: Figure) -> str:
    """Spectra and times of three notes, out of their mixture alone."""
    spectra, spectrogram = three_notes()
    x, h = pfn.Variable("spectrum", 64), pfn.Variable("loudness", 3)
    W = pfn.Parameter("notes", shape=(64, 3))
    network = pfn.Network(pfn.Factorization(x[t], W @ h[t], normalize="columns"))
    result = pfn.learn(network, {x: spectrogram}, iterations=500, seed=0)

    order = np.argsort(np.argmax(result[W], axis=0))  # NMF finds the notes in any order: lowest first
    found, loudness = result[W][:, order], result[h][order]
    likeness = np.sum(found * spectra, axis=0) / np.linalg.norm(found, axis=0) / np.linalg.norm(spectra, axis=0)

    figure.set_size_inches(8.5, 4.2)
    axes = figure.subplots(2, 2, width_ratios=[1, 4], height_ratios=[3, 1])
    axes[1, 0].axis("off")
    picture(axes[0, 1], spectrogram, "given: a spectrogram")
    picture(axes[0, 0], found, "found: the notes W")
    picture(axes[1, 1], loudness, "found: when each sounds, H")
    for axis in axes[0]:
        axis.invert_yaxis()
    axes[0, 0].set_ylabel("frequency")
    axes[1, 1].set_xlabel("time slice")
    for axis, ticks in ((axes[0, 0].xaxis, "note"), (axes[1, 1].yaxis, "note")):
        axis.set_ticks(range(3), labels=["1", "2", "3"])
        axis.set_label_text(ticks)
    cosines = ", ".join(f"{value:.4f}" for value in likeness)
    return f"{result}\n\nLikeness of the spectra found to the true ones (cosine): {cosines}"


def automaton(figure: Figure) -> str:
    """The future and the past of two machines that run at once, from one slice of their sum."""
    states = np.eye(4)
    moves = np.vstack([states, np.roll(states, 1, axis=0)])  # S1 → S2 → S3 → S4 → S1, one move a column
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 4)
    machine = pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", moves) @ h[t]))
    observed = np.full((4, 10), np.nan)
    observed[:, 3] = 0.5 * states[0] + 1.0 * states[2]

    figure.set_size_inches(8.5, 5.4)
    axes = figure.subplots(2, 2).ravel()
    picture(axes[0], observed, "given: slice 4 (grey: hidden)", highest=1.0)
    for axis, sweeps in zip(axes[1:], (5, 20, 200), strict=True):
        result = pfn.infer(machine, {x: observed}, iterations=sweeps, seed=0)
        picture(axis, result[x], f"after {result.iterations} sweeps", highest=1.0)
    for axis in axes:
        axis.set_xticks(range(10), labels=[str(slice_) for slice_ in range(1, 11)])
        axis.set_yticks(range(4), labels=["S1", "S2", "S3", "S4"])
    for axis in axes[2:]:
        axis.set_xlabel("time slice")
    return f"{result}\n\nThe states, slice 4 given, all others found:\n{result[x].round(2)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the pictures and the page")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    sections = []
    for example in (plain_nmf, automaton):
        title, name = (example.__doc__ or "").strip().rstrip("."), example.__name__.replace("_", "-")
        figure = Figure(layout="constrained")
        text = example(figure)
        print(f"{title}\n\n{text}\n")
        image = BytesIO()
        figure.savefig(image, dpi=130, format="png")
        (out / f"{name}.png").write_bytes(image.getvalue())
        inline = base64.b64encode(image.getvalue()).decode()
        sections.append(SECTION.format(title=html.escape(title), image=inline, text=html.escape(text)))
    page = out / "index.html"
    page.write_text(PAGE.format(sections="".join(sections)), encoding="utf-8")
    print(f"Open {page.resolve()}")


if __name__ == "__main__":
    main()
