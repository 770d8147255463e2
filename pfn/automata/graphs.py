"""State diagrams to networkx graphs and back."""

from collections import Counter
from typing import Any

import networkx as nx

from pfn.automata.diagram import Diagram, default_label, listed
from pfn.errors import DeclarationError


def graph_of(diagram: Diagram) -> nx.MultiDiGraph:
    """The diagram with all that a drawing needs: roles on the nodes, labels and columns on the edges."""
    graph = nx.MultiDiGraph()
    for name in diagram.names:
        graph.add_node(name, label=name, off=name == diagram.off, start=name in diagram.start, end=name == diagram.end)
    for column, ((source, target), label) in enumerate(
        zip(diagram.transitions, diagram.transition_labels, strict=True)
    ):
        graph.add_edge(source, target, key=label, label=label, column=column)
    return graph


def read_graph(graph: nx.DiGraph) -> Diagram:
    """Nodes as states (named by `str`), edges as transitions, roles and columns as `graph_of` leaves them."""
    if not isinstance(graph, nx.DiGraph):
        raise DeclarationError(
            f"StateMachine.from_networkx: expected a networkx DiGraph or MultiDiGraph, found {_kind(graph)}. "
            "Transitions have a direction: convert an undirected graph with graph.to_directed()."
        )
    names = _names(graph)
    edges = list(graph.edges(keys=True, data=True)) if graph.is_multigraph() else _keyless(graph)
    ordered = sorted(edges, key=lambda edge: edge[3].get("column", len(edges)))
    off = _marked(graph, "off")
    return Diagram(
        states=tuple(name for name in names.values() if name != off),
        transitions=tuple((names[source], names[target]) for source, target, _, _ in ordered),
        transition_labels=tuple(
            key if isinstance(key, str) else default_label(names[source], names[target])
            for source, target, key, _ in ordered
        ),
        off=off,
        start=tuple(names[node] for node, data in graph.nodes(data=True) if data.get("start") is True),
        end=_marked(graph, "end"),
    )


def _kind(graph: object) -> str:
    return type(graph).__name__


def _names(graph: nx.DiGraph) -> dict[Any, str]:
    names = {node: str(node) for node in graph.nodes}
    repeated = [name for name, count in Counter(names.values()).items() if count > 1]
    if repeated:
        raise DeclarationError(
            "StateMachine.from_networkx: nodes must differ as text, but several are written "
            f"{listed(repeated)}. Relabel them with networkx.relabel_nodes."
        )
    return names


def _keyless(graph: nx.DiGraph) -> list[tuple[Any, Any, None, dict[str, Any]]]:
    return [(source, target, None, data) for source, target, data in graph.edges(data=True)]


def _marked(graph: nx.DiGraph, role: str) -> str | None:
    marked = [str(node) for node, data in graph.nodes(data=True) if data.get(role) is True]
    if len(marked) > 1:
        raise DeclarationError(
            f"StateMachine.from_networkx: at most one node may have {role}=True, found {listed(marked)}. "
            "Mark one of them."
        )
    return marked[0] if marked else None
