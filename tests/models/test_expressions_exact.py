"""Random regular expressions against `re`, by exact inference: a match has a solution, anything else has none."""

import random
import re

import pytest

import pfn
from pfn.automata import RegularExpression
from pfn.models import expression_network
from tests.automata.test_expression import random_patterns, strings_up_to

EXPRESSIONS = 200
STRINGS = 4  # of each expression, half of them matching where there are such


def drawn_strings(pattern, rng):
    """Strings of up to five letters, matching ones and others."""
    matching = [s for s in strings_up_to(5) if s and re.fullmatch(pattern, s)]
    others = [s for s in strings_up_to(5) if s and not re.fullmatch(pattern, s)]
    half = STRINGS // 2
    return rng.sample(matching, min(half, len(matching))) + rng.sample(others, min(half, len(others)))


def has_solution(expression, network, string):
    try:
        result = pfn.infer(network, expression.observe(string), method="exact")
    except pfn.NoExactSolution:
        return False
    assert max(result.rmse.values()) < 1e-7
    return True


@pytest.mark.parametrize("group", range(4))
def test_against_fullmatch(group):
    rng = random.Random(group)
    agreed = {True: 0, False: 0}
    for pattern in random_patterns(EXPRESSIONS // 4, seed=100 + group):
        expression = RegularExpression(pattern, alphabet="abc")
        network = expression_network(expression)
        for string in drawn_strings(pattern, rng):
            wanted = bool(re.fullmatch(pattern, string))
            assert has_solution(expression, network, string) == wanted, (pattern, string)
            agreed[wanted] += 1
    assert min(agreed.values()) > 40


def test_the_empty_string_is_refused():
    expression = RegularExpression("a*")
    with pytest.raises(pfn.DataError, match=r"the empty string, which has no time slices"):
        pfn.infer(expression_network(expression), expression.observe(""), method="exact")


def test_a_letter_that_the_expression_does_not_have():
    expression = RegularExpression("ab*")
    with pytest.raises(pfn.NoExactSolution, match=r"z"):
        pfn.infer(expression_network(expression), expression.observe("abz"), method="exact")


def test_unknown_letters_are_certain_where_only_one_fits():
    expression = RegularExpression("a(b|c)d+")
    network = expression_network(expression)
    result = pfn.infer(network, expression.observe("???d"), method="exact")
    assert result.unique["letters"].all(axis=0).tolist() == [True, False, True, True]
    found = {expression.complete(s["letters"]) for s in pfn.solutions(network, expression.observe("???d"), 5)}
    assert found == {"abdd", "acdd"}
