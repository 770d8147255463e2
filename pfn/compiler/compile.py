"""Network → schedule: levels, left and right updates, averaging points, merged equations of tied parameters."""

from collections.abc import Iterator

import networkx as nx

from pfn.compiler.schedule import Action, Schedule, Step
from pfn.errors import OptionError
from pfn.network import Factorization, Network, Parameter


def compile_network(network: Network) -> Schedule:
    """Order the work of one sweep: levels up, then levels down.

    >>> from pfn import Factorization, Network, Parameter, Variable, t
    >>> x, h = Variable("x", 4), Variable("h", 6)
    >>> print(compile_network(Network(Factorization([x[t], x[t + 1]], Parameter("W", shape=(8, 6)) @ h[t]))))
    pass  level  step              changes  from
    up    1      left update       W        eq1: [x[t]; x[t+1]] = W h[t]
    up    1      right update      h        eq1: [x[t]; x[t+1]] = W h[t]
    up    1      average parents   h        eq1 (1 copy)
    down  1      propagate         x        eq1: [x[t]; x[t+1]] = W h[t]
    down  1      average children  x        eq1 (2 copies)
    """
    _check_acyclic(network)
    top = len(network.levels) - 1
    up = [step for level in range(1, top + 1) for step in _steps_up(network, level)]
    down = [step for level in range(top, 0, -1) for step in _steps_down(network, level)]
    return Schedule(network, _with_averages(network, up, "parents"), _with_averages(network, down, "children"))


def _check_acyclic(network: Network) -> None:
    if not network.acyclic:
        arcs = nx.DiGraph(network.graph())
        cycle = [parent for parent, _ in nx.find_cycle(arcs)]
        raise OptionError(
            f"the variables {' → '.join([*cycle, cycle[0]])} form a cycle through time, so they have no levels "
            f"and propagation cannot order the work. The methods for this network are: "
            f"{', '.join(network.methods)}."
        )


def _equations_of(network: Network, level: int) -> list[Factorization]:
    return [e for e in network.factorizations if network.level_of(e) == level]


def _steps_up(network: Network, level: int) -> Iterator[Step]:
    """The left updates of a level come first: a tied parameter is new for all equations of the level."""
    yield from _left_updates(network, level)
    for equation in _equations_of(network, level):
        parents = dict.fromkeys(parent.variable.name for parent in equation.parents)
        yield Step("right update", level, (equation.name,), tuple(parents))


def _left_updates(network: Network, level: int) -> Iterator[Step]:
    """One step per set of parameters whose equations are linked by tied parameters."""
    due = [p for p in network.parameters if p.learn and _lowest_level(network, p) == level]
    links = nx.Graph()
    for parameter in due:
        for equation in network.factorizations:
            if parameter in equation.parameters:
                links.add_edge(("parameter", parameter.name), ("equation", equation.name))
    order = {name: rank for rank, name in enumerate(e.name for e in network.factorizations)}
    groups = [_split(group) for group in nx.connected_components(links)]
    for names, equations in sorted(groups, key=lambda group: min(order[name] for name in group[1])):
        targets = tuple(p.name for p in due if p.name in names)
        yield Step("left update", level, tuple(sorted(equations, key=order.__getitem__)), targets)


def _split(group: set[tuple[str, str]]) -> tuple[set[str], set[str]]:
    return (
        {name for kind, name in group if kind == "parameter"},
        {name for kind, name in group if kind == "equation"},
    )


def _lowest_level(network: Network, parameter: Parameter) -> int:
    return min(network.level_of(e) for e in network.factorizations if parameter in e.parameters)


def _steps_down(network: Network, level: int) -> Iterator[Step]:
    for equation in reversed(_equations_of(network, level)):
        children = dict.fromkeys(child.variable.name for child in equation.children)
        yield Step("propagate", level, (equation.name,), tuple(children))


def _with_averages(network: Network, steps: list[Step], role: str) -> tuple[Step, ...]:
    """After a step, average every variable whose last copy it updated."""
    action: Action = "average parents" if role == "parents" else "average children"
    owners = {
        variable.name: {e.name for e in network.factorizations if _has(e, role, variable.name)}
        for variable in network.variables
    }
    result: list[Step] = []
    done: set[str] = set()
    for step in steps:
        result.append(step)
        if step.action == "left update":
            continue
        done.update(step.equations)
        for name in step.targets:
            if owners[name] <= done:
                sources = tuple(e.name for e in network.factorizations if e.name in owners[name])
                result.append(Step(action, step.level, sources, (name,)))
    return tuple(result)


def _has(equation: Factorization, role: str, name: str) -> bool:
    pieces = equation.parents if role == "parents" else equation.children
    return any(piece.variable.name == name for piece in pieces)
