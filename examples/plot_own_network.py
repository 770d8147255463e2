"""
Drawing a network of your own
=============================

A spectrum is a sum of notes, and a note is struck by a hand or by the other one. Hidden variables are shaded; the
box, a plate, says that all of it is there once for every time slice.
"""

import pfn
from pfn import plots, t

spectrum, notes = pfn.Variable("spectrum", 513), pfn.Variable("notes", 88)
left, right = pfn.Variable("left", 12), pfn.Variable("right", 12)
sounds = pfn.Parameter("sounds", shape=(513, 88))
chords, melody = pfn.Parameter("chords", shape=(88, 12)), pfn.Parameter("melody", shape=(88, 12))

network = pfn.Network(
    pfn.Factorization(spectrum[t], sounds @ notes[t], name="sound", normalize="columns"),
    pfn.Factorization(notes[t], chords @ left[t] + melody @ right[t], name="playing", normalize="columns"),
)
drawing = plots.draw(network, observed=[spectrum])

# %%
# The order of work of one sweep, as the compiler made it.
print(pfn.compile_network(network))
