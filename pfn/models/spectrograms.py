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

    Above `bins` components of x1 there is a level for every entry of `sizes`, its number of components. An
    activation of level i + 1 has `children[i - 1]` children in level i, `separations[i - 1]` slices apart. The
    matrix for the k-th child, from 0, is the parameter W{i}_{k}; the matrices of a level are learned, and their
    j-th columns together, a sequence, sum to 1. The defaults are the paper's.

    >>> print(spectrogram_hierarchy(512, (50, 40), (2, 3), (1, 2)))
    eq1: x1[t] = W1_0 x2[t] + W1_1 x2[t-1]                    x1: 512; x2: 50; W1_0: 512 × 50 learned; ...
    eq2: x2[t] = W2_0 x3[t] + W2_1 x3[t-2] + W2_2 x3[t-4]    x2: 50; x3: 40; W2_0: 50 × 40 learned; ...
    """
    _check_levels(sizes=sizes, children=children, separations=separations)
    variables = [pfn.Variable(f"x{level}", size) for level, size in enumerate((bins, *sizes), 1)]
    return pfn.Network(
        *(
            _sequences(level, variables[level - 1], variables[level], tuple(range(0, count * separation, separation)))
            for level, (count, separation) in enumerate(zip(children, separations, strict=True), 1)
        )
    )


def _sequences(level: int, below: pfn.Variable, above: pfn.Variable, lags: Sequence[int]) -> pfn.Factorization:
    """What is below at t is the sum of what was above that many slices ago (equation X^i = W^i X^{i+1}_S)."""
    matrices = [pfn.Parameter(f"W{level}_{k}", shape=(below.size, above.size)) for k in range(len(lags))]
    terms = sum(W @ above[pfn.t - lag] for W, lag in zip(matrices, lags, strict=True))
    return pfn.Factorization(below[pfn.t], terms, normalize="sequences")


def top_down(result: pfn.Result, level: int, *, components: int | Iterable[int] | None = None) -> Any:
    """The spectrogram that the activations of one level alone explain, propagated down with the learned matrices.

    `result` comes from `learn` or `infer` on a `spectrogram_hierarchy`; `level` counts from x1, so that 4 starts
    from x4. With `components`, only that one or those of the level count, numbered from 0: their share of the
    sound. The answer is an array like x1, or a list of them where there were several sequences.

    >>> network = spectrogram_hierarchy(3, (2, 2), (2, 2), (1, 2))
    >>> result = pfn.learn(network, {"x1": np.eye(3)}, iterations=10, progress=False)
    >>> top_down(result, level=3).shape
    (3, 3)
    """
    equations = _equations_up_to(level, result)
    activations = result[f"x{level}"]
    kept = _kept(components, equations[-1].parents[0].variable)
    if isinstance(activations, list):
        return [_descend(values * kept, equations, result) for values in activations]
    return _descend(activations * kept, equations, result)


def _descend(values: Any, equations: Sequence[pfn.Factorization], result: pfn.Result) -> Any:
    for equation in reversed(equations):
        values = sum(result[term.parameter.name] @ _delayed(values, -term.slice.lag) for term in equation.terms)
    return values


def _delayed(values: np.ndarray, slices: int) -> np.ndarray:
    """The same columns that many slices later: zeros come in, what passes the end is lost."""
    return np.pad(values, ((0, 0), (slices, 0)))[:, : values.shape[1]]


def _equations_up_to(level: int, result: pfn.Result) -> tuple[pfn.Factorization, ...]:
    """The equations below a level, the bottom first."""
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
    return equations[: level - 1]


def _kept(components: int | Iterable[int] | None, variable: pfn.Variable) -> np.ndarray:
    """A column that is true where a component counts."""
    everything = np.arange(variable.size)[:, None]
    if components is None:
        return everything >= 0
    chosen = list(components) if isinstance(components, Iterable) else [components]
    for component in chosen:
        if not _is_whole(component) or not 0 <= component < variable.size:
            raise pfn.OptionError(
                f"top_down: components of {variable.name} must be whole numbers from 0 to {variable.size - 1}, "
                f"found {component!r}."
            )
    return np.isin(everything, chosen)


def _check_levels(**given: Sequence[int]) -> None:
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


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
