"""The methods: frozen options objects that answer requests."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from pfn.compiler import compile_network
from pfn.errors import OptionError
from pfn.network import Factorization, Network, Parameter, Variable
from pfn.solve import propagation
from pfn.solve.checks import check_choice, check_count, check_number, check_positive
from pfn.solve.consensus import Consensus
from pfn.solve.data import find
from pfn.solve.exact import Exact
from pfn.solve.ramps import Ramp
from pfn.solve.request import Answer, Method, Request
from pfn.solve.substitute import Substitute

CHOICES: dict[str, tuple[str | None, ...]] = {
    "averaging": ("pooled", "updated", "all"),
    "acceleration": ("momentum", None),
    "divergence": ("kl", "euclidean"),
    "updates": ("alternating", "joint"),
    "start": ("data", "levels", "random"),
}


@dataclass(frozen=True)
class Propagate:
    """The paper's inference and learning: sweeps of multiplicative updates up and propagated values down.

    - averaging: what becomes of the copies of a parent, "pooled": they are updated together, by the sum of their
      numerators over the sum of their denominators; "updated" (the paper's Algorithm 1): the mean of the copies updated
      in this pass; "all" (Algorithm 2): the mean of all copies;
    - acceleration: "momentum" extrapolates along the last relative change before every sweep, None does not;
    - updates: in learning, "alternating" makes the right update of an equation with the W that its left update gave,
      "joint" makes both from the same ratios, which takes one product less;
    - divergence: "kl" (Kullback-Leibler) or "euclidean";
    - epsilon: what is added to numerators and denominators; small against the data;
    - initial_scale: hidden values start uniform between 0 and this; None: at the scale of the data in learning; in
      inference at a millionth of the largest observation, so that values that no observation asks for stay near zero;
    - sparseness: θ of nsNMF, a number, a `ramp`, or a mapping from factorization to either;
    - release: {variable: n} holds the variable to its observations in sweeps 0 … n−1 only;
    - learn_every: {parameter: n} updates the parameter in sweeps divisible by n only;
    - start: "data", where they say something: learned matrices start from slices of observed children that differ most
      from each other, and if all matrices are known, hidden values from what the observations reach; "levels", which
      then fits every learned level to the one below it; or "random". Runs from the data end alike whatever the seed,
      so their agreement says nothing; restarts after the first run start at random;
    - settle: a run ends by itself when nothing moves any more, and warns where values may be far from right; False: all
      sweeps are done, as in the paper, unless `stall` is given.
    """

    averaging: Literal["pooled", "updated", "all"] = "pooled"
    acceleration: Literal["momentum"] | None = "momentum"
    updates: Literal["alternating", "joint"] = "alternating"
    divergence: Literal["kl", "euclidean"] = "kl"
    epsilon: float = 1e-9
    initial_scale: float | None = None
    sparseness: float | Ramp | Mapping[Factorization | str, float | Ramp] = 0.0
    release: Mapping[Variable | str, int] = field(default_factory=dict)
    learn_every: Mapping[Parameter | str, int] = field(default_factory=dict)
    start: Literal["data", "levels", "random"] = "data"
    settle: bool = True

    name: ClassVar[str] = "propagate"

    def __post_init__(self) -> None:
        for option, allowed in CHOICES.items():
            check_choice(getattr(self, option), f"Propagate: {option}", allowed)
        check_positive(self.epsilon, "Propagate: epsilon", "The default is small enough.")
        if self.initial_scale is not None:
            check_positive(self.initial_scale, "Propagate: initial_scale", "Without it the data say the scale.")
        if self.updates == "joint" and self.divergence != "kl":
            raise OptionError(
                f"Propagate: updates='joint' is for the Kullback-Leibler divergence, found {self.divergence!r}. "
                "Leave updates out, or take divergence='kl'."
            )
        for option in ("release", "learn_every", "sparseness"):
            if isinstance(getattr(self, option), Mapping):  # a copy of its own, which nobody else can change
                object.__setattr__(self, option, dict(getattr(self, option)))
        for option in ("release", "learn_every"):
            self._check_counts(option, 1 if option == "learn_every" else 0)
        sparseness = self.sparseness
        for value in sparseness.values() if isinstance(sparseness, Mapping) else [sparseness]:
            _check_sparseness(value)

    def _check_counts(self, option: str, least: int) -> None:
        mapping = getattr(self, option)
        if not isinstance(mapping, Mapping):
            raise OptionError(f"Propagate: {option} must be a mapping from object to sweeps, found {mapping!r}.")
        for key, count in mapping.items():
            check_count(count, f"Propagate: {option} of {getattr(key, 'name', key)}", least)

    def __hash__(self) -> int:
        return hash(repr(self))

    def check(self, network: Network) -> None:
        """Refuse networks with cycles through time, and names that the network does not have."""
        if self.name not in network.methods:
            compile_network(network)  # which says why it cannot
        self.named(network)

    def named(self, network: Network) -> "Propagate":
        """The same options with the network's own names in place of objects."""
        return replace(
            self,
            release={_variable(network, key): n for key, n in self.release.items()},
            learn_every={_parameter(network, key): n for key, n in self.learn_every.items()},
            sparseness=(
                {_equation(network, key): value for key, value in self.sparseness.items()}
                if isinstance(self.sparseness, Mapping)
                else self.sparseness
            ),
        )

    def run(self, request: Request) -> Answer:
        """Sweep until a criterion to stop is met."""
        if self.updates == "joint":
            _check_scales(request.network, request.learned)
        return propagation.run(request, self.named(request.network))


_BY_NAME: dict[str, type[Propagate] | type[Exact] | type[Substitute] | type[Consensus]] = {
    "propagate": Propagate,
    "exact": Exact,
    "substitute": Substitute,
    "consensus": Consensus,
}
_EXPECTED = (
    "method must be 'propagate', 'exact', 'substitute', 'consensus', or a pfn.Propagate(…), pfn.Exact(…), "
    "pfn.Substitute(…) or pfn.Consensus()"
)


def as_method(method: Any) -> Method:
    """The method meant: an options object, or a name for the defaults."""
    if isinstance(method, str):
        if method in _BY_NAME:
            return _BY_NAME[method]()
        raise OptionError(f"{_EXPECTED}, found {method!r}.")
    if not (hasattr(method, "run") and hasattr(method, "check")) or isinstance(method, type):
        raise OptionError(f"{_EXPECTED}, found {method!r}.")
    return method  # type: ignore[no-any-return]


def _check_scales(network: Network, learned: Collection[str]) -> None:
    """Without a scale that stays, both updates would correct that of the product, and overshoot."""
    for equation in network.factorizations:
        free = equation.normalize in (None, "balanced")
        if free and any(parameter.name in learned for parameter in equation.parameters):
            raise OptionError(
                f"Propagate: updates='joint' needs learned columns whose sums stay, but {equation.name} has "
                f"normalize={equation.normalize!r}. Declare it with normalize='columns', 'subcolumns' or 'sequences', "
                "or leave updates out."
            )


def _check_sparseness(value: object) -> None:
    if isinstance(value, Ramp):
        for number in (value.first, value.last):
            check_number(number, "Propagate: sparseness", 0.0, 1.0)
    else:
        check_number(value, "Propagate: sparseness", 0.0, 1.0)


def _variable(network: Network, key: Any) -> str:
    item = find(network, key, "Propagate: release")
    if not isinstance(item, Variable):
        raise OptionError(f"Propagate: release takes variables, found {item.name}.")
    return item.name


def _parameter(network: Network, key: Any) -> str:
    item = find(network, key, "Propagate: learn_every")
    if not isinstance(item, Parameter) or not item.learn:
        raise OptionError(f"Propagate: learn_every takes learned parameters, found {item.name}.")
    return item.name


def _equation(network: Network, key: Any) -> str:
    item = find(network, key, "Propagate: sparseness")
    if not isinstance(item, Factorization):
        raise OptionError(f"Propagate: sparseness takes factorizations, found {item.name}.")
    return item.name


# The numbers of the paper's own experiments (section 3.2 and appendix A).
PAPER = Propagate(
    averaging="updated", epsilon=1e-5, acceleration=None, initial_scale=1e-6, start="random", settle=False
)
