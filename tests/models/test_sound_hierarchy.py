"""Section 6: the hierarchy over a spectrogram. Full runs on a recording are in benchmarks/section6.py."""

from pathlib import Path

import numpy as np
import pytest

import pfn
from pfn.audio import spectrogram
from pfn.models import spectrogram_hierarchy, top_down
from tests.audio.notes import RATE, melody
from tests.networks import automaton

RECORDING = Path(__file__).parents[2] / "../shared/data/piano-maps/MAPS_MUS-pathetique_2_ENSTDkAm.flac"
PLAIN = pfn.Propagate(acceleration=None)
SPAN = 64  # slices that an activation of x4 spans


def relative_error(found, X):
    return np.linalg.norm(found - X) / np.linalg.norm(X)


def shares_above_mean(results):
    """Of x2, x3, x4, the mean over some runs: small where few values have most of the sum.

    Not of the last slices, where sequences are cut off: what is activated there explains little, and may be huge.
    """
    values = [[result[name][:, :-SPAN] for name in ("x2", "x3", "x4")] for result in results]
    return np.mean([[(array > array.mean()).mean() for array in arrays] for arrays in values], axis=0)


def test_network_of_the_paper():
    network = spectrogram_hierarchy(512)
    assert [(v.name, v.size) for v in network.variables] == [("x1", 512), ("x2", 50), ("x3", 40), ("x4", 40)]
    assert [str(e) for e in network.factorizations] == [
        "x1[t] = W1_0 x2[t] + W1_1 x2[t-1] + W1_2 x2[t-2] + W1_3 x2[t-3]",
        "x2[t] = W2_0 x3[t] + W2_1 x3[t-4] + W2_2 x3[t-8] + W2_3 x3[t-12]",
        "x3[t] = W3_0 x4[t] + W3_1 x4[t-16] + W3_2 x4[t-32] + W3_3 x4[t-48]",
    ]
    assert [p.shape for p in network.parameters] == [(512, 50)] * 4 + [(50, 40)] * 4 + [(40, 40)] * 4
    assert all(e.normalize == "sequences" for e in network.factorizations)
    assert all(p.learn and p.value is None for p in network.parameters)


def test_example_of_the_paper():
    network = spectrogram_hierarchy(7, sizes=[5], children=[3], separations=[2])
    assert str(network.factorizations[0]) == "x1[t] = W1_0 x2[t] + W1_1 x2[t-2] + W1_2 x2[t-4]"


def test_picture_data():
    graph = spectrogram_hierarchy(9, (4, 3), (2, 2), (1, 2)).graph(observed=["x1"])
    assert [(name, data["level"], data["observed"]) for name, data in graph.nodes(data=True)] == [
        ("x1", 1, True),
        ("x2", 2, False),
        ("x3", 3, False),
    ]
    assert [(up, down, data["parameter"], data["lag"]) for up, down, data in graph.edges(data=True)] == [
        ("x2", "x1", "W1_0", 0),
        ("x2", "x1", "W1_1", 1),
        ("x3", "x2", "W2_0", 0),
        ("x3", "x2", "W2_1", 2),
    ]


@pytest.mark.parametrize("slices", [1, 3, 40])
def test_columns_are_those_of_the_spectrogram(slices):
    network = spectrogram_hierarchy(6, (5, 4), (3, 3), (1, 4))
    columns = network.columns(slices).variables
    assert all(columns[name] == range(slices) for name in ("x1", "x2", "x3"))


def shifted(H, k):
    moved = np.zeros_like(H)
    moved[:, k:] = H[:, : H.shape[1] - k]
    return moved


def plain_nmfd(V, W, H, sweeps, *, mean):
    """Convolutive NMF by Kullback-Leibler updates, W first, then H: its mean over the lags (Smaragdis 2004), or one
    update from all of them (Schmidt and Mørup 2006).

    Near the end an activation has no later slices to explain: only the lags that are there count.
    """
    lags, slices = range(len(W)), V.shape[1]
    for _ in range(sweeps):
        Q = V / sum(W[k] @ shifted(H, k) for k in lags)
        W = [W[k] * (Q @ shifted(H, k).T) / shifted(H, k).sum(axis=1) for k in lags]
        total = sum(matrix.sum(axis=0) for matrix in W)
        W = [matrix / total for matrix in W]
        Q = V / sum(W[k] @ shifted(H, k) for k in lags)
        new = np.zeros_like(H)
        for t in range(slices):
            there = [k for k in lags if t + k < slices]
            numerators, denominators = [W[k].T @ Q[:, t + k] for k in there], [W[k].sum(axis=0) for k in there]
            if mean:
                new[:, t] = H[:, t] * np.mean([n / d for n, d in zip(numerators, denominators, strict=True)], axis=0)
            else:
                new[:, t] = H[:, t] * sum(numerators) / sum(denominators)
        H = new
    return W, H


