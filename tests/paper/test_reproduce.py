import json
import re

import numpy as np
import pytest

import pfn
from pfn.paper import Experiment, Setting, named, reproduce
from pfn.paper.experiment import Check, Runs, SeedSpread, Shown, verdict
from pfn.paper.reports import report
from pfn.paper.reproduce import page
from pfn.plots import image
from tests.browser import browser

__all__ = ["browser"]  # a fixture

NAMES = ["superposition-property", "graph-example", "noisy"]


def made_up(run, **options):
    about = {"name": "made-up", "section": "3.9", "title": "Made <up>"}
    return Experiment(**(about | options), run=run)


def one_check(**changed):
    def run(_setting):
        """It is
        & so.
        """
        yield Check(**({"what": "the answer", "paper": "42", "ours": 42.0, "so": True} | changed))

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("paper") / "deeper"
    reproduce(NAMES, out=out, setting=Setting(quick=True), jobs=1)
    return out


def test_results_are_data(folder):
    results = json.loads((folder / "results.json").read_text("utf-8"))
    assert (results["quick"], results["seed"]) == (True, 0)
    assert [found["name"] for found in results["experiments"]] == NAMES
    noisy = results["experiments"][-1]
    assert (noisy["section"], noisy["verdict"]) == ("3.2", "reproduced with a difference")
    assert noisy["paper"]["RMSE over the entries of X_C"] == "0.034"
    assert 0.015 < noisy["ours"]["RMSE over the entries of X_C"]["median"] < 0.026
    assert noisy["checks"][1]["accepted"] == "0.013 to 0.03"
    assert "traceback" in noisy
    for found in results["experiments"]:
        assert found["paper"].keys() == found["ours"].keys() == {check["what"] for check in found["checks"]}


def test_pictures_are_files(folder):
    results = json.loads((folder / "results.json").read_text("utf-8"))
    files = [figure["file"] for found in results["experiments"] for figure in found["figures"]]
    assert files == ["superposition-property-1.png", "graph-example-1.png", "noisy-1.png", "noisy-2.png"]
    assert sorted(path.name for path in (folder / "figures").iterdir()) == sorted(files)
    assert (folder / "figures/noisy-2.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_has_everything_in_it(folder):
    text = (folder / "index.html").read_text("utf-8")
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)
    assert text.count("<article") == len(NAMES)
    assert text.count("<img") == 4
    assert 'width="None"' not in text
    assert text.count("The paper, in short") == len(NAMES)
    assert "accepted: 0.013 to 0.03" in text
    assert "3 of 3" in text


def test_several_at_a_time_find_the_same(folder, tmp_path):
    reproduce(NAMES, out=tmp_path, setting=Setting(quick=True), jobs=2)
    one, two = (json.loads((place / "results.json").read_text("utf-8"))["experiments"] for place in (folder, tmp_path))
    for found in one + two:
        del found["seconds"]
    assert one == two


def test_another_seed_draws_other_noise(folder, tmp_path):
    reproduce(["noisy"], out=tmp_path, setting=Setting(quick=True, seed=5), jobs=1)
    first, other = (
        json.loads((place / "results.json").read_text("utf-8"))["experiments"][-1] for place in (folder, tmp_path)
    )
    assert first["ours"] != other["ours"]


@pytest.mark.parametrize(
    ("changed", "in_paper", "wanted"),
    [
        ({}, True, "reproduced"),
        ({}, False, "as expected"),
        ({"difference": "because"}, True, "reproduced with a difference"),
        ({"so": False}, True, "failed"),
        ({"so": False, "difference": "because"}, True, "failed"),
        ({"so": np.False_}, False, "failed"),
    ],
)
def test_verdicts(changed, in_paper, wanted):
    found = report(made_up(one_check(**changed), in_paper=in_paper), Setting())
    assert found.verdict == wanted
    assert found.data()["verdict"] == wanted


def test_an_experiment_without_checks_shows_nothing():
    assert verdict([], in_paper=True) == "failed"


def test_an_experiment_that_breaks_has_failed_and_keeps_what_it_found():
    def run(_setting):
        yield Check("first", "1", 1.0, wanted=1.0)
        yield Shown("a picture", image(np.eye(2)))
        raise ZeroDivisionError("by nothing")

    found = report(made_up(run), Setting())
    assert (found.verdict, found.broke) == ("failed", "ZeroDivisionError: by nothing")
    assert (len(found.checks), len(found.figures)) == (1, 1)
    assert 'raise ZeroDivisionError("by nothing")' in found.data()["traceback"]


def test_failures_are_shown_and_texts_escaped():
    def run(setting):
        """It is & so."""
        yield from one_check(so=False)(setting)
        raise pfn.DataError("x < 0 & such")

    found = report(made_up(run), Setting())
    results = {"pfn": "0", "quick": False, "seed": 0, "recording": None, "experiments": [found.data()]}
    text = page(results, found.files)
    assert "1 failed" in text
    assert "✗" in text
    assert "x &lt; 0 &amp; such" in text
    assert "Made &lt;up&gt;" in text
    assert "It is &amp; so." in text


