"""
Sequences of sequences in a sound
=================================

Section 6: a spectrogram, explained by short sequences, sequences of these, and so on. The higher the level, the fewer
activations. The sound is made by code.
"""

from pfn import plots
from pfn.audio import decompose
from pfn.models import top_down
from pfn.paper.piano import RATE, passage

found = decompose(passage(6.0), rate=RATE, sizes=(24, 16, 16), iterations=60, seed=0)
spectrogram = plots.spectrogram(found.heard)

# %%
# The activations of three levels.
activations = plots.stack(found.result, ["x4", "x3", "x2"], power=0.5)

# %%
# What the highest level alone gives back.
again = plots.spectrogram(top_down(found.result, level=4), like=found.heard)
