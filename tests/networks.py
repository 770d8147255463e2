"""The networks of the paper, and random ones that use everything a declaration offers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

import pfn
from pfn import t
from tests.oracle import array_columns, column_counts, weights_reach

Array = np.ndarray[Any, np.dtype[np.float64]]


def units(*parts: tuple[int, Sequence[int]]) -> Array:
    """Columns of stacked unit vectors; a part is its size and each column's component from 1, 0 for none."""
    return np.vstack([np.eye(size, size + 1, 1)[:, list(components)] for size, components in parts])


W_DETERMINISTIC = units((4, (1, 2, 3, 4)), (4, (2, 3, 4, 1)))
W_NONDETERMINISTIC = units((4, (1, 2, 3, 4, 3, 2)), (4, (2, 3, 4, 1, 3, 4)))

# The tracking example. The paper's figures of emissions and targets are lost: these satisfy its sentences.
PATTERN, POSITIONS, SENSORS, SLICES = 5, 15, 19, 26
NORMALIZATIONS = (None, "columns", "subcolumns", "balanced", "sequences")
EMITTED = (3, 1, 5, 2, 4, 3, 4, 2, 1)  # by state, a row of the pattern from 1
TARGETS = (  # type, magnitude, first slice, states, positions, all from 1
    (1, 1.0, 3, (1, 2, 3, 4, 5), (4,) * 5),
    (1, 0.8, 4, (1, 2, 3, 4, 5, 2, 3, 4, 5), (10,) * 5 + (11,) * 4),
    (2, 0.6, 16, (6, 7, 8, 9, 7, 8, 9, 7, 8, 9), (8,) * 4 + (7,) * 6),
)


def plain_nmf(rows: int, columns_of_w: int) -> pfn.Network:
    """x = W h with W learned."""
    x, h = pfn.Variable("x", rows), pfn.Variable("h", columns_of_w)
    return pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(rows, columns_of_w)) @ h[t]))


