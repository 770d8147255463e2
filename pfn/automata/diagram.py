"""State diagrams as plain, checked data, which machines hold and files are read into, and their tables in notebooks."""

from collections import Counter
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from pfn.errors import DeclarationError
from pfn.network.tables import html_table

# An unknown state in a sequence: no state may have this name.
HIDDEN = "?"

# Names listed in an error message, at most: enough to recognise the machine, short enough to read.
NAMES_SHOWN = 8

HTML_HEADER = ("state", "role", "goes to")


class Diagram(NamedTuple):
    """States without the off state, transitions in the order of their columns, and the states with a role."""

    states: tuple[str, ...]
    transitions: tuple[tuple[str, str], ...]
    transition_labels: tuple[str, ...]
    off: str | None
    start: tuple[str, ...]
    end: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """Every state's name, the off state last."""
        return self.states if self.off is None else (*self.states, self.off)


def make_diagram(
    states: Iterable[str],
    transitions: Iterable[tuple[str, str]],
    *,
    off: str | None = None,
    start: str | Iterable[str] = (),
    end: str | None = None,
    labels: Iterable[str] | None = None,
) -> Diagram:
    """A checked description in one form; an off state listed among the states is taken out of them."""
    names = _checked_states(states, off)
    pairs: list[tuple[str, str]] = []
    for number, pair in enumerate(transitions, start=1):
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(ends := tuple(pair)) != 2:
            raise DeclarationError(
                f"StateMachine: transition {number} must be a pair (source, target) of state names, found "
                f"{pair!r}. Write it as ('S1', 'S2')."
            )
        pairs.append((ends[0], ends[1]))
    starts = (start,) if isinstance(start, str) else tuple(start)
    texts = tuple(default_label(*pair) for pair in pairs) if labels is None else tuple(labels)
    diagram = Diagram(names, tuple(pairs), texts, off, starts, end)
    _check_transitions(diagram)
    _check_labels(diagram)
    _check_roles(diagram)
    return diagram


def default_label(source: str, target: str) -> str:
    """The name of a transition without a label of its own."""
    return f"{source}→{target}"


def listed(names: Iterable[str]) -> str:
    """Names for an error message, abbreviated when there are many."""
    shown = list(names)
    more = f", … ({len(shown)} in all)" if len(shown) > NAMES_SHOWN else ""
    return ", ".join(repr(name) for name in shown[:NAMES_SHOWN]) + more


def diagram_html(diagram: Diagram, kind: str) -> str:
    """A table of states for notebooks: their roles, and the states they go to; every name is escaped."""
    title = f"{kind}: {len(diagram.states)} states, {len(diagram.transitions)} transitions"
    rows = [(name, *role_and_targets(diagram, name)) for name in diagram.names]
    return f"<p>{escape(title)}</p>{html_table(HTML_HEADER, rows)}"


def role_and_targets(diagram: Diagram, name: str) -> tuple[str, str]:
    """The role of a state, and its targets, with the labels of transitions that have one of their own."""
    roles = {"off": [diagram.off], "start": diagram.start, "end": [diagram.end]}
    targets = [
        target if label == default_label(source, target) else f"{target} ({label})"
        for (source, target), label in zip(diagram.transitions, diagram.transition_labels, strict=True)
        if source == name
    ]
    return ", ".join(role for role, names in roles.items() if name in names), ", ".join(targets)


def _checked_states(states: Iterable[str], off: str | None) -> tuple[str, ...]:
    """The states without the off state; refuse missing, repeated and impossible names."""
    if isinstance(states, str):
        raise DeclarationError(
            f"StateMachine: states must be a list of names, found the string {states!r}. Write "
            f"list({states!r}) if each letter is a state."
        )
    given = tuple(states)
    for name in (*given, *(() if off is None else (off,))):
        if not isinstance(name, str) or not name:
            raise DeclarationError(
                f"StateMachine: a state's name must be a non-empty string, found {name!r}. Write str(...) "
                "around other names."
            )
        if name == HIDDEN:
            raise DeclarationError(
                f"StateMachine: no state may be called {HIDDEN!r}, which stands for an unknown state in a "
                "sequence. Rename it."
            )
    repeated = [name for name, count in Counter(given).items() if count > 1]
    if repeated:
        raise DeclarationError(
            f"StateMachine: each state may be listed once, but {listed(repeated)} appear more often. Remove "
            "the repeats."
        )
    names = tuple(name for name in given if name != off)
    if not names:
        raise DeclarationError(
            "StateMachine: at least one state besides the off state is needed, found "
            f"{listed(given) or 'none'}. Name the states that the rows of the state vector stand for."
        )
    return names


def _check_transitions(diagram: Diagram) -> None:
    """Refuse transitions between unknown states, and from off to off."""
    known = set(diagram.names)
    for number, pair in enumerate(diagram.transitions, start=1):
        for name in pair:
            if name not in known:
                raise DeclarationError(
                    f"StateMachine: transition {number} {pair!r} names {name!r}, but the states are "
                    f"{listed(diagram.names)}. Add it to the states, or give it as off= if it is the off "
                    "state."
                )
        if pair == (diagram.off, diagram.off):
            raise DeclarationError(
                f"StateMachine: transition {number} {pair!r} goes from the off state to itself, which is a "
                "column of zeros. Leave it out: being off needs no transition to stay off."
            )


def _check_labels(diagram: Diagram) -> None:
    """Refuse labels that are missing or repeated."""
    labels, pairs = diagram.transition_labels, diagram.transitions
    if len(labels) != len(pairs):
        raise DeclarationError(
            f"StateMachine: labels must name each of the {len(pairs)} transitions, found {len(labels)} "
            "labels. Give one label per transition, in the same order."
        )
    first: dict[str, int] = {}
    for number, label in enumerate(labels, start=1):
        if label in first:
            raise DeclarationError(
                f"StateMachine: transitions {first[label]} {pairs[first[label] - 1]!r} and {number} "
                f"{pairs[number - 1]!r} are both called {label!r}, but each needs a name of its own. List a "
                "transition once, or tell parallel ones apart with labels=."
            )
        first[label] = number


def _check_roles(diagram: Diagram) -> None:
    """Refuse start and end states that are unknown or repeated."""
    for role, names in (("start", diagram.start), ("end", () if diagram.end is None else (diagram.end,))):
        for name in names:
            if name not in diagram.names:
                raise DeclarationError(
                    f"StateMachine: {role}={name!r} is not among the states {listed(diagram.names)}. "
                    "Name one of them, or add it."
                )
    if len(set(diagram.start)) < len(diagram.start):
        raise DeclarationError(
            f"StateMachine: start names each state at most once, found {listed(diagram.start)}. Remove the repeats."
        )
