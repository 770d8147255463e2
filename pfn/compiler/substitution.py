"""Substitution: which hidden variables are written as functions of their parents, and the order of work on the rest.

A hidden variable that is the child of one equation, through one slice, is the right-hand side of that equation. What
remains of the cost is linear in every variable, and in every parameter that is used once on each path: `Move` says
through which equations numerators and denominators rise to a target, and new values flow down from it.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pfn.compiler.compile import compile_network
from pfn.network import Factorization, Network, Parameter
from pfn.network.tables import text_table


class Definition(NamedTuple):
    """An eliminated variable, and the equation that it is the child of."""

    variable: str
    equation: str


class Move(NamedTuple):
    """One update, after which the divergence is not larger.

    `equations` are those whose reconstructions depend on the targets, from the bottom up. `degree` says how often the
    targets occur on one path through them: above 1 for a parameter that is tied to one above it.
    """

    action: Literal["left update", "right update"]
    level: int
    targets: tuple[str, ...]
    equations: tuple[str, ...]
    degree: int


@dataclass(frozen=True, repr=False)
class Substitution:
    """What is eliminated, in the order in which values flow down, and the moves of one sweep."""

    network: Network
    definitions: tuple[Definition, ...]
    free: tuple[str, ...]
    moves: tuple[Move, ...]

    def __str__(self) -> str:
        return "\n".join(text_table(("level", "step", "changes", "through"), list(self._rows())))

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        for name, equation in self.definitions:
            yield str(self.network.level_of(equation)), "substitute", name, f"{equation}: {self.network[equation]}"
        for move in self.moves:
            power = f" (degree {move.degree})" if move.degree > 1 else ""
            yield str(move.level), move.action, ", ".join(move.targets), ", ".join(move.equations) + power

    def __repr__(self) -> str:
        return f"Substitution of {', '.join(d.variable for d in self.definitions) or 'nothing'} in {self.network!r}"


def substitute(
    network: Network,
    *,
    hidden: Collection[str],
    learned: Collection[str] | Mapping[str, Hashable] = (),
    keep: Collection[str] = (),
) -> Substitution:
    """Eliminate what can be; `hidden` are the names of the variables with hidden entries.

    Learned parameters may be mapped to when they are updated: those that differ in it are not updated together.

    >>> from pfn import Factorization, Network, Parameter, Variable, t
    >>> x, h, g = Variable("x", 4), Variable("h", 3), Variable("g", 2)
    >>> W, V = Parameter("W", shape=(4, 3)), Parameter("V", shape=(3, 2))
    >>> network = Network(Factorization(x[t], W @ h[t]), Factorization(h[t], V @ g[t] + V @ g[t - 1]))
    >>> print(substitute(network, hidden=["h", "g"], learned=["W", "V"]))
    level  step          changes  through
    2      substitute    h        eq2: h[t] = V g[t] + V g[t-1]
    1      left update   W        eq1
    2      left update   V        eq1, eq2
    3      right update  g        eq1, eq2
    """
    compile_network(network)  # which refuses networks whose variables have no levels
    owners = _owners(network, [v.name for v in network.variables if v.name in hidden and v.name not in keep])
    free = tuple(
        v.name
        for v in network.variables
        if v.name in hidden and (v.name not in owners or _leaves_columns(owners[v.name], v.name))
    )
    moves = [*_right_updates(network, owners, free), *_left_updates(network, owners, learned)]
    return Substitution(
        network,
        tuple(Definition(name, equation.name) for name, equation in owners.items()),
        free,
        tuple(sorted(moves, key=lambda move: (move.level, move.action == "left update"))),
    )


def _owners(network: Network, candidates: Iterable[str]) -> dict[str, Factorization]:
    """The variables that can be eliminated with their equations, from the top down."""
    roles = {
        name: [e for e in network.factorizations for child in e.children if child.variable.name == name]
        for name in candidates
    }
    alone = {name: equations[0] for name, equations in roles.items() if len(equations) == 1}
    return dict(sorted(alone.items(), key=lambda item: -network.level_of(item[1])))


def _leaves_columns(equation: Factorization, name: str) -> bool:
    """Whether the variable may have columns that its equation does not reach: they are updated like a free one's."""
    lags = [child.lag for child in equation.children if child.variable.name == name]
    return len(equation.children) > 1 or lags[0] > 0


def _right_updates(network: Network, owners: Mapping[str, Factorization], free: Iterable[str]) -> Iterator[Move]:
    children = {child.variable.name for e in network.factorizations for child in e.children}
    reached = {name: {e.name for e in _reached(network, owners, _uses(network, name))} for name in free}
    tops = [name for name in free if name not in children]
    for names in [*_meeting(reached, tops), *([name] for name in free if name in children)]:
        through = set[str]().union(*(reached[name] for name in names))
        equations = tuple(e.name for e in network.by_level if e.name in through)
        yield Move("right update", max(map(network.level_of, names)), tuple(names), equations, 1)


def _uses(network: Network, name: str) -> list[Factorization]:
    """The equations in which a variable is a parent."""
    return [e for e in network.factorizations if any(parent.variable.name == name for parent in e.parents)]


def _meeting(reached: Mapping[str, set[str]], tops: Iterable[str]) -> list[list[str]]:
    """The variables that nothing is above, those together that reach an equation in common.

    The cost is linear in all of them, and what rises through the equations below them rises once.
    """
    groups: list[list[str]] = []
    for name in tops:
        met = [group for group in groups if any(reached[name] & reached[other] for other in group)]
        groups = [group for group in groups if group not in met] + [[*(n for group in met for n in group), name]]
    return groups


def _left_updates(
    network: Network, owners: Mapping[str, Factorization], learned: Collection[str] | Mapping[str, Hashable]
) -> Iterator[Move]:
    """The parameters of one equation together where they are used in no other: the cost is linear in all of them."""
    uses = {
        p: [e for e in network.factorizations if p in e.parameters] for p in network.parameters if p.name in learned
    }
    groups: dict[object, list[Parameter]] = {}
    for parameter, equations in uses.items():
        rhythm = learned[parameter.name] if isinstance(learned, Mapping) else None
        group = (equations[0].name, rhythm) if len(equations) == 1 else parameter
        groups.setdefault(group, []).append(parameter)
    for parameters in groups.values():
        start = uses[parameters[0]]
        equations = _reached(network, owners, start)
        level = min(map(network.level_of, start))
        degree = _degree(network, owners, start)
        names = tuple(p.name for p in parameters)
        yield Move("left update", level, names, tuple(e.name for e in equations), degree)


def _below(network: Network, owners: Mapping[str, Factorization], equation: Factorization) -> Iterator[Factorization]:
    """The equations in which an eliminated child of this one is a parent."""
    through = {child.variable.name for child in equation.children if child.variable.name in owners}
    return (e for e in network.factorizations if any(parent.variable.name in through for parent in e.parents))


def _reached(
    network: Network, owners: Mapping[str, Factorization], start: Iterable[Factorization]
) -> list[Factorization]:
    """The equations themselves and all that eliminated variables lead down to, from the bottom up."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        equation = waiting.pop()
        if equation.name not in found:
            found.add(equation.name)
            waiting += _below(network, owners, equation)
    return [e for e in network.by_level if e.name in found]


def _degree(network: Network, owners: Mapping[str, Factorization], start: Collection[Factorization]) -> int:
    """The most of these equations that lie on one path down through eliminated variables."""
    depth: dict[str, int] = {}
    for equation in network.by_level:
        below = (depth[e.name] for e in _below(network, owners, equation))
        depth[equation.name] = (equation in start) + max(below, default=0)
    return max(depth.values())
