"""State diagrams in other formats: Graphviz DOT and networkx graphs, written and read.

Of the DOT language, the part that state diagrams use is read, and everything else refused.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import networkx as nx

from pfn.automata.diagram import Diagram, default_label, listed
from pfn.errors import DeclarationError

# Shapes of nodes that draw no outline: with no text either, nothing of the node is seen.
_FACELESS = {"none", "plain", "plaintext"}
_TRUE = {"true", "True", "1"}

_WORDS = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)
      | (?P<mark>->|--|[{}\[\];,=:+])
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<plain>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?![^\W\d])|[^\W\d]\w*)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class Token(NamedTuple):
    """A word: `kind` is mark, quoted, plain or end; `text` has no quotes."""

    kind: str
    text: str
    place: int


def tokenize(source: str) -> list[Token]:
    """The words of a text in order, with one of the kind `end` after them."""
    tokens, place = [], 0
    while place < len(source):
        match = _WORDS.match(source, place)
        if match is None:
            remedies = {
                '"': "Close the quotation mark.",
                "<": "HTML labels are not read: write the text in quotation marks.",
            }
            remedy = remedies.get(source[place], "Put names with other characters in quotation marks.")
            raise dot_error(source, place, "a name, a bracket or an arrow", remedy)
        kind, text = str(match.lastgroup), match.group()
        if kind == "quoted":
            text = text[1:-1].replace("\\\n", "").replace('\\"', '"')
        if kind != "skip":
            tokens.append(Token(kind, text, place))
        place = match.end()
    return [*tokens, Token("end", "the end of the text", len(source))]


def dot_error(source: str, place: int, expected: str, remedy: str) -> DeclarationError:
    """An error that shows the line of the text with a caret under the place."""
    number = source.count("\n", 0, place) + 1
    begin = source.rfind("\n", 0, place) + 1
    line = source[begin:].split("\n", 1)[0].replace("\t", " ")
    found = repr(source[place : place + 10].split("\n")[0]) if place < len(source) else "the end of the text"
    return DeclarationError(
        f"StateMachine.from_dot: line {number}: expected {expected}, found {found}. {remedy}\n"
        f"    {line}\n    {' ' * (place - begin)}^"
    )


def write_dot(diagram: Diagram) -> str:
    """The diagram as a digraph, one statement per state and per transition."""
    holders = {"off": (diagram.off,), "start": diagram.start, "end": (diagram.end,)}
    lines = []
    for name in diagram.names:
        held = [f"{role}=true" for role, names in holders.items() if name in names]
        lines.append(f"  {_quoted(name)}" + (f" [{', '.join(held)}];" if held else ";"))
    for (source, target), label in zip(diagram.transitions, diagram.transition_labels, strict=True):
        key = "" if label == default_label(source, target) else f" [key={_quoted(label)}]"
        lines.append(f"  {_quoted(source)} -> {_quoted(target)}{key};")
    return "\n".join(["digraph {", *lines, "}", ""])


def _quoted(name: str) -> str:
    """A name in quotation marks; refuse a backslash, which DOT would not give back."""
    if "\\" in name:
        raise DeclarationError(
            f"StateMachine.dot: DOT cannot hold the backslash in the name {name!r} faithfully. Rename it."
        )
    return '"' + name.replace('"', '\\"') + '"'


def read_dot(text: str) -> Diagram:
    """The diagram that a DOT digraph draws.

    Nodes with `off=true`, `start=true` or `end=true` have that role. A node that only draws an arrow into
    the diagram (a point, invisible, or without text) is no state: its targets are start states. The edge
    attribute `key` labels a transition. Parallel edges need different keys; `strict digraph` merges them.
    """
    reader = _Reader(text, tokenize(text))
    reader.read()
    targets = {edge.target for edge in reader.edges}
    sources = {edge.source for edge in reader.edges}
    arrows = set()
    for name, attributes in reader.nodes.items():
        shape, no_text = attributes.get("shape"), not attributes.get("label", name)
        unseen = shape == "point" or attributes.get("style") == "invis" or (shape in _FACELESS and no_text)
        if unseen and name in sources and name not in targets:
            arrows.add(name)
    marked = [edge.target for edge in reader.edges if edge.source in arrows]
    marked += [name for name, attributes in reader.nodes.items() if attributes.get("start") in _TRUE]
    edges = [edge for edge in reader.edges if edge.source not in arrows]
    if reader.strict:  # of parallel edges the first counts
        first: dict[tuple[str, str], _Edge] = {}
        for edge in edges:
            first.setdefault((edge.source, edge.target), edge)
        edges = list(first.values())
    off = _only(reader, "off")
    return Diagram(
        states=tuple(name for name in reader.nodes if name not in arrows and name != off),
        transitions=tuple((edge.source, edge.target) for edge in edges),
        transition_labels=tuple(edge.attributes.get("key", default_label(edge.source, edge.target)) for edge in edges),
        off=off,
        start=tuple(dict.fromkeys(marked)),
        end=_only(reader, "end"),
    )


def _only(reader: _Reader, role: str) -> str | None:
    """The node that has a role, if one has it."""
    marked = [name for name, attributes in reader.nodes.items() if attributes.get(role) in _TRUE]
    if len(marked) > 1:
        raise DeclarationError(
            f"StateMachine.from_dot: at most one node may have {role}=true, found {listed(marked)}. Mark one of them."
        )
    return marked[0] if marked else None


@dataclass
class _Edge:
    source: str
    target: str
    attributes: dict[str, str]


@dataclass
class _Reader:
    """Recursive descent through the words of a digraph, which collects nodes and edges."""

    source: str
    tokens: list[Token]
    place: int = 0
    strict: bool = False
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[_Edge] = field(default_factory=list)
    defaults: dict[str, str] = field(default_factory=dict)

    def read(self) -> None:
        """Read a whole digraph."""
        if self._at_keyword("strict"):
            self.strict = True
            self.place += 1
        if not self._at_keyword("digraph"):
            raise self._error("'digraph'", "Transitions have a direction: write digraph and arrows ->.")
        self.place += 1
        if not self._at("{"):
            self._name()
        if not self._take("{"):
            raise self._error("'{'", "Put the statements of the digraph in braces.")
        while not self._take("}"):
            self._statement()
            while self._take(";"):
                pass
        if self._now.kind != "end":
            raise self._error("the end of the text", "Give one digraph at a time.")

    @property
    def _now(self) -> Token:
        return self.tokens[self.place]

    def _error(self, expected: str, remedy: str) -> DeclarationError:
        return dot_error(self.source, self._now.place, expected, remedy)

    def _at(self, mark: str) -> bool:
        return self._now.kind == "mark" and self._now.text == mark

    def _at_keyword(self, *words: str) -> bool:
        return self._now.kind == "plain" and self._now.text.lower() in words

    def _take(self, mark: str) -> bool:
        found = self._at(mark)
        self.place += found
        return found

    def _statement(self) -> None:
        """Read a statement: default attributes, a node, or a chain of edges."""
        if self._at("{") or self._at_keyword("subgraph"):
            raise self._subgraph()
        if self._at_keyword("graph", "node", "edge"):
            of_nodes = self._at_keyword("node")
            self.place += 1
            attributes = self._attributes()
            if of_nodes:
                self.defaults.update(attributes)
            return
        name = self._name()
        if self._take("="):  # an attribute of the graph, which says nothing of states
            self._name()
            return
        chain = [name]
        while self._take("->"):
            chain.append(self._name())
        if self._at("--"):
            raise self._error("'->'", "Transitions have a direction: write ->.")
        if self._at(":"):
            raise self._error("'->', '[' or a new statement", "Ports are not read: name the node alone.")
        attributes = self._attributes()
        for name in chain:
            self.nodes.setdefault(name, dict(self.defaults))
        if len(chain) == 1:
            self.nodes[chain[0]].update(attributes)
        self.edges += [_Edge(source, target, attributes) for source, target in pairwise(chain)]

    def _attributes(self) -> dict[str, str]:
        """Read lists of attributes in brackets, if there are any."""
        attributes = {}
        while self._take("["):
            while not self._take("]"):
                key = self._name()
                if not self._take("="):
                    raise self._error("'='", "Write attributes as name=value.")
                attributes[key] = self._name()
                if not self._take(","):
                    self._take(";")
        return attributes

    def _name(self) -> str:
        """Read a name."""
        if self._at("{") or self._at_keyword("subgraph"):
            raise self._subgraph()
        if self._at_keyword("graph", "node", "edge", "digraph", "strict"):
            raise self._error("a name", "Put a keyword that is a name in quotation marks.")
        if self._now.kind not in ("plain", "quoted"):
            raise self._error("a name", "Put names with other characters in quotation marks.")
        text = self._now.text
        self.place += 1
        if self._at("+"):
            raise self._error("the next word", "Joined strings are not read: write the name in one piece.")
        return text

    def _subgraph(self) -> DeclarationError:
        return self._error("a node or an edge", "Subgraphs are not read: write their nodes and edges one by one.")


def graph_of(diagram: Diagram) -> nx.MultiDiGraph:
    """The diagram as a networkx graph: roles on the nodes, labels and columns on the edges."""
    graph = nx.MultiDiGraph()
    for name in diagram.names:
        graph.add_node(name, label=name, off=name == diagram.off, start=name in diagram.start, end=name == diagram.end)
    for column, ((source, target), label) in enumerate(
        zip(diagram.transitions, diagram.transition_labels, strict=True)
    ):
        graph.add_edge(source, target, key=label, label=label, column=column)
    return graph


def read_graph(graph: nx.DiGraph) -> Diagram:
    """The diagram of a networkx graph: nodes are states (named by `str`), edges transitions; roles as by `graph_of`."""
    if not isinstance(graph, nx.DiGraph):
        raise DeclarationError(
            f"StateMachine.from_networkx: expected a networkx DiGraph or MultiDiGraph, found {type(graph).__name__}. "
            "Transitions have a direction: convert an undirected graph with graph.to_directed()."
        )
    names = {node: str(node) for node in graph.nodes}
    repeated = [name for name, count in Counter(names.values()).items() if count > 1]
    if repeated:
        raise DeclarationError(
            "StateMachine.from_networkx: nodes must differ as text, but several are written "
            f"{listed(repeated)}. Relabel them with networkx.relabel_nodes."
        )
    if graph.is_multigraph():
        edges = list(graph.edges(keys=True, data=True))
    else:
        edges = [(source, target, None, data) for source, target, data in graph.edges(data=True)]
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


def _marked(graph: nx.DiGraph, role: str) -> str | None:
    """The name of the node that has a role, if one has it."""
    marked = [str(node) for node, data in graph.nodes(data=True) if data.get(role) is True]
    if len(marked) > 1:
        raise DeclarationError(
            f"StateMachine.from_networkx: at most one node may have {role}=True, found {listed(marked)}. "
            "Mark one of them."
        )
    return marked[0] if marked else None
