"""Scenes: what the sensors see of given and of random targets, and what is refused."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pfn
from pfn.models import Target, TargetKind, simulate_targets, tracking_network
from tests.models.exact_oracle import exact_values
from tests.models.scenes import PAPER_LENGTH, PAPER_TARGETS
from tests.networks import tracking, tracking_scene

NETWORK = tracking_network()


class TestGivenTargets:
    @pytest.mark.parametrize("network", [NETWORK, tracking()], ids=["ours", "by hand"])
    def test_the_papers_scene(self, network):
        kinds = {"A": "A", "B": "B"} if network is NETWORK else {"A": "0", "B": "1"}
        targets = [replace(target, kind=kinds[target.kind]) for target in PAPER_TARGETS]
        scene = simulate_targets(network, targets, length=PAPER_LENGTH)
        assert scene.truth.keys() == tracking_scene().keys()
        for name, truth in tracking_scene().items():
            np.testing.assert_array_equal(scene.truth[name], truth, err_msg=name)
        np.testing.assert_array_equal(scene.observed["x1"], tracking_scene()["x1"])

    def test_states_are_filled_in(self):
        scene = simulate_targets(NETWORK, PAPER_TARGETS, length=PAPER_LENGTH)
        assert [target.states for target in scene.targets] == [
            (0, 1, 2, 3, 4),
            (0, 1, 2, 3, 4, 1, 2, 3, 4),
            (0, 1, 2, 3, 1, 2, 3, 1, 2, 3),
        ]
        assert [target.end for target in scene.targets] == [6, 11, 24]

    def test_scenes_add_up(self):
        together = simulate_targets(NETWORK, PAPER_TARGETS, length=PAPER_LENGTH).truth
        alone = [simulate_targets(NETWORK, [target], length=PAPER_LENGTH).truth for target in PAPER_TARGETS]
        for name, value in together.items():
            np.testing.assert_allclose(value, sum(scene[name] for scene in alone))

    def test_no_target_at_all(self):
        scene = simulate_targets(NETWORK, [], length=4)
        assert scene.targets == ()
        assert not scene.observed["x1"].any()
        assert scene.observed["x1"].shape == (19, 4)

    def test_the_scene_may_cut_a_target(self):
        before = Target("A", 0, (3, 4, 4), states=(4, 1, 2), magnitude=2.0)
        after = Target("B", 2, (1,))
        scene = simulate_targets(NETWORK, [before, after], length=3)
        np.testing.assert_array_equal(scene.truth["x4"].argmax(axis=0), [4, 1, 2])
        assert scene.truth["x4"][5, 2] == 1.0
        exact_values(NETWORK, scene.truth)  # which raises if there is none

    def test_numpy_numbers_are_numbers(self):
        target = Target("A", np.int64(2), np.full(5, 3), magnitude=np.float32(0.5))
        assert target == Target("A", 2, (3,) * 5, magnitude=0.5)
        assert {type(number) for number in (target.start, *target.positions)} == {int}
        assert type(target.magnitude) is float


class TestNoise:
    def test_is_uniform_and_only_in_the_observation(self):
        scene = simulate_targets(NETWORK, PAPER_TARGETS, length=1000, noise=0.06)
        noise = scene.observed["x1"] - scene.truth["x1"]
        assert noise.min() >= -1e-15
        assert noise.max() <= 0.06 + 1e-15
        np.testing.assert_allclose(noise.mean(), 0.03, atol=0.001)
        np.testing.assert_allclose(noise.std(), 0.06 / np.sqrt(12), atol=0.001)
        np.testing.assert_array_equal(scene.truth["x1"][:, :PAPER_LENGTH], tracking_scene()["x1"])

    def test_same_seed_same_scene(self):
        first, again, other = (simulate_targets(NETWORK, 5, length=40, seed=s, noise=0.1) for s in (3, 3, 4))
        assert first.targets == again.targets != other.targets
        np.testing.assert_array_equal(first.observed["x1"], again.observed["x1"])

    def test_noise_does_not_change_the_targets(self):
        quiet, loud = (simulate_targets(NETWORK, 5, length=40, seed=3, noise=noise) for noise in (0.0, 0.5))
        assert quiet.targets == loud.targets


class TestRandomTargets:
    @given(
        emissions=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=3),
        positions=st.integers(1, 6),
        length=st.integers(7, 30),
        seed=st.integers(0, 1000),
    )
    def test_are_valid(self, emissions, positions, length, seed):
        kinds = [TargetKind(f"kind {n}: ", tuple(emission)) for n, emission in enumerate(emissions)]
        network = tracking_network(positions, 4, kinds)
        scene = simulate_targets(network, 8, length=length, seed=seed)
        assert len(scene.targets) == 8
        assert all(target.start >= 1 and target.end <= length - 2 for target in scene.targets)
        again = simulate_targets(network, scene.targets, length=length)  # which checks them all
        assert again.targets == scene.targets
        for name, value in scene.truth.items():
            np.testing.assert_array_equal(again.truth[name], value)
            assert value.shape == (network[name].size, length)

    def test_are_of_all_sorts(self):
        targets = simulate_targets(NETWORK, 400, length=60, seed=0).targets
        assert {target.kind for target in targets} == {"A", "B"}
        assert {len(target.states) for target in targets} == {4, 5, 7, 9, 10, 13, 17}
        assert {position for target in targets for position in target.positions} == set(range(15))
        steps = {after - before for target in targets for before, after in pairwise(target.positions)}
        assert steps == {-1, 0, 1}
        magnitudes = [target.magnitude for target in targets]
        assert 0.3 <= min(magnitudes) < 0.35
        assert 0.95 < max(magnitudes) <= 1.0


class TestRefused:
    @pytest.mark.parametrize(
        ("target", "message"),
        [
            (Target("C", 2, [3] * 5), "target C from slice 2: the network has the kinds A, B"),
            (Target("A", 20, [3] * 9), "alive until slice 28, but the last of 26 slices is 25"),
            (Target("A", 2, [15] * 5), "position 15 is outside the network's positions 0 to 14"),
            (Target("A", 2, [3] * 6), "found it ending in 1. Kind A lives 5, 9, 13, … slices"),
            (Target("A", 2, [3] * 5, states=(1, 2, 3, 4, 1)), "begins in state 0 of its 5 states, found 1"),
            (Target("A", 0, [3], states=(5,)), "begins in state 0 of its 5 states, found 5"),
            (Target("A", 2, [3] * 5, states=(0, 1, 2, 3, 3)), r"runs through the states \(0, 1, 2, 3, 4\), found \("),
            (Target("A", 2, [3, 3, 4, 4, 4]), "between slices 3 and 4 its position goes from 3 to 4"),
            (Target("A", 2, [3] * 5 + [5] * 4), "between slices 6 and 7 its position goes from 3 to 5"),
            ("A", "targets must be Targets, found 'A'"),
        ],
    )
    def test_targets_that_do_not_fit(self, target, message):
        with pytest.raises(pfn.DataError, match=message):
            simulate_targets(NETWORK, [target], length=PAPER_LENGTH)

    def test_a_life_that_is_too_long(self):
        network = tracking_network(3, 1, [TargetKind("dot", (0,))])
        with pytest.raises(pfn.DataError, match=r"runs through the states \(0,\), found 2 slices"):
            simulate_targets(network, [Target("dot", 1, [0, 0])], length=9)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"kind": TargetKind("A")}, "its kind must be the name of one, found TargetKind"),
            ({"start": -1}, "its first slice must not be negative, found -1"),
            ({"start": 0.5}, r"its first slice must be a whole number, found 0\.5"),
            ({"positions": []}, "found 0 positions and 0 states"),
            ({"positions": [1, -1]}, "its positions must not be negative, found -1"),
            ({"positions": 3}, "its positions must be a list of whole numbers, found 3"),
            ({"states": (0, 1)}, "found 5 positions and 2 states"),
            ({"magnitude": 0}, "its magnitude must be a positive number, found 0"),
            ({"magnitude": -1.0}, r"its magnitude must be a positive number, found -1\.0"),
            ({"magnitude": np.nan}, "its magnitude must be a positive number, found nan"),
            ({"magnitude": "loud"}, "its magnitude must be a positive number, found 'loud'"),
        ],
    )
    def test_targets(self, arguments, message):
        with pytest.raises(pfn.DataError, match=message):
            Target(**{"kind": "A", "start": 2, "positions": [3] * 5, **arguments})

    @pytest.mark.parametrize(
        ("targets", "options", "message"),
        [
            (1.5, {}, r"the number of targets must be a whole number, found 1\.5"),
            (-1, {}, "the number of targets must not be negative, found -1"),
            (1, {"length": 0}, "length must be at least 1 slice, found 0"),
            (1, {"length": 9.5}, r"length must be a whole number, found 9\.5"),
            (1, {"length": 5}, "random targets need length >= 6 here"),
            (1, {"noise": -0.1}, r"noise must be a number >= 0, found -0\.1"),
            (1, {"noise": np.inf}, "noise must be a number >= 0, found inf"),
        ],
    )
    def test_options(self, targets, options, message):
        with pytest.raises(pfn.OptionError, match=message):
            simulate_targets(NETWORK, targets, **{"length": 26, **options})