def automaton(W: Array) -> pfn.Network:
    """[x_t; x_t+1] = W h_t with the transitions as columns of W (paper, section 3)."""
    x, h = pfn.Variable("x", W.shape[0] // 2), pfn.Variable("h", W.shape[1])
    return pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", W) @ h[t]))


def section_2_2() -> pfn.Network:
    """The example of section 2.2: 12 variables of different sizes, 10 equations, 13 learned parameters."""
    x = {number: pfn.Variable(f"x{number}", 2 + number % 3) for number in range(1, 13)}
    equations = (
        (1, 5, 6),
        (2, 6, 7),
        (2, 8, 9),
        (2, 10),
        (3, 10),
        (3, 11),
        (4, 11),
        (6, 12),
        (10, 12),
        (11, 12),
    )
    factorizations = []
    number = 0
    for child, *parents in equations:
        terms = []
        for parent in parents:
            number += 1
            terms.append(pfn.Parameter(f"W{number}", shape=(x[child].size, x[parent].size)) @ x[parent][t])
        factorizations.append(pfn.Factorization(x[child][t], sum(terms)))
    return pfn.Network(*factorizations)


def decays() -> pfn.Network:
    """Notes that ring on, through windows that never end and that do."""
    x, note, event = pfn.Variable("x", 3), pfn.Variable("note", 2), pfn.Variable("event", 2)
    return pfn.Network(
        pfn.Factorization(x[t], pfn.Parameter("W", shape=(3, 2)) @ pfn.decay(note[t], 0.5), name="sound"),
        pfn.Factorization(note[t], event[t] + pfn.decay(event[t - 1], [0.5, 0.9], 3)),
    )


def regular_expression() -> pfn.Network:
    """a+b(de)*c(de)+ as two coupled automata (paper, section 4)."""
    x1, h1, x2, h2 = (pfn.Variable(*given) for given in (("x1", 3), ("h1", 5), ("x2", 6), ("h2", 11)))
    v = pfn.Variable("v", 13)
    lower = units((3, (1, 2, 2, 3, 3)), (3, (2, 3, 1, 1, 3)))
    upper = units((6, (1, 1, 2, 2, 3, 4, 5, 6, 5, 3, 6)), (6, (1, 2, 3, 4, 4, 5, 6, 1, 5, 3, 6)))
    coupled = units((11, (3, 10, 10, 5, 6, 9, 9, 7, 11, 8, 1, 2, 4)), (5, (4, 1, 3, 2, 4, 1, 3, 2, 5, 5, 5, 5, 5)))
    return pfn.Network(
        pfn.Factorization([x1[t], x1[t + 1]], pfn.Parameter("W1", lower) @ h1[t]),
        pfn.Factorization([x2[t], x2[t + 1]], pfn.Parameter("W2", upper) @ h2[t]),
        pfn.Factorization([h2[t], h1[t]], pfn.Parameter("U", coupled) @ v[t]),
    )


def tracking_matrices() -> dict[str, Array]:
    """W1 ... W7 of section 5; the paper misprints the numbers of rows of W3, W5 and W7."""
    everywhere, states = range(1, POSITIONS + 1), range(1, 10)
    rows = [row for row in range(1, PATTERN + 1) for _ in everywhere]
    shifts = [shift for _ in range(PATTERN) for shift in everywhere]
    sensors = [row + shift - 1 for row, shift in zip(rows, shifts, strict=True)]
    stay, leave, enter = [*everywhere], [*everywhere][:-1], [*everywhere][1:]
    none = [0] * POSITIONS
    kinds = [1] * POSITIONS + [2] * 2 * (POSITIONS - 1) + [3] * POSITIONS + [4] * POSITIONS
    before, after = stay + leave + enter + none + stay, stay + enter + leave + stay + none
    return {
        "W1": units((PATTERN, rows), (POSITIONS, shifts), (SENSORS, sensors)),
        "W2": units((POSITIONS, before), (POSITIONS, after)),
        "W3": units((9, states), (PATTERN, EMITTED)),
        "W4": units((4, kinds), (len(kinds), range(1, len(kinds) + 1))),
        "W5": units(
            (13, (6, 6, 12, 12, 7, 13, 5, 11, 1, 2, 3, 4, 8, 9, 10)),
            (4, (2, 1, 2, 1, 3, 3, 4, 4, 1, 1, 1, 1, 1, 1, 1)),
        ),
        "W6": units((9, (1, 2, 3, 4, 5, 5, 0, 6, 7, 8, 9, 9, 0)), (9, (2, 3, 4, 5, 0, 2, 1, 7, 8, 9, 0, 7, 6))),
        "W7": units((2, (1, 1, 1, 1, 1, 2, 2, 2, 2)), (9, states)),
    }


def tracking() -> pfn.Network:
    """The target tracker of section 5: equation eq1 uses W1, eq2 uses W2, and so on."""
    W = {name: pfn.Parameter(name, scipy.sparse.csr_array(value)) for name, value in tracking_matrices().items()}
    sizes = {"x1": SENSORS, "x2": POSITIONS, "x3": PATTERN, "x4": 9, "x5": 2, "h2": 4}
    sizes |= {"u1": W["W1"].shape[1], "u2": 9, "u3": 9, "h1": W["W2"].shape[1], "h3": 13}
    sizes |= {"v1": W["W4"].shape[1], "v2": W["W5"].shape[1]}
    v = {name: pfn.Variable(name, size) for name, size in sizes.items()}
    return pfn.Network(
        pfn.Factorization([v["x3"][t], v["x2"][t], v["x1"][t]], W["W1"] @ v["u1"][t]),
        pfn.Factorization([v["x2"][t], v["x2"][t + 1]], W["W2"] @ v["h1"][t]),
        pfn.Factorization([v["x4"][t], v["x3"][t]], W["W3"] @ v["u2"][t]),
        pfn.Factorization([v["h2"][t], v["h1"][t]], W["W4"] @ v["v1"][t]),
        pfn.Factorization([v["h3"][t], v["h2"][t]], W["W5"] @ v["v2"][t]),
        pfn.Factorization([v["x4"][t], v["x4"][t + 1]], W["W6"] @ v["h3"][t]),
        pfn.Factorization([v["x5"][t], v["x4"][t]], W["W7"] @ v["u3"][t]),
    )


def tracking_scene() -> dict[str, Array]:
    """The clean sensor image x1 of the three targets, and the true x2 ... x5."""
    sizes = {"x1": SENSORS, "x2": POSITIONS, "x3": PATTERN, "x4": 9, "x5": 2}
    scene = {name: np.zeros((size, SLICES)) for name, size in sizes.items()}
    for kind, magnitude, first, states, positions in TARGETS:
        for column, (state, position) in enumerate(zip(states, positions, strict=True), first - 1):
            emitted = EMITTED[state - 1]
            active = {"x1": emitted + position - 1, "x2": position, "x3": emitted, "x4": state, "x5": kind}
            for name, component in active.items():
                scene[name][component - 1, column] += magnitude
    return scene


def hierarchy(bins: int, sizes: Sequence[int], children: int, separations: Sequence[int]) -> pfn.Network:
    """Section 6: x1 under x2, x3, ...; every slice explains as many slices below, that far apart."""
    variables = [pfn.Variable(f"x{number}", size) for number, size in enumerate([bins, *sizes], 1)]
    factorizations = []
    for number, separation in enumerate(separations):
        below, above = variables[number], variables[number + 1]
        W = [pfn.Parameter(f"W{number + 1}_{k + 1}", shape=(below.size, above.size)) for k in range(children)]
        terms = sum(W[k] @ above[t - k * separation] for k in range(children))
        factorizations.append(pfn.Factorization(below[t], terms, normalize="sequences"))
    return pfn.Network(*factorizations)


@dataclass(frozen=True)
class RandomProblem:
    """A small network with data and starting values; the options are keywords of oracle.sweep_many."""

    network: pfn.Network
    data: dict[str, Array]
    initial: dict[str, Array]
    options: dict[str, Any]


def random_joint_problem(seed: int) -> RandomProblem:
    """The same for updates="joint", which need columns with sums that stay."""
    problem = random_problem(seed, ("columns", "subcolumns", "sequences"))
    return replace(problem, options=problem.options | {"updates": "joint", "divergence": "kl"})


def random_problem(
    seed: int, normalizations: Sequence[str | None] = NORMALIZATIONS, *, any_weights: bool = False
) -> RandomProblem:
    """A problem that uses some of everything, always valid, the same for the same seed.

    Columns that share a hidden parent have one weight, as `Propagate` needs, unless there may be any weights.
    """
    rng = np.random.default_rng(seed)
    learn = rng.random() < 0.85
    network = Drawing(rng, learn, normalizations).network()
    learn = learn and any(parameter.learn for parameter in network.parameters)
    data = random_data(rng, network)
    initial = random_initial(rng, network, data, learn)
    options = random_options(rng, network, data, learn)
    if not any_weights:
        lists = ({name: [array] for name, array in given.items()} for given in (data, options["weights"]))
        weights = weights_that_reach(network, *lists, [*options["release"]])
        options["weights"] = {name: array for name, (array,) in weights.items()}
    return RandomProblem(network, data, initial, options)


def weights_that_reach(
    network: pfn.Network,
    data: dict[str, list[Array]],
    weights: dict[str, list[Array]],
    released: Sequence[str],
) -> dict[str, list[Array]]:
    """The weights of these sequences, if `Propagate` takes them; or else one a time for all equations; or else one."""
    if not weights:
        return weights
    lengths = range(len(next(iter(data.values()))))
    counts = [column_counts(network, {name: arrays[number] for name, arrays in data.items()}) for number in lengths]
    times = [np.resize(max((w[number] for w in weights.values()), key=len), 20) for number in lengths]
    for drawn in (weights, times, [np.full(20, 1.5)] * len(counts)):
        found = drawn
        if isinstance(drawn, list):
            found = {e: [numbers[: count[e]] for numbers, count in zip(drawn, counts, strict=True)] for e in counts[0]}
        if weights_reach(network, data, found, released):
            return found
    raise AssertionError("equal weights reach everything")


@dataclass
class Drawing:
    """A random network while it is drawn; parents are in a higher layer than children."""

    rng: np.random.Generator
    learn: bool
    normalizations: Sequence[str | None]
    layers: list[list[Any]] = field(default_factory=list)
    factorizations: list[Any] = field(default_factory=list)
    parameters: list[tuple[Any, Any]] = field(default_factory=list)  # with what their normalizations must share
    arcs: set[tuple[str, str, int]] = field(default_factory=set)

    def network(self) -> pfn.Network:
        """Equations from the bottom up: one at least in every layer, so that there are that many levels."""
        depth = int(self.rng.integers(1, 5))
        # Parameters of equal shape and normalization can be tied: draw networks with many of them as well.
        pool = [1, 2, 2, 3, 3, 4, 6] if self.chance(0.6) else [int(self.rng.integers(1, 4))]
        if self.chance(0.3):
            self.normalizations = [self.pick(self.normalizations)]
        for layer in range(depth + 1):
            sizes = self.rng.choice(pool, size=self.rng.integers(1, 4))
            self.layers.append([pfn.Variable(f"x{layer}{'abc'[n]}", int(size)) for n, size in enumerate(sizes)])
        for layer in range(depth):
            while not self.add_equation(layer, self.layers[layer][0]):
                pass
        for layer in self.rng.integers(depth, size=self.rng.integers(0, depth + 2)):
            self.add_equation(int(layer), self.pick(self.layers[layer]))
        return pfn.Network(*self.factorizations)

    def add_equation(self, layer: int, child: Any) -> bool:
        """Draw an equation with this child, of this layer; keep it if no other has one of its arcs."""
        children, parents = self.draw_children(layer, child), self.draw_parents(layer)
        arcs = {(c.variable.name, p.variable.name, c.lag - p.lag) for c in children for p in parents}
        if arcs & self.arcs:
            return False
        self.arcs |= arcs
        normalize = self.pick(self.normalizations)
        terms = sum(self.draw_term(children, parents[0], parent, normalize) for parent in parents)
        name = f"f{len(self.factorizations)}" if self.chance(0.3) else None
        self.factorizations.append(pfn.Factorization(children, terms, name=name, normalize=normalize))
        return True

    def draw_children(self, layer: int, first: Any) -> list[Any]:
        """Slices of this child and perhaps of others, of this layer or lower, in any order."""
        found = [first[t + self.pick([0, 0, 0, 0, 1, 2])]]
        if self.chance(0.25):
            found = [first[t], first[t + 1]]
        while self.chance(0.35) and len(found) < 4:
            lower = self.pick(self.layers[int(self.rng.integers(layer + 1))])
            found.append(lower[t + self.pick([0, 0, 1, 2])])
        return self.shuffled(found)

    def draw_parents(self, layer: int) -> list[Any]:
        """A slice of the next layer's first variable, and perhaps others of any higher layer."""
        first = self.layers[layer + 1][0]
        found = [first[t - self.pick([0, 0, 0, 1, 2])]]
        while self.chance(0.5) and len(found) < 4:
            upper = self.pick(self.layers[int(self.rng.integers(layer + 1, len(self.layers)))])
            higher = first if self.chance(0.4) else upper
            found.append(higher[t - self.pick([0, 0, 1, 2, 3])])
        return self.shuffled(found)

    def draw_term(self, children: list[Any], first: Any, parent: Any, normalize: str | None) -> Any:
        """A parameter times a parent: a tied one where one fits, else a new one."""
        shape = (sum(child.variable.size for child in children), parent.variable.size)
        # The j-th columns of a sequence must exist in all its learned parts.
        learned = self.chance(0.6) and (normalize != "sequences" or shape[1] == first.variable.size)
        shared = shared_normalization(children, normalize) if learned else ("known",)
        fitting = [p for p, key in self.parameters if p.shape == shape and key == shared]
        # A sequence that contains one matrix twice could be summed in two ways.
        if fitting and self.chance(0.6) and shared != ("sequences",):
            return self.pick(fitting) @ parent
        parameter = self.draw_parameter(shape, learned)
        self.parameters.append((parameter, shared))
        return parameter @ parent

    def draw_parameter(self, shape: tuple[int, int], learned: bool) -> Any:
        """A new parameter, known or learned, dense or sparse, with or without a start or a prior."""
        name = f"W{len(self.parameters) + 1}"
        value = with_zeros(self.rng, self.rng.uniform(0.1, 1, shape), 0.3)
        sparse = scipy.sparse.csr_array(value)
        if not learned:
            return pfn.Parameter(name, sparse if self.chance(0.5) else value)
        if self.chance(0.1):
            return pfn.Parameter(name, sparse, learn=True)
        prior: dict[str, Any] = {}
        if self.chance(0.3):
            prior = {"prior": self.rng.random(shape), "prior_weight": float(self.rng.uniform(0.1, 2))}
        if self.chance(0.3) or not self.learn:
            return pfn.Parameter(name, value, learn=True, **prior)
        return pfn.Parameter(name, shape=shape, **prior)

    def chance(self, probability: float) -> bool:
        """True that often."""
        return bool(self.rng.random() < probability)

    def pick(self, items: Sequence[Any]) -> Any:
        """One of the items."""
        return items[int(self.rng.integers(len(items)))]

    def shuffled(self, items: Sequence[Any]) -> list[Any]:
        """The different ones among the items, in any order."""
        different = list(dict.fromkeys(items))
        return [different[place] for place in self.rng.permutation(len(different))]


def shared_normalization(children: list[Any], normalize: str | None) -> tuple[Any, ...]:
    """What the equations of a tied parameter must have in common."""
    in_parts = normalize in ("subcolumns", "balanced")
    return (normalize, *(child.variable.size for child in children)) if in_parts else (normalize,)


def with_zeros(rng: np.random.Generator, values: Array, share: float) -> Array:
    """The values with about this share of them replaced by zero."""
    return np.where(rng.random(values.shape) < share, 0.0, values)


def observations(rng: np.random.Generator, shape: tuple[int, int], hidden: float) -> Array:
    """Random values, with some zeros, about this share of the entries or of the columns hidden."""
    masks = rng.random(shape if rng.random() < 0.5 else (1, shape[1])) < hidden
    return np.where(masks, np.nan, with_zeros(rng, rng.random(shape), 0.15))


def random_data(rng: np.random.Generator, network: pfn.Network) -> dict[str, Array]:
    """Arrays for at least one bottom variable and some others, with anything hidden."""
    length = int(rng.integers(1, 13))
    parents = {term.slice.variable for equation in network.factorizations for term in equation.terms}
    bottom = [variable for variable in network.variables if variable not in parents]
    always = bottom[int(rng.integers(len(bottom)))]
    data: dict[str, Array] = {}
    for variable in bottom:
        if variable is always or rng.random() < 0.7:
            data[variable.name] = observations(rng, (variable.size, length), rng.choice([0.0, 0.0, 0.2, 0.6, 1.0]))
    columns = array_columns(network, data)
    for variable in [variable for variable in network.variables if variable in parents]:
        if columns[variable.name] and rng.random() < 0.3:
            data[variable.name] = observations(
                rng, (variable.size, len(columns[variable.name])), rng.choice([0.0, 0.5, 0.8])
            )
    return data


def random_initial(
    rng: np.random.Generator, network: pfn.Network, data: dict[str, Array], learn: bool
) -> dict[str, Array]:
    """Starting values of all variables and, when learning, of the parameters that do not bring their own."""
    columns = array_columns(network, data)
    initial = {v.name: rng.uniform(0.05, 1, (v.size, len(columns[v.name]))) for v in network.variables}
    for parameter in network.parameters:
        if learn and parameter.learn and parameter.value is None:
            initial[parameter.name] = rng.uniform(0.05, 1, parameter.shape)
            if rng.random() < 0.3:
                initial[parameter.name][:, rng.integers(parameter.shape[1])] = 0.0
            if rng.random() < 0.3:
                initial[parameter.name][: rng.integers(1, parameter.shape[0] + 1), 0] = 0.0
    return initial


def random_options(
    rng: np.random.Generator, network: pfn.Network, data: dict[str, Array], learn: bool
) -> dict[str, Any]:
    """Keywords of oracle.sweep_many."""
    names = [equation.name for equation in network.factorizations]
    mapping = {name: float(rng.uniform(0, 0.6)) for name in names if rng.random() < 0.6}
    sparseness: list[Any] = [0.0, 0.0, float(rng.uniform(0.05, 0.6)), mapping]
    return {
        "learn": learn,
        "averaging": ("pooled", "updated", "all")[int(rng.integers(3))],
        "divergence": "kl" if rng.random() < 0.7 else "euclidean",
        "epsilon": 1e-9 if rng.random() < 0.7 else 1e-5,
        "sparseness": sparseness[int(rng.integers(4))],
        "release": {name: int(rng.integers(1, 4)) for name in data if rng.random() < 0.15},
        "learn_every": random_learn_every(rng, network) if learn else {},
        "weights": random_weights(rng, network, data),
    }


def random_learn_every(rng: np.random.Generator, network: pfn.Network) -> dict[str, int]:
    """Some learned parameters every second or third sweep, the parts of a sequence together."""
    chosen: dict[str, int] = {}
    for equation in network.factorizations:
        learned = [term.parameter.name for term in equation.terms if term.parameter.learn]
        together = learned if equation.normalize == "sequences" else learned[:1]
        if rng.random() < 0.25:
            chosen |= dict.fromkeys(together, int(rng.integers(2, 4)))
    return chosen


def random_weights(rng: np.random.Generator, network: pfn.Network, data: dict[str, Array]) -> dict[str, Array]:
    """Column weights of some factorizations; one column at least counts."""
    weights: dict[str, Array] = {}
    for name, count in column_counts(network, data).items():
        if count and rng.random() < 0.2:
            weights[name] = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], size=count)
            weights[name][rng.integers(count)] = 1.5
    return weights
