"""Networks that are refused, and in which words."""

import pytest

from pfn import Factorization, Network, Parameter, Variable, t
from tests.network.refusal import refused

RENAME = (
    "Names are shared by variables, parameters and factorizations: rename one, or use the same object in both places."
)
a, b, c, d = (Variable(name, 2) for name in "abcd")


def matrix(name: str) -> Parameter:
    return Parameter(name, shape=(2, 2))


def equation(child: Variable, parent: Variable, lag: int = 0) -> Factorization:
    return Factorization(child, matrix(f"{child.name}{parent.name}") @ parent[t - lag])


def test_no_equation() -> None:
    with refused("a network needs at least one factorization."):
        Network()


@pytest.mark.parametrize("item", [a, "eq", [equation(a, b)], None])
def test_something_else_than_an_equation(item: Factorization) -> None:
    unpack = " Unpack a list of them: Network(*factorizations)." if isinstance(item, list) else ""
    with refused(f"Network takes factorizations such as pfn.Factorization(x[t], W @ h[t]), found {item!r}.{unpack}"):
        Network(equation(a, b), item)


@pytest.mark.parametrize("name", ["", " a", 7])
def test_a_name_is_a_line_of_text(name: str) -> None:
    with refused(f"the name of a network must be a non-empty line of text without spaces around it, found {name!r}."):
        Network(equation(a, b), name=name)


def test_two_variables_of_one_name() -> None:
    other = Variable("b", 2)
    with refused(f"eq2: c[t] = cb b[t]: two variables are called b. {RENAME}"):
        Network(equation(a, b), equation(c, other))


def test_two_parameters_of_one_name() -> None:
    with refused(f"eq2: c[t] = W d[t]: two parameters are called W. {RENAME}"):
        Network(Factorization(a, matrix("W") @ b), Factorization(c, matrix("W") @ d))


def test_a_variable_and_a_parameter_of_one_name() -> None:
    with refused(f"eq1: a[t] = a b[t]: a variable and a parameter are called a. {RENAME}"):
        Network(Factorization(a, matrix("a") @ b))


def test_two_equations_of_one_name() -> None:
    with refused(f"eq2: c[t] = cd d[t]: two factorizations are called eq2. {RENAME}"):
        Network(equation(a, b).named("eq2"), equation(c, d))


def test_an_equation_and_a_variable_of_one_name() -> None:
    with refused(f"a: a[t] = ab b[t]: a factorization and a variable are called a. {RENAME}"):
        Network(equation(a, b).named("a"))


def test_a_parameter_and_an_equation_of_one_name() -> None:
    with refused(f"ab: c[t] = cd d[t]: a parameter and a factorization are called ab. {RENAME}"):
        Network(equation(a, b), equation(c, d).named("ab"))


def repeated(number: str, first: str, shown: str) -> str:
    return (
        f"{number}: {shown}: {first} ({shown}) already has the child a[t] with the parent b[t-1]. "
        "One arc stands for one linear relation (paper, section 2.2): give one of the equations another parent."
    )


def test_one_equation_twice() -> None:
    same = equation(a, b, lag=1)
    with refused(repeated("eq2", "eq1", "a[t] = ab b[t-1]")):
        Network(same, same)


def test_one_named_equation_twice() -> None:
    same = equation(a, b, lag=1).named("only")
    with refused(f"only: a[t] = ab b[t-1]: two factorizations are called only. {RENAME}"):
        Network(same, same)


def test_one_arc_in_two_equations() -> None:
    tall = Parameter("tall", shape=(4, 2))
    with refused(
        "eq2: [c[t]; a[t]] = tall b[t-1]: eq1 (a[t] = ab b[t-1] + ad d[t]) already has the child a[t] with the "
        "parent b[t-1]. One arc stands for one linear relation (paper, section 2.2): "
        "give one of the equations another parent."
    ):
        Network(
            Factorization(a, matrix("ab") @ b[t - 1] + matrix("ad") @ d),
            Factorization([c[t], a[t]], tall @ b[t - 1]),
        )


def test_the_same_pair_at_another_lag_is_another_arc() -> None:
    network = Network(equation(a, b), Factorization(a, matrix("later") @ b[t - 1]))
    assert len(network.factorizations) == 2


