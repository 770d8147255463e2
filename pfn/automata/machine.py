"""State machines with named states: the transition basis matrix of section 3.1, sequences in and out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, overload

import networkx as nx
import numpy as np
import numpy.typing as npt
import scipy.sparse

from pfn.automata.arrays import FloatArray, decode, encode, stacked_units, walk
from pfn.automata.diagram import Diagram, diagram_html, make_diagram
from pfn.automata.formats import graph_of, read_dot, read_graph, write_dot


@dataclass(frozen=True, init=False)
class StateMachine:
    """Named states and transitions between them: one column of `matrix()` per transition, in their order.

    `off` names the state that is the zero vector: it has no row, and `states` never contains it. `start`
    (one name or several) and `end` say where a walk begins and where a refinement rests (see `Hierarchy`).
    Parallel transitions need `labels`.

    >>> machine = StateMachine(["S1", "S2"], [("S1", "S2"), ("S2", "S2")])
    >>> machine.matrix()
    array([[1., 0.],
           [0., 1.],
           [0., 0.],
           [1., 1.]])
    >>> machine.transition_labels
    ('S1→S2', 'S2→S2')
    """

    states: tuple[str, ...]
    transitions: tuple[tuple[str, str], ...]
    transition_labels: tuple[str, ...]
    off: str | None
    start: tuple[str, ...]
    end: str | None

    def __init__(
        self,
        states: Iterable[str],
        transitions: Iterable[tuple[str, str]],
        *,
        off: str | None = None,
        start: str | Iterable[str] = (),
        end: str | None = None,
        labels: Iterable[str] | None = None,
    ) -> None:
        diagram = make_diagram(states, transitions, off=off, start=start, end=end, labels=labels)
        for field, value in diagram._asdict().items():
            object.__setattr__(self, field, value)

    @classmethod
    def from_networkx(
        cls,
        digraph: nx.DiGraph,
        *,
        off: str | None = None,
        start: str | Iterable[str] = (),
        end: str | None = None,
    ) -> StateMachine:
        """The machine with the digraph's nodes as states and its edges as transitions.

        Node attributes `off`, `start`, `end` that are True give the roles, unless the arguments do. Keys of a
        MultiDiGraph label the transitions if they are strings. `machine.graph()` is read back unchanged.
        """
        return cls._from_diagram(read_graph(digraph), off, start, end)

    @classmethod
    def from_dot(
        cls, text: str, *, off: str | None = None, start: str | Iterable[str] = (), end: str | None = None
    ) -> StateMachine:
        """The machine that a Graphviz digraph draws; a node without a face (`shape=point`) marks the start.

        >>> StateMachine.from_dot('digraph { a -> b -> a; b -> b [label="again"] }').transition_labels
        ('a→b', 'b→a', 'b→b')
        """
        return cls._from_diagram(read_dot(text), off, start, end)

    @classmethod
    def _from_diagram(
        cls, drawn: Diagram, off: str | None, start: str | Iterable[str], end: str | None
    ) -> StateMachine:
        """The machine of a diagram, with other roles where they are given."""
        return cls(
            drawn.names,
            drawn.transitions,
            off=off or drawn.off,
            start=start or drawn.start,
            end=end or drawn.end,
            labels=drawn.transition_labels,
        )

    @property
    def row_labels(self) -> tuple[str, ...]:
        """Labels for the rows of `matrix()`: the states now, then the states one step later."""
        return tuple(f"{state}[{time}]" for time in ("t", "t + 1") for state in self.states)

    @overload
    def matrix(self, sparse: Literal[False] = False) -> FloatArray: ...

    @overload
    def matrix(self, sparse: Literal[True]) -> scipy.sparse.csr_array: ...

    def matrix(self, sparse: bool = False) -> FloatArray | scipy.sparse.csr_array:
        """The transition basis matrix (2M x R): source's unit vector on top of target's; zeros for off."""
        rows: dict[str, int] = {name: row for row, name in enumerate(self.states)}
        sources = [rows.get(source) for source, _ in self.transitions]
        targets = [rows.get(target) for _, target in self.transitions]
        basis = stacked_units((len(rows), sources), (len(rows), targets))
        return basis if sparse else basis.toarray()

    def graph(self) -> nx.MultiDiGraph:
        """The diagram to draw: nodes with `label`, `off`, `start`, `end`; edges with `label` and `column`."""
        return graph_of(self._diagram())

    def dot(self) -> str:
        """The diagram as Graphviz DOT, which `from_dot` reads back unchanged."""
        return write_dot(self._diagram())

    def sample(self, length: int, seed: int | np.random.Generator = 0, *, initial: str | None = None) -> list[str]:
        """A random valid sequence: outgoing transitions are equally likely, and an off state may stay off.

        It begins in `initial`, else in one of the start states, else in any state.

        >>> StateMachine(["a", "b"], [("a", "b"), ("b", "a")]).sample(4, seed=0, initial="a")
        ['a', 'b', 'a', 'b']
        """
        return walk(self._diagram(), length, np.random.default_rng(seed), initial)

    def encode(self, sequence: Iterable[str | None], magnitude: float = 1.0) -> FloatArray:
        """The sequence as an array (states, time): `"?"` or None is hidden (NaN), the off state is zeros.

        Add the arrays of several sequences to superpose them.

        >>> StateMachine(["a", "b"], [("a", "b")]).encode(["a", "?", "b"], magnitude=0.5)
        array([[0.5, nan, 0. ],
               [0. , nan, 0.5]])
        """
        return encode(self._diagram(), sequence, magnitude)

    def decode(self, values: npt.ArrayLike, threshold: float = 0.01) -> list[list[tuple[str, float]]]:
        """The states of each column of an array (states, time) with magnitudes, largest first; none: off.

        Values up to `threshold` count as zero; the default is what inference to an RMSE of 1e-3 may leave.

        >>> StateMachine(["a", "b"], [("a", "b")]).decode([[0.2, 0.0], [0.5, 0.0]])
        [[('b', 0.5), ('a', 0.2)], []]
        """
        return decode(self.states, values, threshold)

    def _repr_html_(self) -> str:
        return diagram_html(self._diagram(), "StateMachine")

    def _diagram(self) -> Diagram:
        return Diagram(self.states, self.transitions, self.transition_labels, self.off, self.start, self.end)
