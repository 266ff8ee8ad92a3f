"""Which passages of a turn become records: by signal, of a whole turn, and what must stay silent."""

from __future__ import annotations

import random
import time

import pytest

from cortex.core.extract.candidate import PASSAGE_LAYER, Candidate
from cortex.core.extract.extraction import choose_candidates
from cortex.core.extract.noteworthy import (
    MAX_PASSAGE_CHARS,
    MAX_PER_EVENT,
    cut_passages,
    find_noteworthy,
)
from cortex.core.extract.prose import blank_callouts, own_lines
from cortex.core.model.turn_summary import (
    AGENT,
    USER,
    TurnSummary,
    Utterance,
    compose_text,
    format_utterances,
    utterances,
)
from tests.core.extract.turns import FINDING, agent, answer, user

CAUSE = (
    "The upload fails on Windows because `save_part()` opens the file a second time while "
    "`PartWriter` still holds it. On Linux that is allowed, but Windows refuses, so `retry_upload` "
    "never gets further than the first part and the error is silently lost."
)


def found(*said: Utterance) -> list[Candidate]:
    return find_noteworthy(list(said))


@pytest.mark.parametrize("words", [
    "we should not store tokens in the config, I want them in the system keychain only",
    "I'd rather keep one table for both kinds of orders instead of a second schema",
    "let's leave the old endpoint without a redirect, our partners don't use it",
    "always use pnpm instead of npm here",
    "never commit directly to main, open a PR please",
    "please don't use mocks in the integration tests",
    "do not add comments to code",
    "no, the API should return 404 when the user has no access, not 403",
    "that's wrong, the cache is per user and not per tenant",
    "no, we never retry payments by ourselves since the bank does, so that must go",
])  # fmt: skip
def test_a_person_s_decision_is_kept_in_their_words(words: str) -> None:
    (one,) = found(agent("Shall I go on with the import?"), user(words))
    assert f"> {words}" in one.text
    assert "Before: Shall I go on with the import?" in one.text
    assert one.type in ("decision", "preference")


@pytest.mark.parametrize("words", [
    "run the tests again and commit",
    "can you check if the deployment of our staging works now?",
    "what happens when the queue is full, do we drop the oldest?",
    "yes",
    "I don't think this works. It still shows the old value",
    "I don't understand, what do you mean by that?",
    "you should read the docs again, I think",
    "i'd like you to review this PR fully and list them all out",
    "now the button is not visible at all",
    "don't worry about the linter for now, just continue",
    "ok, looks good to me",
    "Implement the following plan:\n\n# Move carts\n\nWe should keep `cart_id` and never drop it",
    "<command-name>/clear</command-name> we should always keep that in our list",
    (
        "The main entry point lacks test coverage. Tests should include: only the hidden commands, never "
        "the network, and the interval must be respected on line 40"
    ),
    "error: we should not be here, let's make sure that `main.rs:10` is not our bug",
])  # fmt: skip
def test_what_a_person_asks_or_pastes_is_no_record(words: str) -> None:
    assert found(user(words), agent("Fine.")) == []


def test_an_answer_is_kept_with_its_question_and_a_refusal_with_what_was_refused() -> None:
    (one,) = found(answer("Where should carts live?", "SQLite, since we have it already"))
    assert one.text.startswith("Where should carts live?\n\n> SQLite, since we have it already")
    assert one.type == "decision"
    (one,) = found(
        answer("refused npm install left-pad", "we don't want more dependencies for that")
    )
    assert (one.type, one.title) == (
        "rejection",
        "we don't want more dependencies for that (refused npm install left-pad)",
    )
    assert found(answer("Which colour?", "Blue")) == []
    assert found(answer("the plan", "approved")) == []


