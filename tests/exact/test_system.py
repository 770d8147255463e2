"""The matrix of a network: rows, columns and what they mean, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pfn
from pfn import t
from pfn.exact import assemble
from tests import networks, oracle
from tests.exact.problems import random_known


@given(st.integers(0, 10**6))
def test_its_product_is_the_error_of_every_equation(seed):
    known = random_known(seed)
    system = known.system()
    y = np.random.default_rng(seed).random(system.matrix.shape[1])
    values = {v.name: system.array(y, v.name) for v in known.network.variables} | known.dense_parameters()
    expected = oracle.rmse(known.network, values, known.data)
    for equation in known.network.factorizations:
        errors = (system.matrix @ y)[system.rows[equation.name]]
        found = np.sqrt(np.mean(errors**2)) if errors.size else 0.0
        assert found == pytest.approx(expected[equation.name])


@given(st.integers(0, 10**6))
def test_arrays_and_flat_values_are_the_same(seed):
    known = random_known(seed)
    system = known.system()
    flat = system.flat(known.data)
    for name, array in known.data.items():
        np.testing.assert_array_equal(system.array(flat, name)[:, : array.shape[1]], array)
    assert np.isnan(flat[~system.mask(known.data)]).all()


def test_the_tracking_network_has_the_size_that_was_tried_out():
    network = networks.tracking()
    system = assemble(network, {p.name: p.value for p in network.parameters}, 26, {"x1": 26})
    assert system.matrix.shape == (5214, 8168)


def test_a_column_between_that_nothing_touches():
    x, h = pfn.Variable("x", 1), pfn.Variable("h", 1)
    network = pfn.Network(pfn.Factorization(x[t + 2], pfn.Parameter("W", [[2.0]]) @ h[t]))
    system = assemble(network, {"W": np.array([[2.0]])}, 5, {"x": 5})
    assert system.array(system.touched(), "x").tolist() == [[False, False, True, True, True]]
    assert system.array(system.touched(), "h").tolist() == [[True, True, True]]
    assert system.times.tolist() == [0, 1, 2]
