"""A text in passages: all of its words, in pieces of about a screen, each with what stands around it."""

from __future__ import annotations

from hypothesis import given, strategies as st

from cortex.core.briefing.excerpt import body_excerpt
from cortex.core.markdown.passages import passages
from cortex.core.markdown.snippet import Wanted, best_excerpt, looked_for
from cortex.core.model.note_status import MATCH_END, MATCH_START
from cortex.core.model.turn_summary import (
    AGENT,
    USER,
    TurnSummary,
    Utterance,
    compose_text,
    format_utterances,
)

PARAGRAPH = "The carrier drops parcels above thirty kilos, so the cart splits them first. "


def turn(*said: Utterance) -> str:
    message = format_utterances(said)
    return f"## Raw Content\n\n{compose_text(TurnSummary(message, changed_files=('cart.py',), title='Parcels'))}\n"


def test_a_short_text_is_one_passage_and_an_empty_one_is_none() -> None:
    assert [one.text for one in passages("\n# Carts\n\nKept in SQLite.\n")] == [
        "# Carts\n\nKept in SQLite."
    ]
    assert passages("") == passages("\n\n---\n* * *\n") == ()


def test_a_long_text_is_cut_at_headings_and_blank_lines_and_knows_what_is_above() -> None:
    text = f"# Parcels\n\n{PARAGRAPH * 9}\n\n## Weight\n\n{PARAGRAPH * 6}\n\n{PARAGRAPH * 8}\n"
    found = passages(text)
    assert [(one.line, one.around) for one in found] == [
        (0, ""),
        (4, "Parcels"),
        (8, "Parcels\nWeight"),
    ]
    assert all(text.split("\n")[one.line] == one.text.split("\n")[0] for one in found)


def test_what_a_person_asked_goes_with_each_passage_of_the_turn() -> None:
    text = turn(
        Utterance(USER, "Why are parcels refused?"),
        Utterance(AGENT, PARAGRAPH * 9),
        Utterance(AGENT, PARAGRAPH * 9),
        Utterance(USER, "Split them", "refused plan"),
        Utterance(AGENT, "Done."),
    )
    first, *rest = passages(text)
    assert first.text.startswith("Why are parcels refused?")
    assert first.around == "Parcels"  # the title that the host gives the session
    assert len(rest) >= 2
    assert {one.around for one in rest} == {"Parcels\nWhy are parcels refused?"}
    held = "".join(one.text for one in (first, *rest))
    assert "cart.py" in held
    assert not any(mark in held for mark in ("[!", "Raw Content", "Title:"))


@given(st.lists(st.sampled_from([*"ab. \n#>", "\n\n", "* * *", "> [!user] x", "wörd " * 90])))
def test_no_word_is_lost_and_no_passage_is_longer_than_two_screens(parts: list[str]) -> None:
    text = "".join(parts)
    found = passages(text)
    assert all(len(one.text) < 1550 for one in found)
    held = "".join(one.text for one in found)
    assert held.count("wörd") == text.count("wörd")
    assert [one.line for one in found] == sorted(one.line for one in found)


NOTE = f"---\nid: a\n---\n\n# Parcels\n\n{PARAGRAPH * 15}\n\n> [!user] Which customs form?\n\nNo duty is due below 22 euros. Above it we send a CN23 form. {PARAGRAPH}\n\nNothing else."


def test_an_excerpt_is_the_sentences_that_hold_most_and_names_their_line() -> None:
    shown = best_excerpt(NOTE, looked_for({"custom": 2.0, "form": 1.5, "cart": 0.1}), 1)
    plain = shown.text.replace(MATCH_START, "").replace(MATCH_END, "")
    assert plain.startswith("Which customs form? No duty is due below 22 euros. Above it we")
    assert (NOTE.split("\n")[shown.line - 1], len(plain) <= 400) == (
        "> [!user] Which customs form?",
        True,
    )
    assert f"{MATCH_START}customs{MATCH_END} {MATCH_START}form{MATCH_END}" in shown.text


def test_a_passage_that_is_gone_is_looked_for_in_the_whole_note() -> None:
    wanted = looked_for({"duty": 1.0})
    assert best_excerpt(NOTE, wanted, 99).line == best_excerpt(NOTE, wanted).line == 11


@given(st.text(st.sampled_from("ab .\n#>[!]-*é\u3042"), max_size=300), st.integers(-1, 5))
def test_any_text_has_an_excerpt_on_one_line(text: str, part: int) -> None:
    wanted: Wanted | None = looked_for({"a": 1.0, "b": 2.0})
    shown = best_excerpt(text, wanted, part)
    assert "\n" not in shown.text
    assert 1 <= shown.line <= text.count("\n") + 1


def test_neither_the_marks_of_bold_nor_those_of_a_conflict_are_shown() -> None:
    text = "# Carts\n\n<<<<<<< yours\n**Why.** Carts are `small`.\n=======\nCarts are large.\n>>>>>>> Ana's\n"
    shown = best_excerpt(text, looked_for({"cart": 1.0}))
    plain = shown.text.replace("\ue000", "").replace("\ue001", "")
    assert plain == "Why: Carts are `small`. Carts are large."
    told = body_excerpt("Carts", text)
    assert "large" in told
    assert not any(mark in told for mark in ("<<<", "===", ">>>"))
