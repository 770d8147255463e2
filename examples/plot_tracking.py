"""
Targets in a sensor image
=========================

Three targets move through a sensor image. The tracker of section 5 takes it apart into kind, state, emitted pattern
and position, for all of them at once.
"""

import pfn
from pfn import plots
from pfn.models import simulate_targets, tracking_network, tracks

network = tracking_network(positions=15)
drawing = plots.draw(network, observed=["x1"])

# %%
# The image is observed, everything else is inferred.
scene = simulate_targets(network, 3, length=40, seed=3)
result = pfn.infer(network, scene.observed, tolerance=1e-4, seed=0)
values = plots.stack(result, ["x5", "x4", "x3", "x2", "x1"])

# %%
# The superposition, taken apart into single targets.
for target in tracks(result):
    print(target)
