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
    expected = oracle.rmse(known.network, values, known.data, every=True)
    for equation in known.network.factorizations:
        errors = (system.matrix @ y)[system.rows[equation.name]]
        found = np.sqrt(np.mean(errors**2)) if errors.size else np.nan
        assert found == pytest.approx(expected[equation.name], nan_ok=True)


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


def test_a_decay_is_written_out_as_lags():
    generator = np.random.default_rng(0)
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 3)
    W, rates, T = generator.random((4, 3)), np.array([0.0, 0.5, 1.0]), 7
    for length in (1, 3, 20, np.inf):
        seen = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", W) @ pfn.decay(h[t - 1], rates, length)))
        lags = range(int(min(length, T - 1)))
        parts = {f"W{j}": W * rates**j for j in lags}
        terms = sum(pfn.Parameter(f"W{j}", parts[f"W{j}"]) @ h[t - 1 - j] for j in lags)
        plain = pfn.Network(pfn.Factorization(x[t], terms))
        found, wanted = assemble(seen, {"W": W}, T, {}), assemble(plain, parts, T, {})
        np.testing.assert_allclose(found.matrix.toarray(), wanted.matrix.toarray(), atol=1e-15)


def test_an_endless_decay_is_the_variable_that_loses_a_share_of_itself():
    generator = np.random.default_rng(1)
    x, h, d = pfn.Variable("x", 4), pfn.Variable("h", 3), pfn.Variable("d", 3)
    W, G = pfn.Parameter("W", generator.random((4, 3))), pfn.Diagonal("G", [0.3, 0.9, 1.0])
    seen = pfn.Network(pfn.Factorization(x[t], W @ pfn.decay(h[t], [0.3, 0.9, 1.0])))
    plain = pfn.Network(pfn.Factorization(x[t], W @ d[t]), pfn.Factorization(d[t], G @ d[t - 1] + h[t]))
    H = generator.random((3, 15))
    D = H.copy()
    for s in range(1, 15):
        D[:, s] += G.value.data * D[:, s - 1]
    for network in (seen, plain):
        found = pfn.infer(network, {x: W.value @ D}, method="exact")
        np.testing.assert_allclose(found[h], H, atol=1e-9)
        assert found.unique is not None
        assert found.unique[h].all()
