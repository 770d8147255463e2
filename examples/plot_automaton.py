"""
A machine seen in one moment
============================

Two machines ran at the same time, and one slice of their sum was seen, in which one is half as strong as the other.
Inference finds where both have been, and where they go.
"""

import numpy as np

import pfn
from pfn import plots
from pfn.automata import StateMachine
from pfn.models import transition_network

machine = StateMachine(["S1", "S2", "S3", "S4"], [("S1", "S2"), ("S2", "S3"), ("S3", "S4"), ("S4", "S1")])
diagram = plots.draw(machine)

# %%
# Nine of ten slices are hidden.
X = np.full((4, 10), np.nan)
X[:, 3] = [0.5, 0, 1, 0]
result = pfn.infer(transition_network(machine), {"x": X}, seed=0)
found = plots.before_and_after({"x": X}, result, "x")

# %%
# The equation that ties neighbouring slices together, with the values found.
matrices = plots.equation(result, "eq1")
