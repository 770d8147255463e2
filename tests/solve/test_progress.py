"""The progress bar: on a terminal, or when asked for."""

import io

import pytest

import pfn
from tests.solve.cases import MACHINE, numbers, parts_based, states


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard error a terminal, whatever the environment says; pytest resets it before each test begins."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "JUPYTER_COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    return stream


@pytest.mark.parametrize("progress", [None, False])
def test_silent_without_a_terminal(progress: bool | None, capfd: pytest.CaptureFixture[str]) -> None:
    pfn.infer(MACHINE, {"x": states(1, 0, 0)}, iterations=5, progress=progress)
    assert capfd.readouterr() == ("", "")


def test_a_bar_when_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    pfn.infer(MACHINE, {"x": states(1, 0, 0)}, iterations=5, progress=True)
    output = capfd.readouterr()
    assert "sweeps" in output.err
    assert output.out == ""


@pytest.mark.parametrize("progress", [None, True])
def test_a_bar_on_a_terminal(progress: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    result = pfn.infer(MACHINE, {"x": states(1, 0, 0)}, iterations=7, progress=progress)
    shown = stream.getvalue()
    assert "sweeps" in shown
    assert "7/7" in shown
    assert f"RMSE {result.rmse['eq1']:.2e}" in shown


def test_no_bar_when_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    pfn.infer(MACHINE, {"x": states(1, 0, 0)}, iterations=5, progress=False)
    assert stream.getvalue() == ""


def test_the_bar_names_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    pfn.learn(parts_based(), {"x": numbers()}, restarts=3, iterations=5)
    assert "sweeps (run 2)" in stream.getvalue()


def test_the_bar_goes_away_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    with pytest.raises(pfn.NumericalError):
        pfn.infer(MACHINE, {"x": 1e200 * states(1, 2, 3)}, method=pfn.Propagate(start="random"))
    stream.truncate(0)
    pfn.infer(MACHINE, {"x": states(1, 0, 0)}, iterations=5)
    assert "5/5" in stream.getvalue()
