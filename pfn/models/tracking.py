"""The target tracker (section 5): a network that follows targets through a sensor image, and finds their kinds."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pfn
from pfn.automata.arrays import stacked_units
from pfn.models.targets import CHANGE, OFF, ON, STAY, TargetKind, TargetModel
from pfn.network import Slice

# The components of h2, in the paper's order a1 … a4.
MOVES = (STAY, CHANGE, ON, OFF)

# The paper's two kinds. Their emissions are chosen here: the figure that shows them is missing from the paper.
PAPER_KINDS = (TargetKind("A", (2, 0, 4, 1, 3)), TargetKind("B", (2, 3, 1, 0)))


def tracking_network(
    positions: int = 15, pattern_size: int = 5, kinds: Sequence[TargetKind] = PAPER_KINDS
) -> pfn.Network:
    """The target tracker: observe x1 (sensors, slices), and infer the rest.

    x1 sensors, x2 positions, x3 emitted rows, x4 target states, x5 kinds; h1, h3 the transitions of x2 and
    x4, h2 the moves of positions; u1, u2, u3, v1, v2 couple them. The defaults are the paper's.

    Parameters
    ----------
    positions
        Number of positions of a target.
    pattern_size
        Number of rows of the pattern in which a target is seen.
    kinds
        Kinds of targets.

    Examples
    --------
    >>> print(tracking_network())  # doctest: +ELLIPSIS
    eq1: [x3[t]; x2[t]; x1[t]] = W1 u1[t]    x3: 5; x2: 15; x1: 19; u1: 75; W1: 39 × 75 known, sparse
    eq2: [x2[t]; x2[t+1]] = W2 h1[t]         x2: 15; h1: 73; W2: 30 × 73 known, sparse
    eq3: [x4[t]; x3[t]] = W3 u2[t]           x4: 9; x3: 5; u2: 9; W3: 14 × 9 known, sparse
    eq4: [h2[t]; h1[t]] = W4 v1[t]           h2: 4; h1: 73; v1: 73; W4: 77 × 73 known, sparse
    eq5: [h3[t]; h2[t]] = W5 v2[t]           h3: 13; h2: 4; v2: 15; W5: 17 × 15 known, sparse
    eq6: [x4[t]; x4[t+1]] = W6 h3[t]         x4: 9; h3: 13; W6: 18 × 13 known, sparse
    eq7: [x5[t]; x4[t]] = W7 u3[t]           x5: 2; x4: 9; u3: 9; W7: 11 × 9 known, sparse
    """
    if not isinstance(kinds, Sequence):
        raise pfn.DeclarationError(f"tracking_network: kinds must be a list of TargetKinds, found {kinds!r}.")
    return network_of(TargetModel(positions, pattern_size, tuple(kinds)))


def network_of(model: TargetModel) -> pfn.Network:
    """The tracking network of these targets."""
    x = {name: pfn.Variable(name, len(labels), labels) for name, labels in _labels(model).items()}
    W = {name: pfn.Parameter(name, value) for name, value in _matrices(model).items()}
    t = pfn.t

    def equation(children: list[Slice], parameter: str, parent: str) -> pfn.Factorization:
        return pfn.Factorization(children, W[parameter] @ x[parent][t])

    return pfn.Network(
        equation([x["x3"][t], x["x2"][t], x["x1"][t]], "W1", "u1"),
        equation([x["x2"][t], x["x2"][t + 1]], "W2", "h1"),
        equation([x["x4"][t], x["x3"][t]], "W3", "u2"),
        equation([x["h2"][t], x["h1"][t]], "W4", "v1"),
        equation([x["h3"][t], x["h2"][t]], "W5", "v2"),
        equation([x["x4"][t], x["x4"][t + 1]], "W6", "h3"),
        equation([x["x5"][t], x["x4"][t]], "W7", "u3"),
    )


def model_of(network: pfn.Network) -> TargetModel:
    """The model that a tracking network was built from, read back from its matrices."""
    foreign = pfn.DataError(
        f"expected a network made by tracking_network, found {network!r} with other variables or matrices. "
        "Describe the targets by TargetKinds and build the network from them."
    )
    known: dict[str, Any] = {parameter.name: parameter.value for parameter in network.parameters if parameter.sparse}
    if not {"W3", "W7"} <= known.keys() or not {"x2", "x3", "x5"} <= {v.name for v in network.variables}:
        raise foreign
    # W3 has the states over the emitted rows, W7 the kinds over the states.
    kinds, pattern = network.variable("x5"), network.variable("x3")
    emitted = known["W3"].toarray()[-pattern.size :].argmax(axis=0)
    owners = known["W7"].toarray()[: kinds.size].argmax(axis=0)
    rows: dict[int, list[int]] = {number: [] for number in range(kinds.size)}
    for row, owner in zip(emitted.tolist(), owners.tolist(), strict=False):
        rows[owner].append(row)
    names = kinds.labels or [str(number) for number in rows]
    try:
        described = tuple(TargetKind(names[number], tuple(emission)) for number, emission in rows.items())
        model = TargetModel(network.variable("x2").size, pattern.size, described)
    except pfn.DeclarationError:
        raise foreign from None
    # Whatever else the network may be, these two matrices could be read: the others decide.
    if network_of(model).parameters != network.parameters:
        raise foreign
    return model


def _matrices(model: TargetModel) -> dict[str, Any]:
    """W1 … W7 with the columns in the paper's order, where it gives one."""
    states, rows, shifts = range(len(model.emission)), range(model.pattern_size), range(model.positions)
    translated = list(product(rows, shifts))
    coupled = _coupled_moves(model)
    moves = [MOVES.index(move) for move, _, _ in model.position_moves]
    return {
        "W1": stacked_units(
            (model.pattern_size, [row for row, _ in translated]),
            (model.positions, [shift for _, shift in translated]),
            (model.sensors, [row + shift for row, shift in translated]),
        ),
        "W2": model.position_machine.matrix(sparse=True),
        "W3": stacked_units((len(states), states), (model.pattern_size, model.emission)),
        "W4": stacked_units((len(MOVES), moves), (len(moves), range(len(moves)))),
        "W5": stacked_units(
            (len(model.steps), [step for step, _ in coupled]),
            (len(MOVES), [MOVES.index(move) for _, move in coupled]),
        ),
        "W6": model.state_machine.matrix(sparse=True),
        "W7": stacked_units((len(model.kinds), [kind for kind, _ in model.owners]), (len(states), states)),
    }


