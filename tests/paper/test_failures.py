"""Experiments made to fail: what is not as the paper says is shown as failed, and which figure it is."""

from dataclasses import replace

import numpy as np
import pytest

import pfn
from pfn.automata import StateMachine
from pfn.models import simulate_targets, tracking_network
from pfn.paper import Setting, named, section2, section3, section4, section5
from pfn.paper.originals import CIRCLE, SCENE_LENGTH, STATES, TARGETS
from pfn.paper.reports import report

BACKWARD = StateMachine(STATES, [(after, before) for before, after in CIRCLE])
WITHOUT_A_LOOP = StateMachine(STATES, [*CIRCLE, ("S1", "S1"), ("S2", "S4")])


def other_averaging(method, averaging):
    return replace(method, averaging={"updated": "all", "all": "updated"}[averaging])


def shifted_scene(seed, noise=0.0):
    """What is seen is a slice later than what is taken for the truth."""
    scene = simulate_targets(tracking_network(), TARGETS, length=SCENE_LENGTH, noise=noise, seed=seed)
    return replace(scene, observed={"x1": np.roll(scene.observed["x1"], 1, axis=1)})


def without_normalization(X, W, H, sweeps):
    for _ in range(sweeps):
        W = W * (X / (W @ H) @ H.T) / H.sum(axis=1)
        H = H * (W.T @ (X / (W @ H))) / W.sum(axis=0)[:, None]
    return W @ H


def exchanged_rows(matrix):
    return matrix[[*range(len(matrix) - 2), -1, -2]]


FAILURES = {
    "a wrong machine": ("transition-matrix", section3, "NONDETERMINISTIC", WITHOUT_A_LOOP, "W"),
    "a machine that runs backward": ("predict-from-first", section3, "DETERMINISTIC", BACKWARD, "distance from"),
    "other states": ("one-solution", section3, "WHOLE", "S1 S2 S3 S3 S4 S1 S2 S3 S4 S1", "distance from"),
    "no sparseness": ("all-hidden", section3, "SPARSE", pfn.PAPER, "a valid sequence"),
    "too few sweeps": ("learn-eight", section3, "SWEEPS", 5, "exact in the best of 12"),
    "a wrong table": ("hierarchy-matrices", section4, "U", exchanged_rows(section4.U), "U, every entry"),
    "a string that is one": (
        "hierarchy-accepts",
        section4,
        "IMPOSSIBLE",
        "S1 S2 ? ? ? ? S4 ? ? ?",
        "largest RMSE with S1",
    ),
    "a choice that is forced": ("hierarchy", section4, "OBSERVED", "? S2 ? ? ? ? S4 ? ? S6", "both have more"),
    "exchanged averaging": ("algorithm-2", section2, "replace", other_averaging, "longer than algorithm 1"),
    "another NMF": ("nmf", section2, "lee_and_seung", without_normalization, "distance from a plain loop"),
    "a wrong coupling": (
        "tracking-model",
        section5,
        "PRINTED",
        {"W5": exchanged_rows(section5.PRINTED["W5"])},
        "W5",
    ),
    "a shifted scene": ("tracking-hidden-slice", section5, "the_scene", shifted_scene, "largest error of any value"),
}


@pytest.mark.parametrize(("name", "module", "what", "other", "check"), FAILURES.values(), ids=FAILURES)
def test_it_fails(name, module, what, other, check, monkeypatch):
    monkeypatch.setattr(module, what, other)
    (experiment,) = named([name])
    found = report(experiment, Setting(quick=True))
    assert (found.verdict, found.broke) == ("failed", "")
    failed = [one.what for one in found.checks if not one.holds]
    assert any(one.startswith(check) for one in failed), failed
    assert found.data()["verdict"] == "failed"
