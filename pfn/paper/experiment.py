"""Experiments: a claim of the paper, the code that tests it, the figures found, and the verdict."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import ceil, inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from pfn.errors import FileError, OptionError
from pfn.solve.checks import check_count

if TYPE_CHECKING:
    from pfn.plots import Film, Picture

# Seeds of a quick run.
QUICK_SEEDS = 3

Verdict = Literal["reproduced", "reproduced with a difference", "as expected", "failed"]


@dataclass(frozen=True)
class Setting:
    """Setting of experiments: `quick` takes fewer seeds and smaller sounds and texts.

    Seeds count from `seed`. Section 6 uses the sound file `recording`, or a passage made by code.
    """

    quick: bool = False
    seed: int = 0
    recording: Path | None = None

    def __post_init__(self) -> None:
        check_count(self.seed, "seed", 0)
        if self.recording is not None and not self.recording.is_file():
            raise FileError(f"{self.recording}: expected a sound file, found nothing there. Name another, or none.")

    def seeds(self, count: int, *, quick: int = QUICK_SEEDS) -> range:
        """`count` seeds, or a few where it should be quick."""
        return range(self.seed, self.seed + (min(count, quick) if self.quick else count))


class SeedSpread(NamedTuple):
    """A figure over several seeds."""

    median: float
    lowest: float
    highest: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "SeedSpread":
        """The spread of these values, one for each run; of none, it is not a number."""
        found = [float(value) for value in values] or [nan]
        return cls(float(np.median(found)), float(np.min(found)), float(np.max(found)), len(found))

    def __str__(self) -> str:
        if self.runs == 1:
            return f"{number(self.median)} in one run"
        if self.lowest == self.highest:
            return f"{number(self.median)} in each of {self.runs} runs"
        return f"{number(self.median)} ({number(self.lowest)} to {number(self.highest)} in {self.runs} runs)"


class Runs(NamedTuple):
    """The number of runs in which something was so."""

    successes: int
    runs: int

    @classmethod
    def of(cls, outcomes: Iterable[bool | np.bool]) -> "Runs":
        """Count the runs in which it was so."""
        found = [bool(outcome) for outcome in outcomes]
        return cls(sum(found), len(found))

    @property
    def always(self) -> bool:
        """True if it was so in every run."""
        return self.successes == self.runs

    def __str__(self) -> str:
        return f"{self.successes} of {self.runs} runs"


def number(value: float) -> str:
    """A figure with the digits that a reader needs.

    >>> number(0.00002345), number(784.0), number(0.145)
    ('2.3e-05', '784', '0.145')
    """
    return f"{value:.2g}" if abs(value) < 0.01 else f"{value:.4g}"


Value: TypeAlias = float | str | SeedSpread | Runs


@dataclass(frozen=True)
class Check:
    """One figure: the paper's, ours, and the range that is accepted.

    A number is accepted from `least` to `most`, of several runs each one; a count of runs if it is all of them, unless
    a range is given; a text if it is `wanted`. A claim that is no figure is `so` or not. `difference` says why ours is
    not what the paper says, where that is known and explained.

    >>> check = Check("RMSE", "0.034", SeedSpread.of([0.021, 0.035]), least=0.02, most=0.03)
    >>> check.holds, check.accepted
    (False, '0.02 to 0.03')
    """

    what: str
    paper: str
    ours: Value
    _: KW_ONLY
    least: float | None = None
    most: float | None = None
    wanted: Value | None = None
    so: bool | np.bool | None = None
    difference: str = ""

    def __post_init__(self) -> None:
        said = [self.wanted is not None, self.so is not None, (self.least, self.most) != (None, None)]
        if sum(said) != 1 and not (isinstance(self.ours, Runs) and not any(said)):
            raise OptionError(f"{self.what}: expected one of wanted, so, or least and most, found {sum(said)} of them.")

    @property
    def holds(self) -> bool:
        """True if our figure is accepted; NaN never is."""
        if self.so is not None:
            return bool(self.so)
        if self.wanted is not None:
            return self.ours == self.wanted
        (least, most), (lowest, highest) = self._range, _extent(self.ours)
        return bool(least <= lowest and highest <= most)

    @property
    def accepted(self) -> str:
        """The accepted range in words; empty for a claim that is no figure."""
        if self.so is not None:
            return ""
        if self.wanted is not None:
            return str(self.wanted)
        least, most = (number(limit) for limit in self._range)
        if least == most:
            return f"all {least}" if isinstance(self.ours, Runs) else least
        return f"at most {most}" if least == "-inf" else f"at least {least}" if most == "inf" else f"{least} to {most}"

    @property
    def _range(self) -> tuple[float, float]:
        """The least and the most that is accepted."""
        if isinstance(self.ours, Runs) and self.least is None and self.most is None:
            return self.ours.runs, self.ours.runs
        least, most = -inf if self.least is None else self.least, inf if self.most is None else self.most
        return (max(ceil(least), 0), most) if isinstance(self.ours, Runs) and self.least is not None else (least, most)


def _extent(value: Value) -> tuple[float, float]:
    """The lowest and the highest of the figures that a value stands for."""
    if isinstance(value, SeedSpread):
        return value.lowest, value.highest
    single = float(value.successes if isinstance(value, Runs) else value)
    return single, single


class Shown(NamedTuple):
    """A picture or film, and its caption."""

    caption: str
    picture: "Picture | Film"


Findings: TypeAlias = Iterator[Check | Shown]


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper; `run` yields checks and pictures, `network` names the drawing to go with them,
    in which `observed` variables are not shaded.

    The docstring of `run` is the paper's claim, in short.
    """

    name: str
    section: str
    title: str
    run: Callable[[Setting], Findings] = field(repr=False)
    network: str | None = None
    observed: tuple[str, ...] = ()
    uses: tuple[Callable[..., object], ...] = field(default=(), repr=False)
    in_paper: bool = True

    @property
    def says(self) -> str:
        """The paper's claim, in short."""
        return " ".join((inspect.getdoc(self.run) or "").split())

    @property
    def code(self) -> str:
        """The source text of the experiment, after the functions that it uses."""
        sources = (inspect.getsource(function) for function in (*self.uses, self.run))
        return "\n\n".join(source[source.index("def ") :] for source in sources)


def experiment(
    name: str,
    section: str,
    title: str,
    *,
    network: str | None = None,
    observed: tuple[str, ...] = (),
    uses: tuple[Callable[..., object], ...] = (),
    in_paper: bool = True,
) -> Callable[[Callable[[Setting], Findings]], Experiment]:
    """Make a function an experiment: its docstring is the paper's claim, `uses` are functions to show with it."""
    return lambda run: Experiment(name, section, title, run, network, observed, uses, in_paper)


def verdict(checks: Sequence[Check], *, in_paper: bool) -> Verdict:
    """The verdict of all checks; without any, an experiment has failed to show anything."""
    if not checks or not all(check.holds for check in checks):
        return "failed"
    if not in_paper:
        return "as expected"
    return "reproduced with a difference" if any(check.difference for check in checks) else "reproduced"
