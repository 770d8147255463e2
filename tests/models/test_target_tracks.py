"""Superpositions taken apart into targets: exact values, small errors, noise, and what cannot be told apart."""

from dataclasses import replace

import numpy as np
import pytest

import pfn
from pfn.models import Target, TargetKind, simulate_targets, tracking_network, tracks
from tests.models.exact_oracle import exact_result, exact_values, result_of
from tests.models.scenes import (
    PAPER_LENGTH,
    PAPER_TARGETS,
    blurred,
    determined,
    recovered,
    several_solutions,
    true_values,
)

NETWORK = tracking_network()


def scene_of(*targets, length=30, network=NETWORK):
    return simulate_targets(network, targets, length=length)


def found_in(scene, network=NETWORK, **options):
    """What is found when x1 … x5 are as they are and the rest is solved for."""
    return tracks(exact_result(network, scene.truth), **options)


def assert_same(found, targets, tolerance=1e-5):
    """The same targets, in any order, up to this relative difference of their magnitudes."""
    assert sorted(map(course, found)) == sorted(map(course, targets))
    for target, other in zip(sorted(targets, key=course), sorted(found, key=course), strict=True):
        assert other.magnitude == pytest.approx(target.magnitude, rel=tolerance)


def course(target):
    """All of a target but its magnitude, with that rounded to tell twins apart."""
    return (target.kind, target.start, target.positions, target.states, round(target.magnitude, 1))


class TestThePapersScene:
    scene = simulate_targets(NETWORK, PAPER_TARGETS, length=PAPER_LENGTH)

    def test_solved_exactly(self):
        assert_same(tracks(exact_result(NETWORK, self.scene.observed)), self.scene.targets)

    @pytest.mark.parametrize("seed", range(3))
    def test_inferred(self, seed):
        result = pfn.infer(NETWORK, self.scene.observed, tolerance=1e-4, seed=seed)
        assert_same(tracks(result), self.scene.targets, tolerance=0.01)

    def test_saved_and_loaded(self, tmp_path):
        exact_result(NETWORK, self.scene.observed).save(tmp_path / "scene.pfn")
        assert_same(tracks(pfn.load(tmp_path / "scene.pfn")), self.scene.targets)

    @pytest.mark.parametrize("scale", [1e-6, 1e6])
    def test_in_other_units(self, scale):
        targets = [replace(target, magnitude=target.magnitude * scale) for target in self.scene.targets]
        values = {name: scale * value for name, value in exact_values(NETWORK, self.scene.observed).items()}
        assert_same(tracks(result_of(NETWORK, values)), targets)

    def test_several_sequences(self):
        lonely = scene_of(PAPER_TARGETS[1], length=15)
        result = pfn.infer(NETWORK, {"x1": [self.scene.observed["x1"], lonely.observed["x1"]]}, iterations=400)
        first, second = tracks(result)
        assert_same(first, self.scene.targets, tolerance=0.01)
        assert_same(second, lonely.targets, tolerance=0.01)

    def test_with_noise(self):
        noisy = simulate_targets(NETWORK, PAPER_TARGETS, length=PAPER_LENGTH, noise=0.06, seed=1)
        result = pfn.infer(NETWORK, noisy.observed, iterations=500)
        assert len(tracks(result)) > 20
        found = tracks(result, threshold=0.2)
        assert sorted((t.kind, t.start, t.end, t.positions) for t in found) == [
            (t.kind, t.start, t.end, t.positions) for t in PAPER_TARGETS
        ]

    def test_a_hidden_end_is_a_superposition(self):
        image = self.scene.observed["x1"].copy()
        image[:, 21:] = np.nan
        found = tracks(pfn.infer(NETWORK, {"x1": image}))
        assert_same(found[:2], self.scene.targets[:2], tolerance=0.01)
        assert {(target.kind, target.start) for target in found[2:]} >= {("B", 15)}
        shares = [target.magnitude for target in found if target.kind == "B" and target.start == 15]
        assert sum(shares) == pytest.approx(0.6, rel=0.05)
        assert len(shares) > 1