def _coupled_moves(model: TargetModel) -> list[tuple[int, str]]:
    """The columns of W5, numbers of steps with moves of positions: repetitions first, then on, off, stay."""
    order = ((CHANGE, STAY), (ON,), (OFF,), (STAY,))
    pairs = [(number, move) for number, step in enumerate(model.steps) for move in step.moves]
    return sorted(pairs, key=lambda pair: order.index(model.steps[pair[0]].moves))


def _labels(model: TargetModel) -> dict[str, Sequence[str]]:
    """A name for every component of every variable."""
    states, rows = model.state_names, range(model.pattern_size)
    steps, moves = model.state_machine.transition_labels, model.position_machine.transition_labels
    return {
        "x1": [str(sensor) for sensor in range(model.sensors)],
        "x2": [str(position) for position in range(model.positions)],
        "x3": [str(row) for row in rows],
        "x4": states,
        "x5": [kind.name for kind in model.kinds],
        "u1": [f"{row} at {position}" for row, position in product(rows, range(model.positions))],
        "u2": [f"{state} emits {row}" for state, row in zip(states, model.emission, strict=True)],
        "u3": [f"{model.kinds[kind].name}: {model.kinds[kind].name}{state}" for kind, state in model.owners],
        "h1": moves,
        "h2": MOVES,
        "h3": steps,
        "v1": [f"{name}: {label}" for (name, _, _), label in zip(model.position_moves, moves, strict=True)],
        "v2": [f"{steps[step]}: {move}" for step, move in _coupled_moves(model)],
    }
