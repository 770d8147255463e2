"""Films: what is recorded, what is written, and whether a real browser plays it."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import pfn
from pfn import plots, t
from pfn.automata import StateMachine
from pfn.models import simulate_targets, spectrogram_hierarchy, tracking_network, transition_network
from tests.browser import Browser, browser

__all__ = ["browser"]  # a fixture

STATES = ["S1", "S2", "S3", "S4"]
MACHINE = StateMachine(STATES, [("S1", "S2"), ("S2", "S3"), ("S3", "S4"), ("S4", "S1")])
NETWORK = transition_network(MACHINE)
FIRST = MACHINE.encode(["S1"] + ["?"] * 9)
LEARNING = transition_network(MACHINE, learn_transitions=5)
SEQUENCE = MACHINE.encode(MACHINE.sample(10, initial="S1"))


def make(**options: Any) -> plots.Film:
    return plots.film(NETWORK, {"x": FIRST}, ["x", "h"], **{"method": pfn.PAPER, "iterations": 500, **options})


def content(html: str) -> Any:
    found = re.search(r'<script id="film" type="application/json">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def unpacked(film: Any, track: int) -> np.ndarray:
    """The frames on the page, read by other means than the page's own."""
    described = film["tracks"][track]
    differences = np.frombuffer(zlib.decompress(base64.b64decode(described["frames"])), np.uint8)
    shape = (len(film["sweeps"]), described["rows"], described["columns"])
    return np.cumsum(differences.reshape(shape).astype(int), axis=0) % 256


def test_frames_are_the_values_after_those_sweeps() -> None:
    film = make(every=[10, 50])
    assert film.sweeps == (0, 10, 50, 500)
    np.testing.assert_array_equal(film.frames["x"][0], FIRST)
    assert np.isnan(film.frames["h"][0]).all()
    for frame, sweeps in enumerate(film.sweeps[1:], 1):
        run = pfn.infer(NETWORK, {"x": FIRST}, method=pfn.PAPER, iterations=sweeps)
        np.testing.assert_array_equal(film.frames["x"][frame], run["x"])
        np.testing.assert_array_equal(film.frames["h"][frame], run["h"])
    np.testing.assert_array_equal(film.result["x"], film.frames["x"][-1])


@pytest.mark.parametrize(
    ("every", "expected"), [(200, (0, 200, 400, 500)), (500, (0, 500)), (1000, (0, 500)), ([700], (0, 500))]
)
def test_every(every: Any, expected: tuple[int, ...]) -> None:
    assert make(every=every).sweeps == expected


def test_frames_are_denser_in_the_beginning() -> None:
    sweeps = make().sweeps
    assert sweeps[:5] == (0, 1, 2, 3, 4)
    assert sweeps[-1] == 500
    assert len(sweeps) < 65
    assert (np.diff(sweeps, 2) >= -1).all()  # rounded


def test_the_last_frame_is_the_result_of_a_run_that_stopped_early() -> None:
    film = make(every=100, tolerance=0.01)
    assert film.sweeps[-1] == film.result.iterations < 500
    np.testing.assert_array_equal(film.frames["x"][-1], film.result["x"])


def test_a_callback_of_the_user_still_runs_and_stops() -> None:
    called: list[int] = []
    film = make(every=1, callback=lambda iteration, _: called.append(iteration) or iteration == 6)
    assert called == list(range(7))
    assert film.sweeps == tuple(range(8))


def test_learning_shows_parameters() -> None:
    film = plots.film(LEARNING, {"x": SEQUENCE}, ["W", "x"], learn=True, every=[5], iterations=20)
    expected = pfn.learn(LEARNING, {"x": SEQUENCE}, iterations=5)["W"]
    np.testing.assert_array_equal(film.frames["W"][1], expected)
    assert np.isnan(film.frames["W"][0]).all()  # unknown before


def test_known_parameters_are_given() -> None:
    film = plots.film(NETWORK, {"x": FIRST}, ["W"], iterations=2)
    np.testing.assert_array_equal(film.frames["W"][0], MACHINE.matrix())


def test_one_of_several_sequences() -> None:
    data = {"x": [FIRST, SEQUENCE[:, :6]]}
    film = plots.film(NETWORK, data, ["x"], iterations=3, sequence=1)
    np.testing.assert_array_equal(film.frames["x"][0], SEQUENCE[:, :6])


def test_the_page_holds_the_frames_to_8_bits() -> None:
    film = make(every=[10, 50])
    page = content(film.html)
    assert tuple(page["sweeps"]) == film.sweeps
    for track, values in enumerate(film.frames.values()):
        bytes_ = unpacked(page, track)
        np.testing.assert_array_equal(bytes_ == 255, np.isnan(values))
        largest = np.nanmax(values)
        known = ~np.isnan(values)
        np.testing.assert_allclose(bytes_[known] / 254 * largest, values[known], atol=largest / 254 / 2 + 1e-12)
    errors = film.result.history["eq1"]
    assert page["errors"] == [None, f"{errors[9]:.2g}", f"{errors[49]:.2g}", f"{errors[499]:.2g}"]


