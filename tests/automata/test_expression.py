"""Regular expressions: compiled machines against Python's `re`, and strings in and out of arrays."""

import itertools
import random
import re

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from pfn.automata import RegularExpression, UnknownLetterError
from pfn.errors import DataError, DeclarationError, NoExactSolution, OptionError

LETTERS = "abc"


def random_pattern(rng: random.Random, depth: int) -> str:
    """A pattern over three letters in the syntax that Python's `re` shares."""
    kind = rng.choice(["letter", "letter", "class"] if depth == 0 else ["sequence", "sequence", "choice", "repeat"])
    if kind == "letter":
        return rng.choice(LETTERS)
    if kind == "class":
        return rng.choice(["[ab]", "[a-c]", "[^b]", "[ac]", ".", "[^ac]"])
    if kind == "repeat":
        body = random_pattern(rng, depth - 1)
        counts = rng.choice(["*", "+", "?", "{2}", "{1,}", "{2,}", "{0,2}", "{2,3}", "{,2}", "{0}"])
        return f"({body}){counts}"
    parts = [random_pattern(rng, rng.randint(0, depth - 1)) for _ in range(rng.randint(1, 3))]
    if kind == "choice":
        return "(" + "|".join([*parts, ""] if rng.random() < 0.2 else parts) + ")"
    return "".join(parts)


def random_patterns(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    patterns: list[str] = []
    while len(patterns) < count:
        pattern = random_pattern(rng, 3)
        if has_letter(pattern):
            patterns.append(pattern)
    return patterns


def has_letter(pattern: str) -> bool:
    return any(re.fullmatch(pattern, string) for string in strings_up_to(4) if string)


def strings_up_to(length: int) -> list[str]:
    return ["".join(letters) for size in range(length + 1) for letters in itertools.product(LETTERS, repeat=size)]


def longer_strings(rng: random.Random) -> list[str]:
    return ["".join(rng.choices(LETTERS, k=rng.randint(5, 9))) for _ in range(40)]


@pytest.mark.parametrize("seed", range(6))
def test_random_patterns_match_what_python_matches(seed: int) -> None:
    rng = random.Random(seed)
    for pattern in random_patterns(60, seed):
        expression = RegularExpression(pattern, alphabet=LETTERS)
        for string in strings_up_to(4) + longer_strings(rng):
            assert expression.matches(string) == bool(re.fullmatch(pattern, string)), (pattern, string)


def has_exact_solution(expression: RegularExpression, string: str) -> bool:
    """Whether letters = E states and [states; next states] = W transitions can hold: a linear program."""
    observed = expression.observe(string)
    matrix, emission = expression.machine.matrix(sparse=True), expression.emission
    size, steps, length = len(expression.machine.states), matrix.shape[1], len(string)
    rows, sides = [], []

    def add(blocks: dict[int, np.ndarray], side: np.ndarray) -> None:
        row = np.zeros((len(side), size * length + steps * (length - 1)))
        for begin, block in blocks.items():
            row[:, begin : begin + block.shape[1]] = block
        rows.append(row)
        sides.append(side)

    for time in range(length):
        known = ~np.isnan(observed["letters"][:, time])
        add({size * time: emission[known]}, observed["letters"][known, time])
    halves = np.split(matrix.toarray(), 2)
    for time in range(length - 1):
        for later, half in enumerate(halves):
            blocks = {size * (time + later): np.eye(size), size * length + steps * time: -half}
            add(blocks, np.zeros(size))
    upper = np.where(np.isnan(observed["states"]), np.inf, 0.0).T.ravel()
    bounds = [(0, most) for most in [*upper, *np.full(steps * (length - 1), np.inf)]]
    problem = scipy.optimize.linprog(
        np.zeros(len(bounds)), A_eq=np.vstack(rows), b_eq=np.concatenate(sides), bounds=bounds, method="highs"
    )
    return bool(problem.status == 0)


def test_exact_solutions_exist_for_matching_strings_only() -> None:
    rng = random.Random(7)
    outcomes = []
    for pattern in random_patterns(50, seed=99):
        expression = RegularExpression(pattern, alphabet=LETTERS)
        strings = rng.sample(strings_up_to(4)[1:], 5) + list(LETTERS)
        strings += [string for string in strings_up_to(4)[1:] if expression.matches(string)][:3]
        for string in strings:
            outcomes.append(has_exact_solution(expression, string))
            assert outcomes[-1] == bool(re.fullmatch(pattern, string)), (pattern, string)
    assert 0.2 < np.mean(outcomes) < 0.8


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=8))
def test_escaped_text_matches_itself_only(text: str) -> None:
    pattern = re.escape(text)
    expression = RegularExpression(pattern)
    assert expression.matches(text)
    assert not expression.matches(text + text[0])
    assert set(expression.alphabet) == set(text)


