"""Left updates and normalizations of learned parameters, written down."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

import numpy as np

from pfn.formulas import Fields, pulled, reciprocal, scales_of_parts, updated
from pfn.network import Factorization
from pfn.program.equations import EquationWriter
from pfn.program.program import IndexMap
from pfn.program.store import Store, Unit
from pfn.program.tape import Tape, Tracer


class Sums(NamedTuple):
    """Numerator and denominator of the left update of a unit: of its shape, or one row for all of its rows."""

    numerator: Tracer
    denominator: Tracer


def left_terms(work: EquationWriter, S: Tracer, fields: Fields, unit: Unit) -> Sums | None:
    """What an equation adds to the sums of a unit: A Sᵀ and B Sᵀ, every slot as often as it counts.

    None where the unit does not occur in the equation. `S` are the stacked parents, smoothed where there is sparseness.
    """
    whole = len(unit.parameters) > 1
    rows = [slice(0, work.height)] if whole and unit.parameters == work.equation.parameters else []
    if not whole:
        pairs = zip(work.equation.parameters, work.parents, strict=True)
        rows = [copy.rows for parameter, copy in pairs if parameter is unit.parameters[0]]
    weights, A, B = work.weights(), fields.A, fields.B
    if rows and weights is not None:
        A, B = A * weights, None if B is None else B * weights
    found = None
    for part in rows:
        seen = S if part == slice(0, work.height) else S.rows(part)
        sums = Sums(_statistics(A, seen, unit), _denominator(B, seen, unit, work))
        found = sums if found is None else Sums(*(a + b for a, b in zip(found, sums, strict=True)))
    return found


def _statistics(field: Tracer, S: Tracer, unit: Unit) -> Tracer:
    """The field times Sᵀ, of a sparse unit at its stored entries only."""
    if unit.form is None:
        return field @ S.T
    return field.tape.sampled_dot(field, S.T, unit.form.pattern)


def _denominator(B: Tracer | None, S: Tracer, unit: Unit, work: EquationWriter) -> Tracer:
    if B is not None:
        return _statistics(B, S, unit)
    sums = S @ work.slots()  # 1 Sᵀ has the same entries in every row of W
    return sums.reshape(1, S.shape[0]) if unit.form is None else S.tape.take(sums, unit.form.columns)


def update_unit(tape: Tape, store: Store, unit: Unit, sums: Sums, epsilon: float) -> Tracer:
    """The new values of a unit from the sums of all its equations."""
    values, (numerator, denominator) = store.unit(tape, unit), tied(tape, unit, sums)
    if store.pull_of(unit) is None:
        return cast("Tracer", updated(values, numerator, denominator, epsilon))
    new = pulled(
        values,
        numerator,
        denominator,
        epsilon,
        weight=tape.given(f"{unit.name} weight of the prior"),
        weighted_prior=tape.given(f"{unit.name} weighted prior"),
    )
    return cast("Tracer", new)


def tied(tape: Tape, unit: Unit, sums: Sums) -> Sums:
    """The sums of entries that are equal, in common; those of other units as they are."""
    groups = _groups_of(unit)
    if groups is None:
        return sums
    return Sums(*(tape.take(tape.label_sums(x, groups), groups) for x in sums))


def _groups_of(unit: Unit) -> IndexMap | None:
    """The number of its group for every stored entry of a unit with tied entries."""
    groups = unit.parameters[0].groups
    return None if groups is None else IndexMap(groups, int(groups.max(initial=-1)) + 1)


def normalize(tape: Tape, store: Store, updated_names: set[str], equations: Iterable[Factorization]) -> None:
    """Normalize, as their equations say, the parameters that were just updated, each once.

    The columns of a sequence are scaled together, also those of its learned parameters that were not updated.
    """
    done: set[str] = set()
    for equation in equations:
        learned = [p for p in dict.fromkeys(equation.parameters) if p.name in store.unit_of and p.name not in done]
        due = [p for p in learned if p.name in updated_names]
        if due and equation.normalize == "sequences":
            chosen = list(dict.fromkeys(store.unit_of[p.name] for p in learned))
            uses = {unit: equation.parameters.count(unit.parameters[0]) for unit in chosen}
            _normalize_sequences(tape, store, uses, learned[0].shape[1])
        elif due and equation.normalize:
            for unit in dict.fromkeys(store.unit_of[p.name] for p in due):
                values = store.unit(tape, unit)
                parts = [slice(0, equation.rows)] if equation.normalize == "columns" else list(equation.parts)
                scaled = _scaled_parts(tape, unit, values, equation.normalize, parts)
                tape.assign(values, _equal_where_tied(tape, unit, scaled))
        done.update(p.name for p in due)


def _normalize_sequences(tape: Tape, store: Store, uses: Mapping[Unit, int], width: int) -> None:
    """Divide the j-th columns of all these units by their common sum, each as often as it is used."""
    total = None
    for unit, count in uses.items():
        values = store.unit(tape, unit)
        if unit.form is None:  # parameters side by side: the j-th columns of all of them
            sums = values.reshape(values.view.size // width, width).sum(axis=0)
        else:
            sums = tape.label_sums(values, unit.form.columns)
        sums = sums * float(count) if count > 1 else sums
        total = sums if total is None else total + sums
    scale = reciprocal(total)
    for unit in uses:
        values = store.unit(tape, unit)
        if unit.form is None:
            tape.assign(values, values.reshape(values.view.size // width, width) * scale)
        else:
            scaled = values * tape.take(scale, unit.form.columns)
            tape.assign(values, _equal_where_tied(tape, unit, scaled))


def _scaled_parts(tape: Tape, unit: Unit, values: Tracer, kind: str, parts: list[slice]) -> Tracer:
    """The unit with every part of its rows scaled as the normalization says."""
    if unit.form is None:
        scales = scales_of_parts(kind, [values.rows(part).sum(axis=0) for part in parts])
        return tape.stack([values.rows(part) * scale for part, scale in zip(parts, scales, strict=True)])
    # The stored entries of part k and column j have the label k · width + j.
    width = unit.parameters[0].shape[1]
    part_of_row = np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts])
    labels = IndexMap(part_of_row[unit.form.pattern.rows] * width + unit.form.columns.labels, len(parts) * width)
    sums = tape.label_sums(values, labels).reshape(len(parts), width)
    scales = scales_of_parts(kind, [sums.rows(slice(k, k + 1)) for k in range(len(parts))])
    return values * tape.take(tape.stack(scales).reshape(len(parts) * width), labels)


def _equal_where_tied(tape: Tape, unit: Unit, values: Tracer) -> Tracer:
    """Entries that are tied made equal again where rounding has set them apart: they take the value of the first."""
    groups = unit.parameters[0].groups
    if groups is None:
        return values
    first = np.unique(groups, return_index=True)[1][groups]
    return tape.take(values, IndexMap(first, values.shape[0]))