def test_power_brightens_small_values() -> None:
    plain, bright = (unpacked(content(make(every=[10], power=power).html), 0) for power in (1.0, 0.5))
    known = plain < 255
    expected = 254 * np.sqrt(plain / 254)
    assert (
        np.abs(bright - expected)[known] <= 254 * (np.sqrt((plain + 0.5) / 254) - np.sqrt(plain / 254))[known] + 1
    ).all()


def test_large_matrices_are_pooled_by_their_largest() -> None:
    x, h = pfn.Variable("x", 600), pfn.Variable("h", 1)
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", np.ones((600, 1))) @ h[t]))
    X = np.zeros((600, 1100))
    X[599, 1099] = X[4, 5] = 2.0
    film = plots.film(network, {x: X}, [x], iterations=1)
    frames = unpacked(content(film.html), 0)
    assert frames.shape == (2, 200, 367)
    assert frames[0, 1, 1] == frames[0, -1, -1] == 254
    assert film.frames["x"].shape == (2, 600, 1100)
    assert "each pixel the largest of 3 × 3 values" in film.html


def test_names_are_escaped() -> None:
    x, h = pfn.Variable("x<script>", 2, ["<b>", "a&b"]), pfn.Variable("h", 1)
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", [[1], [1]]) @ h[t]), name="</script><i>")
    film = plots.film(network, {x: np.ones((2, 3))}, [x], iterations=1)
    for text in ("x<script>", "<b>", "a&b", "</script><i>"):
        assert text not in film.html
    assert "&lt;b&gt;" in film.html
    assert "<iframe" in film._repr_html_()
    assert '<html lang="en">' not in film._repr_html_()  # within the attribute, escaped


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "every must be a whole number >= 1"),
        ({"every": [10, 0]}, "each of the sweeps must be a whole number >= 1"),
        ({"every": "often"}, "each of the sweeps must be a whole number >= 1"),
        ({"restarts": 3}, "a film shows one run"),
        ({"colormap": "hott"}, "colormap must be the name"),
        ({"power": 0}, "power must be greater than 0"),
        ({"sequence": 1}, "there is one sequence only"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pfn.OptionError, match=message):
        make(**options)


def test_refused_variables(tmp_path: Path) -> None:
    for variables, message in (
        (["y"], "nothing called y"),
        ([], "at least one variable"),
        ("x", "must be a list"),
        (["eq1"], "is an equation"),
    ):
        with pytest.raises(pfn.PfnError, match=message):
            plots.film(NETWORK, {"x": FIRST}, variables, iterations=1)
    with pytest.raises(pfn.OptionError, match=r"needs a pfn\.Network, found list"):
        plots.film([], {"x": FIRST}, ["x"])  # type: ignore[arg-type]  # that is the point
    with pytest.raises(pfn.FileError, match="cannot be written"):
        make(iterations=1, path=tmp_path / "no" / "film.html")


# In the browser


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    path = tmp_path / "film.html"
    make(path=path)
    browser.resize(1000, 800)
    browser.open(path)
    browser.until(lambda: browser.script("return document.body.dataset.ready"), "the film is unpacked")
    return browser


def frame(page: Browser) -> int:
    return int(page.find("#slider").get_property("value"))


LAST = len(make().sweeps) - 1


def test_the_page_asks_for_nothing_and_complains_of_nothing(page: Browser) -> None:
    page.find("#last").click()
    assert [url.startswith("file:") for url in page.requests()] == [True]
    assert page.console() == []


def test_pixels_are_the_colours_of_the_values(page: Browser) -> None:
    page.find("#last").click()
    pixels = np.array(page.pixels("canvas.image")).reshape(4, 10, 4)
    values = make().frames["x"]
    expected = mpl.colormaps["hot"](np.rint(254 * values[-1] / np.nanmax(values)) / 254, bytes=True)
    np.testing.assert_array_equal(pixels, expected)
    page.find("#first").click()
    pixels = np.array(page.pixels("canvas.image")).reshape(4, 10, 4)
    assert {tuple(pixel) for pixel in pixels[:, 1:].reshape(-1, 4)} == {(0x9D, 0xB0, 0xC3, 255)}  # hidden


