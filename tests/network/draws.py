"""Networks for hypothesis: variables of size 1 in layers, any lags, stacks and sums, known parameters."""

import numpy as np
from hypothesis import strategies as st

from pfn import Factorization, Network, Parameter, Variable, t
from pfn.network import Slice

LAYERS, WIDTH, FARTHEST = 3, 2, 3


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Up to five equations whose parents lie in a higher layer than all their children."""
    variables = [[Variable(f"x{layer}{place}", 1) for place in range(WIDTH)] for layer in range(LAYERS)]
    arcs: set[tuple[Slice, Slice]] = set()
    equations: list[Factorization] = []
    for number in range(draw(st.integers(1, 5))):
        layer = draw(st.integers(0, LAYERS - 2))
        children = draw(slices(variables[: layer + 1], 0, FARTHEST))
        parents = draw(slices(variables[layer + 1 :], -FARTHEST, 0))
        wanted = {(child, parent) for child in children for parent in parents}
        if not wanted & arcs:
            arcs |= wanted
            equations.append(equation(number, children, parents))
    return Network(*equations)


def slices(layers: list[list[Variable]], earliest: int, latest: int) -> st.SearchStrategy[list[Slice]]:
    """One to three different slices of variables of these layers."""
    pieces = [variable[t + lag] for layer in layers for variable in layer for lag in range(earliest, latest + 1)]
    return st.lists(st.sampled_from(pieces), min_size=1, max_size=3, unique=True)


def equation(number: int, children: list[Slice], parents: list[Slice]) -> Factorization:
    """The equation with matrices of ones."""
    shape = (len(children), 1)
    terms = [Parameter(f"W{number}_{k}", np.ones(shape)) @ parent for k, parent in enumerate(parents)]
    return Factorization(children, sum(terms))
