"""What can be drawn, and which options belong to which."""

from collections.abc import Iterable
from typing import TypeAlias

from pfn.automata import Hierarchy, RegularExpression, StateMachine
from pfn.errors import OptionError
from pfn.network import Network, Variable
from pfn.solve import Result

Drawable: TypeAlias = Network | StateMachine | Hierarchy | RegularExpression


MOST_SLICES = 30

Observed: TypeAlias = Iterable[Variable | str]


def check_options(what: str, thing: object, *, observed: Observed, slices: int | None, implicit: bool) -> None:
    """Refuse what cannot be drawn, and options that belong to another kind of drawing."""
    if isinstance(thing, Result):
        raise OptionError(f"{what} takes a network, found a Result. Write {what}(result.network, ...).")
    if not isinstance(thing, Drawable):
        raise OptionError(
            f"{what} takes a Network, a StateMachine, a Hierarchy or a RegularExpression, found "
            f"{type(thing).__name__}. For arrays and results there are the plots of values."
        )
    kind = type(thing).__name__
    if slices is not None and hasattr(slices, "__index__") and slices > MOST_SLICES:
        raise OptionError(
            f"{what}: slices must be at most {MOST_SLICES}, more can neither be laid out nor read, found {slices}."
        )
    if isinstance(observed, str | Variable) or not isinstance(observed, Iterable):
        raise OptionError(f"{what}: observed must be a list of variables, found {observed!r}. Write [{observed!r}].")
    if not isinstance(thing, Network) and (slices is not None or tuple(observed)):
        raise OptionError(f"{what}: observed and slices belong to networks, found a {kind}. Leave them out.")
    if implicit and not isinstance(thing, Hierarchy):
        raise OptionError(f"{what}: implicit belongs to hierarchies, found a {kind}. Leave it out.")
