"""How alike texts are, and finding all pairs of many: exact, whatever the texts."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from cortex.core.ranking import text_similarity
from cortex.core.ranking.text_similarity import MAX_TOKENS, similar_pairs, similarity, token_set

WORDS = [
    "apple", "bread", "cedar", "delta", "eagle", "fable", "grape", "house", "ivory", "jolly",
    "knife", "lemon",
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), [
    ("", ()),
    ("The merge of THE Folders", ("merge", "folders")),
    ("a an to db id", ()),
    ("merge_driver mergeDriver v2beta", ("merge", "driver", "mergedriver", "beta")),
    ("step 2 of phase3, v4, 3.11: k3f7q2", ("step", "phase", "2", "3", "4", "11")),
    ("Größe 2, é4", ("grösse", "2", "4")),
    ("Größe, größe! GRÖSSE", ("grösse",)),
    ("don’t l'été café", ("don", "été", "café")),
    ("日本語 です", ("日本", "本語", "です")),
    ("नमस्ते दुनिया", ("नमस्ते", "दुनिया")),
])  # fmt: skip
def test_words_are_compared_without_case_and_stop_words(text, found) -> None:
    assert token_set(text) == set(found)


def test_the_likeness_is_words_in_both_over_words_in_either() -> None:
    assert similarity("merge briefings by item", "Merge Briefings, by Line") == pytest.approx(2 / 4)
    assert similarity("merge", "merge merge MERGE") == 1.0
    assert similarity("", "") == 0.0
    assert similarity("apple", "bread") == 0.0
    assert (text_similarity.SIMILAR_THRESHOLD, text_similarity.DUPLICATE_THRESHOLD) == (0.4, 0.6)


def test_of_a_long_text_the_first_words_count() -> None:
    alphabet = [
        f"{a}{b}{c}{d}"
        for a in "bcdfgh"
        for b in "klmnpqrst"
        for c in "vwxzbcdfg"
        for d in "aeiouyklmnpq"
    ]
    assert len(token_set(" ".join(alphabet))) == MAX_TOKENS < len(alphabet)
    assert alphabet[0] in token_set(" ".join(alphabet))
    assert alphabet[-1] not in token_set(" ".join(alphabet))


def brute(texts: list[str], least: float) -> set[tuple[int, int, float]]:
    return {
        (i, j, found)
        for i, j in combinations(range(len(texts)), 2)
        if (found := similarity(texts[i], texts[j])) >= least
    }


@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), max_size=14),
    least=st.sampled_from([0.01, 0.1, 0.25, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.75, 1.0]),
    at_once=st.sampled_from([1, 2, 5, 256]),
)
def test_all_pairs_are_found_and_no_others(texts, least, at_once) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_similarity, "_MAX_BITS", 0)
        patch.setattr(text_similarity, "_MIN_COMPARED", at_once)
        found = list(similar_pairs(texts, least))
    assert len(found) == len(set(found))
    assert set(found) == brute(texts, least)


@given(st.integers(0, 10_000))
def test_pairs_among_texts_of_many_sizes_are_all_found(seed) -> None:
    import random

    chance = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(chance.choices(letters, k=chance.randint(3, 5))) for _ in range(150)]
    texts = [
        " ".join(chance.choices(vocabulary, k=chance.choice([3, 20, 60, 200]))) for _ in range(25)
    ]
    texts += [f"{text} {' '.join(chance.choices(vocabulary, k=9))}" for text in texts[::3]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_similarity, "_MAX_BITS", 0)
        patch.setattr(text_similarity, "_MIN_COMPARED", chance.choice([4, 20]))
        assert set(similar_pairs(texts, 0.4)) == brute(texts, 0.4)


def test_copies_are_pairs_too_and_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    found = list(
        similar_pairs(
            ["same words here", "other", "same words here", "", ""],
            0.4,
            lambda *one: told.append(one),
        )
    )
    assert found == [(0, 2, 1.0)]
    assert {what for what, _, _ in told} == {"reading words", "comparing"}


@pytest.mark.parametrize(
    "text",
    [
        "word " * 100_000, "x" * 1_000_000, "'" * 1_000_000, "a.b/" * 250_000, "aé" * 500_000,
        "あ" * 300_000, " ".join(f"é{n:x}" for n in range(150_000)),
    ],
    ids=["equal words", "one word", "quotes", "path", "accents", "kana", "many words"],
)  # fmt: skip
def test_hostile_text_of_a_megabyte_is_read_in_no_time(text) -> None:
    found = [
        pair[:2] for pair in similar_pairs([text, f"{text} another", "short text"])
    ]  # a quadratic reading would take minutes
    assert ((0, 1) in found) == bool(token_set(text))
