"""Regular expressions as networks: strings completed, superposed and rejected."""

import random
import re

import numpy as np
import pytest

import pfn
from pfn.automata import RegularExpression, UnknownLetterError
from pfn.engines import largest_error
from pfn.models import expression_network
from tests.automata.test_expression import LETTERS, random_patterns, strings_up_to

PAPER = RegularExpression("a+b(de)*c(de)+")


def asked(expression: RegularExpression, string: str, **options: int) -> pfn.Result:
    return pfn.infer(expression_network(expression), expression.observe(string), **options)


def completed(pattern: str, string: str) -> str:
    """The string that the network makes of it, checked to match exactly."""
    expression = RegularExpression(pattern)
    result = asked(expression, string)
    assert largest_error(result.rmse) < 1e-6
    found = expression.complete(result["letters"])
    assert found == expression.complete(states=result["states"])
    return found


class TestDeclaration:
    def test_equations_and_matrices(self) -> None:
        network = expression_network(PAPER)
        assert [str(equation) for equation in network.factorizations] == [
            "letters[t] = E states[t]",
            "[states[t]; states[t+1]] = W transitions[t]",
        ]
        np.testing.assert_array_equal(network["E"].value, PAPER.emission)
        np.testing.assert_array_equal(network["W"].value, PAPER.machine.matrix())

    def test_labels(self) -> None:
        network = expression_network(RegularExpression("[ab]c"))
        assert network["letters"].labels == ("a", "b", "c")
        assert network["states"].labels == ("a1", "b1", "c2")
        assert network["transitions"].labels == ("a1→c2", "b1→c2")

    @pytest.mark.parametrize("pattern", ["a", "[ab]", "a?", "(a|b)"])
    def test_a_single_letter_allows_no_transition(self, pattern: str) -> None:
        expression = RegularExpression(pattern, alphabet="ab")
        network = expression_network(expression)
        assert network["transitions"].labels == ("none",)
        assert not network["W"].value.any()
        for string in ("a", "b", "aa", "ab", "ba"):
            error = largest_error(asked(expression, string).rmse)
            assert (error < 1e-6) == bool(re.fullmatch(pattern, string)), (string, error)

    def test_a_string_is_not_an_expression(self) -> None:
        message = "must be a pfn.automata.RegularExpression, found str. Write RegularExpression(pattern)."
        with pytest.raises(pfn.DeclarationError, match=re.escape(message)):
            expression_network("a+b")


class TestCompletion:
    @pytest.mark.parametrize(
        ("string", "wanted"),
        [
            ("a?c??", "abcde"),
            ("??c??", "abcde"),
            ("?????", "abcde"),
            ("a?d?c??", "abdecde"),
            ("ab????cde", "abdedecde"),
            ("aa?d?c??", "aabdecde"),
        ],
    )
    def test_the_paper_s_expression(self, string: str, wanted: str) -> None:
        assert completed(PAPER.pattern, string) == wanted

    @pytest.mark.parametrize(
        ("pattern", "string", "wanted"),
        [
            ("(ab|cd)+", "a?c??b", "abcdab"),
            ("[0-9]{2}:[0-9]{2}", "0?:?0", "0?:?0"),  # any digit will do, and none has more than half
            ("(red|green|blue)", "??e?n", "green"),
            ("(red|green|blue)", "?e?", "red"),
            ("a{2,3}b{2}", "?????", "aaabb"),
            ("x(yz)*", "x??????", "xyzyzyz"),
            ("a|bc", "?", "a"),
        ],
    )
    def test_other_expressions(self, pattern: str, string: str, wanted: str) -> None:
        assert completed(pattern, string) == wanted

    def test_what_is_open_stays_a_superposition(self) -> None:
        expression = RegularExpression("a(b|c)d")
        letters = asked(expression, "a?d")["letters"]
        np.testing.assert_allclose(letters.sum(axis=0), 1, atol=1e-6)
        np.testing.assert_allclose(letters[[0, 3], 1], 0, atol=1e-6)
        assert (letters[[1, 2], 1] > 0.01).all()

    def test_sparseness_chooses_a_letter(self) -> None:
        expression = RegularExpression("a(b|c)+d")
        method = pfn.Propagate(sparseness=0.1)
        result = pfn.infer(expression_network(expression), expression.observe("a??d"), method=method)
        assert expression.matches(expression.complete(result["letters"]))


class TestSuperposition:
    def test_two_strings_at_once(self) -> None:
        expression = RegularExpression("(ab|cd)+")
        strings = {"abcdab": 1.0, "cdcdcd": 0.5}
        observed = {
            name: sum(size * expression.observe(string)[name] for string, size in strings.items())
            for name in ("letters", "states")
        }
        result = pfn.infer(expression_network(expression), observed)
        assert largest_error(result.rmse) < 1e-6
        decoded = expression.machine.decode(result["states"].round(6))
        assert decoded[0] == [("a1", 1.0), ("c3", 0.5)]
        assert decoded[3] == [("d4", 1.5)]

    def test_a_hidden_slice_of_a_sum(self) -> None:
        expression = RegularExpression("x(ab)*y|z(cd)*w")
        first, second = expression.observe("xab?by"), expression.observe("zcdcdw")
        observed = {name: 2.0 * first[name] + second[name] for name in first}
        letters = pfn.infer(expression_network(expression), observed)["letters"]
        wanted = {"a": 2.0, "c": 1.0}
        for letter, row in zip(expression.alphabet, letters, strict=True):
            assert row[3] == pytest.approx(wanted.get(letter, 0.0), abs=1e-4)

    def test_a_sum_with_a_string_that_does_not_match_is_rejected(self) -> None:
        expression = RegularExpression("(ab|cd)+")
        first, second = expression.observe("abcd"), expression.observe("acbd")
        result = pfn.infer(expression_network(expression), {name: first[name] + second[name] for name in first})
        assert largest_error(result.rmse) > 0.1


class TestRejection:
    def test_random_patterns_are_told_apart_like_python_does(self) -> None:
        """Strings that match end below 1e-9, the others near 1 over the root of the number of entries."""
        rng = random.Random(0)
        for pattern in random_patterns(40, seed=7):
            expression = RegularExpression(pattern, alphabet=LETTERS)
            strings = rng.sample(strings_up_to(4)[1:], 3) + rng.sample(LETTERS, 1)
            strings += [string for string in strings_up_to(4)[1:] if expression.matches(string)][-1:]
            for string in strings:
                error = largest_error(asked(expression, string, iterations=200).rmse)
                assert error < 1e-6 or error > 0.05, (pattern, string, error)
                assert (error < 1e-6) == bool(re.fullmatch(pattern, string)), (pattern, string, error)

    @pytest.mark.parametrize("string", ["aab?e??de", "a???", "b????", "?????d"])
    def test_no_completion_exists(self, string: str) -> None:
        assert largest_error(asked(PAPER, string, iterations=3000).rmse) > 0.01

    def test_the_empty_string_is_refused_with_a_reason(self) -> None:
        with pytest.raises(pfn.DataError, match="the empty string, which has no time slices"):
            RegularExpression("a*").observe("")

    def test_foreign_letters_cannot_match(self) -> None:
        with pytest.raises(UnknownLetterError, match="found 'f' at position 1"):
            PAPER.observe("afc")
