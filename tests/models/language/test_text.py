from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import pfn
from pfn.models import Vocabulary, character_tokens, word_frequencies, word_tokens
from pfn.models.language.text import distinct_sequences, one_hot

SHAKESPEARE = Path(__file__).parents[3] / "../shared/data/text-shakespeare/train.txt"
TOKENS = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=3, max_size=40)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("No more on't; let it be: away!", ["no", "more", "on't", ";", "let", "it", "be", ":", "away", "!"]),
        ("the 'king's' men--all 120", ["the", "'", "king's", "'", "men", "-", "-", "all", "120"]),
        ("Élan d’Été,\n\tnaïve_x", ["élan", "d’été", ",", "naïve", "_", "x"]),
        ("\n  \n", []),
    ],
)
def test_word_tokens(text, tokens):
    assert word_tokens(text) == tokens


@given(st.text())
def test_word_tokens_lose_nothing_but_space(text):
    assert "".join(word_tokens(text)) == "".join(text.lower().split())


@pytest.mark.skipif(not SHAKESPEARE.exists(), reason="needs ../shared/data")
def test_tokens_of_the_figures():
    tokens = word_tokens(SHAKESPEARE.read_text("utf-8"))
    learned = tokens[: int(len(tokens) * 0.9)]
    assert len(learned) == 204_844
    assert len(Vocabulary.of(learned, minimum_count=3)) == 4_319


def test_characters_keep_case_and_space():
    assert character_tokens("Ab \n") == ["A", "b", " ", "\n"]


@given(TOKENS, st.integers(1, 4))
def test_vocabulary_keeps_what_is_frequent(tokens, minimum):
    vocabulary = Vocabulary.of(tokens, minimum_count=minimum)
    counts = Counter(tokens)
    assert set(vocabulary) == {word for word in counts if counts[word] >= minimum} | {"<unk>"}
    assert [counts[word] for word in vocabulary.words[1:]] == sorted(
        (count for count in counts.values() if count >= minimum), reverse=True
    )
    expected = [token if counts[token] >= minimum else "<unk>" for token in tokens]
    assert vocabulary.decode(vocabulary.encode(tokens)) == expected


def test_unknown_words_that_are_already_marked_count_as_unknown():
    vocabulary = Vocabulary.of(["<unk>", "a", "<unk>", "<unk>", "a"])
    assert vocabulary.words == ("<unk>", "a")
    assert vocabulary.encode(["<unk>", "b", "a"]).tolist() == [0, 0, 1]


def test_vocabulary_compares_by_its_words():
    assert Vocabulary(["a", "b"]) == Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])
    assert hash(Vocabulary(["a"])) == hash(Vocabulary(["a"]))
    assert "a" in Vocabulary(["a"])
    assert "b" not in Vocabulary(["a"])


@given(TOKENS)
def test_one_hot(tokens):
    vocabulary = Vocabulary("abc")
    matrix = vocabulary.one_hot(tokens)
    assert sp.issparse(matrix)
    assert matrix.nnz == len(tokens)
    np.testing.assert_array_equal(matrix.toarray(), np.eye(4)[:, vocabulary.encode(tokens)])


def test_one_hot_of_no_words():
    assert one_hot([], 3).shape == (3, 0)


@given(TOKENS, st.integers(1, 3))
def test_distinct_sequences_count_what_a_counter_counts(tokens, length):
    numbers = Vocabulary("abcd").encode(tokens)
    words, counts = distinct_sequences(numbers, length)
    expected = Counter(tuple(numbers[i : i + length].tolist()) for i in range(len(tokens) - length + 1))
    assert dict(zip(map(tuple, words.T.tolist()), counts.tolist(), strict=True)) == expected


def test_distinct_sequences_of_some_places():
    words, counts = distinct_sequences(np.array([0, 1, 0, 1, 1]), 2, where=np.array([True, False, True, False]))
    assert (words.tolist(), counts.tolist()) == ([[0], [1]], [2])


def test_frequencies_count_every_word_at_least_once():
    np.testing.assert_allclose(word_frequencies(["a", "a", "a"], Vocabulary("a")), [1 / 4, 3 / 4])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Vocabulary(["a", "a"]), "'a' is listed twice"),
        (lambda: Vocabulary([], unknown=None), "there are no words"),
        (lambda: Vocabulary([1]), "words must be strings, found 1"),
        (lambda: Vocabulary("a", unknown=None).encode(["b"]), "'b' is not among the 1 words"),
        (lambda: Vocabulary("ab").decode([3]), "from 0 to 2, found 3 at place 0"),
        (lambda: Vocabulary("ab").encode("ab"), r"a list of tokens, found the text 'ab'.*word_tokens"),
        (lambda: Vocabulary.of("ab"), "a list of tokens"),
        (lambda: Vocabulary.of(["a"], minimum_count=0), "minimum_count must be a whole number >= 1, found 0"),
        (lambda: distinct_sequences(np.array([1]), 2), "at least 2 tokens, found 1"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(pfn.PfnError, match=message):
        call()