class TestMachine:
    def test_a_state_for_every_position(self) -> None:
        expression = RegularExpression("a+b(de)*c(de)+")
        assert expression.alphabet == ("a", "b", "c", "d", "e")
        assert expression.machine.states == ("a1", "b2", "d3", "e4", "c5", "d6", "e7")
        assert set(expression.machine.transition_labels) == {
            *["a1→a1", "a1→b2", "b2→d3", "d3→e4", "e4→d3", "b2→c5", "e4→c5", "c5→d6", "d6→e7", "e7→d6"]
        }
        assert expression.initial == expression.machine.start == ("a1",)
        assert expression.accepting == ("e7",)
        assert not expression.accepts_empty

    def test_a_class_has_one_state_per_letter(self) -> None:
        expression = RegularExpression("[ab]c")
        assert expression.machine.states == ("a1", "b1", "c2")
        assert expression.machine.transition_labels == ("a1→c2", "b1→c2")
        assert expression.initial == ("a1", "b1")
        np.testing.assert_array_equal(expression.emission, np.eye(3))

    def test_every_state_emits_one_letter(self) -> None:
        expression = RegularExpression("a[bc]a", alphabet="cba")
        assert expression.alphabet == ("c", "b", "a")
        np.testing.assert_array_equal(expression.emission, [[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1]])

    def test_optional_copies_are_nested_so_that_counts_stay_small(self) -> None:
        assert len(RegularExpression("a{,50}").machine.transitions) == 49
        assert len(RegularExpression("a{3,50}b").machine.transitions) == 49 + 48

    def test_a_single_position_has_no_transitions(self) -> None:
        expression = RegularExpression("[ab]")
        assert expression.machine.matrix().shape == (4, 0)
        assert expression.matches("a")
        assert not expression.matches("ab")

    def test_expressions_are_values(self) -> None:
        assert RegularExpression("ab") == RegularExpression("ab", alphabet="ab")
        assert RegularExpression("ab") != RegularExpression("ab", alphabet="abc")
        assert hash(RegularExpression("ab")) == hash(RegularExpression("ab"))
        assert repr(RegularExpression("ab")) == "RegularExpression(pattern='ab', alphabet=('a', 'b'))"

    @pytest.mark.parametrize(
        ("pattern", "matching", "other"),
        [
            (r"\(\*\)", "(*)", "()"),
            (r"[a\-c]", "-", "b"),
            ("[a-]", "-", "b"),
            ("[-a]", "-", "b"),
            (r"[\]^]", "^", "-"),
            (r"a\nb\t\\", "a\nb\t\\", "anbt"),
            ("(?:ab)+", "abab", "aba"),
            ("[a-cx]{2}", "cx", "cd"),
            ("a{2,}", "aaa", "a"),
            ("a{10}", "a" * 10, "a" * 9),
            ("(a|b|)c", "c", "ab"),
            ("()a", "a", "aa"),
            ("(a{0}){3}b", "b", "ab"),
            ("a b", "a b", "ab"),
            ("ä→", "ä→", "ä"),
        ],
    )
    def test_syntax(self, pattern: str, matching: str, other: str) -> None:
        expression = RegularExpression(pattern)
        assert expression.matches(matching)
        assert re.fullmatch(pattern, matching)
        assert not expression.matches(other)
        assert not re.fullmatch(pattern, other)

    def test_the_alphabet_decides_what_dots_and_complements_mean(self) -> None:
        expression = RegularExpression(".[^ab][a-z]", alphabet="abcd")
        assert expression.machine.states == ("a1", "b1", "c1", "d1", "c2", "d2", "a3", "b3", "c3", "d3")
        assert expression.matches("acd")
        assert not expression.matches("abd")
        assert not expression.matches("acz")


