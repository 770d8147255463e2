"""Section 6: a hierarchy of ever sparser activations over a spectrogram; convolutive NMF is its lowest level."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import pfn


def spectrogram_hierarchy(
    bins: int,
    sizes: Sequence[int] = (50, 40, 40),
    children: Sequence[int] = (4, 4, 4),
    separations: Sequence[int] = (1, 4, 16),
) -> pfn.Network:
    """The network in which an activation of x2 explains a few slices of the spectrogram x1, one of x3 a few of x2, …

    The matrix for the k-th child, from 0, of level i + 1 is the parameter W{i}_{k}. The matrices of a level are
    learned, and their j-th columns together, a sequence, sum to 1. The defaults are the paper's.

    Parameters
    ----------
    bins
        Components of x1, the frequencies of the spectrogram.
    sizes
        Components of x2, x3, …, a number for every level above x1.
    children
        Children in level i of an activation in level i + 1, for i = 1, 2, ….
    separations
        Slices from child to child, for each level likewise.

    Examples
    --------
    >>> print(spectrogram_hierarchy(512, (50, 40), (2, 3), (1, 2)))
    eq1: x1[t] = W1_0 x2[t] + W1_1 x2[t-1]                    x1: 512; x2: 50; W1_0: 512 × 50 learned; ...
    eq2: x2[t] = W2_0 x3[t] + W2_1 x3[t-2] + W2_2 x3[t-4]    x2: 50; x3: 40; W2_0: 50 × 40 learned; ...
    """
    given = {"sizes": sizes, "children": children, "separations": separations}
    for name, values in given.items():
        if not isinstance(values, list | tuple) or not all(_is_whole(value) and value >= 1 for value in values):
            raise pfn.DeclarationError(
                f"spectrogram_hierarchy: {name} must be whole numbers >= 1, one for every level above the "
                f"spectrogram, found {values!r}. Give a tuple such as {name}=(4, 4)."
            )
    counts = {name: len(values) for name, values in given.items()}
    if len(set(counts.values())) > 1 or not all(counts.values()):
        found = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise pfn.DeclarationError(
            f"spectrogram_hierarchy: sizes, children and separations must have one number for every level above the "
            f"spectrogram, found: {found}. Give tuples of one length, at least 1."
        )
    variables = [pfn.Variable(f"x{level}", size) for level, size in enumerate((bins, *sizes), 1)]
    equations = []
    for level, (count, separation) in enumerate(zip(children, separations, strict=True), 1):
        below, above = variables[level - 1 : level + 1]
        matrices = [pfn.Parameter(f"W{level}_{k}", shape=(below.size, above.size)) for k in range(count)]
        # X^i = W^i X^{i+1}_S of the paper, written as a sum over the slices of X^{i+1} that S stacks.
        terms = sum(W @ above[pfn.t - k * separation] for k, W in enumerate(matrices))
        equations.append(pfn.Factorization(below[pfn.t], terms, normalize="sequences"))
    return pfn.Network(*equations)


def top_down(result: pfn.Result, level: int, *, components: int | Iterable[int] | None = None) -> Any:
    """The spectrogram that the activations of one level alone explain, propagated down with the learned matrices.

    The answer is an array like x1, or a list of them where there were several sequences.

    Parameters
    ----------
    result
        Result of `learn` or `infer` on a `spectrogram_hierarchy`.
    level
        Number of the level: 4 starts from x4.
    components
        Number, from 0, of the component of that level whose share of the sound is wanted, or several; None: all.

    Examples
    --------
    >>> network = spectrogram_hierarchy(3, (2, 2), (2, 2), (1, 2))
    >>> result = pfn.learn(network, {"x1": np.eye(3)}, iterations=10, progress=False)
    >>> top_down(result, level=3).shape
    (3, 3)
    """
    if not isinstance(result, pfn.Result):
        raise pfn.OptionError(
            f"top_down: result must be what pfn.learn or pfn.infer returned, found {type(result).__name__}."
        )
    equations = result.network.factorizations
    for number, equation in enumerate(equations, 1):
        above = {parent.variable.name for parent in equation.parents}
        if [str(child) for child in equation.children] != [f"x{number}[t]"] or above != {f"x{number + 1}"}:
            raise pfn.OptionError(
                f"top_down goes down a chain x1, x2, … of levels, found {equation.name}: {equation}. "
                "Give the result of a spectrogram_hierarchy."
            )
    if not _is_whole(level) or not 2 <= level <= len(equations) + 1:
        raise pfn.OptionError(
            f"top_down: level must be a whole number from 2 to {len(equations) + 1}, the top, found {level!r}. "
            "Level 1 is the observation itself."
        )
    below = equations[: level - 1]
    activations = result[f"x{level}"]
    if components is not None:
        top = below[-1].parents[0].variable
        chosen = list(components) if isinstance(components, Iterable) else [components]
        for component in chosen:
            if not _is_whole(component) or not 0 <= component < top.size:
                raise pfn.OptionError(
                    f"top_down: components of {top.name} must be whole numbers from 0 to {top.size - 1}, "
                    f"found {component!r}."
                )
        kept = np.isin(np.arange(top.size)[:, None], chosen)
        activations = [v * kept for v in activations] if isinstance(activations, list) else activations * kept
    if isinstance(activations, list):
        return [_propagated_down(values, below, result) for values in activations]
    return _propagated_down(activations, below, result)


def _propagated_down(values: Any, equations: Sequence[pfn.Factorization], result: pfn.Result) -> Any:
    """The values at the bottom: at each level the sum of W @ x[t - lag], with zeros before the first slice."""
    for equation in reversed(equations):
        length = values.shape[1]
        values = sum(
            result[term.parameter.name] @ np.pad(values, ((0, 0), (-term.slice.lag, 0)))[:, :length]
            for term in equation.terms
        )
    return values


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
