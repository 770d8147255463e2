"""Multiplicative updates: a value times the quotient of what asks for more of it and what asks for less.

Numerators and denominators are those of the fields of a divergence (`pfn.formulas.divergences`): Wᵀ A and Wᵀ B for a
parent, A Sᵀ and B Sᵀ for a parameter W that multiplies the stacked parents S.
"""

from typing import Any

Operand = Any  # an array, or a tracer that stands for one


def factor(numerator: Operand, denominator: Operand, epsilon: float) -> Operand:
    """(numerator + ε) / (denominator + ε), one where both are zero."""
    return (numerator + epsilon) / (denominator + epsilon)


def updated(value: Operand, numerator: Operand, denominator: Operand, epsilon: float) -> Operand:
    """The value times (numerator + ε) / (denominator + ε); zero stays zero.

    >>> updated(2.0, 3.0, 6.0, 0.0)
    1.0
    """
    return value * factor(numerator, denominator, epsilon)


def pulled(
    value: Operand,
    numerator: Operand,
    denominator: Operand,
    epsilon: float,
    *,
    weight: Operand,
    weighted_prior: Operand,
) -> Operand:
    """The update with a prior: (value · (numerator + ε) + κ prior) / (denominator + ε + κ).

    `weight` is κ and `weighted_prior` is κ times the prior: numbers, or arrays of the shape of the value.
    """
    return (value * (numerator + epsilon) + weighted_prior) / (denominator + epsilon + weight)