def test_it_plays_to_the_end_and_pauses(page: Browser) -> None:
    before = page.pixels("canvas.image")
    page.find("#speed").send_keys("4")
    page.find("#play").click()
    page.until(lambda: page.pixels("canvas.image") != before, "pixels change")
    page.find("#play").click()
    assert page.find("#play").get_attribute("aria-label") == "Play"
    held, number = page.pixels("canvas.image"), frame(page)
    page.script("return new Promise(done => setTimeout(done, 300))")
    assert (page.pixels("canvas.image"), frame(page)) == (held, number)
    page.find("#play").click()
    page.until(lambda: frame(page) == LAST, "the last frame")
    page.until(lambda: page.find("#play").get_attribute("aria-label") == "Play", "a pause at the end")
    assert page.find("#now").text == "after 500 sweeps"
    page.find("#play").click()  # and again from the beginning
    page.until(lambda: 0 < frame(page) < LAST, "playing again")


def test_steps_and_slider(page: Browser) -> None:
    assert page.find("#now").text == "what was given"
    page.find("#forward").click()
    page.find("#forward").click()
    assert (frame(page), page.find("#now").text) == (2, "after 2 sweeps")
    page.find("#back").click()
    assert (frame(page), page.find("#now").text) == (1, "after 1 sweep")
    page.script("const s = arguments[0]; s.value = 20; s.dispatchEvent(new Event('input'))", page.find("#slider"))
    film = make()
    assert page.find("#now").text == f"after {film.sweeps[20]} sweeps"
    assert page.find("#error").text == f"largest RMSE {film.result.history['eq1'][film.sweeps[20] - 1]:.2g}"
    assert page.find("#slider").get_attribute("aria-valuetext").startswith(f"after {film.sweeps[20]} sweeps, largest")
    assert page.find("#cursor").get_attribute("style") == f"left: {100 * 20 / LAST:.4f}%;"


@pytest.mark.parametrize("focus", [None, "#slider", "#back"])
def test_keyboard(page: Browser, focus: str | None) -> None:
    if focus:
        page.script("arguments[0].focus()", page.find(focus))
    page.press("\ue014", "\ue014", "\ue014")  # right
    assert frame(page) == 3
    page.press("\ue012")  # left
    assert frame(page) == 2
    page.press("\ue010")  # end
    assert frame(page) == LAST
    page.press("\ue011")  # home
    assert frame(page) == 0
    if focus != "#back":  # whose own key the space bar is
        page.press(" ")
        page.until(lambda: frame(page) > 0, "playing")
        page.press(" ")
        assert page.find("#play").get_attribute("aria-label") == "Play"


def test_speed_says_how_often_frames_change(page: Browser) -> None:
    code = """const [speed] = arguments;
        const real = window.setInterval;
        window.setInterval = (action, pause) => { window.asked = pause; return real(action, pause); };
        document.getElementById("speed").value = speed;
        play(); pause();
        window.setInterval = real;
        return window.asked;"""
    pauses = {speed: page.script(code, speed) for speed in ("0.25", "1", "4")}
    assert pauses == {"0.25": 500, "1": 125, "4": 31.25}


def test_it_plays_in_a_notebook(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(
        f"<!DOCTYPE html><title>notebook</title><link rel=icon href='data:,'>{make()._repr_html_()}", "utf-8"
    )
    browser.open(path)
    browser.driver.switch_to.frame(browser.find("iframe"))
    browser.until(lambda: browser.script("return document.body.dataset.ready"), "the film is unpacked")
    browser.find("#last").click()
    assert browser.find("#now").text == "after 500 sweeps"
    assert browser.console() == []
    browser.driver.switch_to.default_content()


@pytest.mark.parametrize("width", [400, 1000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_narrow_screens_and_dark_ones(page: Browser, width: int, scheme: str) -> None:
    page.resize(width, 800)
    page.prefer(scheme)
    assert page.overflow() <= 0
    background = page.script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background))) < 200) == (scheme == "dark")
    page.prefer("light")


@pytest.mark.parametrize("problem", ["tracking", "spectrogram"])
def test_pages_of_the_paper_are_small(problem: str) -> None:
    if problem == "tracking":
        network = tracking_network()
        data = simulate_targets(network, 3, length=26).observed
        film = plots.film(network, data, ["x5", "x4", "x3", "x2", "x1"], iterations=200)
    else:
        rng = np.random.default_rng(0)
        X = rng.random((512, 12)) ** 8 @ rng.random((12, 200)) ** 12
        film = plots.film(spectrogram_hierarchy(512), {"x1": X}, ["x4", "x3", "x2", "x1"], learn=True, iterations=20)
    assert len(film.html) < 1_000_000


def test_a_film_is_a_page(tmp_path: Path) -> None:
    with pytest.raises(pfn.FileError, match=r"must end in \.html, found 'film\.gif'"):
        make(iterations=2).save(tmp_path / "film.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["exact", pfn.Exact()])
def test_exact_inference_has_no_sweeps_to_show(method: Any) -> None:
    with pytest.raises(pfn.OptionError, match="a film shows sweeps, and exact inference has none"):
        make(method=method)
