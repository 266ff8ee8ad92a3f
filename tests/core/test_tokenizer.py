"""What a text is searched by: which terms it has, and at which positions."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given, strategies as st

from cortex.core.text.tokenizer import (
    MAX_TERM_CHARS,
    STOP_WORDS,
    TokenizedWord,
    fold_accents,
    split_chunks,
    tokenize_chunk,
    tokenize_query,
)


def stem(word: str) -> str:
    """Enough of English to see where stemming happens."""
    return word.removesuffix("s") if len(word) > 2 else word


def row(text: str) -> list[str]:
    """The term at each position."""
    return [part for word in tokenize_query(text, stem) for part in word.part_terms]


def wholes(text: str) -> list[str]:
    """The terms that share a position with another."""
    return [whole for word in tokenize_query(text, stem) for whole in word.whole_terms]


def holds(text: str, phrase: str) -> bool:
    """Whether the phrase stands in the text, by positions."""
    searched, wanted = row(text), row(phrase)
    return any(searched[at : at + len(wanted)] == wanted for at in range(len(searched)))


@pytest.mark.parametrize(("text", "terms"), [
    ("Decisions and merges", "decision merge"),
    ("HELLO Hello hello", "hello hello hello"),
    ("URLs, PRs & APIs", "url pr api"),
    ("what is the merge driver?", "merge driver"),
    ("décision Décision de\u0301cision DÉCISION", "decision decision decision decision"),
    ("Ærøskøbing Łódź straße ﬁle Ｆｕｌｌ", "aeroskobing lodz strasse file full"),
    ("user's guide, the users’ guides", "user guide user guide"),
    ("don't can't it's we'll I'd they’re", ""),
    ("l'avion O'Neill", "l avion o neill"),
    ("**bold**text _soft_ `code` ~~gone~~ <b>tag</b>", "bold text soft code gone b tag b"),
    ("[[wiki link|alia]] [text](page) #tag !image", "wiki link alia text page tag image"),
    ("key: value; a=b, (c) {d} x<y", "key value b c d x y"),
    ("foo--bar, foo...bar, foo:bar", "foo bar foo bar foo bar"),
    ("3.14 1,000 16:45", "3 14 1 000 16 45"),
    ("😀 → ✓ — … © ½", "1 2"),
    ("", ""),
    (" \n\t ___ --- ", ""),
])  # fmt: skip
def test_prose(text: str, terms: str) -> None:
    assert row(text) == terms.split()


@pytest.mark.parametrize(("text", "parts", "spellings"), [
    ("merge_driver", "merge driver", "merge_driver mergedriver"),
    ("mergeDriver", "merge driver", "mergedriver"),
    ("MergeDrivers", "merge driver", "mergedrivers mergedriver"),
    ("merge-driver", "merge driver", "merge-driver mergedriver"),
    ("HTTPServer", "http server", "httpserver"),
    ("parseURLs", "parse url", "parseurls parseurl"),
    ("cortex/core/words.py", "cortex core word py", "cortex/core/words.py"),
    ("std::Vec", "std vec", "std::vec"),
    ("v1.2.3", "v 1 2 3", "v1.2.3"),
    ("utf-8", "utf 8", "utf-8"),
    ("UTF8", "utf 8", "utf8"),
    ("sha256sum", "sha 256 sum", "sha256sum"),
    ("2026-11-20", "2026 11 20", "2026-11-20"),
    ("front-end", "front end", "front-end frontend"),
    ("__init__", "init", ""),
    ("_private_name", "private name", "private_name privatename"),
    ("--no-verify", "verify", "no-verify noverify"),
    ("is_open", "open", "is_open isopen"),
    ("to_do", "to_do", "to_do todo"),
    ("merge_driver’s", "merge driver", "merge_driver mergedriver"),
    ("user’s-guide", "user guide", "user's-guide userguide"),
    ("crème-brûlée", "creme brulee", "creme-brulee cremebrulee"),
    ("use-sqlite-k3f9q2", "use sqlite k3f9q2", "use-sqlite-k3f9q2"),
    ("550e8400-e29b-41d4", "550e8400 e29b 41d4", "550e8400-e29b-41d4"),
    ("e3b0c44298fc1c149afbf4c8996fb924", "e3b0c44298fc1c149afbf4c8996fb924", ""),
    ("aGVsbG8gd29ybGQaGVsbG8", "agvsbg8gd29ybgqagvsbg8", ""),
])  # fmt: skip
def test_identifiers(text: str, parts: str, spellings: str) -> None:
    assert row(text) == parts.split()
    assert wholes(text) == spellings.split()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("全文検索", "全文 文検 検索"), ("字", "字"), ("使用Python3编写", "使用 python 3 编写"), ("한국어 검색", "한국 국어 검색"),
        ("ｶﾞｷﾞ が か\u3099", "ガギ が が"), ("東京、大阪。", "東京 大阪"), ("สวัสดี", "สว วั ัส สด ดี"),
        ("हिन्दी में", "हिन्दी में"),
    ],
)  # fmt: skip
def test_other_scripts(text: str, terms: str) -> None:
    assert row(text) == terms.split()


@pytest.mark.parametrize("spelling", [
    "merge_driver", "mergeDriver", "merge-driver", "MergeDriver", "merge/driver", "merge.driver",
    "Merge Drivers",
])  # fmt: skip
def test_a_phrase_is_found_in_every_spelling(spelling: str) -> None:
    text = f"How the {spelling} of this repository works"
    assert holds(text, "merge driver")
    assert holds(text, f"{spelling} of the repository")
    assert not holds(text, "driver merge")


def test_stop_words_take_no_position_in_texts_and_in_queries() -> None:
    assert holds("the state of the art in merging", "state art")
    assert holds("state art", "what is the state of the art?")
    assert tokenize_query("how do we do it", stem) == []


def test_stop() -> None:
    assert {"the", "what", "why"} <= STOP_WORDS
    assert STOP_WORDS.isdisjoint(["merge", "may", "decision", ""])
    assert all(row(word) == [] for word in STOP_WORDS)


def test_fold_keeps_case() -> None:
    assert fold_accents("Décision ﬁn Ａ") == "Decision fin A"


def test_a_long_token_is_searchable_by_its_beginning() -> None:
    digest = "a1" * 64
    assert row(digest) == [digest[:MAX_TERM_CHARS]]
    assert row("x" * 1000) == ["x" * MAX_TERM_CHARS]


def test_a_long_path_is_searchable_by_its_parts_but_not_by_noise_in_it() -> None:
    noise = "Zm9vYmFyYmF6cXV4"[:16] + "Qk9"
    path = f"documentation/reference/configuration/{noise}/authentication-providers.md"
    assert row(path) == [
        "documentation", "reference", "configuration", "authentication", "provider", "md",
    ]  # fmt: skip
    assert wholes(path) == [path.lower()[:MAX_TERM_CHARS]]


ALPHABET = st.sampled_from(
    [*string.printable, *"éßøИйıİ全文検ｶﾞ한สव्’‘—…½①ﬁ\u0301\u3099\u200d\ufeff😀\udc80"]
)
TEXTS = st.text(ALPHABET, max_size=80)


@given(TEXTS)
def test_terms_are_folded_bounded_and_never_empty(text: str) -> None:
    for spellings, parts in tokenize_query(text, stem):
        assert parts
        for term in [*spellings, *parts]:
            assert 0 < len(term) <= MAX_TERM_CHARS
            assert term == term.casefold()
            term.encode()


@given(TEXTS)
def test_a_text_is_found_by_itself(text: str) -> None:
    assert holds(f"merge {text} driver", text)


@given(TEXTS, TEXTS)
def test_words_of_two_lines_are_the_words_of_each(first: str, second: str) -> None:
    assert row(f"{first}\n{second}") == row(first) + row(second)


@given(TEXTS)
def test_case_of_prose_does_not_matter(text: str) -> None:
    prose = " ".join(word for word in text.casefold().split() if word.isalpha() and word.isascii())
    assert row(prose.upper()) == row(prose)


def test_a_chunk_is_analysed_alike_wherever_it_stands() -> None:
    text = "the merge_driver of décision 全文 don't"
    assert [
        word for chunk in split_chunks(text) for word in tokenize_chunk(chunk, stem)
    ] == tokenize_query(text, stem)
    assert tokenize_chunk("merge_driver", stem) == (
        TokenizedWord(("merge_driver", "mergedriver"), ("merge", "driver")),
    )


def test_a_megabyte_without_a_seam_is_one_short_term() -> None:
    assert row("a" * 1_000_000) == ["a" * MAX_TERM_CHARS]


def test_noise_adds_few_terms() -> None:
    letters = random.Random(7).choices(string.ascii_letters + string.digits + "/", k=10_000)
    assert len(row("".join(letters))) < 10_000 / 16
