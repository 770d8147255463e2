"""Every experiment of the paper, run the quick way: what it claims to reproduce, it does."""

import numpy as np
import pytest

from pfn.automata import StateMachine
from pfn.paper import EXPERIMENTS, Setting
from pfn.paper.measures import (
    all_found,
    is_walk,
    observed,
    order_of_columns,
    stacked,
    strongest_share,
    transitions_found,
    used_columns,
)
from pfn.paper.originals import NONDETERMINISTIC, TARGETS
from pfn.paper.piano import RATE, passage
from pfn.paper.reports import report


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_it_comes_out(experiment):
    found = report(experiment, Setting(quick=True, seed=1))
    assert not found.broke
    assert [check.what for check in found.checks if not check.holds] == []
    assert found.checks
    assert all(figure.content for figure in found.figures)


def test_names_are_distinct_and_sections_in_order():
    assert len({experiment.name for experiment in EXPERIMENTS}) == len(EXPERIMENTS)
    sections = [experiment.section for experiment in EXPERIMENTS]
    assert {section[0] for section in sections} >= set("234567")
    assert sections == sorted(sections)


def test_only_the_language_model_is_without_a_result_in_the_paper():
    assert [experiment.name for experiment in EXPERIMENTS if not experiment.in_paper] == ["language"]


def test_the_code_of_an_experiment_is_what_runs():
    (superposition,) = (experiment for experiment in EXPERIMENTS if experiment.name == "superposition")
    assert superposition.code.startswith("def superposition(setting: Setting) -> Findings:")
    assert "pfn.infer(network" in superposition.code


def test_quick_takes_fewer_seeds():
    assert list(Setting(seed=4).seeds(5)) == [4, 5, 6, 7, 8]
    assert list(Setting(quick=True, seed=4).seeds(5)) == [4, 5, 6]
    assert list(Setting(quick=True).seeds(2)) == [0, 1]


def test_measures_of_walks():
    machine = StateMachine(["S1", "S2"], [("S1", "S2"), ("S2", "S1")])
    x = observed(machine, "S1 S2 ? S2")
    assert np.isnan(x[:, 2]).all()
    assert is_walk(machine, observed(machine, "S1 S2 S1"))
    assert is_walk(machine, 0.3 * observed(machine, "S1 S2 S1"))
    assert not is_walk(machine, observed(machine, "S1 S1 S2"))
    assert not is_walk(machine, observed(machine, "S1 S2") * [1.0, 0.5])
    assert not is_walk(machine, np.full((2, 3), 0.5))
    np.testing.assert_allclose(strongest_share(np.array([[1.0, 3.0], [1.0, 1.0]])), [0.5, 0.75])


def test_measures_of_learned_transitions():
    W = NONDETERMINISTIC.matrix()
    assert transitions_found(NONDETERMINISTIC, 0.3 * W[:, ::-1]) == [5, 4, 3, 2, 1, 0]
    assert all_found(NONDETERMINISTIC, W[:, [0, 1, 2, 3, 4, 5, 5, 0]])
    assert not all_found(NONDETERMINISTIC, W[:, :5])
    assert transitions_found(NONDETERMINISTIC, np.eye(8)) == [None] * 8
    faded = np.hstack([0.2 * W, np.zeros((8, 2))])
    np.testing.assert_allclose(used_columns(faded), W)
    assert all_found(NONDETERMINISTIC, faded)


def test_matrices_as_the_paper_writes_them():
    W = stacked((4, "1 2 3 4 3 2"), (4, "2 3 4 1 3 4"))
    np.testing.assert_array_equal(W, NONDETERMINISTIC.matrix())
    np.testing.assert_array_equal(stacked((2, "0 2"))[:, 0], [0, 0])
    turned = W[:, ::-1]
    np.testing.assert_array_equal(turned[:, order_of_columns(turned, W)], W)
    other = W.copy()
    other[0, 0] = 0
    assert not np.array_equal(other[:, order_of_columns(other, W)], W)


def test_every_experiment_says_what_the_paper_says():
    for experiment in EXPERIMENTS:
        assert len(experiment.says) > 40, experiment.name
        assert "  " not in experiment.says


def test_the_targets_are_those_that_the_text_describes():
    assert [target.magnitude for target in TARGETS] == [1.0, 0.8, 0.6]
    alive = [{time for time in range(26) if target.start <= time <= target.end} for target in TARGETS]
    assert {time + 1 for time in alive[0] & alive[1]} == {4, 5, 6, 7}  # "two targets in slices 4, 5, 6, 7"


def test_the_passage_is_music():
    sound = passage(3.0)
    assert sound.shape == (3 * RATE,)
    assert np.abs(sound).max() == pytest.approx(0.9)
    spectrum = np.abs(np.fft.rfft(sound[: RATE // 5] * np.hanning(RATE // 5)))
    assert np.argmax(spectrum) * 5 == pytest.approx(440 * 2 ** ((44 - 69) / 12), abs=10)  # begins with A flat
    np.testing.assert_array_equal(passage(1.0), passage(1.0))
