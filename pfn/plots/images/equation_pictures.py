"""A whole equation side by side: its stacked children = W times its parents, a row for every term."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from pfn.errors import OptionError
from pfn.network import Factorization, Slice, Term, Window
from pfn.plots.images.heatmaps import CELL, Look, add_scale_bar, label_entries, show
from pfn.plots.images.named_matrices import NamedMatrix, as_result, matrix_of
from pfn.plots.notation import symbol
from pfn.plots.pictures import Picture, picture_or
from pfn.solve import Result
from pfn.updates.windows import WindowSums

# Heights in inches: of the children and of W at least and at most, and at most of the rows of all terms together.
LOWEST = 0.6
HIGHEST = 3.2
ALL_ROWS = 7.0
# Inches across, of the widest matrix.
WIDEST = 3.6
# Of the widest matrix's width, for the narrowest; of the highest one's height, for the flattest.
LEAST_SHARE = 0.3

# Lines between stacked children: a blue that is seen on every colour of "hot".
DIVIDER = "#5b9bd5"

# Columns of W that have their labels below them, turned by 90 degrees.
MOST_UPRIGHT = 20

# Inches across: for a sign between matrices, for the axes and the scale bar beside a matrix, for a letter of a label.
SIGN = 0.3
BESIDE = 0.9
LETTER = 0.075
# Letters that the numbers of components take, where there are no labels.
DIGITS = 3


def equation(
    result: Result,
    factorization: Factorization | str | None = None,
    *,
    figure: Figure | SubFigure | None = None,
    sequence: int = 0,
    colormap: str = "hot",
    power: float = 1.0,
    first: int = 1,
) -> Picture:
    """The matrices of an equation, `X_C = W H`, with the values of a result; further terms in rows below.

    Parents before the first slice are zero. All slices of a variable have one scale, and so have the parameters that
    multiply them; other matrices have their own.

    Parameters
    ----------
    result
        Result with the values.
    factorization
        The equation or its name; None: the only equation of the network.
    figure
        Matplotlib figure or subfigure to draw into; None: a new picture.
    sequence
        Number, from 0, of the sequence to show.
    colormap
        Name of a colormap of matplotlib.
    power
        Colours follow values to this power: 0.5 shows small values brighter.
    first
        Number of the first slice, 1 as in the paper, or 0.

    Examples
    --------
    >>> import numpy as np, pfn
    >>> x, h = pfn.Variable("x", 2), pfn.Variable("h", 1)
    >>> network = pfn.Network(pfn.Factorization(x[pfn.t], pfn.Parameter("W", [[1], [2]]) @ h[pfn.t]))
    >>> equation(pfn.infer(network, {x: np.ones((2, 3))})).svg()[:5]
    '<?xml'
    """
    look = Look(colormap, power, None, first)
    chosen = _chosen(result, factorization)
    columns = _columns(result, chosen, sequence)
    children = np.vstack([_slice_values(result, child, columns, sequence) for child in chosen.children])
    terms = [
        (matrix_of(result, term.parameter), _slice_values(result, term.slice, columns, sequence, term.window))
        for term in chosen.terms
    ]
    grid = _Grid(figure, chosen, [(children.shape, W.values.shape, H.shape) for W, H in terms])
    _draw_children(grid.axes(0, 0), chosen, children, look)
    for row, (term, (W, H)) in enumerate(zip(chosen.terms, terms, strict=True)):
        variable = term.slice.variable
        alike = [pair for other, pair in zip(chosen.terms, terms, strict=True) if other.slice.variable == variable]
        grid.sign(row, "+" if row else "=")
        _draw_parameter(grid.axes(row, 2), chosen, term, W, _scaled(look, [W.values for W, _ in alike]))
        parent = grid.parent(row)
        labels = None if variable.labels is None else tuple(variable.labels)
        drawn = show(parent, NamedMatrix("", H, labels), _scaled(look, [H for _, H in alike]))
        parent.set_title(f"{'decay of ' if term.window else ''}{_symbol(term.slice)}")
        parent.set_xlabel("time slice $t$", fontsize="small")
        add_scale_bar([parent], drawn)
    return grid.figure


def _scaled(look: Look, matrices: Sequence[np.ndarray]) -> Look:
    """The look whose last colour is the largest value of all matrices."""
    return replace(look, largest=max(float(np.nanmax(values, initial=0.0)) for values in matrices) or None)


def _chosen(result: Result, factorization: Factorization | str | None) -> Factorization:
    """The equation that is meant."""
    network = as_result(result, "equation").network
    names = ", ".join(e.name for e in network.factorizations)
    if factorization is None:
        if len(network.factorizations) > 1:
            raise OptionError(f"which equation is meant? Name one, as in plots.equation(result, 'eq1'): {names}.")
        return network.factorizations[0]
    found = network[factorization]
    if not isinstance(found, Factorization):
        raise OptionError(f"{found.name} is not an equation. The equations are {names}.")
    return found


def _columns(result: Result, chosen: Factorization, sequence: int) -> int:
    """Number of slices that have all children of the equation."""
    widths: list[int] = [
        matrix_of(result, c.variable, sequence=sequence).values.shape[1] - c.lag for c in chosen.children
    ]
    return max(min(widths), 1)


def _slice_values(
    result: Result, piece: Slice, columns: int, sequence: int, window: Window | None = None
) -> np.ndarray:
    """The columns of a variable at t = 0, 1, … plus the lag of its slice, through a window; zero before the first."""
    values = matrix_of(result, piece.variable, sequence=sequence).values
    if window is not None:
        values = WindowSums(np.array(window.rates), [window.length], values.shape).apply(values)
    if piece.lag >= 0:
        return values[:, piece.lag : piece.lag + columns]
    return np.pad(values, ((0, 0), (-piece.lag, 0)))[:, :columns]


def _draw_children(ax: Axes, chosen: Factorization, values: np.ndarray, look: Look) -> None:
    """The stacked children."""
    drawn = show(ax, NamedMatrix("", values, _stacked_labels(chosen)), look)
    _divide(ax, chosen, look)
    names = [_symbol(child) for child in chosen.children]
    ax.set_title(names[0] if len(names) == 1 else rf"[{'; '.join(names)}]")
    ax.set_xlabel("time slice $t$", fontsize="small")
    add_scale_bar([ax], drawn)


def _draw_parameter(ax: Axes, chosen: Factorization, term: Term, W: NamedMatrix, look: Look) -> None:
    """A parameter, its columns labelled by the parents' components where there is room."""
    drawn = show(ax, W._replace(labels=_stacked_labels(chosen)), look)
    _divide(ax, chosen, look)
    labels = term.slice.variable.labels
    if labels is not None and len(labels) <= MOST_UPRIGHT:
        label_entries(ax.xaxis, len(labels), labels, look, lines=True)
        ax.tick_params(axis="x", rotation=90)
    ax.set_title(W.symbol.math())
    add_scale_bar([ax], drawn)