class TestObserve:
    def test_letters_are_one_hot_and_ends_are_constrained(self) -> None:
        observed = RegularExpression("(a|b)c+").observe("a?c")
        nan = np.nan
        assert list(observed) == ["letters", "states"]
        np.testing.assert_array_equal(observed["letters"], [[1, nan, 0], [0, nan, 0], [0, nan, 1]])
        np.testing.assert_array_equal(observed["states"], [[nan, nan, 0], [nan, nan, 0], [0, nan, nan]])

    def test_one_letter_is_first_and_last(self) -> None:
        observed = RegularExpression("ab*|c").observe("?")
        np.testing.assert_array_equal(observed["letters"], np.full((3, 1), np.nan))
        np.testing.assert_array_equal(observed["states"], [[np.nan], [0], [np.nan]])
        contradiction = RegularExpression("ab").observe("a")["states"]
        np.testing.assert_array_equal(contradiction, [[0], [0]])

    def test_another_wildcard(self) -> None:
        expression = RegularExpression(r"a\?b")
        assert np.isnan(expression.observe("a?_", wildcard="_")["letters"][:, 2]).all()
        message = "wildcard must be one character that is not in the alphabet '?ab', found '?'"
        with pytest.raises(OptionError, match=re.escape(message)):
            expression.observe("a?b")
        with pytest.raises(OptionError, match="found '__'"):
            expression.observe("a__", wildcard="__")

    def test_the_empty_string_is_refused_with_a_reason(self) -> None:
        expression = RegularExpression("a*")
        with pytest.raises(DataError, match="found the empty string, which has no time slices"):
            expression.observe("")
        assert expression.accepts_empty
        assert expression.matches("")

    def test_foreign_letters_cannot_be_encoded_and_do_not_match(self) -> None:
        expression = RegularExpression("ab")
        message = "must be in the alphabet 'ab' of the pattern 'ab', found 'x' at position 1. Nothing with"
        for error in (UnknownLetterError, DataError, NoExactSolution):
            with pytest.raises(error, match=re.escape(message)):
                expression.observe("ax")
        assert not expression.matches("ax")

    @settings(max_examples=50)
    @given(st.text("ab?", min_size=1, max_size=6))
    def test_what_is_observed_is_what_is_known(self, string: str) -> None:
        letters = RegularExpression("(a|b)*").observe(string)["letters"]
        for letter, column in zip(string, letters.T, strict=True):
            expected = [np.nan] * 2 if letter == "?" else [letter == "a", letter == "b"]
            np.testing.assert_array_equal(column, expected)


class TestComplete:
    def test_letters_and_states_spell_the_string(self) -> None:
        expression = RegularExpression("a[bc]a")
        letters = expression.observe("aca")["letters"]
        assert expression.complete(letters) == "aca"
        states = expression.machine.encode(["a1", "c2", "a3"], magnitude=0.3)
        assert expression.complete(states=states) == "aca"

    def test_states_of_one_letter_add_up(self) -> None:
        expression = RegularExpression("ac|[ab]c")
        assert expression.machine.states == ("a1", "c2", "a3", "b3", "c4")
        assert expression.complete(states=[[0.4], [0], [0.2], [0.4], [0]]) == "a"

    def test_undecided_and_silent_columns_are_wildcards(self) -> None:
        expression = RegularExpression("[ab]{3}")
        values = [[0.5, 0.0, 0.6], [0.5, 0.0, 0.4]]
        assert expression.complete(values) == "??a"
        assert expression.complete(values, wildcard="_") == "__a"

    def test_one_variable_at_a_time(self) -> None:
        expression = RegularExpression("ab")
        for arguments in ({}, {"letters": np.eye(2), "states": np.eye(2)}):
            with pytest.raises(OptionError, match="expected the values of one variable"):
                expression.complete(**arguments)

    def test_values_must_fit(self) -> None:
        with pytest.raises(DataError, match=re.escape("complete: expected an array of 2 rows")):
            RegularExpression("ab").complete(np.ones((3, 3)))
        with pytest.raises(DataError, match=re.escape("complete: expected an array of 3 rows")):
            RegularExpression("aba").complete(states=np.ones((2, 3)))
        with pytest.raises(DataError, match="complete: values must be finite and not negative, found nan"):
            RegularExpression("ab").complete([[np.nan], [0]])


