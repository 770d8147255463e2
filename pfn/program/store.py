"""What variables and parameters are in a program: constants, or state and what it starts with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.formulas.momentum import FLOOR
from pfn.network import Factorization, Network, Parameter
from pfn.network.matrices import is_diagonal
from pfn.program.layout import Layout
from pfn.program.problem import Problem, Pull, dense, has_hidden, pulls
from pfn.program.program import IndexMap, Pattern
from pfn.program.tape import Tape, Tracer, as_constant


class SparseForm:
    """The stored entries of a sparse matrix: their pattern, that of the transposed matrix, and how to reorder them."""

    def __init__(self, matrix: Any) -> None:
        csr = sp.csr_array(matrix)
        self.pattern = Pattern(csr.shape, csr.indptr, csr.indices)
        self.diagonal = is_diagonal(csr)
        order = sp.csr_array((np.arange(csr.nnz), csr.indices, csr.indptr), csr.shape).T.tocsr()
        self.turned = Pattern(order.shape, order.indptr, order.indices)
        self.turn = IndexMap(order.data, csr.nnz)
        self.columns = IndexMap(csr.indices, csr.shape[1])

    @cached_property
    def digest(self) -> bytes:
        """The same for the same pattern, and most likely for no other."""
        parts = [np.asarray(self.pattern.shape), self.pattern.indptr, self.pattern.indices]
        return sha256(b"".join(part.tobytes() for part in parts)).digest()


class SlotCounts(NamedTuple):
    """How often the slots of an equation count."""

    live: np.ndarray | None
    """Booleans, false where the equation does not hold; None where it holds in all slots."""
    weights: np.ndarray
    """Zero where it does not hold, else the weight of the column."""

    @property
    def uniform(self) -> bool:
        """Whether every slot counts once."""
        return bool((self.weights == 1).all())


@dataclass(frozen=True)
class Unit:
    """Learned parameters that lie side by side in one matrix and are updated as one; often a single parameter."""

    parameters: tuple[Parameter, ...]
    form: SparseForm | None  # of a sparse parameter, of which only the stored entries are learned

    @property
    def name(self) -> str:
        """The name of its array."""
        return "unit " + " ".join(parameter.name for parameter in self.parameters)

    @property
    def names(self) -> frozenset[str]:
        """The names of the parameters."""
        return frozenset(parameter.name for parameter in self.parameters)

    def columns(self, parameter: Parameter) -> slice:
        """Where a parameter lies in the matrix."""
        start = sum(p.shape[1] for p in self.parameters[: self.parameters.index(parameter)])
        return slice(start, start + parameter.shape[1])


@dataclass(frozen=True)
class Held:
    """Observations of a variable that is not observed throughout, NaN where hidden, and a mask true where they are."""

    values: np.ndarray
    mask: np.ndarray


# Sparse observations of up to this number of entries are made dense: then the formulas hold to the last digit, while
# equations with sparse children leave ε out where X is zero.
DENSE_ENTRIES = 1 << 22


class SparseData(NamedTuple):
    """Observations of which only the stored entries are kept; the others are zero."""

    entries: np.ndarray
    form: SparseForm


class Store:
    """The arrays of a run: constants of variables observed throughout, starting values of all others and of units."""

    def __init__(self, problem: Problem, layout: Layout) -> None:
        self.problem, self.layout, self.network = problem, layout, problem.schedule.network
        self.units = _make_units(problem)
        self.unit_of = {p.name: unit for unit in self.units for p in unit.parameters}
        self.pulls = pulls(problem)
        self.fixed: dict[str, np.ndarray] = {}
        self.sparse: dict[str, SparseData] = {}
        self.start: dict[str, np.ndarray] = {}
        self.given: dict[str, Callable[[], np.ndarray]] = {}
        self.held: dict[str, Held] = {}
        for name in self._in_order_of_equations():
            self._place(name)
        for unit in self.units:
            self.start[unit.name] = _start_of(unit, problem.start, problem.dtype)
        self._say_what_is_given()

    def _say_what_is_given(self) -> None:
        """By the name of an array, how it is made from data and starting values: what another run has otherwise."""

        def let(name: str, function: Callable[..., Any], *arguments: Any) -> None:
            self.given[name] = lambda: as_constant(function(*arguments), self.problem.dtype)

        for name in self.fixed:
            let(name, self.fixed.__getitem__, name)
        for name, data in self.sparse.items():
            let(f"entries of {name}", lambda data: data.entries, data)
        for name, held in self.held.items():
            let(f"{name} observed", lambda held: held.values, held)
            let(f"{name} is observed", lambda held: held.mask, held)
        for unit in self.units:
            let(f"{unit.name} weight of the prior", lambda unit: self._weighted(unit)[0], unit)
            let(f"{unit.name} weighted prior", lambda unit: self._weighted(unit)[1], unit)
        for equation in self.network.factorizations:
            let(f"{equation.name} counts", lambda e: self.counts_of(e).weights, equation)
        for name in self.start:
            let(name, self.start.__getitem__, name)
            let(f"before {name}", lambda name: 2 * np.maximum(self.start[name], FLOOR), name)
            let(f"{name} floor", lambda name: np.where(self.start[name] == 0, 0, FLOOR), name)

    def counts_of(self, equation: Factorization) -> SlotCounts:
        """The counts of an equation's slots, from its sequences and the user's weights."""
        live = self.layout.live(equation)
        weights = np.ones(self.layout.count(equation)) if live is None else live.astype(float)
        for sequence, given in enumerate(self.problem.weights.get(equation.name, ())):
            start = int(self.layout.starts[sequence])
            weights[start : start + given.size] *= given
        return SlotCounts(live, weights)

    def signature(self) -> tuple[object, ...]:
        """What programs depend on beside the network: runs of the same signature differ in what is given only."""
        problem = self.problem
        forms = [unit.form.digest if unit.form else None for unit in self.units]
        pulled = [None if pull is None else np.shape(pull.prior) for pull in map(self.pull_of, self.units)]
        return (
            *self.layout.signature,
            *(problem.dtype.str, problem.epsilon, problem.averaging, problem.divergence.name),
            *(problem.joint, problem.accelerated, problem.learned, problem.released, problem.weigh_parents),
            tuple(sorted((name, problem.rhythm(name)) for name in problem.learned)),
            *(frozenset(self.fixed), frozenset(self.held)),
            tuple((name, data.form.digest) for name, data in self.sparse.items()),
            frozenset(name for name, start in self.start.items() if not start.all()),
            frozenset(e.name for e in self.network.factorizations if not self.counts_of(e).uniform),
            *(tuple(forms), tuple(pulled)),
        )

    def _in_order_of_equations(self) -> list[str]:
        """Parents of a level follow each other: their values are updated together, and so are their factors."""
        parents = [p.variable.name for e in self.network.by_level for p in e.parents]
        return list(dict.fromkeys([*parents, *(v.name for v in self.network.variables)]))

    def _place(self, name: str) -> None:
        problem, dtype = self.problem, self.problem.dtype
        observed = problem.observed.get(name)
        if observed is not None and name not in problem.released and not any(map(has_hidden, observed)):
            if all(map(sp.issparse, observed)) and self._may_stay_sparse(name):
                matrix = self.layout.sparse_side_by_side(name, observed, dtype)
                self.sparse[name] = SparseData(matrix.data, SparseForm(matrix))
            else:
                self.fixed[name] = self.layout.side_by_side(name, map(dense, observed), 0.0, dtype)
            return
        start = np.array(self.layout.side_by_side(name, problem.start[name], 0.0, dtype))
        if observed is not None:
            values = self.layout.side_by_side(name, map(dense, observed), np.nan, dtype)
            mask = ~np.isnan(values)
            if mask.any():
                self.held[name] = Held(values, mask)
                np.copyto(start, values, where=mask)
        self.start[name] = start

    def _may_stay_sparse(self, name: str) -> bool:
        """Whether a variable is large, and the only child, as it is, of equations with Kullback-Leibler updates."""
        problem, size = self.problem, self.network.variable(name).size
        if size * self.layout.width(name) <= DENSE_ENTRIES or problem.divergence.name != "kl":
            return False
        for equation in self.network.factorizations:
            children = [child for child in equation.children if child.variable.name == name]
            sparse = any(sp.issparse(problem.start[p.name]) for p in equation.parameters)
            if children and (len(equation.children) > 1 or children[0].lag or sparse):
                return False
            if any(parent.variable.name == name for parent in equation.parents):
                return False
        return True

    def forget_starts(self) -> None:
        """Keep of the starting values, which the state has taken, only which of them are zero: those stay zero."""
        for name, start in self.start.items():
            self.start[name] = np.broadcast_to(np.ones((), start.dtype), start.shape) if start.all() else start != 0

    def variable(self, tape: Tape, name: str) -> Tracer:
        """The array of a variable."""
        return tape.given(name) if name in self.fixed else tape.state(name)

    def unit(self, tape: Tape, unit: Unit) -> Tracer:
        """The matrix of a unit, or its stored entries."""
        return tape.state(unit.name)

    def parameter(self, tape: Tape, parameter: Parameter) -> Tracer:
        """The matrix of a learned dense parameter."""
        unit = self.unit_of[parameter.name]
        return self.unit(tape, unit).columns(unit.columns(parameter))

    def pull_of(self, unit: Unit) -> Pull | None:
        """What a unit is pulled to and how much, where one of its parameters has a prior or past statistics.

        Columns of parameters without a pull have the weight zero.
        """
        found = [self.pulls.get(p.name) for p in unit.parameters]
        if all(pull is None for pull in found):
            return None
        if unit.form is not None:
            return found[0]
        shape = self.start[unit.name].shape
        prior, weight = np.zeros(shape), np.zeros(shape)
        for parameter, pull in zip(unit.parameters, found, strict=True):
            if pull is not None:
                prior[:, unit.columns(parameter)] = pull.prior
                weight[:, unit.columns(parameter)] = pull.weight
        return Pull(prior, weight)

    def _weighted(self, unit: Unit) -> tuple[np.ndarray, np.ndarray]:
        """The weight κ of what a unit is pulled to, and κ times that, for every entry."""
        pull = self.pull_of(unit)
        assert pull is not None  # asked for only where there is one
        weight = np.asarray(pull.weight)
        return np.array(np.broadcast_to(weight, np.shape(pull.prior))), weight * pull.prior


def _make_units(problem: Problem) -> list[Unit]:
    """The learned parameters of the problem, in the order of their first equation."""
    network, units = problem.schedule.network, list[Unit]()
    placed: set[str] = set()
    for equation in network.factorizations:
        learned = [p for p in dict.fromkeys(equation.parameters) if p.name in problem.learned and p.name not in placed]
        if _side_by_side(network, equation, problem):
            units.append(Unit(tuple(learned), None))
        else:
            units += [Unit((p,), _form_of(problem.start[p.name])) for p in learned]
        placed.update(p.name for p in learned)
    return units


def _side_by_side(network: Network, equation: Factorization, problem: Problem) -> bool:
    """Whether all parameters of the equation are learned, dense, updated together, and used here only."""
    uses = [p for e in network.factorizations for p in e.parameters]
    return (
        len(equation.terms) > 1
        and all(p.name in problem.learned and uses.count(p) == 1 for p in equation.parameters)
        and not any(sp.issparse(problem.start[p.name]) for p in equation.parameters)
        and len({problem.rhythm(p.name) for p in equation.parameters}) == 1
    )


def _form_of(value: Any) -> SparseForm | None:
    return SparseForm(value) if sp.issparse(value) else None


def _start_of(unit: Unit, start: Mapping[str, Any], dtype: np.dtype[Any]) -> np.ndarray:
    if unit.form is not None:
        return np.array(start[unit.parameters[0].name].data, dtype)
    return np.hstack([np.asarray(start[p.name], dtype) for p in unit.parameters])
