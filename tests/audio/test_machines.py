"""Note machines: what the network says, and what is learned with it."""

from math import inf

import numpy as np
import pytest
from scipy.signal import lfilter

import pfn
from pfn.audio import Note, NoteTemplates, Sound, isolated_templates, learn_notes, note_machines, onsets, transcribe
from pfn.audio.machines import LENGTHS, NOISES, NoteMachines, bumps, note_names, smoothed
from pfn.audio.template_learning import learned_templates
from pfn.audio.templates import ATTACK
from tests.audio.notes import melody, note

RATE = 16_000


def small(seed=0, bands=12, notes=3):
    rng = np.random.default_rng(seed)
    attack, decay = rng.random((ATTACK, bands, notes)), rng.random((bands, notes))
    return NoteTemplates(tuple(range(60, 60 + notes)), attack, decay, rng.uniform(0.8, 0.95, notes))


def spectrum_by_loops(templates, paths, noise, gains):
    """One note after the other, slice by slice."""
    bands, notes = templates.decay.shape
    columns = noise.shape[1]
    clean = np.zeros((bands, columns))
    for length, events in paths.items():
        for p in range(notes):
            for begin in range(columns):
                for k in range(columns - begin):
                    strength = events[p, begin]
                    if k < ATTACK:
                        clean[:, begin + k] += strength * templates.attack[k, :, p]
                    elif k - ATTACK < length:
                        clean[:, begin + k] += strength * templates.fade[p] ** (k - ATTACK) * templates.decay[:, p]
    return gains[:, None] * clean + bumps(bands) @ noise


def test_the_network_is_the_sum_of_its_machines():
    templates, rng, columns = small(), np.random.default_rng(1), 40
    gains = rng.uniform(0.5, 1.5, 12)
    paths = {length: rng.random((3, columns)) * (rng.random((3, columns)) < 0.1) for length in LENGTHS}
    noise = rng.random((NOISES, columns))
    expected = spectrum_by_loops(templates, paths, noise, gains)
    network = note_machines(templates, equaliser=gains)
    known = {f"held{length:g}": values for length, values in paths.items()} | {"noise": noise}
    found = pfn.infer(network, {"spectrum": expected, **known}, method="substitute", iterations=1)
    assert found.rmse["eq1"] < 1e-9
    assert found["fading"][:, :ATTACK].max() == 0


def test_paths_are_found_again():
    templates, columns = small(bands=40), 60
    paths = {length: np.zeros((3, columns)) for length in LENGTHS}
    paths[16][0, 5], paths[inf][2, 20] = 1.0, 0.7
    noise = np.full((NOISES, columns), 1e-3)
    spectrum = spectrum_by_loops(templates, paths, noise, np.ones(40))
    method = pfn.Substitute(acceleration=None)
    found = pfn.infer(note_machines(templates), {"spectrum": spectrum}, method=method, iterations=600)
    on = found["on"]
    assert np.unravel_index(on[0].argmax(), on[0].shape) == (5,)
    assert (on[2].argmax(), on[0, 4:7].sum(), on[2, 19:22].sum()) == (
        20,
        pytest.approx(1.0, abs=0.05),
        pytest.approx(0.7, abs=0.05),
    )
    assert on[1].max() < 0.05


def test_smoothed_gains_have_the_mean_one_and_no_edges():
    gains = smoothed(np.where(np.arange(200) < 100, 1.0, 3.0))
    assert gains.mean() == pytest.approx(1)
    assert np.abs(np.diff(gains)).max() < 0.1
    np.testing.assert_allclose(smoothed(np.full(50, 4.0)), 1)


def test_names_of_notes():
    assert note_names((21, 60, 70, 108)) == ("A0", "C4", "B♭4", "C8")


