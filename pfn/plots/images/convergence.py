"""Convergence: the RMSE of every equation along the sweeps, of one run or of several."""

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from pfn.errors import DataError, OptionError
from pfn.network import Factorization
from pfn.plots.notation import plain
from pfn.plots.pictures import Picture, picture_and_axes
from pfn.solve import Result

# Inches.
SIZE = (7.2, 3.6)
# Ten colours that people who see red and green alike can tell apart, too.
COLOURS = "petroff10"


class Curve(NamedTuple):
    """Errors along the sweeps, under one name."""

    name: str
    sweeps: np.ndarray
    errors: np.ndarray


def convergence(
    results: Result | Mapping[str, Result],
    *,
    equations: Iterable[Factorization | str] | None = None,
    ax: Axes | None = None,
) -> Picture:
    """The RMSE along the sweeps on a logarithmic scale: a curve for every equation, named with its last value.

    An RMSE of 0 has no place on the scale and, like NaN, is left out.

    Parameters
    ----------
    results
        A result, or several by name, as in `{"plain": result, "momentum": other}`: then there is a curve for each,
        its largest RMSE of an equation.
    equations
        Equations that count, or their names; None: all.
    ax
        Axes to draw into; None: a new picture.

    Examples
    --------
    >>> import numpy as np, pfn
    >>> x, h = pfn.Variable("x", 2), pfn.Variable("h", 1)
    >>> network = pfn.Network(pfn.Factorization(x[pfn.t], pfn.Parameter("W", [[1], [2]]) @ h[pfn.t]))
    >>> convergence(pfn.infer(network, {x: np.ones((2, 3))})).svg()[:5]
    '<?xml'
    """
    curves = _curves(results, None if equations is None else list(equations))
    figure, axes = picture_and_axes(ax, SIZE)
    styles = cycle([(style, colour) for style in ("-", "--", ":") for colour in mpl.color_sequences[COLOURS]])
    for curve, (style, colour) in zip(sorted(curves, key=lambda c: -np.nan_to_num(c.errors[-1])), styles, strict=False):
        label = plain(f"{curve.name}  {curve.errors[-1]:.2g}")
        seen = np.where(curve.errors > 0, curve.errors, np.nan)
        axes.plot(curve.sweeps, seen, style, color=colour, label=label, linewidth=1.6)
    axes.set_yscale("log")
    axes.set_xlabel("sweeps")
    axes.set_ylabel("RMSE" if isinstance(results, Result) else "largest RMSE of an equation")
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    return figure


def _curves(results: Any, equations: list[Factorization | str] | None) -> list[Curve]:
    """A curve for each equation of one result, or for each of several results."""
    if isinstance(results, Result):
        names = _names(results, equations)
        return [_curve(results, name, [name]) for name in names]
    if not isinstance(results, Mapping) or not results:
        raise OptionError(
            "convergence needs a result, or several by name as in {'plain': result, 'momentum': other}, found "
            f"{results if isinstance(results, Mapping) else type(results).__name__}."
        )
    for name, result in results.items():
        if not isinstance(result, Result):
            raise OptionError(f"convergence: {name} must be a result, found {type(result).__name__}.")
    return [_curve(result, str(name), _names(result, equations)) for name, result in results.items()]


def _names(result: Result, equations: list[Factorization | str] | None) -> list[str]:
    """The names of the equations that count."""
    if equations is None:
        return [equation.name for equation in result.network.factorizations]
    found = [result.network[item] for item in equations]
    for item in found:
        if not isinstance(item, Factorization):
            names = ", ".join(e.name for e in result.network.factorizations)
            raise OptionError(f"convergence: {item.name} is not an equation. The equations are {names}.")
    if not found:
        raise OptionError("convergence: equations must name at least one equation, found an empty list.")
    return [item.name for item in found]


def _curve(result: Result, name: str, equations: list[str]) -> Curve:
    """The largest error of these equations after 1, 2, … sweeps."""
    if not len(result.history):
        raise DataError(
            f"convergence: the result of {name} has no history, its method does not go in sweeps. Give the result "
            "of a run with sweeps, such as method='propagate'."
        )
    errors = np.fmax.reduce([result.history[equation] for equation in equations])  # NaN where no entry counts
    return Curve(name, result.history.iterations + 1, errors)
