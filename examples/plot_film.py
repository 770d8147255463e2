"""
Values settling
===============

A film of inference: one slice is observed, and what follows from it spreads in both directions. Press play.
"""

import numpy as np

import pfn
from pfn import plots
from pfn.models import transition_network
from pfn.paper.originals import DETERMINISTIC

X = np.full((4, 10), np.nan)
X[:, 3] = [1, 0, 0, 0]
network = transition_network(DETERMINISTIC)
film = plots.film(network, {"x": X}, ["x"], iterations=500, every=[10, 50], method=pfn.PAPER)
frames = {f"after {sweep}": values for sweep, values in zip(film.sweeps, film.frames["x"], strict=True)}
still = plots.stack(frames, list(frames), common_scale=True)

# %%
# All frames, denser in the beginning.
plots.film(network, {"x": X}, ["x", "h"], iterations=500, method=pfn.PAPER)
