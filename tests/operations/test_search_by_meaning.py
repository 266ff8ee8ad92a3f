"""Search and recall by words and meaning together; what an answer was found by."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.core.ranking.note_score import Fusion, SeriesOrder, blend_neighbours, fuse
from cortex.index.vectors.embedders import load_embedder
from cortex.operations.care.embed import embed
from cortex.operations.find.recall import recall
from cortex.operations.find.search import search
from cortex.operations.records.consolidate import consolidate

pytest.importorskip("numpy")
from tests.index.embedding_server import embedding_server

NOTES = """=== records/decision/car-aaaaaa.md
---
id: car-aaaaaa
type: decision
title: Wheels
status: active
project: shop
---

The automobile needs oil every spring.
=== records/decision/auto-bbbbbb.md
---
id: auto-bbbbbb
type: decision
title: Oil
status: active
project: shop
---

Give the vehicle new oil when it is warm.
=== dog.md
# Pets

The hound sleeps.
=== money.md
# Budget

The price went up.
"""


@pytest.fixture
def embedded(vault_from, caller, monkeypatch):
    """Notes with vectors of a small server that knows some words of the same meaning."""
    load_embedder.cache_clear()
    with embedding_server() as server:
        monkeypatch.setenv("CORTEX_EMBEDDER", "openai")
        monkeypatch.setenv("CORTEX_EMBEDDER_URL", server.url)
        monkeypatch.setenv("CORTEX_EMBEDDER_MODEL", "m")
        vault = vault_from(NOTES)
        embed(vault, caller)
        server.texts.clear()
        yield vault, server


def ids(found) -> list[str]:
    return [one.id for one in found.hits]


def test_words_that_no_note_holds_are_answered_by_meaning(embedded, caller) -> None:
    vault, _ = embedded
    found = search(vault, caller, "puppy asleep", words_only=False)
    assert ids(found)[0] == "dog.md"
    assert found.problems == ()
    assert ids(search(vault, caller, "puppy asleep", words_only=True)) == []
    assert ids(search(vault, caller, "puppy asleep", alpha=0.0)) == []


def test_no_model_is_asked_for_what_words_answer(embedded, caller) -> None:
    vault, server = embedded
    for query in ("hound", "hound sleeps", '"hound sleeps"', "houn*", "hound -price", "type:decision", "*"):  # fmt: skip
        assert search(vault, caller, query).hits
    assert server.texts == []
    assert search(vault, caller, "which puppy is it that sleeps all day").hits[0].id == "dog.md"
    assert server.texts == ["which puppy is it that sleeps all day"]


def test_filters_hold_for_what_is_found_by_meaning(embedded, caller) -> None:
    vault, _ = embedded
    found = search(vault, caller, "puppy asleep type:decision")
    assert "dog.md" not in ids(found)
    found = search(vault, caller, "the car that was driven away", project=("shop",))
    assert set(ids(found)) == {"car-aaaaaa", "auto-bbbbbb"}


def test_a_model_that_fails_is_said_once_and_words_answer(embedded, caller, monkeypatch) -> None:
    vault, _ = embedded
    monkeypatch.setenv("CORTEX_EMBEDDER_URL", "http://127.0.0.1:9")
    found = search(vault, caller, "which hound is it that sleeps all day")
    assert ids(found) == ["dog.md"]
    (problem,) = found.problems
    assert "meaning is left out" in problem.message


def test_notes_like_one_are_found_without_a_model(embedded, caller, cortex) -> None:
    vault, server = embedded
    found = search(vault, caller, similar_to="car-aaaaaa", number=1)
    assert ids(found) == ["auto-bbbbbb"]
    assert server.texts == []
    assert "car-aaaaaa" not in ids(search(vault, caller, similar_to="car-aaaaaa"))
    assert ids(search(vault, caller, "type:meeting", similar_to="car-aaaaaa")) == []


def test_a_note_to_compare_with_takes_no_words(embedded, caller) -> None:
    vault, _ = embedded
    with pytest.raises(InvalidInputError, match="takes no words"):
        search(vault, caller, "hound", similar_to="car-aaaaaa")


def test_vectors_that_cannot_be_read_are_said(embedded, caller) -> None:
    vault, _ = embedded
    for file in Path(vault.cache_folder(), "vectors").glob("*.vectors"):
        file.write_bytes(b"")
    found = search(vault, caller, "which hound is it that sleeps all day")
    assert ids(found) == ["dog.md"]
    assert ["the vectors cannot be read" in one.message for one in found.problems] == [True]


def test_without_vectors_notes_like_one_are_those_with_its_words(vault_from, caller) -> None:
    vault = vault_from(NOTES + "=== more.md\n# Wheels of fortune\n\nNothing.\n")
    found = search(vault, caller, similar_to="car-aaaaaa")
    assert ids(found) == ["more.md"]
    (problem,) = found.problems
    assert "by the words of its title" in problem.message
    assert problem.hint == "cortex embed"


def test_an_answer_says_what_it_was_found_by(embedded, caller, cortex) -> None:
    vault, _ = embedded
    first = search(vault, caller, "which hound is it that sleeps all day", explain=True).hits[0]
    assert first.why["words"] > 0
    assert first.why["meaning"] > 0
    assert set(first.why["terms"]) == {"hound", "sleep"}
    printed = cortex("search", "--explain", "hound").stdout
    assert re.search(r"\n  why  words \d\.\d\d \(hound \d\.\d\d\)\n", printed)
    assert "called so" in cortex("search", "--explain", "Budget").stdout
    assert search(vault, caller, "hound").hits[0].why == {}


def test_reciprocal_ranks_are_there_for_who_wants_them(embedded, caller) -> None:
    vault, _ = embedded
    found = search(vault, caller, "which hound is it that sleeps all day", k=60, alpha=0.5)
    assert found.hits[0].id == "dog.md"
    assert found.hits[0].score < 0.05


def test_recall_knows_meaning_too(embedded, caller) -> None:
    vault, _ = embedded
    assert ids(recall(vault, caller, "the car that was driven last year"))[0] in (
        "car-aaaaaa",
        "auto-bbbbbb",
    )


def test_records_that_mean_the_same_are_suggested(embedded, caller) -> None:
    vault, _ = embedded
    (pair,) = consolidate(vault, caller).pairs
    assert {hit.id for hit in pair.hits} == {"car-aaaaaa", "auto-bbbbbb"}


def test_a_rebuilt_index_answers_the_same(embedded, caller) -> None:
    vault, _ = embedded
    Path(vault.root, "late.md").write_text("# Late\n\nA puppy and its kennel.\n")
    embed(vault, caller)
    queries = ("puppy asleep", "which puppy is it that sleeps all day", "oil for the car in spring")
    before = [search(vault, caller, query).hits for query in queries]
    folder = vault.cache_folder()
    for name in Path(folder).iterdir():
        if name.name != "vectors":
            shutil.rmtree(name) if name.is_dir() else name.unlink()
    assert [search(vault, caller, query).hits for query in queries] == before


def test_fused_scores() -> None:
    words, cosines = {1: 4.0, 2: 2.0}, {2: 0.5, 3: 0.8, 4: -0.1}
    fused = fuse(words, cosines, Fusion(0.5))
    assert {one: round(score, 4) for one, score in fused.items()} == {
        1: 0.5, 2: 0.375, 3: 0.32, 4: 0.0,
    }  # fmt: skip
    assert fuse({}, {}, Fusion()) == {}
    assert fuse({}, {3: 1.0}, Fusion(1.0)) == {3: 1.0}
    ranks = fuse({1: 4.0, 2: 4.0, 3: 1.0}, {3: 0.9}, Fusion(0.5, k=10))
    assert ranks[1] == ranks[2] == 0.5 / 11
    assert ranks[3] == pytest.approx(0.5 / 13 + 0.5 / 11)


def test_a_turn_means_what_is_talked_about() -> None:
    series = SeriesOrder([(7, 1 << 31 | 1), (8, 1 << 31 | 2), (9, 2 << 31 | 1)])
    blended = blend_neighbours({7: 0.8, 8: 0.2, 9: 0.5}, [7, 8, 9], series)
    assert blended[7] == pytest.approx((0.8 + 0.5 * 0.2) / 1.5)
    assert blended[8] == pytest.approx((0.2 + 0.6 * 0.8) / 1.6)
    assert blended[9] == 0.5
