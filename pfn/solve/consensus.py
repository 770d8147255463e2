"""The consensus iteration as a method."""

from dataclasses import dataclass
from typing import ClassVar

from pfn.errors import OptionError
from pfn.network import Network
from pfn.solve import consensus_run
from pfn.solve.request import Answer, Request


@dataclass(frozen=True)
class Consensus:
    """Inference with known parameters by projections, for networks that are too large for a linear program.

    Every equation has its own copies of the values. A sweep makes them agree with each other and with the observations,
    and makes every equation hold, in turn (Douglas–Rachford splitting with restarted Halpern anchoring). Where there
    are exact solutions, the values tend to one of them; where there are none, to the point at which the copies come
    nearest to each other.
    """

    name: ClassVar[str] = "consensus"
    restartable: ClassVar[bool] = False

    def check(self, network: Network) -> None:
        """Every network will do that has no decay."""
        for equation in network.factorizations:
            for term in equation.terms:
                if term.window is not None:
                    raise OptionError(
                        f"{equation.name}: {equation}: Consensus takes matrices only, found {term}. Use "
                        f"{' or '.join(network.methods)}, or write the decay as an equation of its own."
                    )

    def run(self, request: Request) -> Answer:
        """Sweep until a criterion to stop is met."""
        return consensus_run.run(request, self)
