"""`draw`: a network, a state machine, a hierarchy or a regular expression as a picture."""

from matplotlib.axes import Axes

from pfn.automata import Hierarchy, RegularExpression
from pfn.network import Network
from pfn.plots.diagrams import sketch_expression, sketch_machine
from pfn.plots.drawables import Drawable, Observed, check_options
from pfn.plots.hierarchy_diagrams import sketch_hierarchy
from pfn.plots.network_drawing import sketch_network
from pfn.plots.pictures import Picture
from pfn.plots.schemes import scheme
from pfn.plots.shapes import Sketch, show


def draw(
    thing: Drawable,
    *,
    observed: Observed = (),
    slices: int | None = None,
    plates: str | int | None = "N",
    implicit: bool = False,
    ax: Axes | None = None,
) -> Picture:
    """A drawing in the conventions of the paper's figures, as a picture of its own or on matplotlib axes.

    Networks: levels from top to bottom, `observed` variables white and hidden ones shaded, parameters on the arcs
    (the parts of a stacked one numbered), dash marks where a child has several equations, dashed lines between what
    is forced to be active together. With `slices` that many time slices; without, one slice, where (+1) leads to the
    next. A network without links in time stands on a plate, with `plates` as the number of its samples; None draws
    the variables alone. Machines: the off state dashed, arrows into start states, end and accepting states doubled;
    with `implicit`, a hierarchy's transitions that its diagram leaves out, in blue.

    >>> import pfn
    >>> from pfn import t
    >>> x, h = pfn.Variable("x", 4), pfn.Variable("h", 6)
    >>> network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", shape=(8, 6)) @ h[t]))
    >>> picture = draw(network, observed=[x], slices=4)
    >>> picture.svg()[:5]
    '<?xml'
    """
    check_options("draw", thing, observed=observed, slices=slices, implicit=implicit)
    return show(_sketch(thing, observed, slices, plates, implicit), ax)


def _sketch(
    thing: Drawable,
    observed: Observed,
    slices: int | None,
    plates: str | int | None,
    implicit: bool,
) -> Sketch:
    if isinstance(thing, Network):
        return sketch_network(scheme(thing, observed, slices, plates))
    if isinstance(thing, Hierarchy):
        return sketch_hierarchy(thing, implicit=implicit)
    if isinstance(thing, RegularExpression):
        return sketch_expression(thing)
    return sketch_machine(thing)
