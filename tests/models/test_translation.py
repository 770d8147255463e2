"""The pattern translation of section 5, without a matrix of all translations."""

import numpy as np

import pfn
from pfn import t
from tests import networks


def test_patterns_are_translated_without_a_matrix_of_all_translations() -> None:
    """u1 is taken apart by the rows of the pattern: each is moved along, and positions and rows are sums."""
    network, scene = networks.tracking(), networks.tracking_scene()
    x1, x2, x3 = (network.variable(name) for name in ("x1", "x2", "x3"))
    rows = [pfn.Variable(f"row{i}", 15) for i in range(5)]
    total = [pfn.Parameter(f"total{i}", np.outer(np.eye(5)[i], np.ones(15))) for i in range(5)]
    moved = pfn.Network(
        pfn.Factorization(x1[t], sum(pfn.shift(row[t], i, 19) for i, row in enumerate(rows)), name="moved"),
        pfn.Factorization(x2[t], sum(row[t] for row in rows), name="positions"),
        pfn.Factorization(x3[t], sum(W @ row[t] for W, row in zip(total, rows, strict=True)), name="rows"),
        *network.factorizations[1:],
    )
    found, wanted = (pfn.infer(n, {"x1": scene["x1"]}, method="exact") for n in (moved, network))
    for name in ("x2", "x3", "x4", "x5"):
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-6)
    W1 = network["W1"].value.toarray()
    order = np.argsort(W1[:5].argmax(axis=0), kind="stable")  # the columns of W1 by the row of the pattern
    np.testing.assert_allclose(np.vstack([found[row] for row in rows]), wanted["u1"][order], atol=1e-6)
