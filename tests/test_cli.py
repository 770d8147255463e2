import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pfn
from pfn import t
from pfn.audio import Note, drum_templates, read_notes, write_midi, write_sound
from pfn.cli import main
from pfn.paper import EXPERIMENTS, NETWORKS
from pfn.paper.piano import RATE, passage
from tests.audio.notes import melody


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def saved(tmp_path):
    x, h = pfn.Variable("x", 3), pfn.Variable("h", 2)
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(3, 2)) @ h[t]))
    path = tmp_path / "result.safetensors"
    pfn.learn(network, {x: np.eye(3)}, iterations=20).save(path)
    return path


def test_help_names_every_command_and_each_has_an_example():
    assert run("--help").exit_code == 0
    for command in ("reproduce", "draw", "show", "decompose", "transcribe", "separate"):
        assert command in run("--help").output
        assert f"pfn {command}" in run(command, "--help").output


def test_it_is_also_a_module():
    found = subprocess.run([sys.executable, "-m", "pfn", "draw", "--help"], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("Usage: python -m pfn draw")


def test_show(saved):
    found = run("show", saved)
    assert found.exit_code == 0
    assert "x[t] = W h[t]" in found.output


def test_show_with_pictures(saved, tmp_path):
    found = run("show", saved, "--pictures", tmp_path / "seen")
    assert found.exit_code == 0, found.output
    assert {path.name for path in (tmp_path / "seen").iterdir()} == {
        "network.svg",
        "errors.svg",
        "x.png",
        "h.png",
        "W.png",
    }


def test_show_what_was_learned_by_batches(saved, tmp_path):
    network = pfn.load(saved).network
    pfn.learn(network, [np.eye(3)], batches=pfn.Batches(first=5)).save(saved)
    found = run("show", saved, "--pictures", tmp_path / "seen")
    assert found.exit_code == 0, found.output
    assert {path.name for path in (tmp_path / "seen").iterdir()} == {"network.svg", "errors.svg", "W.png"}


@pytest.mark.parametrize("name", NETWORKS)
def test_draw_every_network_of_the_paper(name, tmp_path):
    found = run("draw", name, "--out", tmp_path / "drawn.svg")
    assert found.exit_code == 0, found.output
    assert "<svg" in (tmp_path / "drawn.svg").read_text("utf-8")


def test_draw_a_saved_model_with_slices(saved, tmp_path):
    assert run("draw", saved, "--slices", 3, "--observed", "x", "--out", tmp_path / "x.png").exit_code == 0
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_draw_as_dot():
    assert run("draw", "transitions", "--dot").output.startswith("digraph")


def test_list():
    listed = run("reproduce", "--list")
    assert listed.exit_code == 0
    assert all(experiment.name in listed.output for experiment in EXPERIMENTS)


def test_reproduce(tmp_path):
    found = run("reproduce", "superposition", "noisy", "--quick", "--jobs", 1, "--out", tmp_path)
    assert found.exit_code == 0, found.output
    assert f"Open {tmp_path / 'index.html'}" in found.output
    experiments = json.loads((tmp_path / "results.json").read_text("utf-8"))["experiments"]
    assert [experiment["name"] for experiment in experiments] == ["noisy", "superposition"]


def test_a_failed_experiment_makes_the_exit_code_one(tmp_path, monkeypatch):
    monkeypatch.setattr("pfn.paper.section3.EXACT", -1.0)
    found = run("reproduce", "superposition", "--quick", "--jobs", 1, "--out", tmp_path)
    assert found.exit_code == 1
    assert "failed: superposition" in found.output
    assert "failed" in (tmp_path / "index.html").read_text("utf-8")


def test_decompose(tmp_path):
    write_sound(tmp_path / "tune.wav", passage(2.0), RATE)
    found = run("decompose", tmp_path / "tune.wav", "--parts", 2, "--iterations", 3, "--out", tmp_path / "parts")
    assert found.exit_code == 0, found.output
    names = {path.name for path in (tmp_path / "parts").iterdir()}
    assert names == {"activations.png", "spectrogram.png", "result.safetensors", "part-1.wav", "part-2.wav"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "missing.safetensors"], 1, "missing.safetensors"),
        (["draw", "nonsense"], 1, "neither a file nor a network of the paper"),
        (["draw", "nmf", "--observed", "q", "--out", "never.svg"], 1, "nothing called q"),
        (["draw", "nmf", "--out", "picture.jpeg"], 1, ".svg, .png, .pdf"),
        (["draw", "nmf", "--slices", 0], 2, "0"),
        (["reproduce", "trackin-clean"], 1, "Did you mean 'tracking-clean'?"),
        (["reproduce", "--seed", -1], 2, "-1"),
        (["reproduce", "noisy", "--recording", "no.wav"], 1, "no.wav"),
        (["decompose", "missing.wav"], 2, "missing.wav"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_mistakes_are_sentences(arguments, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(*arguments)
    assert found.exit_code == code, found.output
    assert message in found.output
    assert "Traceback" not in found.output
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tune(tmp_path):
    path = tmp_path / "tune.wav"
    write_sound(path, melody((60, 64, 67), each=0.5, rate=16_000), 16_000)
    return path


def test_transcribe(tune, tmp_path):
    midi, picture = tmp_path / "tune.mid", tmp_path / "tune.png"
    found = run("transcribe", tune, "--out", midi, "--picture", picture, "--truth", tmp_path / "none.mid")
    assert found.exit_code == 1
    assert "expected a file of notes, found nothing there" in found.output
    found = run("transcribe", tune, "--out", midi, "--picture", picture)
    assert found.exit_code == 0, found.output
    assert "Found 3 notes" in found.output
    assert [note.pitch for note in read_notes(midi)] == [60, 64, 67]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_true_notes_and_scores_are_those_of_the_whole_file(tune, tmp_path, monkeypatch):
    truth = [Note(0.0, 0.5, 60), Note(0.5, 1.0, 64), Note(1.0, 1.5, 67)]
    write_midi(tmp_path / "truth.mid", truth)
    seen = []
    draw = pfn.plots.piano_roll
    monkeypatch.setattr("pfn.plots.piano_roll", lambda found, true: seen.extend(true) or draw(found, true))
    options = ["--start", 0.5, "--out", tmp_path / "part.mid", "--picture", tmp_path / "part.png"]
    found = run("transcribe", tune, *options, "--truth", tmp_path / "truth.mid")
    assert found.exit_code == 0, found.output
    heard = {note.pitch: note.onset for note in read_notes(tmp_path / "part.mid")}
    for note in seen[1:]:
        assert heard[note.pitch] == pytest.approx(note.onset, abs=0.03)


def test_separate(tune, tmp_path):
    for name, pitches in {"low": (60,), "high": (64, 67)}.items():
        notes = [Note(0.5 * (60, 64, 67).index(pitch), 0.5 * (60, 64, 67).index(pitch) + 1, pitch) for pitch in pitches]
        write_midi(tmp_path / f"{name}.mid", notes)
    scores = ["--score", tmp_path / "low.mid", "--score", tmp_path / "high.mid"]
    found = run("separate", tune, *scores, "--iterations", 5, "--out", tmp_path / "stems")
    assert found.exit_code == 0, found.output
    assert {path.name for path in (tmp_path / "stems").iterdir()} == {"low.wav", "high.wav"}
    blind = ["--parts", 3, "--components", 5]
    found = run("separate", tune, "--iterations", 5, *blind, "--out", tmp_path / "parts")
    assert found.exit_code == 0, found.output
    assert len(list((tmp_path / "parts").iterdir())) == 3


@pytest.mark.parametrize("command", ["transcribe", "separate"])
def test_sounds_that_are_none(command, tmp_path):
    (tmp_path / "text.wav").write_text("do re mi")
    found = run(command, tmp_path / "text.wav")
    assert found.exit_code == 1
    assert "expected a sound file" in found.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["transcribe", "--out", "none/a.mid"], "there is no folder none"),
        (["transcribe", "--out", "a.txt"], "must end in .mid, .midi, found .txt"),
        (["transcribe", "--picture", "a.xyz"], "must end in .svg, .png, .pdf, found .xyz"),
        (["transcribe", "--picture", "none/a.png"], "there is no folder none"),
        (["transcribe", "--model", "none.safetensors"], "expected piano, drums or a file of templates"),
        (["transcribe", "--model", "bad.safetensors"], "expected a file written by pfn"),
        (["transcribe", "--out", "folder.mid"], "folder.mid: cannot be written: it is a folder"),
        (["transcribe", "--picture", "folder.png"], "folder.png: cannot be written: it is a folder"),
        (["separate", "--out", "bad.safetensors"], "expected a folder for the sounds, found a file"),
        (["decompose", "--out", "bad.safetensors"], "expected a folder for the sounds, found a file"),
        (["decompose", "--out", "."], "expected a folder without sounds, found tune.wav"),
        (["decompose", "--start", "9"], "there are no samples from start=9 s on"),
        (["separate", "--score", "a.csv", "--score", "b/a.csv"], "two of the same name: a.csv, b/a.csv"),
        (["separate", "--drums", "snare"], "give notes too, or leave it out"),
        (["separate", "--score", "a.mid", "--parts", "3"], "parts and components are for separation without a score"),
        (["separate", "--parts", "3", "--components", "2"], "components must be"),
    ],
)
def test_music_that_cannot_be_is_refused_before_the_work(arguments, message, tune, monkeypatch):
    monkeypatch.chdir(tune.parent)
    Path("bad.safetensors").write_text("do re mi")
    folders = {"folder.mid", "folder.png"}
    for name in folders:
        Path(name).mkdir()
    command, *options = arguments
    found = run(command, tune, *options)
    assert found.exit_code == 1
    assert message in found.output.replace("\n", " ")
    assert {path.name for path in tune.parent.iterdir()} == {"tune.wav", "bad.safetensors"} | folders


def test_what_is_there_is_not_lost(tune, monkeypatch):
    monkeypatch.chdir(tune.parent)
    write_midi("tune.mid", [Note(0.0, 0.5, 60)])
    score = Path("tune.mid").read_bytes()
    for options in ([], ["--truth", "tune.mid"], ["--truth", "tune.mid", "--out", tune.parent / "tune.mid"]):
        found = run("transcribe", tune, *options)
        assert found.exit_code == 1
        assert "is there already" in found.output
    assert Path("tune.mid").read_bytes() == score
    Path("tune-stems").mkdir()
    write_sound("tune-stems/part 7.wav", np.zeros(100), 16_000)
    found = run("separate", tune)
    assert found.exit_code == 1
    assert "expected a folder without sounds, found part 7.wav" in found.output.replace("\n", " ")


def test_transcribe_with_templates_from_files(tune, tmp_path):
    drum_templates().save(tmp_path / "drums.safetensors")
    found = run("transcribe", tune, "--model", tmp_path / "drums.safetensors", "--out", tmp_path / "a.mid")
    assert found.exit_code == 0, found.output
    assert {note.pitch for note in read_notes(tmp_path / "a.mid")} <= {36, 38, 42, 49}
