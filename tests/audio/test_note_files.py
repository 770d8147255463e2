from copy import deepcopy

import mido
import numpy as np
import pytest

import pfn
from pfn.audio import Note, read_notes, read_score, write_midi

NOTES = [Note(0.0, 0.5, 60, 1.0), Note(0.25, 1.125, 64, 0.5), Note(0.5, 0.75, 60, 0.25)]


def test_notes_come_back_from_midi_exact_to_the_millisecond(tmp_path):
    write_midi(tmp_path / "tune.mid", NOTES)
    for found, written in zip(read_notes(tmp_path / "tune.mid"), NOTES, strict=True):
        assert found[:3] == pytest.approx(written[:3], abs=5e-4)
        assert found.strength == pytest.approx(written.strength, abs=5e-3)


def test_times_are_those_that_mido_computes_with_changes_of_tempo(tmp_path):
    tempos = mido.MidiTrack(
        [mido.MetaMessage("set_tempo", tempo=400_000), mido.MetaMessage("set_tempo", tempo=900_000, time=96)]
    )
    flute = mido.MidiTrack(
        [
            mido.MetaMessage("track_name", name="flute"),
            mido.Message("note_on", note=72, velocity=64, time=48),
            mido.Message("note_on", note=72, velocity=0, time=96),
        ]
    )
    bass = mido.MidiTrack(
        [mido.Message("note_on", note=40, velocity=127, time=96), mido.Message("note_off", note=40, time=96)]
    )
    mido.MidiFile(ticks_per_beat=96, tracks=[tempos, flute, bass]).save(tmp_path / "duo.mid")
    score = read_score(tmp_path / "duo.mid")
    assert set(score) == {"flute", "duo"}
    assert score["flute"][0] == pytest.approx((0.2, 0.4 + 0.45, 72, 64 / 127))
    assert score["duo"][0] == pytest.approx((0.4, 0.4 + 0.9, 40, 1.0))
    now, times = 0.0, []
    for message in mido.MidiFile(tmp_path / "duo.mid"):
        now += message.time
        times += [now] if message.type.startswith("note") else []
    found = read_notes(tmp_path / "duo.mid")
    assert sorted(times) == pytest.approx(sorted(time for note in found for time in note[:2]))


def test_a_note_of_no_velocity_is_the_end_of_one(tmp_path):
    strikes = [
        mido.Message("note_on", note=60, velocity=velocity, time=time)
        for velocity, time in ((64, 0), (0, 480), (64, 480), (0, 480))
    ]
    mido.MidiFile(ticks_per_beat=480, tracks=[mido.MidiTrack(strikes)]).save(tmp_path / "twice.mid")
    assert [note[:3] for note in read_notes(tmp_path / "twice.mid")] == [(0.0, 0.5, 60), (1.0, 1.5, 60)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "onset_s,offset_s,midi_pitch,velocity\n0.5,1.0,60,127\n0,0.5,62,0\n"),
        ("a.csv", "\ufeffonset,offset,pitch,velocity\n\n0.5,1.0,60,127\n , ,,\n0,0.5,62,0\n"),
        ("a.tsv", "# onset,offset,note,velocity\n0.5\t1.0\t60.0\t127\n0\t0.5\t62.0\t0\n"),
    ],
)
def test_tables(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_notes(tmp_path / name) == [Note(0.0, 0.5, 62, 0.0), Note(0.5, 1.0, 60, 1.0)]
    assert list(read_score(tmp_path / name)) == ["a"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"begin,end\n1,2\n", "must name onset, offset and pitch"),
        ("a.csv", b"onset,offset,pitch\n1,2,C\n", "line 2: expected numbers"),
        ("a.csv", b"onset,offset,pitch\n1,2,60\n1,0.5,60\n", "line 3: expected a note that ends after its onset"),
        ("a.csv", b"onset,offset,pitch\n1,nan,60\n", "line 2: expected a note"),
        ("a.csv", b"onset,offset,pitch\n1,2,inf\n", "line 2: expected numbers"),
        ("a.csv", b"onset,offset,pitch\n1,2,128\n", "a MIDI pitch from 0 to 127"),
        ("a.csv", b"onset,offset,pitch,velocity\n1,2,60,\n", "line 2: expected numbers .* velocity"),
        ("a.csv", b"onset;offset;pitch\n1;2;60\n", "separated by commas or tabs"),
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"\xff\xfe\x00", "expected a table of notes as text"),
        ("a.mid", b"do re mi", "expected a MIDI file"),
        ("a.mid", b"", "expected a MIDI file.* it ends too early"),
        ("a.mp3", b"", "must end in .mid, .midi, .csv or .tsv, found .mp3"),
    ],
)
def test_files_that_are_no_notes(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(pfn.FileError, match=message):
        read_notes(tmp_path / name)


def test_places_that_cannot_be(tmp_path):
    with pytest.raises(pfn.FileError, match="expected a file of notes, found nothing"):
        read_notes(tmp_path / "none.mid")
    with pytest.raises(pfn.FileError, match=r"must end in \.mid"):
        write_midi(tmp_path / "a.txt", NOTES)
    with pytest.raises(pfn.FileError, match="cannot be written"):
        write_midi(tmp_path / "none" / "a.mid", NOTES)


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ((0, 1, 200), r"a.mid: expected .*a MIDI pitch from 0 to 127, found \(0, 1, 200\)"),
        ((1, 0, 60), "ends after its onset"),
        (Note(0, 1, 60)._replace(offset=-1), "ends after its onset, .*found Note"),
        (("do", "re", "mi"), "expected a note"),
        ((1,), r"expected a note .*found \(1,\)"),
        (Note(-1, 1, 60), "MIDI files begin at 0 s, found a note at -1 s"),
    ],
)
def test_notes_that_cannot_be(tmp_path, note, message):
    with pytest.raises(pfn.DataError, match=message):
        write_midi(tmp_path / "a.mid", [note])
    assert not (tmp_path / "a.mid").exists()


