"""The layers of extraction: what each finds, how sure it is, where it stands; and that no text breaks them or takes long."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from cortex.core.extract.candidate import MIN_RECORD_CONFIDENCE, Candidate
from cortex.core.extract.extraction import becomes_record, choose_candidates, find_candidates
from cortex.core.model.turn_summary import CommandRun, PlannedStep, TurnSummary, compose_text


def one(text: str, phrases: tuple[tuple[str, tuple[str, ...]], ...] = ()) -> Candidate:
    (found,) = find_candidates(text, phrases)
    return found


@pytest.mark.parametrize(("text", "type_", "confidence", "found", "reason"), [
    ("We chose SQLite over Postgres because it is one file.", "decision", 0.95, "We chose SQLite over Postgres", "it is one file."),
    ("I decided to read the tests.", "decision", 0.3, "I decided to read the tests.", ""),
    ("Decision: use `ruff`, because it is fast", "decision", 0.85, "use `ruff`", "it is fast"),
    ("- **Rejected:** tox (because nox is there)", "rejection", 0.85, "tox", "nox is there"),
    ("Decision: one table\nReason: fewer joins", "decision", 0.85, "one table", "fewer joins"),
    ("Fixed: the pager", "bugfix", 0.75, "the pager", ""),
    ("Error resolved: the import cycle", "bugfix", 0.7, "the import cycle", ""),
    ("TIL: `os.link` never overwrites", "learning", 0.7, "`os.link` never overwrites", ""),
    ("Preference: short answers", "preference", 0.8, "short answers", ""),
    ("Should we use tabs instead of blanks because of Make?", "decision", 0.3, "Should we use tabs instead of blanks", "Make?"),
    ("The tests use tabs instead of blanks.", None, 0, "", ""),
    ("### Decision\nKeep the monolith.", "decision", 0.7, "Keep the monolith.", ""),
    ("**Decision**\n\nWe keep it (because it works).", "decision", 0.7, "We keep it", "it works"),
    ("## Rejected\n\nA daemon.\n\nMore text.", "rejection", 0.7, "A daemon.", ""),
    ("**Root cause:**\n\nThe cache key lacks the locale.", "discovery", 0.7, "The cache key lacks the locale.", ""),
    ("#### Lesson\nNever push on Fridays.", "learning", 0.7, "Never push on Fridays.", ""),
    ("__Gotcha__\n\nThe port is 8080.", "gotcha", 0.7, "The port is 8080.", ""),
    ("## Decision\n\n- Keep the monolith", "decision", 0.75, "Keep the monolith", ""),
    ("## Decision\n\nOne of these:\n\n- Keep the monolith", "decision", 0.75, "Keep the monolith", ""),
    ("## Decision\n\nShould we keep it? Tell me.", "decision", 0.3, "Should we keep it? Tell me.", ""),
    ("## Root cause\n\nProbably the cache.", "discovery", 0.3, "Probably the cache.", ""),
    ("## Decision\n\n<what was decided>", None, 0, "", ""),
    ("## Decision\n\n| a | b |", None, 0, "", ""),
    ("## Decision\n\n```\nx = 1\n```\n\nThe code above runs.", None, 0, "", ""),
    ("Decision\n\nKeep the monolith.", None, 0, "", ""),
    ("## Findings\n\nThe code is old.", None, 0, "", ""),
    ("The types come for free, so I'll use Zod for validation.", "decision", 0.55, "The types come for free, so I'll use Zod for validation.", ""),
    ("I'll use Zod for validation.", None, 0, "", ""),
    ("So I'll use a mock for now.", None, 0, "", ""),
    ("Let's use tabs instead of spaces.", "decision", 0.65, "Let's use tabs instead of spaces.", ""),
    (
        "I went ahead and used SQLite rather than Postgres (because it is one file).",
        "decision",
        0.85,
        "I went ahead and used SQLite rather than Postgres",
        "it is one file",
    ),
    ("Going with ruff over flake8.", "decision", 0.85, "Going with ruff over flake8.", ""),
    ("We'll stick with make.", "decision", 0.6, "We'll stick with make.", ""),
    ("We settled on ruff.", "decision", 0.75, "We settled on ruff.", ""),
    ("TIL that `os.link` never overwrites", "learning", 0.65, "`os.link` never overwrites", ""),
    ("Wait til the build is done", None, 0, "", ""),
    ("**Important:** never amend a pushed commit", "gotcha", 0.6, "never amend a pushed commit", ""),
    ("Important: restart the server.", None, 0, "", ""),
    ("The user decided to leave early.", "decision", 0.3, "The user decided to leave early.", ""),
    ("We decided to leave the old endpoint as it is.", "decision", 0.9, "We decided to leave the old endpoint as it is.", ""),
    ("I decided to go with pnpm.", "decision", 0.9, "I decided to go with pnpm.", ""),
    ("I chose to read the file first because it is short.", "decision", 0.3, "I chose to read the file first", "it is short."),
    ("I'll use the Read tool instead of cat because it is faster.", "decision", 0.3, "I'll use the Read tool instead of cat", "it is faster."),
    ("I'm using `Grep` rather than a loop because it is faster.", "decision", 0.3, "I'm using `Grep` rather than a loop", "it is faster."),
    ("We use `curl` instead of requests because it is there.", "decision", 0.75, "We use `curl` instead of requests", "it is there."),
    ("I'll go with your suggestion.", "decision", 0.3, "I'll go with your suggestion.", ""),
    ("I've ruled out the network.", None, 0, "", ""),
    ("fix(parser): keep trailing commas", None, 0, "", ""),
    ("[MEMORY] We deploy from main only", "learning", 1, "We deploy from main only", ""),
    ("- **[MEMORY decision]** Ship on Tuesdays", "decision", 1, "Ship on Tuesdays", ""),
    ("[MEMORY permanent, gotcha] The port is 8080", "gotcha", 1, "The port is 8080", ""),
    ("The [MEMORY] badge is red", None, 0, "", ""),
    ("[memory] heap at 90 percent", None, 0, "", ""),
    ("[MEMORY usage] heap at 90 percent", None, 0, "", ""),
    ("[MEMORY]: https://example.org/memory", None, 0, "", ""),
    ("[MEMORY: rejected] A daemon", "rejection", 1, "A daemon", ""),
    ("[memory: Permanent, decision] Never on Fridays", "decision", 1, "Never on Fridays", ""),
])  # fmt: skip
def test_what_a_line_says_and_how_sure_it_is(
    text: str, type_: str | None, confidence: float, found: str, reason: str
) -> None:
    held = find_candidates(text)
    assert [(each.type, each.confidence, each.text, each.reason) for each in held] == (
        [(type_, confidence, found, reason)] if type_ else []
    )


def test_a_claim_that_two_layers_find_is_that_of_the_surer_one() -> None:
    text = "Decision: keep the queue\n\n[MEMORY: decision] keep the queue"
    assert [(each.layer, each.line) for each in find_candidates(text)] == [("tag", 3)]


def test_words_of_the_team_s_own_say_a_type() -> None:
    phrases = (("decision", ("we hereby",)), ("runbook", ("On call:",)))
    assert [(each.type, each.confidence, each.text) for each in find_candidates("- We hereby drop IE\nOn call: page Ann", phrases)] == [
        ("decision", 0.75, "We hereby drop IE"), ("runbook", 0.75, "On call: page Ann"),
    ]  # fmt: skip
    assert find_candidates("As was said, we hereby drop IE", phrases) == ()
    assert find_candidates("    we hereby drop IE", phrases) == ()


def test_what_was_done_is_found_with_its_line_and_only_the_plan_is_a_record() -> None:
    text = compose_text(
        TurnSummary(
            "Done.",
            ("[MEMORY: decision] UTC everywhere",),
            ("a/b.py",),
            (CommandRun("make test", "failed: 2 errors"), CommandRun("ls")),
            (PlannedStep("one", True), PlannedStep("two", False)),
        )
    )
    lines = text.split("\n")
    found = [
        (each.layer, each.type, each.text, becomes_record(each), lines[each.line - 1])
        for each in find_candidates(text)
    ]
    assert found == [
        ("tag", "decision", "UTC everywhere", True, "- [MEMORY: decision] UTC everywhere"),
        ("structural", "plan", "[x] one; [ ] two", True, "Plan:"),
    ]


def test_tags_alone_are_read_where_only_tags_count() -> None:
    assert [
        each.layer
        for each in find_candidates(
            "Decision: a thing\n\n[MEMORY: a thing of its own]", tags_only=True
        )
    ] == ["tag"]


PIECES = st.sampled_from([
    "Decision: ", "we chose A over B because C", "decided to use ", "[MEMORY: ", "decision", "]", "permanent", "```", "~~~", "`", "\n", "\n\n", "- ", "> ", "**",
    "    ", "\t", "turns out ", "## Decisions\n", "?", ". ", '"', "<!-- cortex: what was done -->", "Plan:\n- [x] a", "Files changed:\n- a.py", "é", "İ", "’",
    "\x01", "\x0c", "\u2028", "if ", "not ", "rejected ", "the fix was to flush", "Lessons learned:", "word ", "**Decision**\n", "### Root cause\n\n", "so I'll use ", " for ", "Let's use ", "TIL ", "Important: never ", "[MEMORY] ", "[MEMORY decision] ",
    "over ",
])  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS)
def test_nothing_breaks_the_layers_and_the_same_text_gives_the_same(text: str) -> None:
    found = find_candidates(text, (("decision", ("word", "é")),))
    assert found == find_candidates(text, (("decision", ("word", "é")),))
    for each in found:
        assert 0 < each.confidence <= 1
        assert each.text.strip()
        assert "\n" not in each.text
        assert 1 <= each.line <= text.count("\n") + 1


def _words(text: str) -> list[str]:
    return "".join(sign if sign.isalnum() else " " for sign in text.casefold()).split()


@given(
    st.lists(PIECES.filter(lambda piece: not piece.startswith("<!--")), max_size=40).map("".join)
)
def test_the_line_of_a_find_begins_or_holds_what_it_says(text: str) -> None:
    lines = text.split("\n")
    for each in find_candidates(text):
        there = _words(" ".join(lines[each.line - 1 : each.line + 3]))
        first = _words(each.text)[:1]
        assert all(word in there for word in first), each


def test_the_limit_is_where_it_says() -> None:
    assert MIN_RECORD_CONFIDENCE == 0.5
    assert becomes_record(one("We always use tabs here."))
    assert not becomes_record(one("I decided to look at the logs."))


def test_the_patterns_are_loaded_when_a_text_is_read_and_not_before() -> None:
    script = "import sys, cortex.operations.upkeep.normalize; print([name for name in sys.modules if name.startswith('cortex.core.extract.')])"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert "learnings" in loaded
    assert not any(name in loaded for name in ("keywords", "phrases", "memory_tags", "prose"))


@pytest.mark.parametrize(("text", "type_"), [
    ("*Decision:* use SQLite.", "decision"),
    ("_Decision_: use SQLite.", "decision"),
    ("\U0001f3af Decision: use SQLite.", "decision"),
    ("Decision\uff1ause SQLite.", "decision"),
    ("Let's go with Terraform for infrastructure.", "decision"),
    ("Let's stick with server-side rendering because it is simpler.", "decision"),
    ("We will use Celery for background jobs.", "decision"),
    ("We're going to use MinIO for object storage.", "decision"),
    ("Instead of cron we'll use systemd timers, because they log to the journal.", "decision"),
    ("We have chosen Elasticsearch as the search engine.", "decision"),
    ("Going forward, all money amounts are stored as integer cents.", "decision"),
])  # fmt: skip
def test_ways_in_which_agents_say_what_was_decided(text, type_):
    assert [(one.type, one.confidence >= 0.5) for one in find_candidates(text)] == [(type_, True)]


@pytest.mark.parametrize(
    "text",
    [
        "I'll go with option 2 as you suggested.", "I chose the file `utils.py`.", "Learned: nothing new.", "I prefer to wait for your confirmation.",
        "I decided not to add a test for this.", "Should we go with Terraform for infrastructure?", "Let's go with your naming for now.",
    ],
)  # fmt: skip
def test_chatter_in_the_same_words_is_none(text):
    assert [one for one in find_candidates(text) if one.confidence >= 0.5] == []


@pytest.mark.parametrize(("text", "found"), [
    ("Carts expire now. Decision: keep carts for a day, because the table stays small.", [("decision", "keep carts for a day")]),
    ("Done (see above). Gotcha: flock lies on NFS. Decision: use lease files.", [("gotcha", "flock lies on NFS."), ("decision", "use lease files.")]),
    ("Decision: use SQLite. Gotcha: it locks on NFS.", [("decision", "use SQLite."), ("gotcha", "it locks on NFS.")]),
    ("It took 3 s. **Decision:** cache it for a day.", [("decision", "cache it for a day.")]),
    ("- It took 3 s. Learned: mocks hide faults.", [("learning", "mocks hide faults.")]),
    ('He wrote "Carts expire. Decision: drop them."', []),
    ("The page has the Decision: column. Then it ends.", []),
    ("The parser reads it. decision: lowercase words are prose", []),
    ("It is `done. Decision: in code` there.", []),
    ("| Done. Decision: a cell of a table |", []),
    ("We looked at it. Decision: pending", []),
    ("See v1.2 Decision: no end of a sentence", []),
])  # fmt: skip
def test_a_label_behind_a_sentence_counts_but_not_in_quotes_code_or_tables(text, found):
    assert [(one.type, one.text) for one in choose_candidates(text, (), "stop")] == found


@pytest.mark.parametrize(
    "text",
    [
        "The docs say:\n\n> [MEMORY: decision] use SQLite\n", "Man schreibt „[MEMORY: decision] nimm SQLite“.", "»[MEMORY: decision] nimm SQLite«",
        "«[MEMORY: decision] prends SQLite»", "「[MEMORY: decision] 用 SQLite」", "Er schrieb „so: [MEMORY: decision] nimm SQLite“ dazu.",
        "| tag | [MEMORY: decision] use SQLite | at once |", "[MEMORY: decision] … and why", "[MEMORY: learned] ...what you learned", "[MEMORY: type] what you learned",
        "The docs say:\n\n> Decision: use SQLite", 'He wrote "Carts expire. Decision: drop\nthem."',
        "Decision: none needed yet", "Decision: TBD for now", "Entscheidung: noch keine", "Decision: no decision needed yet", "Decision: -",
    ],
)  # fmt: skip
def test_what_is_quoted_or_says_nothing_is_no_tag_and_no_label(text: str) -> None:
    assert find_candidates(text) == ()


@pytest.mark.parametrize(("text", "type_", "said"), [
    ("[MEMORY: decison] Orders stay in memory", "decision", "Orders stay in memory"),
    ("[MEMORY: decison, auth] Tokens live an hour", "decision", "Tokens live an hour"),
    ("[MEMORY: Entscheidung] Bestellungen bleiben im Speicher", "decision", "Bestellungen bleiben im Speicher"),
    ("[MEMORY: leçon] Le port est 9", "learning", "Le port est 9"),
    ("[MEMORY: 决定] 订单保留 30 天", "decision", "订单保留 30 天"),
    ("[MEMORY: fact] The printer sits on port 9", "learning", "The printer sits on port 9"),
    ("[MEMORY: whatever] Gotcha: the port is 9", "gotcha", "the port is 9"),
    ("“Use it.” [MEMORY: decision] We use SQLite", "decision", "We use SQLite"),
    ('A 5" disk: [MEMORY: decision] We use SQLite', "decision", "We use SQLite"),
    ("> [!user] Yes\n> Decision: use SQLite\n\nOK\n\n> Decision: use Mongo", "decision", "use SQLite"),
])  # fmt: skip
def test_one_word_in_a_tag_is_its_type_however_it_is_spelled_and_quotes_beside_it_do_not_matter(
    text: str, type_: str, said: str
) -> None:
    assert [(each.type, each.text) for each in find_candidates(text)] == [(type_, said)]