@pytest.mark.parametrize("text", [
    CAUSE,
    f"## Root cause\n\n{CAUSE}",
    FINDING,
    # one list
    (
        "**Why two queues**\n\n- `fast_lane` holds what a person waits for, and never more than 50 jobs\n"
        "- `bulk_lane` runs at night only, because the mail provider doesn't accept more than 100 "
        "messages a minute\n- a job that fails twice goes to `dead_letters` instead of being retried"
    ),
])  # fmt: skip
def test_a_finding_of_the_agent_is_kept(text: str) -> None:
    (one,) = found(user("why do uploads hang on Windows?"), agent(text))
    assert one.layer == PASSAGE_LAYER
    assert "Asked: why do uploads hang on Windows?" in one.text


@pytest.mark.parametrize("text", [
    "Let me look at the upload code first.",
    "All tests pass. Let me commit this.",
    "Done! The file has been created and everything is clean now, nothing else to do here.",
    "Now I'll update `save_part()` and `PartWriter` and `retry_upload()` to use one handle:",
    f"## Options\n\nLet me think about `save_part()`. {'We could do this or that. ' * 6}",
    "Would you like me to open a pull request for it?",
    "```python\n" + CAUSE + "\n```",
    "\n".join(f"> {line}." for line in CAUSE.split(". ")),
    "| a | b |\n|---|---|\n| `x_y` | never because |\n" * 5,
    "上传失败是因为文件被打开了两次。在 Linux 上这是允许的，但在 Windows 上不行。",
])  # fmt: skip
def test_narration_proposals_code_and_quotes_are_none(text: str) -> None:
    assert found(user("please fix the upload"), agent(text)) == []


def test_what_the_turn_takes_back_is_none() -> None:
    assert found(user("why?"), agent(CAUSE), agent("The file is never closed.")) != []
    for words in ("Wait, that's not it: the file is closed.", "You're right, I was wrong there."):
        assert found(user("why?"), agent(CAUSE), agent(words)) == []


def chosen(*said: Utterance) -> tuple[Candidate, ...]:
    """What becomes records of a turn in which this was said."""
    return choose_candidates(compose_text(TurnSummary(format_utterances([*said]))), (), "stop")


def test_a_whole_turn() -> None:
    said = [
        user("uploads hang on Windows, please find out why"),
        agent("Let me look at the upload code first."),
        agent(f"## Root cause\n\n{CAUSE}"),
        answer("May the part size change?", "no, our mobile clients rely on 5 MB, keep it"),
        agent("I'll keep the size. Let me run the tests."),
        agent("Done. All 31 tests pass.\n\n**Files changed:**\n- `upload.py`\n- `upload_test.py`"),
    ]
    text = compose_text(TurnSummary(format_utterances(said), changed_files=("upload.py",)))
    kept = choose_candidates(text, (), "stop")
    assert [one.title for one in kept] == [
        "our mobile clients rely on 5 MB, keep it (May the part size change?)",
        "The upload fails on Windows because `save_part()` opens the file a second time…",
    ]
    assert "Asked: uploads hang on Windows, please find out why" in kept[1].text
    assert kept == choose_candidates(text, (), "stop"), "the same event gives the same"
    assert choose_candidates(text, (), "subagent_stop") == ()


def test_a_person_s_words_stand_with_the_reply_and_not_with_what_comes_next() -> None:
    (one,) = found(
        user("we never send mails from staging, that must stay so"),
        agent("Let me check the settings first."),
        agent("Understood: `MAIL_SINK` catches them there."),
        user("thanks"),
        agent("You're welcome."),
    )
    assert one.text.endswith("Then: Understood: `MAIL_SINK` catches them there.")


@pytest.mark.parametrize(
    ("type_", "kept"),
    [("prompt", 1), ("stop", 0), ("subagent_stop", 0), ("post_compact", 0), ("session_end", 0)],
)
def test_of_a_prompt_s_own_event_the_words_are_the_person_s(type_: str, kept: int) -> None:
    words = "we never send mails from staging, that must stay so"
    assert len(choose_candidates(words, (), type_)) == kept
    tagged = choose_candidates(f"[MEMORY: preference] {words}", (), type_)
    assert [(one.layer, one.text) for one in tagged] == [("tag", words)]


