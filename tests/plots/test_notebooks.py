"""What declarations and results show in notebooks: complete tables, every text escaped, no plotting library."""

import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.automata import Hierarchy, RegularExpression, StateMachine

BAD = "<img src=x>"
MACHINE = StateMachine([BAD, "b"], [(BAD, "b"), ("b", BAD)], start=BAD, end="b", labels=["go & come", "<b>"])
LOWER = StateMachine(["d", "<e>", "end"], [("d", "<e>"), ("<e>", "end")], start="d", end="end")
HIERARCHY = Hierarchy(StateMachine(["a", "S"], [("a", "S"), ("S", "a")]), {"S": LOWER})
EXPRESSION = RegularExpression("<+b")
NETWORK = pfn.Network(
    pfn.Factorization(
        pfn.Variable(BAD, 2)[t], pfn.Parameter("W&", np.eye(2)) @ pfn.Variable("h", 2)[t], normalize="columns"
    ),
    name="<b>",
)
SCHEDULE = pfn.compile_network(NETWORK)
RESULT = pfn.infer(NETWORK, {BAD: np.ones((2, 3))}, iterations=3)


class Reader(HTMLParser):
    """The texts and the tags, which must be closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.opened: list[str] = []
        self.feed(html)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        self.tags.add(tag)
        self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (NETWORK, [f"{BAD}[t] = W& h[t]", "eq1", "1"]),
        (SCHEDULE, ["right update", "propagate", f"eq1: {BAD}[t] = W& h[t]"]),
        (
            RESULT,
            [f"eq1: {BAD}[t] = W& h[t]", f"{RESULT.rmse['eq1']:.3g}", "2 × 3", ": all 3 sweeps were done (3 sweeps)"],
        ),
        (MACHINE, ["start", "end", "b (go & come)", f"{BAD} (<b>)"]),
        (HIERARCHY, ["Hierarchy of 2 levels", "U couples", "a→S", "end→d", "<e>"]),
        (EXPRESSION, ["<+b", "<1", "b2", "start", "end", "<1, b2"]),
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_tables(shown: Any, expected: list[str]) -> None:
    read = Reader(shown._repr_html_())
    assert read.tags <= {"p", "b", "code", "table", "thead", "tbody", "tr", "th", "td"}
    for text in expected:
        assert text in read.texts


def test_long_tables_say_how_much_is_missing() -> None:
    names = [str(number) for number in range(250)]
    read = Reader(StateMachine(names, [("0", "1")])._repr_html_())
    assert "99" in read.texts
    assert "100" not in read.texts
    assert "… and 150 more" in read.texts


def test_without_matplotlib() -> None:
    code = """
import sys
from tests.plots import test_notebooks as shown
for item in (shown.NETWORK, shown.SCHEDULE, shown.RESULT, shown.MACHINE, shown.HIERARCHY, shown.EXPRESSION):
    item._repr_html_()
print("matplotlib" in sys.modules, "pfn.plots" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
