"""Substitution as a method: its options."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pfn.compiler import compile_network
from pfn.errors import OptionError
from pfn.network import Network, Variable
from pfn.solve import substitute_run
from pfn.solve.data import find
from pfn.solve.ramps import check_number
from pfn.solve.request import Answer, Request

CHOICES: dict[str, tuple[object, ...]] = {
    "divergence": ("kl", "euclidean"),
    "acceleration": ("momentum", None),
    "start": ("random", "levels"),
}


@dataclass(frozen=True)
class Substitute:
    """Exact multiplicative updates through several levels: hidden variables between them are written out.

    A hidden variable that is the child of one equation, through one slice, is eliminated: it is the right-hand side of
    that equation. Every update of what remains lowers the divergence of the other equations, or leaves it.

    - keep: variables that stay variables although they could be eliminated;
    - divergence: "kl" (Kullback-Leibler) or "euclidean";
    - acceleration: "momentum" extrapolates before every sweep, and takes it back where the divergence rose; or None;
    - epsilon: what is added to numerators and denominators; small against the data;
    - initial_scale: hidden values start uniform between 0 and this;
    - start: "random", or "levels", which first fits every learned level to the one below it, as `Propagate` does.
    """

    keep: Sequence[Variable | str] = ()
    divergence: Literal["kl", "euclidean"] = "kl"
    acceleration: Literal["momentum"] | None = "momentum"
    epsilon: float = 1e-9
    initial_scale: float = 1.0
    start: Literal["random", "levels"] = "random"

    name: ClassVar[str] = "substitute"
    engines: ClassVar[tuple[str, ...]] = ("numpy",)

    def __post_init__(self) -> None:
        for option, allowed in CHOICES.items():
            if getattr(self, option) not in allowed:
                raise OptionError(
                    f"Substitute: {option} must be one of {', '.join(map(repr, allowed))}, "
                    f"found {getattr(self, option)!r}."
                )
        for option in ("epsilon", "initial_scale"):
            check_number(getattr(self, option), f"Substitute: {option}", 0.0, None)
            if not getattr(self, option):
                raise OptionError(f"Substitute: {option} must be greater than 0, found 0. The default is small enough.")
        if isinstance(self.keep, str | Variable) or not isinstance(self.keep, Sequence):
            raise OptionError(f"Substitute: keep must be a list of variables, found {self.keep!r}. Put it in brackets.")
        object.__setattr__(self, "keep", tuple(self.keep))

    def check(self, network: Network) -> None:
        """Refuse networks with cycles through time, and names that the network does not have."""
        if self.name not in network.methods:
            compile_network(network)  # which says why it cannot
        self.named(network)

    def named(self, network: Network) -> "Substitute":
        """The same options with the network's own names in place of objects."""
        return replace(self, keep=[_variable(network, key) for key in self.keep])

    def run(self, request: Request) -> Answer:
        """Sweep until a criterion to stop is met."""
        return substitute_run.run(request, self.named(request.network))


def _variable(network: Network, key: Any) -> str:
    item = find(network, key, "Substitute: keep")
    if not isinstance(item, Variable):
        raise OptionError(f"Substitute: keep takes variables, found {item.name}.")
    return item.name