def test_explicit_words_go_on_and_are_kept_once() -> None:
    said = [
        user("Decision: carts live in SQLite\nand that is it"),
        agent("[MEMORY: gotcha] `flock` is not inherited\n\nDecision: we keep one file per cart."),
    ]
    kept = chosen(*said)
    assert [(one.type, one.text) for one in kept] == [
        ("decision", "carts live in SQLite and that is it"),
        ("gotcha", "`flock` is not inherited"),
        ("decision", "we keep one file per cart."),
    ]


@pytest.mark.parametrize("text", [
    "Fix: use a longer timeout in the client.",
    "The fix is to use a longer timeout.",
    "Decision: we use these three tables:",
    "Decision: remove",
    "It turns out the `cache` was cold.",
    "> Decision: that is what the review says, we should use Redis",
])  # fmt: skip
def test_half_sentences_proposals_and_bare_phrases_are_none(text: str) -> None:
    assert choose_candidates(text, (), "stop") == () or text.startswith("> ")


def test_a_dash_in_a_sentence_stays() -> None:
    said = "We chose files - always one per note - over a database, because people merge them."
    (one,) = choose_candidates(said, (), "stop")
    assert one.text == "We chose files - always one per note - over a database"


def test_a_long_prompt_is_the_person_s_at_its_ends() -> None:
    log = "\n".join(
        f"Decision: line {n} of somebody's transcript, we should use it" for n in range(90)
    )
    prompt = f"here is a session of a colleague\n{log}\nwe should not do it like they do, I want one file"
    assert len(own_lines(prompt)) == 6
    kept = chosen(user(prompt))
    assert len(kept) <= 6 + MAX_PER_EVENT
    assert any("I want one file" in one.text for one in kept)
    talk = "what went wrong here?\nUser: we should always use tabs\nAssistant: Decision: tabs, never spaces"
    assert own_lines(talk) == ["what went wrong here?"]
    assert chosen(user(talk)) == ()
    assert own_lines("Implement the following plan:\n\n- Decision: use Redis") == []


def test_blanks_keep_every_place() -> None:
    said = (
        "> [!user] Decision: x y\n> more\n\nText\n> a quote\n> [!answer] Decision: q\n> Decision: z"
    )
    for keep_own in (False, True):
        blank = blank_callouts(said, keep_own=keep_own)
        assert [len(line) for line in blank.split("\n")] == [len(line) for line in said.split("\n")]
        assert "Text\n> a quote" in blank
        assert ("Decision: x y" in blank, "Decision: z" in blank) == (keep_own, keep_own)
        assert "Decision: q" not in blank
    assert blank_callouts("no callout") == "no callout"


@pytest.mark.parametrize("seed", range(40))
def test_nothing_breaks_the_cut_and_a_record_hangs_on_its_event_alone(seed: int) -> None:
    drawn = random.Random(seed)
    pieces = [
        CAUSE, "# H", "**B**", "- a", "  b", "```", "> q", "| c |", "", "1. `x`", "決定", "\t", "we should",
    ]  # fmt: skip
    said = [
        Utterance(
            drawn.choice((USER, AGENT)), "\n".join(drawn.choices(pieces, k=drawn.randrange(1, 12)))
        )
        for _ in range(drawn.randrange(1, 8))
    ]
    said = utterances(format_utterances(said))
    passages = cut_passages(said)
    assert all(0 < len(one.text) <= 2 * MAX_PASSAGE_CHARS for one in passages)
    kept = find_noteworthy(said)
    assert len(kept) <= MAX_PER_EVENT
    assert all(one.title.strip() and len(one.title) <= 80 and one.text.strip() for one in kept)
    assert kept == find_noteworthy(said)


@pytest.mark.parametrize(
    "piece",
    ["a", "**a** ", "ok, ", "- `x_y` never\n", "> [!user] we\n\n", "# h\n", "a\n\n* * *\n\n"],
)
def test_time_is_linear(piece: str) -> None:
    def spent(chars: int) -> float:
        text = piece * (chars // len(piece))
        start = time.process_time()
        choose_candidates(text, (), "stop")
        return time.process_time() - start

    spent(1000)
    assert min(spent(64_000) for _ in range(3)) < 0.3