@pytest.mark.parametrize(
    "fields",
    [
        (2, 1, 60),
        (0, float("nan"), 60),
        (0, float("inf"), 60),
        ("0", "1", 60),
        (0, 1, 200),
        (0, 1, -1),
        (0, 1, 60.5),
        (0, 1, "C4"),
        (0, 1, np.array([60])),
        (np.zeros(2), np.ones(2), 60),
        (0, 1, 60, -1),
        (0, 1, 60, None),
    ],
)
def test_a_note_that_cannot_be_is_refused_when_it_is_made(fields):
    with pytest.raises(pfn.DataError, match=r"expected a note that ends after its onset, .*0 to 127, found Note"):
        Note(*fields)


def test_a_midi_file_that_goes_back_in_time(tmp_path):
    """A note of negative length: only a damaged file has it."""
    write_midi(tmp_path / "a.mid", [Note(0, 1, 60)])
    content = bytearray((tmp_path / "a.mid").read_bytes())
    content[12:14] = (-500).to_bytes(2, "big", signed=True)  # ticks to a beat
    (tmp_path / "a.mid").write_bytes(content)
    with pytest.raises(pfn.FileError, match=r"a\.mid: expected a MIDI file, found something else, or a damaged one"):
        read_notes(tmp_path / "a.mid")


@pytest.mark.parametrize("notes", [None, 3, "abc"])
def test_what_are_no_notes(notes, tmp_path):
    with pytest.raises(pfn.DataError, match=rf"a\.mid: expected notes, such as .* returns, found {notes!r}"):
        write_midi(tmp_path / "a.mid", notes)


@pytest.mark.parametrize("pitch", [60.0, np.int64(60), np.float32(60)])
def test_a_pitch_is_a_whole_number_whatever_it_was(pitch, tmp_path):
    write_midi(tmp_path / "a.mid", [Note(0.0, 1.0, pitch)])
    assert repr(Note(0.0, 1.0, pitch)) == "Note(onset=0.0, offset=1.0, pitch=60, strength=1.0)"
    assert read_notes(tmp_path / "a.mid") == [Note(0.0, 1.0, 60)]


def test_a_note_is_a_tuple():
    note = Note(0.5, 1.0, 60, 0.5)
    assert note == (0.5, 1.0, 60, 0.5)
    assert deepcopy(note) == note
    assert isinstance(note._replace(pitch=61), Note)
    assert min(Note(1, 2, 60), note) is note
