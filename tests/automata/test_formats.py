"""State machines from and to networkx graphs and Graphviz DOT."""

import re
import string

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfn.automata import StateMachine
from pfn.errors import DeclarationError

NAMES = st.text(string.ascii_letters + string.digits + ' "äß→-.{}[];,#/*\n', min_size=1, max_size=6)


@st.composite
def machines(draw: st.DrawFn) -> StateMachine:
    """Machines with odd names and any of the roles."""
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    off = draw(st.sampled_from([None, names[-1]]))
    everywhere = [(a, b) for a in names for b in names if not a == b == off]
    pairs = draw(st.lists(st.sampled_from(everywhere), unique=True))
    # In the order of the states, which is the order in which a graph keeps them.
    start = [name for name in names if draw(st.booleans())]
    end = draw(st.sampled_from([None, *names]))
    labels = [f"t{number}" for number in range(len(pairs))] if draw(st.booleans()) else None
    return StateMachine(names, pairs, off=off, start=start, end=end, labels=labels)


@given(machines())
def test_networkx_round_trip(machine: StateMachine) -> None:
    assert StateMachine.from_networkx(machine.graph()) == machine


@given(machines())
def test_dot_round_trip(machine: StateMachine) -> None:
    assert StateMachine.from_dot(machine.dot()) == machine


def test_the_graph_is_drawing_data() -> None:
    machine = StateMachine(["a", "b"], [("b", "a"), ("a", "off"), ("off", "b")], off="off", start="b", end="a")
    graph = machine.graph()
    assert isinstance(graph, nx.MultiDiGraph)
    assert dict(graph.nodes(data=True)) == {
        "a": {"label": "a", "off": False, "start": False, "end": True},
        "b": {"label": "b", "off": False, "start": True, "end": False},
        "off": {"label": "off", "off": True, "start": False, "end": False},
    }
    drawn = sorted((data["column"], source, target, data["label"]) for source, target, data in graph.edges(data=True))
    assert drawn == [(0, "b", "a", "b→a"), (1, "a", "off", "a→off"), (2, "off", "b", "off→b")]


class TestNetworkx:
    def test_any_digraph_with_any_nodes(self) -> None:
        machine = StateMachine.from_networkx(nx.DiGraph([(1, 2), (2, 2), (2, 0)]), off="0", start=["1"], end="2")
        assert machine == StateMachine(["1", "2"], [("1", "2"), ("2", "2"), ("2", "0")], off="0", start="1", end="2")

    def test_arguments_win_over_attributes(self) -> None:
        graph = StateMachine(["a", "b"], [("a", "b")], off="o", start="a", end="b").graph()
        machine = StateMachine.from_networkx(graph, off="b", start="o", end="a")
        assert machine == StateMachine(["a", "o"], [("a", "b")], off="b", start="o", end="a")

    def test_parallel_edges_need_keys(self) -> None:
        graph = nx.MultiDiGraph([("a", "b"), ("a", "b")])
        with pytest.raises(DeclarationError, match="are both called 'a→b'"):
            StateMachine.from_networkx(graph)
        keyed = nx.MultiDiGraph([("a", "b", "t1"), ("a", "b", "t2")])
        assert StateMachine.from_networkx(keyed).transition_labels == ("t1", "t2")

    def test_undirected_graphs_are_refused(self) -> None:
        with pytest.raises(DeclarationError, match="expected a networkx DiGraph or MultiDiGraph, found Graph"):
            StateMachine.from_networkx(nx.Graph([(1, 2)]))

    def test_nodes_that_read_the_same_are_refused(self) -> None:
        with pytest.raises(DeclarationError, match="nodes must differ as text, but several are written '1'"):
            StateMachine.from_networkx(nx.DiGraph([(1, "1")]))

    def test_two_off_states_are_refused(self) -> None:
        graph = nx.DiGraph([("a", "b")])
        nx.set_node_attributes(graph, True, "off")
        with pytest.raises(DeclarationError, match="at most one node may have off=True, found 'a', 'b'"):
            StateMachine.from_networkx(graph)


