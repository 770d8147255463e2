"""The network: equations that belong together, checked and ordered by level."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from html import escape

import networkx as nx

from pfn.errors import DeclarationError
from pfn.network import graph
from pfn.network.columns import Columns, columns_for
from pfn.network.factorization import Factorization
from pfn.network.parameter import Parameter
from pfn.network.structured import Shift
from pfn.network.symbols import shown
from pfn.network.tables import html_table
from pfn.network.validation import check_network
from pfn.network.variable import Slice, Variable, check_name

Declared = Variable | Parameter | Factorization


@dataclass(frozen=True, init=False, repr=False)
class Network:
    """An immutable system of factorization equations.

    >>> from pfn import Variable, Parameter, t
    >>> x, h = Variable("x", 4), Variable("h", 6)
    >>> network = Network(Factorization([x[t], x[t + 1]], Parameter("W", shape=(8, 6)) @ h[t]))
    >>> print(network)
    eq1: [x[t]; x[t+1]] = W h[t]    x: 4; h: 6; W: 8 × 6 learned
    """

    factorizations: tuple[Factorization, ...]
    name: str | None

    def __init__(self, *factorizations: Factorization, name: str | None = None) -> None:
        if name is not None:
            check_name(name, "a network")
        for item in factorizations:
            if not isinstance(item, Factorization):
                several = " Unpack a list of them: Network(*factorizations)." if isinstance(item, list | tuple) else ""
                raise DeclarationError(
                    "Network takes factorizations such as pfn.Factorization(x[t], W @ h[t]), "
                    f"found {shown(item)}.{several}"
                )
        named = (item if item.name else item.named(f"eq{number}") for number, item in enumerate(factorizations, 1))
        object.__setattr__(self, "factorizations", tuple(named))
        object.__setattr__(self, "name", name)
        check_network(self.factorizations)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Every variable, in the order of first appearance, children before parents."""
        slices = (piece for e in self.factorizations for piece in (*e.children, *e.parents))
        return tuple(dict.fromkeys(piece.variable for piece in slices))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter, in the order of first appearance."""
        return tuple(dict.fromkeys(p for e in self.factorizations for p in e.parameters))

    @cached_property
    def bottom(self) -> tuple[Variable, ...]:
        """The variables that are never a parent: their number of columns is T."""
        parents = {parent.variable for e in self.factorizations for parent in e.parents}
        return tuple(variable for variable in self.variables if variable not in parents)

    @cached_property
    def levels(self) -> tuple[tuple[Variable, ...], ...]:
        """The variables of each level, the bottom (level 1) first."""
        of = self._variable_levels
        return tuple(
            tuple(v for v in self.variables if of[v.name] == level) for level in range(1, max(of.values()) + 1)
        )

    @cached_property
    def _variable_levels(self) -> dict[str, int]:
        arcs = graph.arcs_between_variables(self.factorizations, within_slice=not self.acyclic)
        levels: dict[str, int] = {}
        for name in nx.topological_sort(arcs.reverse()):
            levels[name] = 1 + max((levels[child] for child in arcs.successors(name)), default=0)
        return levels

    def level_of(self, item: Variable | Factorization | str) -> int:
        """The level of a variable (bottom: 1), or of an equation: the highest level of its children."""
        found = self[item]
        if isinstance(found, Factorization):
            return max(self._variable_levels[child.variable.name] for child in found.children)
        if isinstance(found, Variable):
            return self._variable_levels[found.name]
        raise DeclarationError(f"{found.name} is a parameter: only variables and factorizations have a level.")

    @cached_property
    def by_level(self) -> tuple[Factorization, ...]:
        """The equations from the bottom up; within a level in the order declared."""
        return tuple(sorted(self.factorizations, key=self.level_of))

    @cached_property
    def acyclic(self) -> bool:
        """Whether no variable depends on itself, not even through time."""
        return bool(nx.is_directed_acyclic_graph(graph.arcs_between_variables(self.factorizations)))

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods that can solve this network."""
        along_time = ("propagate", "exact", "substitute") if self.acyclic else ("exact",)
        windows = any(term.window for equation in self.factorizations for term in equation.terms)
        return along_time if windows else (*along_time, "consensus")

    def columns(self, slices: int) -> Columns:
        """The columns of every equation and variable when the bottom variables have this many."""
        if slices not in self._columns:
            self._columns[slices] = columns_for(self, slices)
        return self._columns[slices]

    @cached_property
    def _columns(self) -> dict[int, Columns]:
        """What was asked for before: thousands of sequences have few different lengths."""
        return {}

    def graph(self, observed: Iterable[Variable | str] = ()) -> nx.MultiDiGraph:
        """The directed graph of the paper's section 2.2, with the observed variables marked."""
        return graph.folded(self, {self.variable(item).name for item in observed})

    def unroll(self, slices: int, observed: Iterable[Variable | str] = ()) -> nx.MultiDiGraph:
        """The same graph with a node (name, time) for every variable and time slice."""
        return graph.unrolled(self, slices, {self.variable(item).name for item in observed})

    def __getitem__(self, item: Declared | str) -> Declared:
        """The declared object with this name; an object stands for itself."""
        if isinstance(item, Slice):
            raise DeclarationError(f"{item} is a slice: use the variable {item.variable.name} itself.")
        name = item if isinstance(item, str) else getattr(item, "name", None)
        found = self._namespace.get(name) if isinstance(name, str) else None
        if isinstance(item, Factorization) and found is None:
            found = next((e for e in self.factorizations if e.same_equation(item)), None)
        if found is None:
            raise DeclarationError(f"the network has nothing called {_shown(item)}. {self._hint(name)}")
        if not isinstance(item, str) and not _same(found, item):
            raise DeclarationError(f"{item!r} is not the {found!r} of this network. Use the network's own object.")
        return found

    @cached_property
    def _namespace(self) -> dict[str, Declared]:
        everything: tuple[Declared, ...] = (*self.variables, *self.parameters, *self.factorizations)
        return {item.name: item for item in everything}

    def _hint(self, name: object) -> str:
        close = get_close_matches(str(name), self._namespace, n=1)
        return f"Did you mean {close[0]}?" if close else f"It has {', '.join(self._namespace)}."

    def variable(self, item: Declared | str) -> Variable:
        """The variable with this name; anything else is refused."""
        found = self[item]
        if not isinstance(found, Variable):
            names = ", ".join(variable.name for variable in self.variables)
            raise DeclarationError(f"{found.name} is not a variable of the network. Its variables are {names}.")
        return found

    def __getstate__(self) -> dict[str, object]:
        """The declarations without what was derived from them: that is all another process needs."""
        return {"factorizations": self.factorizations, "name": self.name}

    def __str__(self) -> str:
        equations = [f"{e.name}: {e}" for e in self.factorizations]
        width = max(len(equation) for equation in equations)
        return "\n".join(
            f"{equation:<{width}}    {_sizes(e)}" for equation, e in zip(equations, self.factorizations, strict=True)
        )

    def _repr_html_(self) -> str:
        rows = [(e.name, str(e), _sizes(e), str(self.level_of(e))) for e in self.factorizations]
        return f"<p>{escape(repr(self))}</p>{html_table(('name', 'equation', 'sizes', 'level'), rows)}"

    def __repr__(self) -> str:
        named = f"{self.name}: " if self.name else ""
        return (
            f"Network({named}{len(self.factorizations)} equations, {len(self.variables)} variables, "
            f"{len(self.parameters)} parameters)"
        )


def _sizes(equation: Factorization) -> str:
    variables = dict.fromkeys(piece.variable for piece in (*equation.children, *equation.parents))
    parts = [f"{variable.name}: {variable.size}" for variable in variables]
    named = [p for p in dict.fromkeys(equation.parameters) if not isinstance(p, Shift)]
    parts += [f"{p.name}: {p.describe()}" for p in named]
    return "; ".join(parts) + (f"; normalize {equation.normalize}" if equation.normalize else "")


def _same(found: Declared, item: Declared) -> bool:
    """Whether both say the same; an equation may go by another name here."""
    if isinstance(found, Factorization) and isinstance(item, Factorization):
        return found.same_equation(item)
    return found == item


def _shown(item: object) -> str:
    return item if isinstance(item, str) else repr(item)
