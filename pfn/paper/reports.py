"""Reports of experiments as plain data: figures in words and numbers, pictures as files, the verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from time import perf_counter
from traceback import format_exc
from typing import Any, Literal, NamedTuple

from pfn import plots
from pfn.errors import PfnError
from pfn.paper.experiment import Check, Experiment, Findings, Setting, Shown, Value, Verdict, number, verdict
from pfn.paper.originals import DRAWINGS, NETWORKS

# Pixels that a browser takes for an inch.
PAGE_DPI = 96


class Drawn(NamedTuple):
    """A picture or film as the content of a file, and its caption."""

    caption: str
    kind: Literal["png", "html"]
    content: bytes
    width: int | None
    """In pixels of the page; None for a film, which takes all there is."""


@dataclass(frozen=True)
class Report:
    """The outcome of one experiment; `broke` is the error that ended it, if one did, `trace` where it arose."""

    experiment: Experiment
    checks: tuple[Check, ...]
    figures: tuple[Drawn, ...]
    seconds: float
    broke: str = ""
    trace: str = ""

    @property
    def verdict(self) -> Verdict:
        """Failed where a check does not hold, or an error ended the experiment."""
        return "failed" if self.broke else verdict(self.checks, in_paper=self.experiment.in_paper)

    @property
    def files(self) -> dict[str, bytes]:
        """The pictures by the names of their files."""
        return {self._file(place): figure.content for place, figure in enumerate(self.figures, 1)}

    def data(self) -> dict[str, Any]:
        """The entry in the results file."""
        about = self.experiment
        return {
            "name": about.name,
            "section": about.section,
            "title": about.title,
            "in_paper": about.in_paper,
            "says": about.says,
            "verdict": self.verdict,
            "paper": {check.what: check.paper for check in self.checks},
            "ours": {check.what: _plain(check.ours) for check in self.checks},
            "checks": [
                {
                    "what": check.what,
                    "paper": check.paper,
                    "ours": number(check.ours) if isinstance(check.ours, int | float) else str(check.ours),
                    "accepted": check.accepted,
                    "holds": check.holds,
                    "difference": check.difference,
                }
                for check in self.checks
            ],
            "error": self.broke,
            "traceback": self.trace,
            "seconds": round(self.seconds, 2),
            "figures": [
                {"caption": figure.caption, "file": self._file(place), "width": figure.width}
                for place, figure in enumerate(self.figures, 1)
            ],
            "code": about.code,
        }

    def _file(self, place: int) -> str:
        return f"{self.experiment.name}-{place}.{self.figures[place - 1].kind}"


def report(experiment: Experiment, setting: Setting) -> Report:
    """Run an experiment. An error ends it and makes it a failed one; earlier findings are kept."""
    checks, figures, broke, trace, begin = list[Check](), list[Drawn](), "", "", perf_counter()
    try:
        for finding in findings(experiment, setting):
            if isinstance(finding, Shown):
                figures.append(drawn(finding))
            else:
                checks.append(finding)
    except Exception as error:  # noqa: BLE001 - one broken experiment must neither end the others nor go unseen
        broke = str(error) if isinstance(error, PfnError) else f"{type(error).__name__}: {error}"
        trace = format_exc()
    return Report(experiment, tuple(checks), tuple(figures), perf_counter() - begin, broke, trace)


def findings(experiment: Experiment, setting: Setting) -> Findings:
    """The network, if there is one, and then the findings of the experiment."""
    if experiment.network is not None:
        network, options = NETWORKS[experiment.network](), DRAWINGS[experiment.network]
        observed = {"observed": experiment.observed} if experiment.observed else {}
        yield Shown("The network.", plots.draw(network, **options | observed))
    yield from experiment.run(setting)


def drawn(shown: Shown) -> Drawn:
    """Films as pages, all others as PNG: drawings as SVG would make the page three times as large."""
    if isinstance(shown.picture, plots.Film):
        return Drawn(shown.caption, "html", shown.picture.html.encode(), None)
    return Drawn(shown.caption, "png", shown.picture.png(), round(PAGE_DPI * shown.picture.get_figwidth()))


def _plain(value: Value) -> float | str | Mapping[str, float | None] | None:
    """A value for JSON, with null for numbers that are not finite."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return {name: _finite(figure) for name, figure in value._asdict().items()}
    return _finite(value)


def _finite(figure: float) -> float | None:
    return figure if isfinite(figure) else None
