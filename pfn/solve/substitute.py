"""Substitution as a method: its options."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from pfn.compiler import compile_network
from pfn.errors import OptionError
from pfn.network import Network, Parameter, Variable
from pfn.solve import substitute_run
from pfn.solve.checks import check_choice, check_count, check_positive
from pfn.solve.data import find
from pfn.solve.request import Answer, Request

CHOICES: dict[str, tuple[str | None, ...]] = {
    "divergence": ("kl", "euclidean"),
    "acceleration": ("momentum", None),
    "start": ("data", "levels", "random"),
}


@dataclass(frozen=True)
class Substitute:
    """Exact multiplicative updates through several levels: hidden variables between them are written out.

    A hidden variable that is the child of one equation, through one slice, is eliminated: it is the right-hand side of
    that equation. Every update of what remains lowers the divergence of the other equations, or leaves it.

    - keep: variables that stay variables although they could be eliminated;
    - divergence: "kl" (Kullback-Leibler) or "euclidean";
    - acceleration: "momentum" extrapolates before every sweep, unless the divergence there is above that of the
      extrapolated values before, so that it may rise a little from one sweep to the next; None does not;
    - epsilon: what is added to numerators and denominators; small against the data;
    - initial_scale: hidden values start uniform between 0 and this; None: at the scale of the data, as of `Propagate`;
    - start: "data", "levels" or "random", as of `Propagate`;
    - learn_every: {parameter: n} updates the parameter in sweeps divisible by n only;
    - learn_at: {parameter: numbers} updates it in the sweeps with these numbers only;
    - adjust: {parameter: function} makes the parameter what the function gives for it after each of its updates: an
      array of the same shape, of a diagonal its values. This may raise the divergence.
    """

    keep: Sequence[Variable | str] = ()
    divergence: Literal["kl", "euclidean"] = "kl"
    acceleration: Literal["momentum"] | None = "momentum"
    epsilon: float = 1e-9
    initial_scale: float | None = None
    start: Literal["data", "levels", "random"] = "data"
    learn_every: Mapping[Parameter | str, int] = field(default_factory=dict)
    learn_at: Mapping[Parameter | str, Sequence[int]] = field(default_factory=dict)
    adjust: Mapping[Parameter | str, Callable[[np.ndarray], np.ndarray]] = field(default_factory=dict, repr=False)

    name: ClassVar[str] = "substitute"
    engines: ClassVar[tuple[str, ...]] = ("numpy",)

    def __post_init__(self) -> None:
        for option, allowed in CHOICES.items():
            check_choice(getattr(self, option), f"Substitute: {option}", allowed)
        check_positive(self.epsilon, "Substitute: epsilon", "The default is small enough.")
        if self.initial_scale is not None:
            check_positive(self.initial_scale, "Substitute: initial_scale", "Without it the data say the scale.")
        if isinstance(self.keep, str | Variable) or not isinstance(self.keep, Sequence):
            raise OptionError(f"Substitute: keep must be a list of variables, found {self.keep!r}. Put it in brackets.")
        object.__setattr__(self, "keep", tuple(self.keep))
        for option in ("learn_every", "learn_at", "adjust"):
            if not isinstance(getattr(self, option), Mapping):
                raise OptionError(
                    f"Substitute: {option} must be a mapping from parameters, found {getattr(self, option)!r}."
                )
            object.__setattr__(self, option, dict(getattr(self, option)))
        self._check_sweeps()

    def _check_sweeps(self) -> None:
        for key, count in self.learn_every.items():
            check_count(count, f"Substitute: learn_every of {getattr(key, 'name', key)}", 1)
        for key, numbers in self.learn_at.items():
            what = f"Substitute: learn_at of {getattr(key, 'name', key)}"
            if isinstance(numbers, str) or not isinstance(numbers, Sequence):
                raise OptionError(f"{what} must be a list of the numbers of sweeps, found {numbers!r}.")
            for number in numbers:
                check_count(number, f"{what}: each number", 0)
        for key, function in self.adjust.items():
            if not callable(function):
                raise OptionError(
                    f"Substitute: adjust of {getattr(key, 'name', key)} must be a function of its values, "
                    f"found {function!r}."
                )

    def __hash__(self) -> int:
        return hash(repr(self))

    def check(self, network: Network) -> None:
        """Refuse networks with cycles through time, and names that the network does not have."""
        if self.name not in network.methods:
            compile_network(network)  # which says why it cannot
        self.named(network)

    def named(self, network: Network) -> "Substitute":
        """The same options with the network's own names in place of objects."""
        learned: dict[str, Any] = {
            option: {_parameter(network, key, option): value for key, value in getattr(self, option).items()}
            for option in ("learn_every", "learn_at", "adjust")
        }
        return replace(self, keep=[_variable(network, key) for key in self.keep], **learned)

    def run(self, request: Request) -> Answer:
        """Sweep until a criterion to stop is met."""
        return substitute_run.run(request, self.named(request.network))


def _parameter(network: Network, key: Any, option: str) -> str:
    item = find(network, key, f"Substitute: {option}")
    if not isinstance(item, Parameter) or not item.learn:
        raise OptionError(f"Substitute: {option} takes learned parameters, found {item.name}.")
    return item.name


def _variable(network: Network, key: Any) -> str:
    item = find(network, key, "Substitute: keep")
    if not isinstance(item, Variable):
        raise OptionError(f"Substitute: keep takes variables, found {item.name}.")
    return item.name
