"""State diagrams to Graphviz DOT and back: what state diagrams use of the language, the rest refused."""

from dataclasses import dataclass, field
from itertools import pairwise

from pfn.automata.diagram import Diagram, default_label, listed
from pfn.automata.dot_tokens import Token, dot_error, tokenize
from pfn.errors import DeclarationError

_FACELESS = {"none", "plain", "plaintext"}
_TRUE = {"true", "True", "1"}


def read_dot(text: str) -> Diagram:
    """The diagram that a DOT digraph draws.

    Nodes with `off=true`, `start=true` or `end=true` have that role. A node that only draws an arrow into
    the diagram (a point, invisible, or without text) is no state: its targets are start states. The edge
    attribute `key` labels a transition. Parallel edges need different keys; `strict digraph` merges them.
    """
    reader = _Reader(text, tokenize(text))
    reader.read()
    return _diagram(reader)


def write_dot(diagram: Diagram) -> str:
    """The diagram as a digraph, one statement per state and per transition."""
    lines = [f"  {_quoted(name)}{_roles(diagram, name)};" for name in diagram.names]
    for (source, target), label in zip(diagram.transitions, diagram.transition_labels, strict=True):
        key = "" if label == default_label(source, target) else f" [key={_quoted(label)}]"
        lines.append(f"  {_quoted(source)} -> {_quoted(target)}{key};")
    return "\n".join(["digraph {", *lines, "}", ""])


@dataclass
class _Edge:
    source: str
    target: str
    attributes: dict[str, str]


@dataclass
class _Reader:
    """Walks through the words once and collects nodes and edges."""

    source: str
    tokens: list[Token]
    place: int = 0
    strict: bool = False
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[_Edge] = field(default_factory=list)
    defaults: dict[str, str] = field(default_factory=dict)

    def read(self) -> None:
        self._header()
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

    def _header(self) -> None:
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

    def _statement(self) -> None:
        if self._at("{") or self._at_keyword("subgraph"):
            raise self._subgraph()
        if self._at_keyword("graph", "node", "edge"):
            self._default_attributes()
            return
        name = self._name()
        if self._take("="):
            self._name()
            return
        chain = [name]
        while self._take("->"):
            chain.append(self._name())
        self._end_of_chain(chain)

    def _default_attributes(self) -> None:
        of_nodes = self._at_keyword("node")
        self.place += 1
        attributes = self._attributes()
        if of_nodes:
            self.defaults.update(attributes)

    def _end_of_chain(self, chain: list[str]) -> None:
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


def _diagram(reader: _Reader) -> Diagram:
    arrows = _start_arrows(reader)
    marked = [edge.target for edge in reader.edges if edge.source in arrows]
    marked += [name for name, attributes in reader.nodes.items() if attributes.get("start") in _TRUE]
    edges = _merged([edge for edge in reader.edges if edge.source not in arrows], reader.strict)
    off = _only(reader, "off")
    return Diagram(
        states=tuple(name for name in reader.nodes if name not in arrows and name != off),
        transitions=tuple((edge.source, edge.target) for edge in edges),
        transition_labels=tuple(edge.attributes.get("key", default_label(edge.source, edge.target)) for edge in edges),
        off=off,
        start=tuple(dict.fromkeys(marked)),
        end=_only(reader, "end"),
    )


def _start_arrows(reader: _Reader) -> set[str]:
    targets = {edge.target for edge in reader.edges}
    sources = {edge.source for edge in reader.edges}
    return {
        name
        for name, attributes in reader.nodes.items()
        if name in sources and name not in targets and _without_face(name, attributes)
    }


def _without_face(name: str, attributes: dict[str, str]) -> bool:
    shape = attributes.get("shape")
    nothing_written = not attributes.get("label", name)
    return shape == "point" or attributes.get("style") == "invis" or (shape in _FACELESS and nothing_written)


def _merged(edges: list[_Edge], strict: bool) -> list[_Edge]:
    if not strict:
        return edges
    first: dict[tuple[str, str], _Edge] = {}
    for edge in edges:
        first.setdefault((edge.source, edge.target), edge)
    return list(first.values())


def _only(reader: _Reader, role: str) -> str | None:
    marked = [name for name, attributes in reader.nodes.items() if attributes.get(role) in _TRUE]
    if len(marked) > 1:
        raise DeclarationError(
            f"StateMachine.from_dot: at most one node may have {role}=true, found {listed(marked)}. Mark one of them."
        )
    return marked[0] if marked else None


def _quoted(name: str) -> str:
    if "\\" in name:
        raise DeclarationError(
            f"StateMachine.dot: DOT cannot hold the backslash in the name {name!r} faithfully. Rename it."
        )
    return '"' + name.replace('"', '\\"') + '"'


def _roles(diagram: Diagram, name: str) -> str:
    holders = {"off": (diagram.off,), "start": diagram.start, "end": (diagram.end,)}
    held = [f"{role}=true" for role, names in holders.items() if name in names]
    return f" [{', '.join(held)}]" if held else ""