@pytest.mark.parametrize("mean", [False, True], ids=["pooled", "mean over the lags"])
@pytest.mark.parametrize(("components", "lags"), [(5, 4), (3, 1), (2, 7)])
def test_convolutive_nmf_is_the_two_level_case(components, lags, mean):
    rng = np.random.default_rng(components)
    V = rng.gamma(0.5, size=(12, 30)) + 1e-3
    W = [rng.uniform(0.1, 1, (12, components)) for _ in range(lags)]
    H = rng.uniform(0.1, 1, (components, 30))
    network = spectrogram_hierarchy(12, (components,), (lags,), (1,))
    # NMFD has no ε: this one is too small to be seen next to anything here.
    method = pfn.Propagate(averaging="updated" if mean else "pooled", acceleration=None, epsilon=1e-30)
    initial = {"x2": H} | {f"W1_{k}": W[k] for k in range(lags)}
    for sweeps in (1, 25):
        found = pfn.learn(network, {"x1": V}, method=method, iterations=sweeps, initial=initial)
        W_plain, H_plain = plain_nmfd(V, W, H, sweeps, mean=mean)
        np.testing.assert_allclose(found["x2"], H_plain, rtol=1e-9, atol=1e-12)
        for k in range(lags):
            np.testing.assert_allclose(found[f"W1_{k}"], W_plain[k], rtol=1e-9, atol=1e-12)


def down_by_loops(result, level, children, separations):
    """top_down, slice by slice."""
    values = result[f"x{level}"]
    for below in range(level - 1, 0, -1):
        rows, slices = result[f"W{below}_0"].shape[0], values.shape[1]
        lower = np.zeros((rows, slices))
        for t in range(slices):
            for k in range(children[below - 1]):
                earlier = t - k * separations[below - 1]
                if earlier >= 0:
                    lower[:, t] += result[f"W{below}_{k}"] @ values[:, earlier]
        values = lower
    return values


@pytest.mark.parametrize("level", [2, 3, 4])
@pytest.mark.parametrize("slices", [5, 33])  # five are fewer than what one activation at the top spans
def test_top_down_against_loops(level, slices):
    children, separations = (3, 2, 4), (1, 3, 5)
    network = spectrogram_hierarchy(8, (5, 4, 3), children, separations)
    X = np.random.default_rng(0).random((8, slices))
    result = pfn.learn(network, {"x1": X}, iterations=3)
    expected = down_by_loops(result, level, children, separations)
    np.testing.assert_allclose(top_down(result, level), expected, rtol=1e-12, atol=1e-15)


def test_all_levels_say_the_same_after_a_sweep():
    network = spectrogram_hierarchy(8, (5, 4, 3), (3, 2, 4), (1, 3, 5))
    X = np.random.default_rng(1).random((8, 30))
    result = pfn.learn(network, {"x1": X}, iterations=20)
    found = [top_down(result, level) for level in (2, 3, 4)]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-9)
    assert np.sqrt(np.mean((found[0] - X) ** 2)) == pytest.approx(result.rmse["eq1"], rel=1e-9)


def test_shares_of_components_add_up():
    network = spectrogram_hierarchy(8, (5, 4), (3, 2), (1, 3))
    X = np.random.default_rng(4).random((8, 30))
    result = pfn.learn(network, {"x1": X}, iterations=5)
    shares = [top_down(result, 3, components=chosen) for chosen in (0, [1, 3], range(2, 3))]
    np.testing.assert_allclose(sum(shares), top_down(result, 3), rtol=1e-12)
    assert all(share.any() for share in shares)
    assert not top_down(result, 3, components=[]).any()
    for wrong, found in ((4, "4"), ([0, -1], "-1"), ([1.0], "1.0"), ("0", "'0'")):
        with pytest.raises(pfn.OptionError, match=f"components of x3 must be whole numbers from 0 to 3, found {found}"):
            top_down(result, 3, components=wrong)


def test_lists_of_sequences():
    network = spectrogram_hierarchy(6, (4, 3), (3, 2), (1, 3))
    rng = np.random.default_rng(2)
    X = [rng.random((6, slices)) for slices in (11, 4, 20)]
    result = pfn.learn(network, {"x1": X}, iterations=5, method=PLAIN)
    pieces = top_down(result, 3)
    assert [piece.shape for piece in pieces] == [(6, 11), (6, 4), (6, 20)]
    for number, piece in enumerate(pieces):
        alone = {name: value[number] if isinstance(value, list) else value for name, value in result.values.items()}
        np.testing.assert_allclose(piece, down_by_loops(alone, 3, (3, 2), (1, 3)), rtol=1e-12)


