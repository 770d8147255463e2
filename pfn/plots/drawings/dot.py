"""`dot`: drawings as text for Graphviz."""

from collections.abc import Hashable, Iterator, Sequence

from pfn.automata import Hierarchy, RegularExpression
from pfn.network import Network
from pfn.plots.drawings.contents import (
    Drawable,
    Group,
    Observed,
    Scheme,
    check_options,
    groups_by_level,
    level_transitions,
    scheme,
    state_names,
)
from pfn.plots.notation import symbol


def dot(
    thing: Drawable,
    *,
    observed: Observed = (),
    slices: int | None = None,
    plates: str | int | None = "N",
    implicit: bool = False,
) -> str:
    """The drawing as Graphviz DOT, to be laid out by `dot -Tsvg`.

    The text of a machine or a regular expression is read back by `StateMachine.from_dot`.

    Parameters
    ----------
    thing
        Network, StateMachine, Hierarchy or RegularExpression.
    observed
        Observed variables of a network, or their names.
    slices
        Number of time slices to draw, at most 30; None: one slice, with the lags written at the arcs.
    plates
        Text of the plate, the number of samples; None draws the variables alone.
    implicit
        Draw the transitions that the diagram of a hierarchy leaves out, too, in blue.

    Examples
    --------
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
    if isinstance(thing, RegularExpression):
        quoted = ['"' + name.replace('"', '\\"') + '"' for name in thing.accepting]
        return thing.machine.dot().removesuffix("}\n") + "".join(f"  {q} [peripheries=2];\n" for q in quoted) + "}\n"
    if isinstance(thing, Network):
        lines = _network_lines(scheme(thing, observed, slices, plates))
    elif isinstance(thing, Hierarchy):
        lines = _hierarchy_lines(thing, implicit)
    else:
        return thing.dot()
    return "\n".join(["digraph {", *(f"  {line}" for line in lines), "}", ""])


def _network_lines(drawn: Scheme) -> Iterator[str]:
    """Nodes, the ones of a level side by side and all on their plate if there is one, arcs, dashed lines."""
    number: dict[Hashable, str] = {node.key: f"n{place}" for place, node in enumerate(drawn.nodes, start=1)}
    yield "node [shape=circle, style=filled, fillcolor=lightgrey];"
    for node in drawn.nodes:
        yield f"{number[node.key]} [label=<{node.symbol.html()}>{', fillcolor=white' if node.observed else ''}];"
    if drawn.plate is not None:
        yield f"subgraph cluster_plate {{label=<{drawn.plate.html()}>; labelloc=b; labeljust=r;"
    for level in sorted({node.level for node in drawn.nodes}):
        yield f"{{rank=same; {' '.join(f'{number[node.key]};' for node in drawn.nodes if node.level == level)}}}"
    if drawn.plate is not None:
        yield "}"
    for arc in drawn.arcs:
        text = arc.symbol.html() + (f" ({arc.later})" if arc.later else "")
        label = f"label=<{text}>" if text else ""
        # Graphviz knows no dash marks: strokes near the child stand for them.
        marks = f'headlabel="{"|" * arc.dashes}", labeldistance=2' if arc.dashes else ""
        yield f"{number[arc.parent]} -> {number[arc.child]} [{', '.join(filter(None, [label, marks]))}];"
    for first, second in drawn.coactivations:
        yield f"{number[first]} -> {number[second]} [style=dashed, dir=none, constraint=false];"


def _hierarchy_lines(hierarchy: Hierarchy, implicit: bool) -> Iterator[str]:
    """A cluster for every machine; dotted lines lead from a refining state to the cluster of its machine."""
    yield "compound=true;"
    yield "node [shape=circle];"
    number: dict[str, str] = {}
    for depth, (groups, full) in enumerate(zip(groups_by_level(hierarchy), reversed(hierarchy.levels), strict=True)):
        above, number = number, {name: f"s{depth}_{place}" for place, name in enumerate(state_names(full), start=1)}
        yield from _clusters(groups, number, depth)
        for name, key in number.items():
            doubled = ", peripheries=2" if name == full.end else ""
            dashed = ", style=dashed" if name == full.off else ""
            yield f"{key} [label=<{symbol(name).html()}>{doubled}{dashed}];"
        for source, target, _, implied in level_transitions(groups, full):
            if implicit or not implied:
                yield f"{number[source]} -> {number[target]}{' [color=blue]' if implied else ''};"
        for place, group in enumerate(groups):
            for state in group.refined:
                look = f"lhead=cluster{depth}_{place}, style=dotted, dir=none"
                yield f"{above[state]} -> {number[group.machine.states[0]]} [{look}];"


def _clusters(groups: Sequence[Group], number: dict[str, str], depth: int) -> Iterator[str]:
    """A cluster for every machine below the uppermost; a state that several machines have is in the first one's."""
    placed: set[str] = set()
    for place, group in enumerate(groups):
        if not group.refined:
            continue
        own = [name for name in state_names(group.machine) if name in number and name not in placed]
        placed.update(own)
        yield f"subgraph cluster{depth}_{place} {{{' '.join(f'{number[name]};' for name in own)}}}"