@pytest.mark.parametrize(
    ("equations", "first", "order"),
    [
        ([(a, a)], "eq1: a[t] = aa a[t]", "a → a"),
        ([(a, b), (b, a)], "eq2: b[t] = ba a[t]", "a → b → a"),
        ([(a, b), (b, c), (c, a)], "eq3: c[t] = ca a[t]", "a → c → b → a"),
        ([(d, a), (a, b), (b, c), (c, a)], "eq4: c[t] = ca a[t]", "a → c → b → a"),
    ],
)
def test_a_cycle_within_a_slice_is_named_in_order(
    equations: list[tuple[Variable, Variable]], first: str, order: str
) -> None:
    with refused(
        f"{first}: the variables {order} form a cycle within one time slice. "
        "The graph must be acyclic: drop one of these equations or put a lag on a parent."
    ):
        Network(*(equation(child, parent) for child, parent in equations))


@pytest.mark.parametrize(
    "equations",
    [
        [equation(a, a, lag=1)],
        [Factorization(a[t + 1], matrix("W") @ a[t])],
        [equation(a, b), equation(b, a, lag=1)],
        [equation(a, b, lag=2), equation(b, c), equation(c, a)],
    ],
)
def test_a_cycle_through_time_can_be_declared_but_not_propagated(equations: list[Factorization]) -> None:
    network = Network(*equations)
    assert not network.acyclic
    assert network.methods == ("exact", "consensus")


def test_a_network_without_a_cycle_can_be_propagated() -> None:
    network = Network(equation(a, b), equation(b, c, lag=1), equation(a, c))
    assert network.acyclic
    assert network.methods[:2] == ("propagate", "exact")


def conflict(words: str, other: str, shown: str = "c[t] = W d[t]") -> str:
    return (
        f"eq2: {shown}: W is tied to eq1 (a[t] = W b[t]), but their normalizations conflict: "
        f"{words} over children of sizes 2 and {other} over children of sizes 2. "
        "Give all equations of W the same normalization."
    )


@pytest.mark.parametrize(
    ("first", "second"), [("columns", None), (None, "columns"), ("columns", "sequences"), ("balanced", "subcolumns")]
)
def test_tied_parameters_with_different_normalizations(first: str | None, second: str | None) -> None:
    W = matrix("W")
    with refused(conflict(repr(second), repr(first))):
        Network(Factorization(a, W @ b, normalize=first), Factorization(c, W @ d, normalize=second))


@pytest.mark.parametrize("normalize", ["subcolumns", "balanced"])
def test_tied_parameters_with_different_parts(normalize: str) -> None:
    W, e = Parameter("W", shape=(4, 2)), Variable("e", 4)
    with refused(
        f"eq2: e[t] = W d[t]: W is tied to eq1 ([a[t]; c[t]] = W b[t]), but their normalizations conflict: "
        f"{normalize!r} over children of sizes 4 and {normalize!r} over children of sizes 2, 2. "
        "Give all equations of W the same normalization."
    ):
        Network(Factorization([a[t], c[t]], W @ b, normalize=normalize), Factorization(e, W @ d, normalize=normalize))


def test_tied_parameters_in_different_sequences() -> None:
    W, other = matrix("W"), matrix("V")
    with refused(conflict("'sequences'", "'sequences'", "c[t] = W d[t] + V d[t-1]")):
        Network(
            Factorization(a, W @ b, normalize="sequences"),
            Factorization(c, W @ d + other @ d[t - 1], normalize="sequences"),
        )


def test_equal_normalizations_may_be_tied() -> None:
    W, tall = matrix("W"), Parameter("tall", shape=(4, 2))
    Network(Factorization(a, W @ b, normalize="columns"), Factorization(c, W @ d, normalize="columns"))
    Network(
        Factorization([a[t], c[t]], tall @ b, normalize="balanced"),
        Factorization([c[t + 1], a[t + 1]], tall @ d, normalize="balanced"),
    )


def test_known_parameters_may_be_tied_under_any_normalization() -> None:
    K = Parameter("K", [[1, 0], [0, 1]])
    network = Network(Factorization(a, K @ b, normalize="columns"), Factorization(c, K @ d, normalize="sequences"))
    assert network.parameters == (K,)