def test_an_interrupted_run_keeps_what_it_has(tmp_path):
    def stop(_report):
        if (calls.append(1) or len(calls)) == 2:
            raise KeyboardInterrupt

    calls = []
    with pytest.raises(KeyboardInterrupt):
        reproduce(NAMES, out=tmp_path, setting=Setting(quick=True), jobs=1, finished=stop)
    results = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert [found["name"] for found in results["experiments"]] == NAMES[:1]


NO_NUMBER = float("nan")


@pytest.mark.parametrize(
    ("ours", "accepted", "holds", "says"),
    [
        (1.0, {"least": 0.5, "most": 1.0}, True, "0.5 to 1"),
        (1.1, {"least": 0.5, "most": 1.0}, False, "0.5 to 1"),
        (1.1, {"least": 0.5}, True, "at least 0.5"),
        (1e-6, {"most": 1e-5}, True, "at most 1e-05"),
        (NO_NUMBER, {"most": 1e-5}, False, "at most 1e-05"),
        (SeedSpread.of([1, 2]), {"least": 1, "most": 2}, True, "1 to 2"),
        (SeedSpread.of([1, 2, 3]), {"least": 1, "most": 2}, False, "1 to 2"),
        (SeedSpread.of([1, NO_NUMBER]), {"least": 1}, False, "at least 1"),
        (SeedSpread.of([6, 6]), {"least": 6, "most": 6}, True, "6"),
        (Runs(3, 3), {}, True, "all 3"),
        (Runs(2, 3), {}, False, "all 3"),
        (Runs(2, 3), {"least": 1.5}, True, "at least 2"),
        (Runs(3, 3), {"least": 1, "most": 2}, False, "1 to 2"),
        ("a, b", {"wanted": "a, b"}, True, "a, b"),
        ("a, c", {"wanted": "a, b"}, False, "a, b"),
        ("anything", {"so": True}, True, ""),
        ("anything", {"so": np.False_}, False, ""),
    ],
)
def test_what_is_accepted(ours, accepted, holds, says):
    check = Check("it", "so and so", ours, **accepted)
    assert (check.holds, check.accepted) == (holds, says)


@pytest.mark.parametrize("accepted", [{}, {"so": True, "most": 1.0}, {"wanted": 1.0, "so": True}])
def test_a_check_that_cannot_fail_is_refused(accepted):
    with pytest.raises(pfn.OptionError, match="it: expected one of wanted, so, or least and most"):
        Check("it", "1", 1.0, **accepted)


def test_spreads_and_runs():
    assert str(SeedSpread.of([1, 2, 4])) == "2 (1 to 4 in 3 runs)"
    assert str(SeedSpread.of([1e-5, 1e-5])) == "1e-05 in each of 2 runs"
    assert str(SeedSpread.of([0.5])) == "0.5 in one run"
    assert str(Runs.of([True, False, True])) == "2 of 3 runs"
    assert not Runs.of([True, False]).always


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: named(["trackin-noisy"]), "no experiment 'trackin-noisy'. Did you mean 'tracking-noisy'?"),
        (lambda _: named(["zzz"]), "no experiment 'zzz'. pfn reproduce --list"),
        (lambda _: Setting(seed=-1), "seed must be a whole number >= 0, found -1"),
        (lambda path: reproduce(NAMES, out=path, jobs=0), "jobs must be a whole number >= 1, found 0"),
        (lambda path: reproduce(NAMES, out=path / "file" / "x"), "cannot be made a folder"),
        (
            lambda path: reproduce(NAMES, out=path, setting=Setting(recording=path / "no.wav")),
            "no.wav: expected a sound",
        ),
    ],
)
def test_refusals(call, message, tmp_path):
    (tmp_path / "file").write_text("not a folder", "utf-8")
    with pytest.raises(pfn.PfnError, match=re.escape(message)):
        call(tmp_path)


def test_the_page_in_a_browser(folder, tmp_path, browser):
    reproduce(["predict-from-fourth"], out=tmp_path, setting=Setting(quick=True), jobs=1)
    for place in (folder, tmp_path):
        browser.open(place / "index.html")
        asked = [address for address in browser.requests() if not address.startswith(("data:", "about:"))]
        assert asked == [(place / "index.html").as_uri()]
        assert browser.script("return [...document.images].every(image => image.complete && image.naturalWidth > 0)")
        assert browser.console() == []
        for width in (400, 1000):
            browser.resize(width, 900)
            assert browser.overflow() <= 0
    browser.driver.switch_to.frame(browser.find("iframe"))
    before = browser.pixels("canvas")
    browser.find("#play").click()
    browser.until(lambda: browser.pixels("canvas") != before, "the film plays")
    browser.driver.switch_to.default_content()