SYNTAX_ERRORS = [
    ("*a", 0, "expected something to repeat before '*', found '*' at position 0. Write \\* for the letter"),
    ("a|+", 2, "something to repeat before '+'"),
    ("(?a)", 1, "expected a plain group, found '?' at position 1"),
    ("({2})", 1, "something to repeat before '{'"),
    ("a**", 2, "expected one repetition at a time, found '*'"),
    ("a+?", 2, "expected one repetition at a time, found '?'"),
    ("a{2}{3}", 4, "expected one repetition at a time, found '{'"),
    ("^a", 0, "expected no anchor, found '^' at position 0. Patterns match whole strings"),
    ("a$", 1, "expected no anchor"),
    ("a]", 1, "expected no closing ']' without an opening one"),
    ("a}", 1, "expected no closing '}' without an opening one"),
    ("a)b", 1, "expected no closing ')' without an opening '('"),
    (
        "(ab",
        3,
        "expected ')', found the end of the pattern at position 3. Close the group that begins at position 0",
    ),
    ("x(a|(b)", 7, "Close the group that begins at position 1"),
    ("a{", 2, "expected a count, found the end of the pattern"),
    ("a{x}", 2, "expected a count, found 'x'"),
    ("a{2x}", 3, "expected '}' after the count, found 'x'"),
    ("a{3,2}", 1, "expected counts in rising order, not 3 to 2, found '{' at position 1. Write {2,3}."),
    ("a\\", 2, "expected a sign, n, t or r after the backslash, found the end of the pattern"),
    (r"a\d", 2, "expected a sign, n, t or r after the backslash, found 'd'"),
    (
        "a[bc",
        4,
        "expected ']', found the end of the pattern at position 4. Close the class that begins at position 1",
    ),
    ("[]a", 0, "expected a class with at least one letter of the alphabet, found '['"),
    (
        "[c-a]",
        1,
        "expected a range from a lower to a higher letter, not c-a, found 'c' at position 1. Write a-c.",
    ),
    ("a.", 1, "expected a given alphabet for '.' to choose from, found '.'"),
    ("a[^b]", 1, "expected a given alphabet for a class [^...] to choose from, found '['"),
]


@pytest.mark.parametrize(("pattern", "place", "message"), SYNTAX_ERRORS)
def test_syntax_errors_point_at_the_character(pattern: str, place: int, message: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)) as caught:
        RegularExpression(pattern)
    first, shown, caret = str(caught.value).split("\n")
    assert first.startswith("RegularExpression: expected ")
    assert shown == "    " + pattern
    assert caret == "    " + " " * place + "^"


def test_invisible_characters_keep_the_caret_in_place() -> None:
    with pytest.raises(DeclarationError) as caught:
        RegularExpression("a\nb*)")
    assert str(caught.value).split("\n")[1:] == ["    a·b*)", "        ^"]


@pytest.mark.parametrize(
    ("pattern", "alphabet", "message"),
    [
        (
            "abx",
            "abc",
            "expected a letter of the given alphabet 'abc', found 'x' at position 2. Add the letter",
        ),
        ("[ax]", "abc", "expected a letter of the given alphabet 'abc', found 'x' at position 2"),
        (
            "[x-z]",
            "abc",
            "expected a class with at least one letter of the alphabet, found '[' at position 0",
        ),
        (
            "[^abc]",
            "abc",
            "expected a class with at least one letter of the alphabet, found '[' at position 0",
        ),
        ("a", "aa", "alphabet must consist of different single letters, found ('a', 'a')"),
        ("a", ["a", "bc"], "alphabet must consist of different single letters, found ('a', 'bc')"),
        ("a", "", "alphabet must consist of different single letters, found ()"),
        ("", None, "a pattern must contain a letter, but '' matches nothing but the empty string"),
        (
            "a{0}|()",
            None,
            "a pattern must contain a letter, but 'a{0}|()' matches nothing but the empty string",
        ),
        (
            "(" * 101 + "a" + ")" * 101,
            None,
            "expected at most 100 groups inside each other, found '(' at position 100",
        ),
        ("((a{99}){99}){99}", None, "a pattern may have up to 10000 states"),
        ("(a?){5000}", None, "a pattern may have up to 1000000 transitions, found more"),
        ("[\t-\U0010ffff]", None, "a pattern may have up to 10000 states"),
    ],
)
def test_patterns_that_cannot_be(pattern: str, alphabet: str | None, message: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)):
        RegularExpression(pattern, alphabet=alphabet)


def test_empty_groups_repeat_without_end_in_no_time() -> None:
    assert RegularExpression("((()){9999}){9999}a").matches("a")


def test_a_pattern_is_a_string() -> None:
    with pytest.raises(DeclarationError, match="pattern must be a string, found bytes"):
        RegularExpression(b"ab")  # type: ignore[arg-type]
