"""Pictures: the same bytes for the same picture, clear refusals, and nothing global touched."""

import subprocess
import sys

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

import pfn
from pfn.plots import Picture
from pfn.plots.pictures import picture_and_axes

BEGINNINGS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


def a_picture():
    picture = Picture(figsize=(2, 1))
    axes = picture.add_subplot()
    axes.plot([1, 2, 4], label="$x^1_t$")
    axes.legend()
    return picture


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_files_of_equal_pictures_are_equal(tmp_path, kind):
    for name in ("first", "second"):
        a_picture().save(tmp_path / f"{name}.{kind}")
    first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("first", "second"))
    assert first == second
    assert first.startswith(BEGINNINGS[kind])


def test_texts_and_bytes_are_those_of_the_files(tmp_path):
    picture = a_picture()
    picture.save(tmp_path / "a.svg")
    picture.save(tmp_path / "A.PNG", dpi=50)
    assert (tmp_path / "a.svg").read_text("utf-8") == picture.svg() == picture._repr_svg_()
    assert (tmp_path / "A.PNG").read_bytes() == picture.png(dpi=50)
    assert len(picture.png(dpi=200)) > len(picture.png(dpi=50))


@pytest.mark.parametrize("name", ["picture.jpeg", "picture", "picture.svg.txt"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(pfn.FileError, match=r"must end in .svg, .png, .pdf, found"):
        a_picture().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(pfn.FileError, match=r"nowhere.*cannot be written.*a folder that exists"):
        a_picture().save(tmp_path / "nowhere" / "picture.svg")


def test_given_axes_are_drawn_on():
    figure = Figure(figsize=(5, 5))
    left, _ = figure.subplots(1, 2)
    assert picture_and_axes(left, (1, 1)) == (figure, left)
    picture, axes = picture_and_axes(None, (3, 2))
    assert isinstance(picture, Picture)
    assert tuple(picture.get_size_inches()) == (3, 2)
    assert picture.axes == [axes]


def test_axes_without_a_figure_are_refused():
    axes = Figure().subplots()
    axes.remove()
    with pytest.raises(pfn.OptionError, match="removed"):
        picture_and_axes(axes, (1, 1))


def test_settings_stay_as_they_are():
    before = dict(mpl.rcParams)
    a_picture().svg()
    assert dict(mpl.rcParams) == before


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


DECLARED = """
import sys, pfn
from pfn import t
x, h = pfn.Variable("x", 2), pfn.Variable("h", 1)
network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(2, 1)) @ h[t]))
"""


def test_pyplot_stays_unloaded():
    code = f"{DECLARED}\npfn.plots.draw(network).svg()\nprint('matplotlib.pyplot' in sys.modules)"
    assert run_python(f"import pfn.plots\n{code}").strip() == "False"


def test_without_matplotlib_the_way_out_is_named():
    code = f"""
import sys
sys.modules["matplotlib"] = None
import pfn.plots
{DECLARED}
print(pfn.plots.dot(network)[:7])
try:
    pfn.plots.draw(network)
except pfn.OptionError as error:
    print(error)
"""
    text, error = run_python(code).splitlines()
    assert text == "digraph"
    assert "pip install 'positive-factor-networks[plots]'" in error
