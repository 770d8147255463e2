"""
Three notes out of their mixture
================================

Plain NMF is a network with one equation. It finds the spectra of three notes, and when each of them sounds.
"""

import numpy as np

import pfn
from pfn import plots, t

frequency, time = np.arange(64)[:, None], np.arange(120)
spectra = np.column_stack(
    [sum(np.exp(-(((frequency[:, 0] - pitch * k) / 0.8) ** 2)) / k for k in range(1, 6)) for pitch in (6.0, 7.6, 9.1)]
)
loudness = np.zeros((3, 120))
for note, start in [(0, 5), (1, 20), (2, 35), (0, 50), (1, 50), (1, 72), (2, 72), (0, 92), (1, 94), (2, 96)]:
    loudness[note] += np.where(time >= start, np.exp(-(time - start) / 7.0), 0.0)

x, h = pfn.Variable("x", 64), pfn.Variable("h", 3)
W = pfn.Parameter("W", shape=(64, 3))
network = pfn.Network(pfn.Factorization(x[t], W @ h[t], normalize="columns"))
result = pfn.learn(network, {x: spectra @ loudness}, iterations=500, seed=0)
matrices = plots.equation(result)

# %%
# How fast it went.
errors = plots.convergence(result)