class TestMeetings:
    """Targets that share a state and a position at the same time."""

    def test_that_cross(self):
        scene = scene_of(
            Target("B", 2, [4] * 4 + [5] * 3 + [6] * 3 + [7] * 3, magnitude=0.7),
            Target("B", 5, [7] * 4 + [6] * 3 + [5] * 3, magnitude=0.4),
        )
        np.testing.assert_allclose(scene.truth["x2"][6, 9:12], 1.1)
        np.testing.assert_allclose(scene.truth["x4"][[6, 7, 8], [9, 10, 11]], 1.1)
        assert_same(found_in(scene), scene.targets)

    def test_that_part_after_a_common_birth(self):
        scene = scene_of(
            Target("A", 2, [4] * 5 + [5] * 4, magnitude=0.7),
            Target("A", 2, [4] * 5 + [3] * 4, magnitude=0.4),
            Target("A", 2, [4] * 5, magnitude=0.2),
        )
        assert_same(found_in(scene), scene.targets)

    def test_that_swap_places(self):
        scene = scene_of(
            Target("A", 2, [4] * 5 + [5] * 4, magnitude=0.7),
            Target("A", 2, [5] * 5 + [4] * 4, magnitude=0.4),
        )
        assert_same(found_in(scene), scene.targets)

    def test_the_equally_strong_rather_stay(self):
        scene = scene_of(Target("A", 2, [4] * 9), Target("A", 2, [5] * 9))
        assert_same(found_in(scene), scene.targets)

    def test_of_different_kinds_in_one_place(self):
        scene = scene_of(
            Target("A", 3, [4] * 5, magnitude=0.7), Target("B", 3, [4] * 4, magnitude=0.7), Target("B", 4, [4] * 4)
        )
        assert_same(found_in(scene), scene.targets)

    def test_that_follow_each_other(self):
        scene = scene_of(*(Target("B", start, [4] * 4, magnitude=0.5) for start in (3, 7, 11)))
        assert_same(found_in(scene), scene.targets)

    def test_twins_are_one(self):
        (found,) = found_in(scene_of(Target("A", 2, [4] * 5, magnitude=0.7), Target("A", 2, [4] * 5, magnitude=0.4)))
        assert_same([found], scene_of(Target("A", 2, [4] * 5, magnitude=1.1)).targets)


class TestBorders:
    def test_targets_that_the_scene_cuts(self):
        scene = scene_of(
            Target("A", 0, [3, 4, 4, 4, 4], states=(4, 1, 2, 3, 4)), Target("B", 7, [9, 9], magnitude=0.5), length=9
        )
        assert_same(found_in(scene), scene.targets)

    def test_one_slice(self):
        scene = scene_of(Target("A", 0, [3], states=(2,)), Target("B", 0, [9], states=(1,), magnitude=0.5), length=1)
        assert_same(found_in(scene), scene.targets)

    def test_nothing(self):
        assert found_in(scene_of(length=5)) == []

    def test_kinds_of_one_and_two_states(self):
        network = tracking_network(6, 3, [TargetKind("dot", (1,)), TargetKind("line", (0, 2))])
        scene = scene_of(
            Target("dot", 2, [3]),
            Target("dot", 3, [3], magnitude=0.5),
            Target("line", 1, [2, 2, 3, 2], magnitude=0.8),
            network=network,
            length=8,
        )
        assert_same(found_in(scene, network), scene.targets)


SCENES = [(1, 15, 30), (3, 15, 40), (5, 20, 60), (8, 30, 80), (12, 50, 80), (20, 50, 150), (40, 50, 300)]


class TestRandomScenes:
    """At least 99 % of the targets that a unique solution determines: kind, start, end and magnitude."""

    @pytest.mark.parametrize(("count", "positions", "length"), SCENES)
    def test_all_that_are_determined_are_found(self, count, positions, length):
        network = tracking_network(positions)
        scene = simulate_targets(network, count, length=length, seed=count)
        solutions = list(several_solutions(network, scene))
        certain = list(determined(network, scene, solutions))
        assert len(certain) >= 0.4 * count
        for values, tolerance in ((solutions[0], 1e-5), (blurred(solutions[0], 1e-4), 1e-3)):
            found = tracks(result_of(network, values))
            lost = [target for target in certain if not recovered(target, found, tolerance)]
            assert lost == []

    @pytest.mark.parametrize(("error", "tolerance"), [(0.0, 1e-5), (1e-3, 1e-2)])
    def test_true_values_give_the_true_targets(self, error, tolerance):
        # An image may have other solutions; the true states and positions leave hardly anything open but twins.
        total = found = 0
        for seed in range(20):
            network = tracking_network(30)
            scene = simulate_targets(network, 40, length=120, seed=seed)
            targets = tracks(result_of(network, blurred(true_values(network, scene), error)))
            total += len(scene.targets)
            found += sum(recovered(target, targets, tolerance) for target in scene.targets)
        assert found >= 0.99 * total


class TestRefused:
    @pytest.mark.parametrize("threshold", [0, 1, -0.1, 2])
    def test_thresholds(self, threshold):
        with pytest.raises(pfn.OptionError, match=f"threshold must lie between 0 and 1, .* found {threshold}"):
            tracks(exact_result(NETWORK, scene_of(length=5).observed), threshold=threshold)

    def test_results_of_other_networks(self):
        x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
        other = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", np.eye(2)) @ h))
        with pytest.raises(pfn.DataError, match="expected a network made by tracking_network"):
            tracks(pfn.infer(other, {x: np.ones((2, 3))}, iterations=1))
