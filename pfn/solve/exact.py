"""Exact inference as a method: its options."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from pfn.errors import OptionError
from pfn.exact import Size, Window, size_of
from pfn.network import Network, Variable
from pfn.solve import exact_run
from pfn.solve.checks import check_count, check_number
from pfn.solve.data import check_is_network, find
from pfn.solve.request import Answer, Request

Named = Variable | str

CHOICES: dict[str, tuple[object, ...]] = {
    "structure": ("exact", "soft"),
    "prefer": ("sparse", "spread"),
    "debias": (True, False),
}
NOISES = ("l1", "l2")


@dataclass(frozen=True)
class Exact:
    """Inference with known parameters as a convex program: exact values, or a proof that there are none.

    - noise: {x: "l1" | "l2"}: x was observed with error; the summed absolute or squared error is made small;
    - penalty: {x: weight | "auto"}: weight times the sum of x is made small too; "auto" finds the weight at which
      noise alone would be explained by nothing;
    - background: [x]: one non-negative constant is added to x, to explain a noise floor;
    - debias: keep the parts that are worth their price, with magnitudes found without the penalty;
    - structure: "exact", or "soft": the least squares answer over all equations;
    - prefer: where several solutions exist, "sparse" is one of them, "spread" their superposition;
    - window, overlap: solve so many time slices at a time, overlapping by so many, instead of all at once;
    - time_limit: seconds after which the best point so far is the answer.

    An equation counts as exact up to a difference of 1e-7 of the largest observation (1e-5 in float32).
    """

    noise: Mapping[Named, Literal["l1", "l2"]] = field(default_factory=dict)
    penalty: Mapping[Named, float | Literal["auto"]] = field(default_factory=dict)
    background: Sequence[Named] = ()
    debias: bool = False
    structure: Literal["exact", "soft"] = "exact"
    prefer: Literal["sparse", "spread"] = "sparse"
    window: int | None = None
    overlap: int | None = None
    time_limit: float | None = None

    name: ClassVar[str] = "exact"
    engines: ClassVar[tuple[str, ...]] = ("numpy",)
    restartable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for option, allowed in CHOICES.items():
            if getattr(self, option) not in allowed:
                raise OptionError(
                    f"Exact: {option} must be one of {', '.join(map(repr, allowed))}, found {getattr(self, option)!r}."
                )
        for option in ("noise", "penalty"):
            mapping = getattr(self, option)
            if not isinstance(mapping, Mapping):
                raise OptionError(f"Exact: {option} must be a mapping such as {{x: …}}, found {mapping!r}.")
            object.__setattr__(self, option, dict(mapping))
        if isinstance(self.background, str | Variable) or not isinstance(self.background, Sequence):
            raise OptionError(f"Exact: background must be a list of variables, found {self.background!r}.")
        object.__setattr__(self, "background", tuple(self.background))
        self._check_values()
        self._check_windows()

    def _check_values(self) -> None:
        for key, kind in self.noise.items():
            if kind not in NOISES:
                raise OptionError(f"Exact: noise of {_name(key)} must be 'l1' or 'l2', found {kind!r}.")
        for key, weight in self.penalty.items():
            if not isinstance(weight, str) or weight != "auto":
                check_number(weight, f"Exact: penalty of {_name(key)}", 0.0, None)
        if self.time_limit is not None:
            check_number(self.time_limit, "Exact: time_limit", 0.0, None)

    def _check_windows(self) -> None:
        if self.window is not None:
            check_count(self.window, "Exact: window", 2)
        if self.overlap is not None:
            check_count(self.overlap, "Exact: overlap", 1)
            if self.window is None or self.overlap >= self.window:
                raise OptionError(
                    f"Exact: overlap={self.overlap} needs a window longer than that, found window={self.window}."
                )

    def __hash__(self) -> int:
        return hash(repr(self))

    def check(self, network: Network) -> None:
        """Refuse names that the network does not have, and options that do not go together."""
        named = self.named(network)
        self._check_preference()
        for x in named.background:
            if x not in named.noise:
                raise OptionError(f"Exact: background of {x} explains noise in it: add noise={{{x!r}: 'l2'}}.")
        if named.noise and self.structure == "soft":
            raise OptionError("Exact: noise keeps the structure exact, structure='soft' does not. Give one of them.")
        if self.window is not None and self.structure == "soft":
            raise OptionError("Exact: structure='soft' is solved for all times at once. Leave window out.")
        if "auto" in named.penalty.values() and "l2" not in named.noise.values():
            raise OptionError(
                "Exact: penalty 'auto' is found from squared noise: add noise={x: 'l2'}, or give a weight."
            )
        if self.debias and not (named.noise and named.penalty):
            raise OptionError("Exact: debias solves again without the penalty of noisy data: give noise and penalty.")

    def _check_preference(self) -> None:
        other = {"noise": self.noise, "penalty": self.penalty, "structure='soft'": self.structure == "soft"}
        for option, given in other.items():
            if self.prefer == "spread" and given:
                raise OptionError(
                    f"Exact: prefer='spread' mixes all exact solutions, with {option} there is one answer. "
                    "Give one of them."
                )

    def named(self, network: Network) -> "Exact":
        """The same options with the network's own names in place of objects."""
        names = {option: _variables(network, option, getattr(self, option)) for option in ("noise", "penalty")}
        return replace(
            self,
            noise=dict(zip(names["noise"], self.noise.values(), strict=True)),
            penalty=dict(zip(names["penalty"], self.penalty.values(), strict=True)),
            background=_variables(network, "background", self.background),
        )

    @property
    def windows(self) -> Window | None:
        """The windows to solve in; by default they overlap by half."""
        if self.window is None:
            return None
        return Window(self.window, self.window // 2 if self.overlap is None else self.overlap)

    def size(self, network: Network, length: int) -> Size:
        """How large the problem for so many time slices is, and how much memory it may take, before it is set up.

        >>> from pfn.models import tracking_network
        >>> print(Exact().size(tracking_network(15), 26))
        8,168 unknowns, 5,214 equations with 19,850 entries, at most about 0.0052 GB
        """
        check_is_network(network)
        check_count(length, "Exact: the length", 1)
        return size_of(network, length, quadratic=bool(self.noise) or self.structure == "soft")

    def run(self, request: Request) -> Answer:
        """Solve every sequence."""
        return exact_run.run(request, self.named(request.network))


def _name(key: Any) -> object:
    return getattr(key, "name", key)


def _variables(network: Network, option: str, keys: Iterable[Any]) -> list[str]:
    """The names of the variables meant, each once."""
    names: list[str] = []
    for key in keys:
        item = find(network, key, f"Exact: {option}")
        if not isinstance(item, Variable):
            raise OptionError(f"Exact: {option} takes variables, found {item.name}.")
        if item.name in names:
            raise OptionError(f"Exact: {option} has {item.name} twice. Give it once, by object or by name.")
        names.append(item.name)
    return names
