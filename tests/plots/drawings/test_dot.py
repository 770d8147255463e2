"""Graphviz text: it says what networks and machines say, and Graphviz reads it where it is installed."""

import re
import shutil
import subprocess

import pytest

import pfn
from pfn import t
from pfn.automata import RegularExpression, StateMachine
from pfn.models import language_network, tracking_network
from pfn.plots import dot
from tests import networks
from tests.plots.drawings.test_state_diagrams import HIERARCHIES, MACHINES

strange = pfn.Variable('a<b>&"c" \\', 2)
NETWORKS = {
    "section 2.2": networks.section_2_2(),
    "transitions": networks.automaton(networks.W_NONDETERMINISTIC),
    "hierarchy": networks.regular_expression(),
    "tracker": tracking_network(),
    "language": language_network(4319, 50, 100),
    "windows": networks.decays(),
    "strange names": pfn.Network(
        pfn.Factorization(strange[t], pfn.Parameter("W {]", shape=(2, 3)) @ pfn.Variable("é_x", 3)[t])
    ),
}
NODE = re.compile(r"  (n\d+) \[label=<(.*)>(, fillcolor=white)?\];")
ARC = re.compile(r"  (n\d+) -> (n\d+) \[(.*)\];")


@pytest.mark.parametrize("slices", [None, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_nodes_and_arcs_are_those_of_the_graph(name, slices):
    network = NETWORKS[name]
    observed = [network.variables[0]]
    graph = network.graph(observed) if slices is None else network.unroll(slices, observed)
    lines = dot(network, observed=observed, slices=slices).splitlines()
    found = [match for line in lines if (match := NODE.fullmatch(line))]
    assert [bool(match[3]) for match in found] == [seen for _, seen in graph.nodes(data="observed")]
    key = dict(zip([match[1] for match in found], graph.nodes, strict=True))
    arcs = [(key[match[1]], key[match[2]], match[3]) for line in lines if (match := ARC.fullmatch(line))]
    dashed = {frozenset(arc[:2]) for arc in arcs if "style=dashed" in arc[2]}
    assert dashed == {frozenset(pair) for pair in graph.graph["coactivations"]}
    assert [arc[:2] for arc in arcs if "style=dashed" not in arc[2]] == list(graph.edges())


def test_windows_say_how_far_they_reach():
    text = dot(networks.decays())
    assert "label=<W decay (0 …)>" in text
    assert "label=<decay (+1 … +3)>" in text
    assert "cluster_plate" not in dot(pfn.Network(networks.decays()["sound"]))  # linked in time by its window alone
    assert dot(networks.decays(), slices=4).count("label=<W decay>") == 4  # of ten arcs


def test_levels_and_marks_are_told():
    text = dot(networks.section_2_2())
    assert "{rank=same; n1; n4; n9; n11;}" in text
    assert text.count('headlabel="|||"') == 1
    assert "label=<x<SUP>12</SUP><SUB>i</SUB>>" in text
    assert "W<SUB>2</SUB> (+1)" in dot(NETWORKS["transitions"])


@pytest.mark.parametrize("name", sorted(set(MACHINES) - {"odd names"}))
def test_machines_are_read_back(name):
    assert StateMachine.from_dot(dot(MACHINES[name])) == MACHINES[name]


def test_expressions_are_read_back_and_mark_their_ends():
    expression = RegularExpression("(a|b)+c")
    text = dot(expression)
    assert StateMachine.from_dot(text) == expression.machine
    assert [line for line in text.splitlines() if "peripheries" in line] == ['  "c3" [peripheries=2];']


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("name", HIERARCHIES)
def test_hierarchies_have_every_transition(name, implicit):
    text = dot(HIERARCHIES[name], implicit=implicit)
    arrows = re.findall(r"^  s\d+_\d+ -> s\d+_\d+( \[color=blue\])?;$", text, re.MULTILINE)
    every = sum(len(machine.transitions) for machine in HIERARCHIES[name].levels)
    assert (len(arrows) == every) == implicit
    assert any(arrows) == implicit
    assert text.count("style=dotted") == len(re.findall(r"lhead=cluster", text)) > 0


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("name", [*NETWORKS, *HIERARCHIES, "expression"])
def test_graphviz_reads_it(name):
    things = NETWORKS | HIERARCHIES | {"expression": RegularExpression("a+b")}
    text = dot(things[name])
    done = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\nedge ") == text.count(" -> ")


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(pfn.OptionError, match=r"dot takes a Network, .* found int"):
        dot(3)
    with pytest.raises(pfn.OptionError, match="slices must be"):
        dot(NETWORKS["tracker"], slices=0)