class TestDot:
    def test_what_state_diagrams_use(self) -> None:
        text = """
            /* the machine of
               section 3 */
            digraph "finite machine" {
                rankdir=LR; size="8,5"   // drawing only
                graph [fontsize=10]; edge [color=gray, style=dotted]
                node [shape = doublecircle]; S1 S3
                node [shape = circle];
# a line for the preprocessor
                S1 -> S2 -> S3 [label = "go on"; weight=2][color=red]
                "S3" -> S4 -> S1
                S3 -> S3
                S2 -> S4;;
                -1.5; .5
            }
        """
        machine = StateMachine.from_dot(text)
        assert machine.states == ("S1", "S3", "S2", "S4", "-1.5", ".5")
        assert machine.transition_labels == ("S1→S2", "S2→S3", "S3→S4", "S4→S1", "S3→S3", "S2→S4")
        assert machine.off is None
        assert machine.start == ()
        assert machine.end is None

    @pytest.mark.parametrize(
        "arrow",
        [
            "begin [shape=point]; begin -> a;",
            'node [shape=none, label=""]; begin; node [shape=circle, label="\\N"]; begin -> a;',
            '"" [shape=none]; "" -> a;',
            "begin [style=invis]; begin -> a;",
        ],
    )
    def test_an_arrow_from_nowhere_marks_the_start(self, arrow: str) -> None:
        machine = StateMachine.from_dot(f"digraph {{ {arrow} a -> b -> a }}")
        assert machine == StateMachine(["a", "b"], [("a", "b"), ("b", "a")], start="a")

    def test_a_point_that_can_be_reached_is_a_state(self) -> None:
        machine = StateMachine.from_dot("digraph { p [shape=point]; p -> a -> p }")
        assert machine.states == ("p", "a")

    def test_roles_and_keys_are_attributes(self) -> None:
        text = "digraph { a [start=true]; b [end=true]; o [off=true]; a -> b [key=x]; a -> b [key=y]; b -> o }"
        expected = StateMachine(
            ["a", "b"],
            [("a", "b"), ("a", "b"), ("b", "o")],
            off="o",
            start="a",
            end="b",
            labels=["x", "y", "b→o"],
        )
        assert StateMachine.from_dot(text) == expected

    def test_strict_digraphs_merge_parallel_edges(self) -> None:
        text = "digraph { a -> b; b -> a; a -> b }"
        assert StateMachine.from_dot("strict " + text).transitions == (("a", "b"), ("b", "a"))
        with pytest.raises(DeclarationError, match="are both called 'a→b'"):
            StateMachine.from_dot(text)

    def test_quoted_names_keep_their_characters(self) -> None:
        text = 'digraph { "a \\"b\\" // c" -> "graph" -> "two \\\nlines" }'
        assert StateMachine.from_dot(text).states == ('a "b" // c', "graph", "two lines")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "graph { a -- b }",
                "line 1: expected 'digraph', found 'graph { a '. Transitions have a direction",
            ),
            ("digraph { a -- b }", "line 1: expected '->', found '-- b }'. Transitions have a direction"),
            (
                "digraph {\n a -> b\n subgraph x { c } }",
                "line 3: expected a node or an edge, found 'subgraph x'",
            ),
            (
                "digraph { a -> { b c } }",
                "expected a node or an edge, found '{ b c } }'. Subgraphs are not read",
            ),
            ("digraph { { a } }", "Subgraphs are not read"),
            ("digraph { a -> subgraph b }", "Subgraphs are not read"),
            (
                "digraph { a:n -> b }",
                "expected '->', '[' or a new statement, found ':n -> b }'. Ports are not read",
            ),
            ("digraph { a [label=<b>] }", "found '<b>] }'. HTML labels are not read"),
            ('digraph { "a" + "b" }', "Joined strings are not read"),
            ("digraph { a [label] }", "expected '=', found '] }'. Write attributes as name=value"),
            ("digraph { a -> ; }", "expected a name, found '; }'"),
            (
                "digraph { a -> node }",
                "expected a name, found 'node }'. Put a keyword that is a name in quotation marks",
            ),
            ("digraph { a -> b", "expected a name, found the end of the text"),
            ("digraph a", "expected '{', found the end of the text"),
            (
                "digraph { } digraph { }",
                "expected the end of the text, found 'digraph { '. Give one digraph at a time",
            ),
            ('digraph { "a }', "found '\"a }'. Close the quotation mark"),
            ("digraph { a -> b! }", "expected a name, a bracket or an arrow, found '! }'"),
            ("digraph { a [off=true] b [off=true] }", "at most one node may have off=true, found 'a', 'b'"),
            ("digraph { }", "at least one state besides the off state is needed"),
        ],
    )
    def test_what_is_not_read_is_refused(self, text: str, message: str) -> None:
        with pytest.raises(DeclarationError, match=re.escape(message)):
            StateMachine.from_dot(text)

    def test_errors_point_at_the_place(self) -> None:
        with pytest.raises(DeclarationError) as caught:
            StateMachine.from_dot("digraph {\n  a -> b:n\n}")
        *_, line, caret = str(caught.value).split("\n")
        assert line[caret.index("^") :] == ":n"

    def test_backslashes_cannot_be_written(self) -> None:
        with pytest.raises(DeclarationError, match="DOT cannot hold the backslash in the name"):
            StateMachine(["a\\b"], []).dot()
