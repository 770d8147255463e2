"""`dot`: what `draw` draws, as text for Graphviz."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from pfn.automata import Hierarchy, RegularExpression, StateMachine
from pfn.network import Network
from pfn.plots.drawables import Drawable, Observed, check_options
from pfn.plots.groups import Group, groups_by_level, level_transitions, state_names
from pfn.plots.schemes import Scheme, SchemeArc, scheme
from pfn.plots.symbols import symbol


def dot(
    thing: Drawable,
    *,
    observed: Observed = (),
    slices: int | None = None,
    plates: str | int | None = "N",
    implicit: bool = False,
) -> str:
    """The drawing as Graphviz DOT, to be laid out by `dot -Tsvg`; the options are those of `draw`.

    The text of a machine or a regular expression is read back by `StateMachine.from_dot`.

    >>> import pfn
    >>> from pfn import t
    >>> x, h = pfn.Variable("x", 4), pfn.Variable("h", 2)
    >>> print(dot(pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(4, 2)) @ h[t])), observed=[x]))
    digraph {
      node [shape=circle, style=filled, fillcolor=lightgrey];
      n1 [label=<x<SUB>i</SUB>>, fillcolor=white];
      n2 [label=<h<SUB>i</SUB>>];
      subgraph cluster_plate {label=<N>; labelloc=b; labeljust=r;
      {rank=same; n1;}
      {rank=same; n2;}
      }
      n2 -> n1 [label=<W>];
    }
    """
    check_options("dot", thing, observed=observed, slices=slices, implicit=implicit)
    if isinstance(thing, Network):
        return _text(_network_lines(scheme(thing, observed, slices, plates)))
    if isinstance(thing, Hierarchy):
        return _text(_hierarchy_lines(thing, implicit))
    if isinstance(thing, RegularExpression):
        accepting = [f"  {_quoted(name)} [peripheries=2];\n" for name in thing.accepting]
        return thing.machine.dot().removesuffix("}\n") + "".join(accepting) + "}\n"
    return thing.dot()


def _text(lines: Iterable[str]) -> str:
    return "\n".join(["digraph {", *(f"  {line}" for line in lines), "}", ""])


def _network_lines(drawn: Scheme) -> Iterator[str]:
    number = {node.key: f"n{place}" for place, node in enumerate(drawn.nodes, start=1)}
    yield "node [shape=circle, style=filled, fillcolor=lightgrey];"
    for node in drawn.nodes:
        yield f"{number[node.key]} [label=<{node.symbol.html()}>{', fillcolor=white' if node.observed else ''}];"
    yield from _levels(drawn, number)
    for arc in drawn.arcs:
        yield f"{number[arc.parent]} -> {number[arc.child]} [{_arc_look(arc)}];"
    for first, second in drawn.coactivations:
        yield f"{number[first]} -> {number[second]} [style=dashed, dir=none, constraint=false];"


def _levels(drawn: Scheme, number: Mapping[Hashable, str]) -> Iterator[str]:
    """The nodes of a level next to each other, all of them on their plate if they have one."""
    if drawn.plate is not None:
        yield f"subgraph cluster_plate {{label=<{drawn.plate.html()}>; labelloc=b; labeljust=r;"
    for level in sorted({node.level for node in drawn.nodes}):
        yield f"{{rank=same; {' '.join(f'{number[node.key]};' for node in drawn.nodes if node.level == level)}}}"
    if drawn.plate is not None:
        yield "}"


def _arc_look(arc: SchemeArc) -> str:
    """The parameter, how many slices later the child is, and strokes near the child as dash marks."""
    text = arc.symbol.html() + (f" ({arc.later})" if arc.later else "")
    marks = f'headlabel="{"|" * arc.dashes}", labeldistance=2' if arc.dashes else ""
    return ", ".join(filter(None, [f"label=<{text}>" if text else "", marks]))


def _hierarchy_lines(hierarchy: Hierarchy, implicit: bool) -> Iterator[str]:
    """A cluster for every machine; dotted lines lead from a refining state to the cluster of its machine."""
    yield "compound=true;"
    yield "node [shape=circle];"
    number: dict[str, str] = {}
    for depth, (groups, full) in enumerate(zip(groups_by_level(hierarchy), reversed(hierarchy.levels), strict=True)):
        above, number = number, {name: f"s{depth}_{place}" for place, name in enumerate(state_names(full), start=1)}
        yield from _clusters(groups, number, depth)
        for name, key in number.items():
            yield f"{key} [{_state_look(full, name)}];"
        for source, target, _, implied in level_transitions(groups, full):
            if implicit or not implied:
                yield f"{number[source]} -> {number[target]}{' [color=blue]' if implied else ''};"
        for place, group in enumerate(groups):
            for state in group.refined:
                look = f"lhead=cluster{depth}_{place}, style=dotted, dir=none"
                yield f"{above[state]} -> {number[group.machine.states[0]]} [{look}];"


def _clusters(groups: Sequence[Group], number: dict[str, str], depth: int) -> Iterator[str]:
    placed: set[str] = set()
    for place, group in enumerate(groups):
        if not group.refined:
            continue
        own = [name for name in state_names(group.machine) if name in number and name not in placed]
        placed.update(own)
        yield f"subgraph cluster{depth}_{place} {{{' '.join(f'{number[name]};' for name in own)}}}"


def _state_look(machine: StateMachine, name: str) -> str:
    doubled = ", peripheries=2" if name == machine.end else ""
    dashed = ", style=dashed" if name == machine.off else ""
    return f"label=<{symbol(name).html()}>{doubled}{dashed}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'
