"""Padded arrays have everything that is in the others, and the same sizes for lengths that are about the same."""

import numpy as np
import pytest

import pfn
from pfn.exact import Agreement, Copies, Plane
from pfn.exact.consensus import begin
from pfn.exact.padding import Padding
from pfn.network import Network
from tests.exact.problems import random_known
from tests.networks import tracking


def agreement_of(network: Network, lengths: list[int]) -> Agreement:
    copies = Copies(network, lengths, {})
    known = np.append(np.full(copies.entries - 1, np.nan), 0.0)
    return Agreement(copies.source, known, [*copies.shapes.values()], copies.spans)


def sizes(network: Network, lengths: list[int]) -> list[tuple[int, ...]]:
    agreement = agreement_of(network, lengths)
    tables = Padding(agreement.spans, agreement.shapes).tables(agreement.source)
    return [array.shape for array in (tables.source, *tables.copies, *tables.counts)]


@pytest.mark.parametrize("lengths", [[7], [1], [6, 1, 3], [20, 21]], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_copies_and_entries_find_each_other(seed: int, lengths: list[int]) -> None:
    agreement = agreement_of(random_known(seed).network, lengths)
    padding = Padding(agreement.spans, agreement.shapes)
    tables, rng = padding.tables(agreement.source), np.random.default_rng(seed)
    entries = np.append(rng.random(agreement.known.size - 1), 0.0)
    wide = padding.entries(entries)
    np.testing.assert_array_equal(padding.cut_entries(wide), entries)
    copies = np.append(wide[tables.source], np.nan)
    for table, count in zip(tables.copies, tables.counts, strict=True):
        has = table < tables.source.size
        np.testing.assert_array_equal(count, np.maximum(has.sum(axis=1), 1))
        assert np.isnan(copies[table[~has]]).all()
    every = np.concatenate([table.ravel() for table in tables.copies])
    of_the_zero = np.flatnonzero(tables.source == wide.size - 1)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([every[every < tables.source.size], of_the_zero])), np.arange(tables.source.size)
    )
    means = [
        np.nansum(copies[table], axis=1) / count for table, count in zip(tables.copies, tables.counts, strict=True)
    ]
    touched = np.bincount(agreement.source, minlength=entries.size) > 0
    found = padding.cut_entries(np.append(np.concatenate(means), 0.0))
    np.testing.assert_allclose(found, np.where(touched, entries, 0), rtol=1e-12)


def test_a_state_comes_back() -> None:
    known = random_known(1)
    agreement = agreement_of(known.network, [7, 2])
    matrices = known.dense_parameters()
    planes = [Plane(np.hstack([matrices[p.name] for p in e.parameters])) for e in known.network.factorizations]
    state = begin(agreement, planes, np.random.default_rng(0).random(agreement.known.size))
    padding = Padding(agreement.spans, agreement.shapes)
    wide = padding.widened(state)
    assert [error.shape[1] for error in wide.errors] == padding.widths
    for found, wanted in zip(padding.cut(wide), state, strict=True):
        for one, other in zip(*(v if isinstance(v, list) else [v] for v in (found, wanted)), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("network", [tracking(), random_known(0).network, random_known(3).network])
def test_about_as_long_is_as_wide(network: Network) -> None:
    assert len({str(sizes(network, [length])) for length in range(20, 31)}) <= 2
    assert sizes(network, [40, 60]) == sizes(network, [97]) == sizes(network, [20, 58, 23])


def test_few_columns_stay_few() -> None:
    """A thousand pairs of slices have two thousand columns, and a thousand transitions."""
    x, h = pfn.Variable("x", 2), pfn.Variable("h", 3)
    pair = pfn.Factorization([x[pfn.t], x[pfn.t + 1]], pfn.Parameter("W", np.ones((4, 3))) @ h[pfn.t])
    agreement = agreement_of(pfn.Network(pair), [2] * 1000)
    assert Padding(agreement.spans, agreement.shapes).widths == [1024]
