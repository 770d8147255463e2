"""
A hierarchy of machines
=======================

The regular expression a+b(de)*c(de)+ as two levels of states, as in section 4. Two slices of the upper level are
observed; both levels follow from them up to the last slice, which may be one of two.
"""

import numpy as np

import pfn
from pfn import plots
from pfn.models import hierarchical_network
from pfn.paper.originals import EXPRESSION

diagram = plots.draw(EXPRESSION, implicit=True)

# %%
# Four time slices of the network.
network = hierarchical_network(EXPRESSION)
drawing = plots.draw(network, slices=4)

# %%
# What two observed slices say about all others.
X = np.full((6, 10), np.nan)
X[:, 1], X[:, 6] = np.eye(6)[1], np.eye(6)[3]
result = pfn.infer(network, {"x2": X}, tolerance=1e-4, seed=0)
found = plots.before_and_after({"x2": X}, result, ["x2", "x1"])
