"""How machines, hierarchies and expressions show themselves in notebooks: small tables, every name escaped."""

from collections.abc import Mapping, Sequence
from html import escape

from pfn.automata.diagram import Diagram, default_label
from pfn.network.tables import html_table

HEADER = ("state", "role", "goes to")


def machine_html(diagram: Diagram, kind: str = "StateMachine") -> str:
    """A table of states: which role they have, and where they go."""
    title = f"{kind}: {len(diagram.states)} states, {len(diagram.transitions)} transitions"
    return f"<p>{escape(title)}</p>{html_table(HEADER, [(name, *_row(diagram, name)) for name in diagram.names])}"


def hierarchy_html(levels: Sequence[Diagram], couplings: Mapping[str, Sequence[tuple[str, str | None]]]) -> str:
    """The machine of every level, the highest first, and what may occur together on neighbouring levels."""
    machines = [machine_html(level, f"level {number}") for number, level in reversed(list(enumerate(levels, 1)))]
    tables = [
        f"<p>{escape(name)} couples</p>{html_table(('above', 'below'), [(up, down or 'off') for up, down in pairs])}"
        for name, pairs in couplings.items()
    ]
    return f"<p>Hierarchy of {len(levels)} levels</p>{''.join(machines)}{''.join(tables)}"


def expression_html(pattern: str, diagram: Diagram, emitted: Sequence[str], accepting: Sequence[str]) -> str:
    """A table of states: the letter they emit, whether a string may begin or end there, where they go."""
    rows = []
    for name, letter in zip(diagram.states, emitted, strict=True):
        role, targets = _row(diagram, name)
        ends = "end" if name in accepting else ""
        rows.append((name, letter, ", ".join(filter(None, (role, ends))), targets))
    table = html_table(("state", "emits", *HEADER[1:]), rows)
    return f"<p>RegularExpression <code>{escape(pattern)}</code>: {len(rows)} states</p>{table}"


def _row(diagram: Diagram, name: str) -> tuple[str, str]:
    """The role of a state, and its targets with the labels of transitions that were given some."""
    roles = {"off": [diagram.off], "start": diagram.start, "end": [diagram.end]}
    targets = [
        target if label == default_label(source, target) else f"{target} ({label})"
        for (source, target), label in zip(diagram.transitions, diagram.transition_labels, strict=True)
        if source == name
    ]
    return ", ".join(role for role, names in roles.items() if name in names), ", ".join(targets)
