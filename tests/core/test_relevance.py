"""What a prompt is about: which of its words tell something, and what covers enough of them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.ranking import relevance
from cortex.core.ranking.relevance import (
    PromptTerm,
    RelevantNote,
    TermPostings,
    find_relevant_notes,
    is_uninformative,
    normalized_idf,
    prompt_terms,
    score_cutoff,
)
from cortex.core.text.strings import MAX_PROMPT_CHARS as MAX_CHARS, truncate_prompt
from cortex.vault.settings import Settings


def _telling(prompt: str) -> list[str]:
    return [
        word.terms[0] if word.terms else " ".join(word.phrase)
        for word in prompt_terms(prompt, str)
        if word.is_informative
    ]


@pytest.mark.parametrize("prompt", [
    "", " \n\t", "thanks", "Thanks, looks good!", "run the tests", "fix the typo in line 3",
    "ok now do the same for the other file", "continue", "1", "commit this and push", "yes", "/compact",
    "/clear", "why?", "what do you mean", "- - -", "\x00\x01", "🙂🙂", "...", "42 17 3.14",
])  # fmt: skip
def test_a_prompt_that_is_about_nothing_asks_nothing(prompt) -> None:
    assert is_uninformative(prompt)


@pytest.mark.parametrize(("prompt", "telling"), [
    ("why do we not use os.replace to publish?", ["os.replace", "publish"]),
    ("please fix the flaky socket test", ["flaky", "socket"]),
    ("/review the merge driver", ["driver"]),
    ("look at cortex/core/merge.py", ["cortex/core/merge.py"]),
    ("お茶", ["お茶"]),
    ("почини парсер", ["почини", "парсер"]),
])  # fmt: skip
def test_what_is_about_something_is_told_by_the_words_that_say_it(prompt, telling) -> None:
    assert _telling(prompt) == telling


def _weight(prompt: str, word: str) -> float:
    return next(
        one.weight for one in prompt_terms(prompt, str) if word in (*one.terms, *one.phrase)
    )


@pytest.mark.parametrize(("heavier", "lighter", "prompt"), [
    ("merge_driver", "socket", "the merge_driver and the socket"),  # an identifier over prose
    ("socket", "zebra", "the socket\n```\nzebra\n```\n"),  # prose over a code block
    ("socket", "zebra", "the socket\n    zebra\n"),
    ("socket", "zebra", 'the socket\n  File "zebra", line 3\n'),  # over a stack trace
    ("socket", "zebra", "the socket\n2026-11-20 10:00:00 INFO zebra opened\n"),  # over a log
    ("refused", "zebra", "2026-11-20 10:00:00 INFO zebra\n2026-11-20 10:00:01 ERROR connection refused\n"),  # the error over the rest of the log
    ("socket", "merge", "merge the socket"),  # what it is about over what is to be done
])  # fmt: skip
def test_words_weigh_by_where_and_how_they_stand(prompt, heavier, lighter) -> None:
    assert _weight(prompt, heavier) > _weight(prompt, lighter)


def test_a_path_is_known_by_any_of_its_ends() -> None:
    (one,) = prompt_terms("/home/ada/app/core/merge.py", str)
    assert {"app/core/merge.py", "core/merge.py", "merge.py"} <= set(one.terms)
    assert one.phrase == ("merge", "py")


def test_the_message_of_an_error_weighs_like_prose_five_times_at_the_most() -> None:
    log = "".join(f"2026-11-20 10:00:00 ERROR zebra{number}x failed\n" for number in range(20))
    assert len([one for one in prompt_terms(log, str) if one.weight >= relevance.PROSE_WEIGHT]) == 5


@pytest.mark.parametrize(
    "prompt", ["x" * 8000, "a b " * 5000, "é\ud800" * 9000, "question\n" + "log " * 30_000 + "end"]
)
def test_of_a_long_prompt_beginning_and_end_are_taken_and_taken_again_it_is_the_same(
    prompt,
) -> None:
    once = truncate_prompt(prompt)
    assert len(once) <= MAX_CHARS
    assert truncate_prompt(once) == once
    assert once[:5] == prompt[:5].replace("\ud800", "?")
    assert once[-3:] == prompt[-3:].replace("\ud800", "?")


@given(st.text(st.characters(), max_size=300))
def test_any_text_is_read(text) -> None:
    words = prompt_terms(text, str)
    assert len(words) <= relevance.MAX_TERMS
    assert all(0 < one.weight < 10 and (one.terms or one.phrase) for one in words)


def test_a_word_tells_less_the_more_notes_hold_it() -> None:
    told = [normalized_idf(holding, 100) for holding in (1, 5, 20, 50, 100)]
    assert told == sorted(told, reverse=True)
    assert (told[0], told[-1]) == (1.0, pytest.approx(0, abs=0.01))
    assert normalized_idf(1, 1) >= 0
    assert normalized_idf(1, 0) >= 0


LEAST_SHARE = Settings().reminder_threshold


def _word(
    term: str, weight: float = 1.0, *, named: bool = False, telling: bool = True
) -> PromptTerm:
    return PromptTerm((term,), (), weight, named, telling)


def _bearing(*words: tuple[PromptTerm, TermPostings]) -> list[int]:
    found: list[RelevantNote] = find_relevant_notes(
        [word for word, _ in words], [held for _, held in words], 100, lambda _: 100, LEAST_SHARE
    )
    return [one.number for one in found]


IN_TEXT, IN_TITLE, NOWHERE = (
    TermPostings(1, frozenset(), frozenset([7])),
    TermPostings(1, frozenset([7]), frozenset()),
    TermPostings(0, frozenset(), frozenset()),
)
MANY = TermPostings(35, frozenset([7]), frozenset())


@pytest.mark.parametrize(("words", "found"), [
    ([], []),
    ([(_word("a"), IN_TITLE)], [7]),
    ([(_word("a"), IN_TEXT)], []),  # one word of prose in a text is chance
    ([(_word("a"), IN_TEXT), (_word("b"), IN_TEXT)], [7]),
    ([(_word("a_b", 1.5, named=True), IN_TITLE)], [7]),
    ([(_word("a", telling=False), IN_TITLE), (_word("b", telling=False), IN_TITLE)], []),  # words that ask for anything
    ([(_word("a"), IN_TITLE), *[(_word(f"x{number}"), NOWHERE) for number in range(9)]], []),  # it is about something else
    ([(_word("a"), IN_TITLE), *[(_word(f"x{number}", 0.8, telling=False), NOWHERE) for number in range(9)]], [7]),  # anybody says these
    ([(_word("a"), MANY), (_word("b"), MANY), (_word("c"), MANY)], [7]),  # none of them is rare, and one title has all
    ([(_word("a"), TermPostings(70, frozenset(range(70)), frozenset()))], []),  # most notes hold it
])  # fmt: skip
def test_a_note_bears_on_a_prompt_when_it_covers_enough_of_it(words, found) -> None:
    assert _bearing(*words) == found


def test_what_covers_most_comes_first_and_what_covers_much_less_is_not_told_beside_it() -> None:
    both, first = (
        TermPostings(2, frozenset([1, 2]), frozenset()),
        TermPostings(1, frozenset([2]), frozenset()),
    )
    found = find_relevant_notes(
        [_word("a", 1.2), _word("b")], [both, first], 100, lambda _: 100, LEAST_SHARE
    )
    assert [one.number for one in found] == [2, 1]
    assert found[1].score < score_cutoff(one.score for one in found) < found[0].score
    assert _bearing((_word("a"), both), (_word("b"), both)) == [1, 2]