def test_learned_matrices_explain_other_sounds_of_the_same_notes():
    def observe(*pitches):
        return {"x1": spectrogram(melody(pitches), rate=RATE, window=512, hop=128, peak=1.0).magnitude}

    network = spectrogram_hierarchy(257, (6,), (4,), (1,))
    learned = pfn.learn(network, observe(60, 64, 67, 64), iterations=200, seed=0)
    known = {p: learned[p] for p in network.parameters}
    errors = []
    for pitches in ((64, 60, 67, 60), (61, 66, 70, 61)):
        found = pfn.infer(network, observe(*pitches), iterations=200, initial=known)
        errors.append(relative_error(top_down(found, 2), found["x1"]))
    assert errors[0] < 0.25
    assert errors[1] > 0.7


def test_saved_results(tmp_path):
    network = spectrogram_hierarchy(6, (4, 3), (3, 2), (1, 3))
    result = pfn.learn(network, {"x1": np.random.default_rng(3).random((6, 9))}, iterations=3, dtype="float32")
    result.save(tmp_path / "result.safetensors")
    again = top_down(pfn.load(tmp_path / "result.safetensors"), 3)
    np.testing.assert_array_equal(again, top_down(result, 3))
    assert again.dtype == np.float32


def test_activations_become_sparser_towards_the_top():
    tune = (60, 64, 67, 72, 67, 64)
    X = spectrogram(melody(tune * 3), rate=RATE, window=512, hop=193, bins=128, peak=1.0).magnitude
    network = spectrogram_hierarchy(128, (16, 12, 12), (4, 4, 3), (1, 4, 16))
    options = {"iterations": 150, "method": pfn.Propagate(start="levels")}
    results = [pfn.learn(network, {"x1": X}, seed=seed, **options) for seed in range(3)]
    x2, x3, x4 = shares_above_mean(results)  # 0.19, 0.13, 0.11
    assert x3 < 0.8 * x2
    assert x4 < 0.95 * x3
    assert max(relative_error(top_down(result, 4), X) for result in results) < 0.06


@pytest.mark.skipif(not RECORDING.exists(), reason="needs ../shared/data")
def test_recording_of_the_paper_s_piece():
    X = spectrogram(RECORDING, duration=15, bins=512, peak=1.0).magnitude
    assert X.shape == (512, 623)
    network = spectrogram_hierarchy(512)
    options = {"method": pfn.Propagate(start="levels"), "iterations": 60, "dtype": "float32"}
    results = [pfn.learn(network, {"x1": X}, seed=seed, **options) for seed in range(3)]
    assert max(relative_error(top_down(result, 4), X) for result in results) <= 0.1
    longer = {"iterations": 120, "dtype": "float32"}
    x2, x3, x4 = shares_above_mean([pfn.learn(network, {"x1": X}, seed=seed, **longer) for seed in range(3)])
    assert x3 < 0.8 * x2  # 0.143, 0.108, 0.094
    assert x4 < 0.95 * x3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bins": 0}, "variable x1: its size must be at least 1, found 0"),
        ({"bins": 5.0}, "variable x1: its size must be a whole number, found 5.0"),
        ({"bins": 5, "sizes": 3}, "sizes must be whole numbers >= 1, one for every level .* found 3"),
        ({"bins": 5, "sizes": (3, 0, 1)}, r"sizes must be whole numbers >= 1, .* found \(3, 0, 1\)"),
        ({"bins": 5, "children": (4, 4.0, 4)}, r"children must be whole numbers >= 1, .* found \(4, 4\.0, 4\)"),
        ({"bins": 5, "separations": (1, True, 4)}, "separations must be whole numbers >= 1"),
        ({"bins": 5, "sizes": (3, 2)}, "found: sizes has 2, children has 3, separations has 3. Give tuples of one"),
        ({"bins": 5, "sizes": (), "children": (), "separations": ()}, "sizes has 0, children has 0"),
    ],
)
def test_declarations_are_checked(given, message):
    with pytest.raises(pfn.DeclarationError, match=message):
        spectrogram_hierarchy(**given)


@pytest.mark.parametrize("level", [1, 4, 0, -1, 2.0, "x2", True, None])
def test_levels_are_checked(level):
    network = spectrogram_hierarchy(4, (3, 2), (2, 2), (1, 2))
    result = pfn.learn(network, {"x1": np.ones((4, 5))}, iterations=1)
    with pytest.raises(pfn.OptionError, match=f"level must be a whole number from 2 to 3, the top, found {level!r}"):
        top_down(result, level)


def test_other_networks_are_refused():
    result = pfn.infer(automaton(np.eye(4)), {"x": np.ones((2, 5))}, iterations=1)
    with pytest.raises(pfn.OptionError, match=r"a chain x1, x2, … of levels, found eq1: \[x\[t\]; x\[t\+1\]\] = W h"):
        top_down(result, 2)
    with pytest.raises(pfn.OptionError, match=r"result must be what pfn\.learn .* found dict"):
        top_down({}, 2)