def _symbol(piece: Slice) -> str:
    return symbol(piece.variable.name, f"t{piece.lag:+d}" if piece.lag else "t").math()


def _stacked_labels(chosen: Factorization) -> tuple[str, ...] | None:
    """The labels of the stacked children from top to bottom, if all children have labels."""
    labels = [child.variable.labels for child in chosen.children]
    return tuple(label for piece in labels for label in piece or ()) if all(labels) else None


def _divide(ax: Axes, chosen: Factorization, look: Look) -> None:
    """Lines between stacked children."""
    for part in chosen.parts[1:]:
        ax.axhline(part.start + look.first - 0.5, color=DIVIDER, linewidth=1)


class _Grid:
    """Rows of axes for children, sign, W and H, in the proportions of their matrices as far as all remain readable."""

    def __init__(
        self, figure: Figure | SubFigure | None, chosen: Factorization, shapes: Sequence[tuple[tuple[int, ...], ...]]
    ) -> None:
        widths = np.max([[columns for _, columns in row] for row in shapes], axis=0) * CELL
        widths *= min(1.0, WIDEST / float(widths.max()))
        widths = np.maximum(widths, LEAST_SHARE * widths.max())
        self.shares = [min(max(H[0] / children[0], LEAST_SHARE), 1.0) for children, _, H in shapes]
        height = float(np.clip(shapes[0][0][0] * CELL, LOWEST, min(HIGHEST, ALL_ROWS / len(shapes))))
        rows, parents = (
            LETTER * max((len(label) for piece in pieces for label in piece.variable.labels or ()), default=DIGITS)
            + BESIDE
            for pieces in (chosen.children, chosen.parents)
        )
        size = (widths.sum() + SIGN + 2 * rows + parents, (height + 0.9) * len(shapes))
        self.figure = picture_or(figure, size)
        # The parents' labels and scale bar take their room off their own share, since they lie in a grid of their own.
        ratios = [widths[0], SIGN, widths[1], widths[2] + (parents if min(self.shares) < 1 else 0.0)]
        self.grid = self.figure.add_gridspec(len(shapes), 4, width_ratios=ratios)

    def axes(self, row: int, place: int) -> Axes:
        """The axes of the children or of W, which have the same rows."""
        return self.figure.add_subplot(self.grid[row, place])

    def parent(self, row: int) -> Axes:
        """The axes of the parents, in the middle of their row."""
        share = self.shares[row]
        if min(self.shares) == 1:
            return self.axes(row, 3)
        margin = max((1 - share) / 2, 1e-3)
        return self.figure.add_subplot(self.grid[row, 3].subgridspec(3, 1, height_ratios=[margin, share, margin])[1])

    def sign(self, row: int, text: str) -> None:
        """A sign between matrices."""
        ax = self.axes(row, 1)
        ax.set_axis_off()
        ax.text(0.5, 0.5, f"${text}$", ha="center", va="center", fontsize="xx-large")
