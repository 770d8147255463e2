"""`Exact` with noise or soft structure: what to minimise, from the options, and what to say of the answer."""

from typing import TYPE_CHECKING

import numpy as np

from pfn.exact import (
    Asked,
    InfeasibleError,
    Noise,
    OutOfTimeError,
    Question,
    any_solution,
    explain,
    nearly,
    refuse,
    soften,
    weighted,
)
from pfn.solve.exact_parts import LATE, Part, Sequence, late
from pfn.solve.request import Request

if TYPE_CHECKING:
    from pfn.solve.exact import Exact


NEARLY = 1e-3
"""Least squares are found to half the digits only: where no equation is missed by more, there may be a solution."""


def denoised(sequence: Sequence, method: "Exact", asked: Asked) -> Part:
    """The exact structure that comes closest to the noisy observations."""
    system = sequence.system
    automatic = system.mask(str(name) for name, weight in method.penalty.items() if weight == "auto")
    question = Question(system.matrix, system.times, _noise(sequence, method, asked), system.slices)
    try:
        if automatic.any():
            question = question._replace(noise=weighted(question, automatic, asked))
        found = explain(question, debias=method.debias, window=method.windows, asked=asked)
    except InfeasibleError:
        refuse(system, asked._replace(known=question.noise.known))
        raise
    except OutOfTimeError:
        return late(sequence, nearly(system, asked))
    names = [str(name) for name in method.noise]
    if asked.deadline.over or sequence.error(found.y) > LATE * asked.exact:
        return late(sequence, found.y, names)
    said = []
    for noisy in names:
        errors = found.errors[system.places[noisy]]
        size = np.sqrt(np.nansum(errors**2) / max(np.sum(~np.isnan(errors)), 1)) * sequence.scale
        said.append(f"{noisy} is off by {size:.3g} (root mean square)")
    for name, background in zip(method.background, found.background * sequence.scale, strict=True):
        said.append(f"the background of {name} is {background:.3g}")
    return Part(found.y * sequence.scale, None, f"the closest exact structure: {', '.join(said)}", frozenset(names))


def _noise(sequence: Sequence, method: "Exact", asked: Asked) -> Noise:
    """The options as numbers for every entry, in units of the largest observation."""
    system, scale = sequence.system, sequence.scale
    noisy = system.mask(str(name) for name in method.noise)
    squared = system.mask(str(name) for name, kind in method.noise.items() if kind == "l2")
    background = np.full(asked.known.shape, -1)
    for number, name in enumerate(method.background):
        background[system.places[str(name)]] = number
    return Noise(
        known=np.where(noisy, np.nan, asked.known),
        observed=np.where(noisy & ~np.isnan(sequence.known), asked.known, np.nan),
        squared=squared,
        background=background,
        weights=weights_of(sequence, method) / scale,
        size=1.0 / scale,
    )


def weights_of(sequence: Sequence, method: "Exact") -> np.ndarray:
    """The penalty of every entry, 0 for those to be found."""
    weights = np.zeros(sequence.known.shape)
    for name, weight in method.penalty.items():
        weights[sequence.system.places[str(name)]] = 0.0 if weight == "auto" else weight
    return weights


def softened(sequence: Sequence, method: "Exact", asked: Asked, request: Request, number: int) -> Part:
    """The least squares answer over all equations, columns counted by their weights."""
    system = sequence.system
    importance = np.ones(system.matrix.shape[0])
    for equation in request.network.factorizations:
        if equation.name in request.weights:
            importance[system.rows[equation.name]] = np.repeat(request.weights[equation.name][number], equation.rows)
    costs = weights_of(sequence, method) / sequence.scale
    try:
        y = soften(system.matrix, asked.known, importance, costs, asked.deadline)
    except OutOfTimeError:
        return late(sequence, nearly(system, asked))
    every_error_counts = not costs.any() and bool(importance.all())
    if every_error_counts and sequence.error(y) <= NEARLY:
        y = _solution_nearby(sequence, asked, y)
    if sequence.error(y) <= asked.exact:
        return Part(y * sequence.scale, None, "exact solution")
    if asked.deadline.over:
        return late(sequence, y)
    proven = "no exact solution: " if every_error_counts else ""
    return Part(y * sequence.scale, None, f"{proven}the least squares answer over all equations")


def _solution_nearby(sequence: Sequence, asked: Asked, y: np.ndarray) -> np.ndarray:
    """An exact solution in place of y, if there is one."""
    try:
        return any_solution(sequence.system, asked)
    except (InfeasibleError, OutOfTimeError):
        return y
