"""Draw the pictures of the README and the documentation: python docs/images/make.py [FOLDER]."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

import pfn
from pfn import t

STATES = np.eye(4)
HOT = mpl.colormaps["hot"].with_extremes(bad="0.85")
PLACES = {1: (-1, 1), 2: (1, 1), 3: (1, -1), 4: (-1, -1)}


def machine(*moves):
    """The network of section 3 for a machine with these moves, as pairs of states."""
    W = np.column_stack([np.concatenate([STATES[a - 1], STATES[b - 1]]) for a, b in moves])
    x, h = pfn.Variable("x", 4), pfn.Variable("h", len(moves))
    return pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", W) @ h[t]))


def draw_machine(axes, moves):
    axes.set(xlim=(-1.75, 1.75), ylim=(-1.75, 1.75), aspect="equal")
    axes.axis("off")
    look = {"arrowstyle": "-|>", "mutation_scale": 13, "color": "0.25", "linewidth": 1.3}
    for a, b in moves:
        if a == b:  # a loop at the lower right: from the circle out to two control points and back
            loop = np.add(PLACES[a], [(0.36, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, -0.38)])
            arrow = FancyArrowPatch(path=mpl.path.Path(loop, [1, 4, 4, 4]), **look)
        else:
            bend = 0.0 if (a - b) % 2 == 0 else -0.18  # straight across, bent along the sides
            bent = f"arc3,rad={bend}"
            arrow = FancyArrowPatch(PLACES[a], PLACES[b], connectionstyle=bent, shrinkA=18, shrinkB=18, **look)
        axes.add_patch(arrow)
    for state, (x, y) in PLACES.items():
        axes.add_patch(Circle((x, y), 0.36, facecolor="white", edgecolor="0.25", linewidth=1.3))
        axes.text(x, y, f"S{state}", ha="center", va="center", fontsize=11)


def draw_states(axes, values, title):
    """Black is zero, white the largest value, grey is hidden."""
    axes.pcolormesh(np.ma.masked_invalid(values), cmap=HOT, vmin=0, vmax=1, edgecolors="0.35", linewidth=0.5)
    for column in np.flatnonzero(np.isnan(values).all(axis=0)):
        behind = {"facecolor": "0.85", "edgecolor": "none", "pad": 2}  # hides the grid line behind the mark
        axes.text(column + 0.5, 2, "?", ha="center", va="center", color="0.4", fontsize=13, bbox=behind)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10.5, loc="left")
    axes.set_xticks(np.arange(10) + 0.5, labels=[str(column) for column in range(1, 11)])
    axes.set_yticks(np.arange(4) + 0.5, labels=["S1", "S2", "S3", "S4"])
    axes.tick_params(length=0, labelsize=9)


def draw(moves, observed, titles):
    """The machine on the left; on the right what is given and what is found."""
    figure = Figure(figsize=(8.6, 3.9), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 2.1])
    draw_machine(left.subplots(), moves)
    above, below = right.subplots(2, 1, sharex=True)
    draw_states(above, observed, titles[0])
    draw_states(below, pfn.infer(machine(*moves), {"x": observed}, seed=0)["x"], titles[1])
    below.set_xlabel("time slice", fontsize=9)
    return figure


def automaton():
    observed = np.full((4, 10), np.nan)
    observed[:, 3] = 0.5 * STATES[0] + 1.0 * STATES[2]
    titles = (
        "Given: slice 4 of two machines added up, at 0.5 and 1.0",
        "Found: where both were, and where they go",
    )
    return draw([(1, 2), (2, 3), (3, 4), (4, 1)], observed, titles)


def hidden_slices():
    observed = np.full((4, 10), np.nan)
    for column, state in {2: 2, 4: 3, 5: 4}.items():
        observed[:, column - 1] = STATES[state - 1]
    titles = "Given: slices 2, 4 and 5", "Found: one state where only one is possible, else a superposition"
    return draw([(1, 2), (2, 3), (3, 4), (4, 1), (3, 3), (2, 4)], observed, titles)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    mpl.rcParams["svg.hashsalt"] = "pfn"  # the same picture gives the same file
    for name, picture in {"automaton": automaton, "hidden-slices": hidden_slices}.items():
        picture().savefig(folder / f"{name}.svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))


if __name__ == "__main__":
    main()