@pytest.fixture(scope="module")
def lesson():
    """An instrument that is dark, to be learned by one who knows a bright one."""

    def dark(pitch):
        time, frequency = np.arange(RATE) / RATE, 440 * 2 ** ((pitch - 69) / 12)
        return (
            0.3
            * np.exp(-3 * time)
            * (np.sin(2 * np.pi * frequency * time) + 0.3 * np.sin(6 * np.pi * frequency * time))
        )

    sound, notes = np.zeros(4 * RATE), []
    for place, pitch in enumerate((60, 62, 60, 62, 60, 62)):
        begin = place * RATE // 2
        sound[begin : begin + RATE] += dark(pitch)[: len(sound) - begin]
        notes.append(Note(begin / RATE, begin / RATE + 1, pitch))
    return Sound(sound, RATE), notes


def bright(pitches):
    return isolated_templates({p: Sound(note(p, 1.5, RATE), RATE) for p in (60, 62)}, pitches=pitches)


def distance(templates, lesson):
    """How far the attack of the first note is from that in the lesson."""
    dark = isolated_templates({60: Sound(lesson[0].samples[: RATE // 2], RATE)}, pitches=(60,))
    mine, wanted = (x / x.sum() for x in (part.attack[4:, :, 0].sum(axis=0) for part in (templates, dark)))
    return np.abs(mine - wanted).sum()


def test_learned_notes_sound_like_the_lesson(lesson):
    known = bright((60, 62, 64))
    learned = learn_notes([lesson], templates=known)
    assert distance(learned, lesson) < 0.9 * distance(known, lesson)  # six notes against a prior of two
    np.testing.assert_allclose(learned.attack[:, :, 2], known.attack[:, :, 2], rtol=1e-4)  # never played
    found = transcribe(lesson[0].samples, sample_rate=RATE, model=learned)
    assert [n.pitch for n in found.notes] == [n.pitch for n in lesson[1]]


def test_templates_adapt_to_what_is_heard(lesson, monkeypatch):
    known, learn, results = bright((60, 62, 83)), pfn.learn, []

    def watched(*arguments, **options):
        results.append(learn(*arguments, **options))
        return results[-1]

    monkeypatch.setattr(pfn, "learn", watched)
    found = transcribe(lesson[0].samples, sample_rate=RATE, model=known)
    assert [n.pitch for n in found.notes] == [n.pitch for n in lesson[1]]
    adapted = learned_templates(known, results[-1])
    assert distance(adapted, lesson) < 0.95 * distance(known, lesson)
    before, after = (templates.attack[:, :, 2] for templates in (known, adapted))
    assert np.abs(after - before).sum() < 0.05 * before.sum()  # never played


def test_a_key_is_not_struck_twice_within_an_eighth_of_a_second():
    activity = np.zeros((1, 60))
    activity[0, [20, 27, 40, 49]] = [1, 0.6, 1, 0.6]
    reading = NoteMachines(small()).reading
    assert onsets.events(activity, activity[0], reading).columns.tolist() == [20, 40, 49]
    equal = np.zeros((1, 60))
    equal[0, [20, 23]] = 1
    assert len(onsets.events(equal, equal[0], reading).columns) == 1


def test_templates_to_start_from_are_templates(lesson):
    with pytest.raises(pfn.OptionError, match="templates must be NoteTemplates to start from"):
        learn_notes([lesson], templates="piano")


def test_learned_notes_do_not_sound_like_the_room():
    pitches = (60, 64, 67)
    known = isolated_templates({p: Sound(note(p, 1.5, RATE), RATE) for p in pitches}, pitches=pitches)
    dull = lfilter([0.2], [1, -0.8], melody(pitches, each=0.5, rate=RATE))
    lesson = Sound(dull, RATE), [Note(0.5 * k, 0.5 * k + 1.5, p) for k, p in enumerate(pitches)]
    learned = learn_notes([lesson], templates=known, progress=False)
    before, after = (templates.decay / templates.decay.sum(axis=0) for templates in (known, learned))
    assert np.abs(after - before).sum(axis=0).mean() < 0.13  # 0.08, and 0.20 without an equaliser
