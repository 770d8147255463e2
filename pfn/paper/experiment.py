"""What an experiment is: a claim of the paper, the code that tests it, what came out, and the verdict."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from pfn.errors import FileError, OptionError

if TYPE_CHECKING:
    from pfn.plots import Film, Picture

QUICK_SEEDS = 3

Verdict = Literal["reproduced", "reproduced with a difference", "as expected", "failed"]


@dataclass(frozen=True)
class Setting:
    """How to run experiments: `quick` takes fewer seeds and smaller sounds and texts.

    Seeds count from `seed`. Section 6 uses the sound file `recording`, or a passage made by code.
    """

    quick: bool = False
    seed: int = 0
    recording: Path | None = None

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise OptionError(f"seed must be a whole number >= 0, found {self.seed!r}.")
        if self.recording is not None and not self.recording.is_file():
            raise FileError(f"{self.recording}: expected a sound file, found nothing there. Name another, or none.")

    def seeds(self, count: int, *, quick: int = QUICK_SEEDS) -> range:
        """So many seeds, or a few where it should be quick."""
        return range(self.seed, self.seed + (min(count, quick) if self.quick else count))


class Spread(NamedTuple):
    """A figure over several seeds."""

    median: float
    lowest: float
    highest: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """The spread of these values, one for each run."""
        found = [float(value) for value in values]
        return cls(float(np.median(found)), min(found), max(found), len(found))

    def __str__(self) -> str:
        if self.lowest == self.highest:
            return f"{number(self.median)} in each of {self.runs} runs"
        return f"{number(self.median)} ({number(self.lowest)} to {number(self.highest)} in {self.runs} runs)"


class Runs(NamedTuple):
    """In how many runs something was so."""

    successes: int
    runs: int

    @classmethod
    def of(cls, outcomes: Iterable[bool | np.bool]) -> "Runs":
        """Count the runs in which it was so."""
        found = [bool(outcome) for outcome in outcomes]
        return cls(sum(found), len(found))

    @property
    def always(self) -> bool:
        """Whether it was so in every run."""
        return self.successes == self.runs

    def __str__(self) -> str:
        return f"{self.successes} of {self.runs} runs"


def number(value: float) -> str:
    """A figure as a reader wants it.

    >>> number(0.00002345), number(784.0), number(0.145)
    ('2.3e-05', '784', '0.145')
    """
    return f"{value:.2g}" if abs(value) < 0.01 else f"{value:.4g}"


Value: TypeAlias = float | bool | str | Spread | Runs


class Check(NamedTuple):
    """One figure: what the paper says, what came out, whether that is what it should be.

    `difference` says why ours is not what the paper says, where that is known and explained.
    """

    what: str
    paper: str
    ours: Value
    holds: bool | np.bool
    difference: str = ""


class Shown(NamedTuple):
    """A picture or film and what is to be seen in it."""

    caption: str
    picture: "Picture | Film"


Findings: TypeAlias = Iterator[Check | Shown]


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper; `run` yields checks and pictures, `network` names the drawing to go with them."""

    name: str
    section: str
    title: str
    says: str
    run: Callable[[Setting], Findings] = field(repr=False)
    network: str | None = None
    uses: tuple[Callable[..., object], ...] = field(default=(), repr=False)
    in_paper: bool = True

    @property
    def code(self) -> str:
        """The source text of what is run, after the functions it uses."""
        sources = (inspect.getsource(function) for function in (*self.uses, self.run))
        return "\n\n".join(source[source.index("def ") :] for source in sources)


def experiment(
    name: str,
    section: str,
    title: str,
    says: str,
    *,
    network: str | None = None,
    uses: tuple[Callable[..., object], ...] = (),
    in_paper: bool = True,
) -> Callable[[Callable[[Setting], Findings]], Experiment]:
    """Make a function an experiment: `says` is what the paper says of it, `uses` are functions to show with it."""
    return lambda run: Experiment(name, section, title, " ".join(says.split()), run, network, uses, in_paper)


def verdict(checks: Sequence[Check], *, in_paper: bool) -> Verdict:
    """What the checks amount to; without any, an experiment has failed to show anything."""
    if not checks or not all(check.holds for check in checks):
        return "failed"
    if not in_paper:
        return "as expected"
    return "reproduced with a difference" if any(check.difference for check in checks) else "reproduced"
