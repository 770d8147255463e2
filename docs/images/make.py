"""Draw the pictures of the README and the documentation: python docs/images/make.py [FOLDER]."""

import sys
from pathlib import Path

import numpy as np

import pfn
from pfn import plots
from pfn.automata import StateMachine
from pfn.models import transition_network

STATES = ["S1", "S2", "S3", "S4"]
CIRCLE = [("S1", "S2"), ("S2", "S3"), ("S3", "S4"), ("S4", "S1")]


def draw(machine, observed, titles):
    """The machine on the left; on the right what is given and what is found."""
    network = transition_network(machine)
    found = pfn.infer(network, {"x": observed}, seed=0)
    picture = plots.Picture(figsize=(8.6, 3.9), layout="constrained")
    left, right = picture.subfigures(1, 2, width_ratios=[1, 2.1])
    plots.draw(machine, ax=left.subplots())
    axes = right.subplots(2, 1, sharex=True)
    for ax, values, title in zip(axes, (observed, found["x"]), titles, strict=True):
        plots.image(values, labels=STATES, ax=ax, largest=1.0, scale_bar=False)
        ax.set_title(title, fontsize=10.5, loc="left")
    axes[0].set_xlabel("")
    return picture


def automaton():
    observed = np.full((4, 10), np.nan)
    observed[:, 3] = [0.5, 0, 1, 0]
    titles = (
        "Given: slice 4 of two machines added up, at 0.5 and 1.0",
        "Found: where both were, and where they go",
    )
    return draw(StateMachine(STATES, CIRCLE), observed, titles)


def hidden_slices():
    machine = StateMachine(STATES, [*CIRCLE, ("S3", "S3"), ("S2", "S4")])
    observed = machine.encode([None, "S2", None, "S3", "S4", None, None, None, None, None])
    titles = "Given: slices 2, 4 and 5", "Found: one state where only one is possible, else a superposition"
    return draw(machine, observed, titles)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, make in {"automaton": automaton, "hidden-slices": hidden_slices}.items():
        make().save(folder / f"{name}.svg")


if __name__ == "__main__":
    main()
